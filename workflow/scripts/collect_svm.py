from typing import TYPE_CHECKING

from replication.io import log_to, read_metrics
from replication.protocols.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
rows = read_metrics(snakemake.input.blocks).to_dict("records")
write_scores(
    snakemake.output.metrics,
    rows,
    experiment=snakemake.wildcards.experiment,
    summary=snakemake.input.summary,
)
