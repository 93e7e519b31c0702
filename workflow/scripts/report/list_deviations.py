from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job, write_table
from replication.report.deviations import list_deviations

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
table = list_deviations(
    snakemake.input.settings, snakemake.params.config, read_metrics(snakemake.input.metrics)
)
write_table(snakemake.output.deviations, table)
