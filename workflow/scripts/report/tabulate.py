from pathlib import Path
from typing import TYPE_CHECKING

from replication.io import start_job
from replication.registry import TABLES
from replication.report.drawing import make_exhibit
from replication.report.tables import write_tables

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
chosen, run = snakemake.params, Path(snakemake.output[0]).parents[1]
table = make_exhibit(TABLES[chosen.table], run, chosen.experiments, **chosen.options)
write_tables(snakemake.output, table)
