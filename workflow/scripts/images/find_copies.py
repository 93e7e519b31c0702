from typing import TYPE_CHECKING

from replication.data.manifest import groups_of, read_manifest
from replication.images.animal_faces import find_copies, select_faces
from replication.io import start_job, write_table
from replication.settings import ConfigError, check_counts, count_members

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
images = find_copies(
    read_manifest(snakemake.input.manifest), snakemake.params.raw, n_jobs=snakemake.threads
)
try:
    for variant, selection in snakemake.params.selections.items():
        chosen = select_faces(images, **selection)
        counts = count_members(chosen["label"], groups_of(chosen))
        check_counts(snakemake.config, "faces", counts, variant)
except ConfigError as error:
    raise SystemExit(str(error)) from None
write_table(snakemake.output.images, images)
