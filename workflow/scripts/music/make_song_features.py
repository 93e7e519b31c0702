from typing import TYPE_CHECKING

from replication.data.manifest import raw_files, read_manifest
from replication.io import start_job
from replication.music.framing import framing
from replication.music.mfcc import MFCC, LogMel, write_features
from replication.music.tagging.songs import block_of_songs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
settings = snakemake.params.settings
songs = block_of_songs(
    read_manifest(snakemake.input.manifest), int(snakemake.wildcards.block), settings["blocks"]
)
paths = raw_files(songs, snakemake.params.raw)
lengths = framing(settings["sampling_rate"])
for output, features in (
    (snakemake.output.mfcc, MFCC(derivative_width=settings["derivative_width"], **lengths)),
    (snakemake.output.mel, LogMel(settings["mel_bands"], **lengths)),
):
    write_features(
        output, songs["id"].tolist(), paths, features, min_frames=settings["sequence_length"]
    )
