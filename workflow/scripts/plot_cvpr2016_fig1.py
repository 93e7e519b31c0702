from typing import TYPE_CHECKING

import numpy as np

from replication.figures.samples import plot_samples
from replication.figures.style import save_figure
from replication.io import read_json, start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
figure = plot_samples(
    np.load(snakemake.input.samples),
    [read_json(summary) for summary in snakemake.input.summaries],
    density_name="Co-occurrence matrices",
)
save_figure(figure, snakemake.output)
