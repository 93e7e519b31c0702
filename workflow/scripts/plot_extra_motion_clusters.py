from typing import TYPE_CHECKING

import numpy as np

from replication.io import read_json, start_job
from replication.motion.figures.stick import plot_stick_figures
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
notes = [read_json(summary) for summary in snakemake.input.summaries]
shown = np.load(snakemake.input.exemplars)
frames = np.split(shown["positions"], np.cumsum(shown["lengths"])[:-1])
titles = [f"{k}\n{title}" for k, title in enumerate(shown["titles"], start=1)]
motions = dict(zip(titles, frames, strict=True))
save_figure(plot_stick_figures(motions, shown["parents"], shown["sides"], notes), snakemake.output)
