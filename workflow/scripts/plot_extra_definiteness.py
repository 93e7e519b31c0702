from typing import TYPE_CHECKING

import pandas as pd

from replication.figures.definiteness import plot_definiteness
from replication.figures.style import save_figure
from replication.io import start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
save_figure(plot_definiteness(pd.read_csv(snakemake.input.spectra)), snakemake.output)
