from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
rows = read_metrics(snakemake.input.blocks).to_dict("records")
write_scores(
    snakemake.output.metrics,
    rows,
    experiment=snakemake.wildcards.experiment,
    summary=snakemake.input.summary,
)
