from typing import TYPE_CHECKING

import numpy as np

from replication.features.densities import image_densities
from replication.io import log_to, save_array

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
inverses = np.concatenate([np.load(block) for block in snakemake.input.hoggles])
save_array(snakemake.output.densities, image_densities(inverses, **snakemake.params.density))
