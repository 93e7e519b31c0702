from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.hoggles.dictionary import PairedDictionary
from replication.images.hoggles.inversion import hoggles
from replication.io import save_array, start_job
from sliced_wasserstein import ImageError

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
faces = np.load(snakemake.input.faces, mmap_mode="r")
rows = np.array_split(np.arange(len(faces)), snakemake.params.blocks)
part = rows[int(snakemake.wildcards.block)]
dictionary = PairedDictionary.load(snakemake.input.dictionary)
files = read_manifest(snakemake.input.images)["file"]
try:
    inverses = hoggles(faces[part], dictionary, n_jobs=snakemake.threads)
except ImageError as error:
    raise ValueError(f"{files.iloc[part[error.index]]}: {error.fault}") from error
save_array(snakemake.output.hoggles, inverses)
