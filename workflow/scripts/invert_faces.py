from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replication.datasets import read_manifest
from replication.datasets.animal_faces import load_faces
from replication.features.hoggles import PairedDictionary, hoggles
from replication.io import log_to, save_array
from replication.naming import images_named

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
files = [Path(snakemake.params.raw, f) for f in read_manifest(snakemake.input.images)["file"]]
part = np.array_split(files, snakemake.params.blocks)[int(snakemake.wildcards.block)]
faces = load_faces(part, snakemake.params.side)
dictionary = PairedDictionary.load(snakemake.input.dictionary)
with images_named(lambda: list(map(str, part))):
    inverses = hoggles(faces, dictionary, n_jobs=snakemake.threads)
save_array(snakemake.output.hoggles, inverses)
