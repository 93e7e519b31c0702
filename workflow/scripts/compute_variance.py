from typing import TYPE_CHECKING

import numpy as np

from replication.io import log_to, read_json, write_table
from replication.protocols.metrics import metric_table
from replication.protocols.variance import variance_rows

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
experiment = snakemake.wildcards.experiment
rows = variance_rows(
    np.load(snakemake.input.matrices),
    **snakemake.params.variance,
    seed=snakemake.params.seed,
    experiment=experiment,
)
table = metric_table(
    rows,
    experiment=experiment,
    dataset=snakemake.params.dataset,
    origin=read_json(snakemake.input.summary)["origin"],
)
write_table(snakemake.output.metrics, table)
