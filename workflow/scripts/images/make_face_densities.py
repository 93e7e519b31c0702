from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.densities import image_densities
from replication.io import save_array, start_job
from replication.naming import images_named

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
files = read_manifest(snakemake.input.images)["file"]
inverses = np.concatenate([np.load(block) for block in snakemake.input.hoggles])
with images_named(files.tolist):
    densities = image_densities(inverses, **snakemake.params.density)
save_array(snakemake.output.densities, densities)
