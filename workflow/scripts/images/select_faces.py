from typing import TYPE_CHECKING

from replication.data.manifest import groups_of, read_manifest
from replication.images.animal_faces import select_faces
from replication.io import start_job, write_table
from replication.settings import ConfigError, check_counts, count_members

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
images = select_faces(
    read_manifest(snakemake.input.manifest),
    snakemake.params.raw,
    natural=snakemake.params.natural,
    n_jobs=snakemake.threads,
)
try:
    counts = count_members(images["label"], groups_of(images))
    check_counts(snakemake.config, "faces", counts)
except ConfigError as error:
    raise SystemExit(str(error)) from None
write_table(snakemake.output.images, images)
