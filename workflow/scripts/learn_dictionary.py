from typing import TYPE_CHECKING

from replication.datasets import read_manifest
from replication.features.hoggles import make_dictionary
from replication.io import start_job
from replication.protocols.seeds import repetition_seed

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
