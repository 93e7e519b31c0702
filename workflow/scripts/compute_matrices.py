from typing import TYPE_CHECKING

import numpy as np

from replication.images.matrices import compare_densities, compare_embeddings, compare_hog
from replication.io import save_arrays, start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
densities = np.load(snakemake.input.densities)
embedding = np.load(snakemake.input.embedding)
# Images that are no photographs have no HOG vectors.
hog = compare_hog(np.load(snakemake.input.hog)) if snakemake.input.hog else {}
save_arrays(
    snakemake.output.matrices,
    **compare_densities(densities, snakemake.params.beyond_paper),
    **compare_embeddings(embedding, snakemake.params.n_angles),
    **hog,
)
