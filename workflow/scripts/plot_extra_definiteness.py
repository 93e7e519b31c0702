from typing import TYPE_CHECKING

import pandas as pd

from replication.figures.definiteness import plot_definiteness
from replication.figures.style import save_figure
from replication.io import log_to

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
save_figure(plot_definiteness(pd.read_csv(snakemake.input.spectra)), snakemake.output)
