from typing import TYPE_CHECKING

from replication.data.manifest import raw_files, read_manifest
from replication.io import save_arrays, start_job
from replication.music.tagging.songs import FeatureFiles, SongSplit, block_of_songs, song_groups
from replication.settings import ConfigError, Counts, check_counts

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
manifest = read_manifest(snakemake.input.manifest)
songs = block_of_songs(manifest, 0, 1)
raw_files(manifest[manifest["label"] != "song"], snakemake.params.raw)
split = SongSplit.from_folder(
    snakemake.params.raw,
    songs["id"].tolist(),
    vocabulary=snakemake.params.settings["vocabulary"],
    min_songs=snakemake.params.settings["min_songs"],
    n_folds=snakemake.params.settings["folds"],
    seed=snakemake.params.seed,
    experiment=snakemake.params.experiment,
    groups=song_groups(songs, FeatureFiles(snakemake.input.features)),
)
try:
    if snakemake.wildcards.collection == "cal500":
        counts = Counts(len(split.songs), tags=int(split.scored.sum()))
        check_counts(snakemake.config, "music", counts)
except ConfigError as error:
    raise SystemExit(str(error)) from None
save_arrays(snakemake.output.split, **split.to_arrays())
