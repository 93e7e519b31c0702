from typing import TYPE_CHECKING

import pandas as pd

from replication.figures.style import save_figure
from replication.figures.variance import plot_variance
from replication.io import log_to, read_json

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
figure = plot_variance(
    pd.concat(map(pd.read_csv, snakemake.input.metrics)),
    [read_json(summary) for summary in snakemake.input.summaries],
    n_components=snakemake.params.n_components,
)
save_figure(figure, snakemake.output)
