from typing import TYPE_CHECKING

from replication.io import log_to, read_json, write_json
from replication.run_record import describe_run

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
summaries = [read_json(summary) for summary in snakemake.input.summaries]
record = describe_run(
    snakemake.params.config,
    summaries,
    snakemake.input.lock,
    dict(zip(snakemake.params.dictionaries, snakemake.input.dictionaries, strict=True)),
)
write_json(snakemake.output.record, record)
