from typing import TYPE_CHECKING

import pandas as pd

from replication.images.figures.definiteness import plot_definiteness
from replication.io import start_job
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
save_figure(plot_definiteness(pd.read_csv(snakemake.input.spectra)), snakemake.output)
