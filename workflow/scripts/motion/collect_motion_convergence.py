from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
for kind in ("metrics", "timings"):
    write_scores(
        snakemake.output[kind],
        read_metrics(snakemake.input[kind]).to_dict("records"),
        experiment="motion",
        summary=snakemake.input.summary,
    )
