from typing import TYPE_CHECKING

import numpy as np

from replication.images.identities import check_identities
from replication.io import start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
experiment = snakemake.wildcards.experiment
rows = check_identities(
    np.load(snakemake.input.densities),
    snakemake.params.transport,
    **snakemake.params.identities,
    seed=snakemake.params.seed,
    experiment=experiment,
)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
