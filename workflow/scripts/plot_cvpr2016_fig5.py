from typing import TYPE_CHECKING

from replication.figures.clustering import plot_clustering
from replication.figures.style import save_figure
from replication.io import read_json, read_metrics, start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
save_figure(plot_clustering(read_metrics(snakemake.input.metrics), notes), snakemake.output)
