from typing import TYPE_CHECKING

from replication.datasets import read_manifest
from replication.io import log_to, save_arrays
from replication.protocols.tagging import SongSplit, block_of_songs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
songs = block_of_songs(read_manifest(snakemake.input.manifest), 0, 1)
split = SongSplit.from_folder(
    snakemake.params.raw,
    songs["id"].tolist(),
    vocabulary=snakemake.params.settings["vocabulary"],
    min_songs=snakemake.params.settings["min_songs"],
    n_folds=snakemake.params.settings["folds"],
    seed=snakemake.params.seed,
    experiment=snakemake.params.experiment,
)
save_arrays(snakemake.output.split, **split.to_arrays())
