from pathlib import Path
from typing import TYPE_CHECKING

from replication.io import start_job
from replication.registry import FIGURES
from replication.report.drawing import make_exhibit
from replication.report.style import save_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
chosen, run = snakemake.params, Path(snakemake.output[0]).parents[1]
figure = make_exhibit(FIGURES[chosen.figure], run, chosen.experiments)
save_figure(figure, snakemake.output)
