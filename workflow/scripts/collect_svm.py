from typing import TYPE_CHECKING

import pandas as pd

from replication.io import log_to, read_json, write_table
from replication.protocols.metrics import metric_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
blocks = [pd.read_csv(block, keep_default_na=False) for block in snakemake.input.blocks]
table = metric_table(
    pd.concat(blocks).to_dict("records"),
    experiment=snakemake.wildcards.experiment,
    dataset=snakemake.params.dataset,
    origin=read_json(snakemake.input.summary)["origin"],
)
write_table(snakemake.output.metrics, table)
