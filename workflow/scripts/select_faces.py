from typing import TYPE_CHECKING

from replication.datasets import read_manifest
from replication.datasets.animal_faces import select_faces
from replication.io import start_job, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
images = select_faces(
    read_manifest(snakemake.input.manifest),
    snakemake.params.raw,
    natural=snakemake.params.natural,
    n_jobs=snakemake.threads,
)
write_table(snakemake.output.images, images)
