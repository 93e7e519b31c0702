"""Synthetic songs in the layout of CAL500: sound made from tags, tags annotated with noise.

A song is played from its tags: each tag moves some of the song's parameters (tempo, mode, loudness,
who plays) by an effect in units of the variation between songs that has nothing to do with tags.
Moods make tags co-occur. Some effects exist only in the order of sounds: tempo, sections of unlike
loudness, notes that swell instead of fading.

Annotation noise. Listeners do not hear everything. The songs are not made from the annotations H
but from generating tags G, in which each annotated tag is missing with probability
:data:`~replication.standins.song_tags.MISS_RATE`, and other tags are there so often that each
keeps its share p of songs:

    P(G = 0 | H = 1) = m,    P(G = 1 | H = 0) = m p / (1 - p),    thus P(H = 1 | G = 1) = 1 - m.

Sound can tell no more than G; the scores of someone who knows G are the ceiling of every method.
"""

from __future__ import annotations

import os
from pathlib import Path

import joblib
import numpy as np
import numpy.typing as npt
import soundfile

from replication.io import atomic_path
from replication.music.annotations import AUDIO_FOLDER, write_annotations
from replication.standins.song_sound import SAMPLING_RATE, play
from replication.standins.song_tags import (
    NAMES,
    SCORE,
    SEED,
    draw_collection,
    song_parameters,
    stream,
)

__all__ = ["write", "write_flac"]


def write(
    folder: str | os.PathLike[str],
    *,
    songs: int = 100,
    seconds: int = 15,
    tags: int = len(NAMES),
    seed: int = 0,
    n_jobs: int | None = None,
) -> None:
    """Write the default collection in the layout of CAL500, recordings as 16-bit FLAC.

    Parameters
    ----------
    folder, seed, n_jobs
        See :mod:`replication.standins`.
    songs : int, default 100
        Number of songs.
    seconds : int, default 15
        Duration of a song in s, at least 4.
    tags : int, default 32
        Number of modelled tags, at least 32; the paper's size is 149.
    """
    annotations, generating, _ = draw_collection(songs, tags, seed=seed)

    def write_song(song: int, name: str) -> None:
        # The tags after those of the vocabulary only repeat some of them.
        parameters = song_parameters(generating[song, :tags], song, seed=seed)
        write_flac(folder, name, play(parameters, seconds, stream(SEED, seed, song, SCORE)))

    joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(write_song)(song, name) for song, name in enumerate(annotations.songs)
    )
    # Last, so that a folder with annotations has its recordings.
    write_annotations(folder, annotations)


def write_flac(folder: str | os.PathLike[str], name: str, signal: npt.NDArray[np.float32]) -> None:
    """Write a recording to where CAL500 has it."""
    with atomic_path(Path(folder) / AUDIO_FOLDER / f"{name}.flac") as temporary:
        soundfile.write(temporary, signal, SAMPLING_RATE, format="FLAC", subtype="PCM_16")
