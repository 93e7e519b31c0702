from typing import TYPE_CHECKING

import numpy as np

from replication.images.figures.inverses import plot_inverses
from replication.io import read_json, read_metrics, start_job
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
panels = np.load(snakemake.input.inverses)
scores = read_metrics([snakemake.input.metrics])
save_figure(plot_inverses(panels, scores, notes), snakemake.output)
