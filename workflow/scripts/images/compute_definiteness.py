from typing import TYPE_CHECKING

import pandas as pd

from replication.images.definiteness import definiteness_rows, definiteness_spectra
from replication.io import start_job, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
spectra = definiteness_spectra(random_state=snakemake.params.seed)
write_table(snakemake.output.spectra, pd.DataFrame(definiteness_rows(spectra)))
