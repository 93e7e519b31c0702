from typing import TYPE_CHECKING

import numpy as np

from replication.io import save_array, start_job
from sliced_wasserstein import SlicedWassersteinEmbedding

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
densities = np.load(snakemake.input.densities)
embedding = SlicedWassersteinEmbedding(**snakemake.params.settings, n_jobs=snakemake.threads)
save_array(snakemake.output.embedding, embedding.fit_transform(densities))
