from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job, write_table
from replication.motion.convergence import measure_convergence
from replication.motion.protocol import HierarchySettings, HMMSettings, MotionSet
from replication.report.metrics import metric_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
found = measure_convergence(
    MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
    HMMSettings(**snakemake.params.hmms),
    HierarchySettings(**snakemake.params.hierarchy),
    trial=int(snakemake.wildcards.trial),
    seed=snakemake.params.seed,
    experiment="motion",
)
for kind, rows in zip(("metrics", "timings"), found, strict=True):
    # What is the same in all rows is added where the trials come together.
    table = metric_table(rows).drop(columns=["experiment", "dataset", "origin"])
    write_table(snakemake.output[kind], table)
