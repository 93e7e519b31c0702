from typing import TYPE_CHECKING

import numpy as np

from replication.images.figures.samples import plot_samples
from replication.io import read_json, start_job
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
figure = plot_samples(
    np.load(snakemake.input.samples),
    [read_json(summary) for summary in snakemake.input.summaries],
    density_name="Co-occurrence matrices",
)
save_figure(figure, snakemake.output)
