from typing import TYPE_CHECKING

import numpy as np

from replication.io import log_to, read_json, write_table
from replication.protocols.variance import variance_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
table = variance_table(
    np.load(snakemake.input.densities),
    np.load(snakemake.input.embedding),
    experiment=snakemake.wildcards.experiment,
    dataset=snakemake.params.dataset,
    origin=read_json(snakemake.input.summary)["origin"],
)
write_table(snakemake.output.metrics, table)
