from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job
from replication.motion.convergence import measure_convergence
from replication.motion.protocol import HierarchySettings, HMMSettings
from replication.motion.sequences import MotionSet
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
found = [
    measure_convergence(
        MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
        HMMSettings(**snakemake.params.hmms),
        HierarchySettings(**snakemake.params.hierarchy),
        trial=trial,
        seed=snakemake.params.seed,
        experiment="motion",
    )
    for trial in range(snakemake.params.repeats)
]
for kind, trials in zip(("metrics", "timings"), zip(*found, strict=True), strict=True):
    rows = [row for trial in trials for row in trial]
    path, summary = snakemake.output[kind], snakemake.input.summary
    write_scores(path, rows, experiment="motion", summary=summary)
