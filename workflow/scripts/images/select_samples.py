from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.samples import sample_panels
from replication.io import save_arrays, start_job
from sliced_wasserstein import SlicedWassersteinEmbedding

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
panels = sample_panels(
    read_manifest(snakemake.input.manifest),
    np.load(snakemake.input.densities),
    snakemake.params.raw,
    SlicedWassersteinEmbedding(**snakemake.params.settings, n_jobs=snakemake.threads),
    colour=snakemake.params.colour,
    not_shown=snakemake.params.not_shown,
)
save_arrays(snakemake.output.samples, **panels)
