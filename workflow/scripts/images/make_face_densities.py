from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.densities import image_densities
from replication.io import save_array, start_job
from sliced_wasserstein import ImageError

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
files = read_manifest(snakemake.input.images)["file"]
inverses = np.concatenate([np.load(block) for block in snakemake.input.hoggles])
try:
    densities = image_densities(inverses, **snakemake.params.density)
except ImageError as error:
    raise ValueError(f"{files.iloc[error.index]}: {error.fault}") from error
save_array(snakemake.output.densities, densities)
