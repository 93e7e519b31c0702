"""The order collection as a data set of its own: files in CAL500's layout, a manifest, an origin.

It is always synthetic and has no published form, so that it stands outside the data sets that
:func:`replication.data.sources.prepare` knows.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from replication.data.manifest import COLUMNS
from replication.digests import PARTIAL, empty_partial
from replication.io import sha256_of
from replication.music.annotations import FILES, write_annotations
from replication.music.cal500 import find_audio
from replication.standins.cal500 import write_flac
from replication.standins.order_songs import order_annotations, order_song

__all__ = ["prepare_order_songs", "write_order_songs"]


def write_order_songs(
    folder: str | os.PathLike[str], *, songs: int = 60, seconds: int = 15, seed: int = 0
) -> tuple[str, ...]:
    """Write the order collection, recordings as 16-bit FLAC, and return the names of its songs.

    Parameters
    ----------
    folder, seed
        See :mod:`replication.standins`.
    songs : int, default 60
        Number of songs, twelve a tag.
    seconds : int, default 15
        Duration of a song in s, at least 4.
    """
    annotations, generating = order_annotations(songs, seed=seed)
    for song, name in enumerate(annotations.songs):
        tag = int(generating[song].argmax())
        write_flac(folder, name, order_song(tag, song, seconds, seed=seed))
    write_annotations(folder, annotations)
    return annotations.songs


def prepare_order_songs(
    folder: str | os.PathLike[str], *, songs: int, seconds: int, seed: int
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Write the songs of :func:`write_order_songs` and list them.

    Returns
    -------
    manifest : pandas.DataFrame
        Columns :data:`replication.data.manifest.COLUMNS`, a row a song or file of annotations.
    summary : dict
        ``dataset``, ``origin`` and ``songs``.
    """
    folder = Path(folder)
    empty_partial(folder)
    names = write_order_songs(folder, songs=songs, seconds=seconds, seed=seed)
    shutil.rmtree(folder / PARTIAL)
    paths = [("song", song, path) for song, path in find_audio(folder, names).paths.items()]
    paths += [("annotations", Path(name).stem, folder / name) for name in FILES]
    table = pd.DataFrame(
        {
            "id": name,
            "label": label,
            "file": path.relative_to(folder).as_posix(),
            "sha256": sha256_of(path),
        }
        for label, name, path in paths
    ).assign(origin="synthetic", check="unlisted", status="used", note="")
    return table[list(COLUMNS)], {"dataset": "order_songs", "origin": "synthetic", "songs": songs}
