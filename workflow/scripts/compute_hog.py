from pathlib import Path
from typing import TYPE_CHECKING

from replication.datasets import read_manifest
from replication.datasets.animal_faces import load_faces
from replication.features.hoggles import hog_vectors
from replication.io import log_to, save_array

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
files = [Path(snakemake.params.raw, f) for f in read_manifest(snakemake.input.images)["file"]]
vectors = hog_vectors(load_faces(files, snakemake.params.side, n_jobs=snakemake.threads))
save_array(snakemake.output.vectors, vectors)
