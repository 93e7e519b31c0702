from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import read_metrics, start_job, write_table
from replication.motion.scores import (
    join_blocks,
    list_failures,
    resample_hierarchies,
    score_hierarchies,
)
from replication.motion.sequences import MotionSet
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
rows, failures = [], []
for path, (name, runs) in zip(
    snakemake.input.sequences, snakemake.params.runs.items(), strict=True
):
    motions = MotionSet.from_arrays(np.load(path))
    found = join_blocks(map(np.load, runs))
    variant = "" if name == "main" else name
    about = (motions.labels, motions.subjects, found)
    scores = score_hierarchies(*about)
    scores += resample_hierarchies(*about, **snakemake.params.bootstrap)
    rows += [{**row, "variant": variant} for row in scores]
    failures.append(list_failures(found).assign(variant=variant))
timings = read_metrics(snakemake.input.timings).to_dict("records")
shared = {"experiment": "motion", "summary": snakemake.input.summary}
write_scores(snakemake.output.metrics, rows, **shared)
write_scores(snakemake.output.timings, timings, **shared)
write_table(snakemake.output.failures, pd.concat(failures, ignore_index=True))
