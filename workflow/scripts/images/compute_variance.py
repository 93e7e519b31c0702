from typing import TYPE_CHECKING

import numpy as np

from replication.images.variance import variance_rows
from replication.io import start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
experiment = snakemake.wildcards.experiment
rows = variance_rows(
    np.load(snakemake.input.matrices),
    **snakemake.params.variance,
    seed=snakemake.params.seed,
    experiment=experiment,
)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
