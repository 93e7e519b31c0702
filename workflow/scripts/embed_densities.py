from typing import TYPE_CHECKING

import numpy as np

from replication.io import log_to, save_array
from sliced_wasserstein import SlicedWassersteinEmbedding

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
densities = np.load(snakemake.input.densities)
embedding = SlicedWassersteinEmbedding(**snakemake.params.settings, n_jobs=snakemake.threads)
save_array(snakemake.output.embedding, embedding.fit_transform(densities))
