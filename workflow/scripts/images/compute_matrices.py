from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.matrices import compare_hog, compare_images
from replication.io import save_array, save_arrays, start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
embedding, matrices = compare_images(
    np.load(snakemake.input.densities),
    snakemake.params.transport,
    beyond_paper=True,
    n_jobs=snakemake.threads,
)
# Images that are no photographs have no HOG vectors.
if snakemake.input.hog:
    vectors, listed, chosen = snakemake.input.hog
    rows = read_manifest(listed)["file"].isin(read_manifest(chosen)["file"])
    matrices |= compare_hog(np.load(vectors)[rows])
save_array(snakemake.output.embedding, embedding)
save_arrays(snakemake.output.matrices, **matrices)
