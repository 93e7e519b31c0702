from typing import TYPE_CHECKING

from replication.figures.accuracy import plot_accuracy
from replication.figures.style import save_figure
from replication.io import log_to, read_json, read_metrics

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
notes = [read_json(summary) for summary in snakemake.input.summaries]
metrics = read_metrics([*snakemake.input.metrics, *snakemake.input.sizes])
save_figure(plot_accuracy(metrics, notes), snakemake.output)
