from typing import TYPE_CHECKING

import pandas as pd

from replication.io import log_to, write_table
from sliced_wasserstein.definiteness import definiteness_rows, definiteness_spectra

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
spectra = definiteness_spectra(random_state=snakemake.params.seed)
write_table(snakemake.output.spectra, pd.DataFrame(definiteness_rows(spectra)))
