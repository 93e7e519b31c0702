from typing import TYPE_CHECKING

from replication.io import read_json, read_metrics, start_job
from replication.motion.figures.convergence import plot_convergence
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
metrics, timings = (read_metrics([snakemake.input[kind]]) for kind in ("metrics", "timings"))
save_figure(plot_convergence(metrics, timings, notes), snakemake.output)
