from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.animal_faces import select_faces
from replication.images.densities import image_densities
from replication.io import save_array, start_job, write_table
from sliced_wasserstein import ImageError

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
images = select_faces(read_manifest(snakemake.input.images), **snakemake.params.selection)
inverses = np.concatenate([np.load(block) for block in snakemake.input.hoggles])
try:
    densities = image_densities(inverses[images.index], **snakemake.params.density)
except ImageError as error:
    raise ValueError(f"{images['file'].iloc[error.index]}: {error.fault}") from error
write_table(snakemake.output.images, images)
save_array(snakemake.output.densities, densities)
