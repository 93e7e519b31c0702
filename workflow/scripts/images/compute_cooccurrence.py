from typing import TYPE_CHECKING

from replication.data.manifest import raw_files, read_manifest
from replication.images.cooccurrence import cooccurrence_matrices
from replication.io import save_array, start_job

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
files = raw_files(read_manifest(snakemake.input.manifest), snakemake.params.raw)
densities = cooccurrence_matrices(files, **snakemake.params.settings, n_jobs=snakemake.threads)
save_array(snakemake.output.densities, densities)
