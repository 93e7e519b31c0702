from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.kmeans import score_kmeans
from replication.io import start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
experiment = snakemake.wildcards.experiment
rows = score_kmeans(
    np.load(snakemake.input.matrices),
    read_manifest(snakemake.input.manifest)["label"].to_numpy(),
    **snakemake.params.kmeans,
    seed=snakemake.params.seed,
    experiment=experiment,
)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
