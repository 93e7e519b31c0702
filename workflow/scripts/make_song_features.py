from pathlib import Path
from typing import TYPE_CHECKING

from replication.datasets import read_manifest
from replication.features.mfcc import MFCC, LogMel, write_features
from replication.io import log_to
from replication.protocols.tagging import block_of_songs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
settings = snakemake.params.settings
songs = block_of_songs(
    read_manifest(snakemake.input.manifest), int(snakemake.wildcards.block), settings["blocks"]
)
paths = [Path(snakemake.params.raw) / file for file in songs["file"]]
for output, features in (
    (snakemake.output.mfcc, MFCC(derivative_width=settings["derivative_width"])),
    (snakemake.output.mel, LogMel(settings["mel_bands"])),
):
    write_features(
        output, songs["id"].tolist(), paths, features, min_frames=settings["sequence_length"]
    )
