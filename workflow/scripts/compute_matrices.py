from typing import TYPE_CHECKING

import numpy as np

from replication.io import log_to, save_arrays
from replication.protocols.matrices import compare_densities, compare_embeddings, compare_hog

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
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
