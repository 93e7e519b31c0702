from typing import TYPE_CHECKING

from replication.deviations import list_deviations
from replication.io import log_to, read_metrics, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
table = list_deviations(
    snakemake.input.settings, snakemake.params.config, read_metrics(snakemake.input.metrics)
)
write_table(snakemake.output.deviations, table)
