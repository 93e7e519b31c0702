from typing import TYPE_CHECKING

from replication.data.manifest import raw_files, read_manifest
from replication.images.animal_faces import load_faces
from replication.images.hoggles.hog import hog_vectors
from replication.io import save_array, start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
files = raw_files(read_manifest(snakemake.input.images), snakemake.params.raw)
faces = load_faces(files, snakemake.params.side, n_jobs=snakemake.threads)
save_array(snakemake.output.faces, faces)
save_array(snakemake.output.vectors, hog_vectors(faces))
