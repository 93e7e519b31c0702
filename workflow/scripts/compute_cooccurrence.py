from pathlib import Path
from typing import TYPE_CHECKING

from replication.datasets import read_manifest
from replication.features.cooccurrence import cooccurrence_matrices
from replication.io import log_to, save_array

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
manifest = read_manifest(snakemake.input.manifest)
files = [Path(snakemake.params.raw, file) for file in manifest["file"]]
densities = cooccurrence_matrices(files, **snakemake.params.settings, n_jobs=snakemake.threads)
save_array(snakemake.output.densities, densities)
