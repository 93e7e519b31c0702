from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import raw_files, read_manifest
from replication.images.animal_faces import load_faces
from replication.images.hoggles import PairedDictionary, hoggles
from replication.io import save_array, start_job
from replication.naming import images_named

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
images = read_manifest(snakemake.input.images)
rows = np.array_split(np.arange(len(images)), snakemake.params.blocks)
part = raw_files(images.iloc[rows[int(snakemake.wildcards.block)]], snakemake.params.raw)
faces = load_faces(part, snakemake.params.side)
dictionary = PairedDictionary.load(snakemake.input.dictionary)
with images_named(lambda: list(map(str, part))):
    inverses = hoggles(faces, dictionary, n_jobs=snakemake.threads)
save_array(snakemake.output.hoggles, inverses)
