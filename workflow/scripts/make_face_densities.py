from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replication.images.densities import image_densities
from replication.io import save_array, start_job
from replication.naming import images_named

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
blocks = list(snakemake.input.hoggles)


def files():
    # Needed after an error only: hence no input of the job, and no import on top, which would take
    # longer than the densities.
    from replication.data.manifest import read_manifest

    return read_manifest(Path(blocks[0]).parents[1] / "images.csv")["file"].tolist()


inverses = np.concatenate([np.load(block) for block in blocks])
with images_named(files):
    densities = image_densities(inverses, **snakemake.params.density)
save_array(snakemake.output.densities, densities)
