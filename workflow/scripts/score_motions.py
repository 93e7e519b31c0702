from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job, write_table
from replication.motion.protocol import MotionSet
from replication.motion.scores import (
    join_blocks,
    list_failures,
    resample_hierarchies,
    score_hierarchies,
)
from replication.report.metrics import metric_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
motions = MotionSet.from_arrays(np.load(snakemake.input.sequences))
found = join_blocks(map(np.load, snakemake.input.runs))
rows = score_hierarchies(motions.labels, motions.subjects, found)
rows += resample_hierarchies(
    motions.labels,
    motions.subjects,
    found,
    draws=snakemake.params.draws,
    seed=snakemake.params.seed,
    experiment="motion",
)
variant = "" if snakemake.wildcards.variant == "main" else snakemake.wildcards.variant
# What is the same in all rows is added where the variants come together.
table = metric_table(rows, variant=variant).drop(columns=["experiment", "dataset", "origin"])
write_table(snakemake.output.metrics, table)
write_table(snakemake.output.failures, list_failures(found).assign(variant=variant))
