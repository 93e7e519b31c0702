from typing import TYPE_CHECKING

from replication.images.figures.accuracy import plot_accuracy
from replication.io import read_json, read_metrics, start_job
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
metrics = read_metrics([*snakemake.input.metrics, *snakemake.input.sizes])
save_figure(plot_accuracy(metrics, notes), snakemake.output)
