from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import raw_files, read_manifest
from replication.images.animal_faces import load_native_faces
from replication.images.hoggles.dictionary import PairedDictionary
from replication.images.hoggles.inversion import hoggles
from replication.io import save_array, start_job
from sliced_wasserstein import ImageError

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
resized = np.load(snakemake.input.faces, mmap_mode="r")
rows = np.array_split(np.arange(len(resized)), snakemake.params.blocks)
part = rows[int(snakemake.wildcards.block)]
images = read_manifest(snakemake.input.images).iloc[part]
dictionary = PairedDictionary.load(snakemake.input.dictionary)
jobs = {"n_jobs": snakemake.threads}
try:
    if snakemake.params.resized == "before":
        inverses = hoggles(resized[part], dictionary, **jobs)
    else:
        faces = load_native_faces(raw_files(images, snakemake.params.raw), **jobs)
        inverses = hoggles(faces, dictionary, side=resized.shape[1], **jobs)
except ImageError as error:
    raise ValueError(f"{images['file'].iloc[error.index]}: {error.fault}") from error
save_array(snakemake.output.hoggles, inverses)
