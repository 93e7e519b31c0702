from pathlib import Path
from typing import TYPE_CHECKING

from replication.io import read_json, start_job, write_json
from replication.report.record import describe_run

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
summaries = [read_json(summary) for summary in snakemake.input.summaries]
record = describe_run(
    snakemake.params.config,
    summaries,
    snakemake.input.lock,
    dict(zip(snakemake.params.dictionaries, snakemake.input.dictionaries, strict=True)),
    files=snakemake.input.files,
    run=Path(snakemake.output.record).parent,
)
write_json(snakemake.output.record, record)
