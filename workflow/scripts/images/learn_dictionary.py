from typing import TYPE_CHECKING

from replication.data.manifest import read_manifest
from replication.images.hoggles.training import make_dictionary
from replication.io import start_job
from replication.seeds import repetition_seed

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
dictionary = make_dictionary(
    **snakemake.params.settings,
    manifest=read_manifest(snakemake.input.manifest),
    raw=snakemake.params.raw,
    side=snakemake.params.side,
    random_state=repetition_seed(snakemake.params.seed, "faces/dictionary", 0),
)
dictionary.save(snakemake.output.dictionary)
