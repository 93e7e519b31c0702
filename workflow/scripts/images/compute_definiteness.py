from typing import TYPE_CHECKING

import pandas as pd

from replication.images.definiteness import (
    definiteness_rows,
    definiteness_spectra,
    score_definiteness,
    time_transport,
)
from replication.io import start_job, write_table
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
seed, shared = (
    snakemake.params.seed,
    {"experiment": "textures", "summary": snakemake.input.summary},
)
spectra = definiteness_spectra(random_state=seed)
write_table(snakemake.output.spectra, pd.DataFrame(definiteness_rows(spectra)))
write_scores(snakemake.output.metrics, score_definiteness(spectra), **shared)
write_scores(snakemake.output.timings, time_transport(random_state=seed), **shared)
