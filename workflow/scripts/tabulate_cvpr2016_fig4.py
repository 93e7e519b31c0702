from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job
from replication.report.tables import tabulate_accuracy, write_tables

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
write_tables(snakemake.output, tabulate_accuracy(read_metrics(snakemake.input.metrics)))
