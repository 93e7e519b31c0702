from typing import TYPE_CHECKING

from replication.io import log_to, read_metrics
from replication.tables import tabulate_face_classes, write_tables

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
write_tables(snakemake.output, tabulate_face_classes(read_metrics([snakemake.input.metrics])))
