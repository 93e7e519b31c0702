from typing import TYPE_CHECKING

import numpy as np

from replication.datasets import read_manifest
from replication.io import log_to, read_json, write_table
from replication.protocols.kmeans import score_kmeans
from replication.protocols.metrics import metric_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
rows = score_kmeans(
    np.load(snakemake.input.matrices),
    read_manifest(snakemake.input.manifest)["label"].to_numpy(),
    **snakemake.params.kmeans,
    seed=snakemake.params.seed,
    experiment=snakemake.wildcards.experiment,
)
table = metric_table(
    rows,
    experiment=snakemake.wildcards.experiment,
    dataset=snakemake.params.dataset,
    origin=read_json(snakemake.input.summary)["origin"],
)
write_table(snakemake.output.metrics, table)
