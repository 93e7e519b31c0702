from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.matrices import compare_densities, compare_embeddings, compare_hog
from replication.io import save_array, save_arrays, start_job
from sliced_wasserstein import SlicedWassersteinEmbedding

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
densities = np.load(snakemake.input.densities)
transport = SlicedWassersteinEmbedding(**snakemake.params.transport, n_jobs=snakemake.threads)
embedding = transport.fit_transform(densities)
# Images that are no photographs have no HOG vectors.
hog = {}
if snakemake.input.hog:
    vectors, listed, chosen = snakemake.input.hog
    rows = read_manifest(listed)["file"].isin(read_manifest(chosen)["file"])
    hog = compare_hog(np.load(vectors)[rows])
save_array(snakemake.output.embedding, embedding)
save_arrays(
    snakemake.output.matrices,
    **compare_densities(densities, snakemake.params.beyond_paper),
    **compare_embeddings(embedding, snakemake.params.transport["n_angles"]),
    **hog,
)
