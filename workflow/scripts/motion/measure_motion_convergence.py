from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job, write_table
from replication.motion.convergence import measure_convergence
from replication.motion.protocol import HierarchySettings, HMMSettings
from replication.motion.sequences import MotionSet
from replication.report.metrics import metric_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
names = snakemake.wildcards
found = [
    measure_convergence(
        MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
        HMMSettings(**snakemake.params.hmms),
        HierarchySettings(**snakemake.params.hierarchy),
        trial=trial,
        seed=snakemake.params.seed,
        experiment="motion",
    )
    for trial in range(int(names.first), int(names.last) + 1)
]
for kind, blocks in zip(("metrics", "timings"), zip(*found, strict=True), strict=True):
    rows = [row for block in blocks for row in block]
    # What is the same in all rows is added where the blocks come together.
    table = metric_table(rows).drop(columns=["experiment", "dataset", "origin"])
    write_table(snakemake.output[kind], table)
