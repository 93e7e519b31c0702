"""Synthetic songs in the layout of CAL500: sound made from tags, tags annotated with noise.

:func:`write` makes the default data set. A song is played from its tags: each tag moves some of the
song's parameters (tempo, mode, loudness, who plays) by an effect in units of the variation between
songs that has nothing to do with tags. A genre and four moods make tags co-occur. Some tags exist
only in the order of sounds: tempo, sections of unlike loudness, notes that swell instead of fading.

:func:`write_order_songs` makes the collection of :mod:`replication.standins.order_songs`.

Annotation noise. Listeners do not hear everything. The songs are not made from the annotations H
but from generating tags G, in which each annotated tag is missing with probability
:data:`~replication.standins.song_tags.MISS_RATE`, and other tags are there so often that each
keeps its share p of songs:

    P(G = 0 | H = 1) = m,    P(G = 1 | H = 0) = m p / (1 - p),    thus P(H = 1 | G = 1) = 1 - m.

Sound can tell no more than G; the scores of someone who knows G are the ceiling of every method
(:func:`~replication.standins.song_tags.oracle_probabilities`).

Song k does not depend on how many songs are made, and no song on another.
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
from replication.standins.order_songs import order_annotations, order_song
from replication.standins.song_sound import SAMPLING_RATE, play
from replication.standins.song_tags import (
    SCORE,
    SEED,
    TAGS,
    generating_tags,
    song_annotations,
    song_parameters,
    stream,
    tag_shares,
    vocabulary,
)

__all__ = ["write", "write_order_songs"]

Signal = npt.NDArray[np.float32]


def write(
    folder: str | os.PathLike[str],
    *,
    songs: int = 100,
    seconds: int = 15,
    tags: int = len(TAGS),
    seed: int = 0,
    n_jobs: int | None = None,
) -> None:
    """Write the default collection in the layout of CAL500, recordings as 16-bit FLAC.

    Parameters
    ----------
    folder : path-like
        Folder to write to.
    songs : int, default 100
        Number of songs. With the defaults, 30 modelled tags have at least 10 songs each.
    seconds : int, default 15
        Duration of a song in s, at least 4.
    tags : int, default 32
        Number of modelled tags, at least 32; the paper's size is 149.
    seed : int, default 0
        Another seed gives another collection of the same kind.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it.

    Raises
    ------
    ValueError
        If a size is out of range.
    """
    folder = Path(folder)
    _check_sizes(songs, seconds)
    annotations = song_annotations(songs, tags, seed=seed)
    present = generating_tags(annotations, tag_shares(annotations.tags, tags), seed=seed)
    joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_write_song)(
            folder,
            name,
            # The tags after those of the vocabulary only repeat some of them.
            song_parameters(present[song, :tags], vocabulary(tags), song, seed=seed),
            seconds,
            (seed, song),
        )
        for song, name in enumerate(annotations.songs)
    )
    # Last, so that a folder with annotations has its recordings.
    write_annotations(folder, annotations)


def _write_song(
    folder: Path, name: str, parameters: dict[str, float], seconds: float, key: tuple[int, int]
) -> None:
    rng = stream(SEED, *key, SCORE)
    _write_flac(folder, name, play(parameters, seconds, rng))


def _write_flac(folder: Path, name: str, signal: Signal) -> None:
    with atomic_path(folder / AUDIO_FOLDER / f"{name}.flac") as temporary:
        soundfile.write(temporary, signal, SAMPLING_RATE, format="FLAC", subtype="PCM_16")


def write_order_songs(
    folder: str | os.PathLike[str], *, songs: int = 60, seconds: int = 15, seed: int = 0
) -> None:
    """Write the order collection in the layout of CAL500, recordings as 16-bit FLAC.

    Parameters
    ----------
    folder : path-like
        Folder to write to.
    songs : int, default 60
        Number of songs, twelve a tag.
    seconds : int, default 15
        Duration of a song in s, at least 4.
    seed : int, default 0
        As in :func:`song_annotations`.

    Raises
    ------
    ValueError
        If a size is out of range.
    """
    folder = Path(folder)
    _check_sizes(songs, seconds)
    annotations, generating = order_annotations(songs, seed=seed)
    for song, name in enumerate(annotations.songs):
        tag = int(generating[song].argmax())
        _write_flac(folder, name, order_song(tag, song, seconds, seed=seed))
    write_annotations(folder, annotations)


def _check_sizes(songs: int, seconds: float) -> None:
    if songs < 1:
        raise ValueError(f"songs must be at least 1, got {songs}")
    if seconds < 4:
        raise ValueError(f"seconds must be at least 4, got {seconds:g}")
