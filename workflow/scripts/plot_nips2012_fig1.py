from typing import TYPE_CHECKING

from replication.io import read_json, read_metrics, start_job
from replication.motion.figures.hierarchy import plot_hierarchies
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
hierarchies = read_metrics([snakemake.input.hierarchies])
save_figure(plot_hierarchies(hierarchies, notes), snakemake.output)
