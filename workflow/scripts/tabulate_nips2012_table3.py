from typing import TYPE_CHECKING

import pandas as pd

from replication.io import read_metrics, start_job
from replication.report.tables import tabulate_tagging, write_tables

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
table = tabulate_tagging(
    read_metrics([snakemake.input.metrics]),
    read_metrics([snakemake.input.timings]),
    pd.read_csv(snakemake.input.paper),
    retrieved=snakemake.params.retrieved,
)
write_tables(snakemake.output, table)
