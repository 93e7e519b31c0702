from typing import TYPE_CHECKING

from replication.images.figures.variance import plot_variance_of_kernels
from replication.io import read_json, read_metrics, start_job
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
save_figure(
    plot_variance_of_kernels(read_metrics(snakemake.input.metrics), notes), snakemake.output
)
