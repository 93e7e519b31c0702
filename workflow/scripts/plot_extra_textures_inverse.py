from typing import TYPE_CHECKING

import numpy as np

from replication.figures.inverses import plot_inverses
from replication.figures.style import save_figure
from replication.io import log_to, read_json, read_metrics

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
notes = [read_json(summary) for summary in snakemake.input.summaries]
panels = np.load(snakemake.input.inverses)
scores = read_metrics([snakemake.input.metrics])
save_figure(plot_inverses(panels, scores, notes), snakemake.output)
