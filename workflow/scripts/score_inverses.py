from typing import TYPE_CHECKING

import numpy as np

from replication.images.inverse_scores import inverse_rows
from replication.io import start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
experiment = snakemake.wildcards.experiment
rows = inverse_rows(np.load(snakemake.input.inverses), snakemake.params.n_angles)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
