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
from replication.music.annotations import FILES, read_annotations
from replication.music.cal500 import find_audio
from replication.standins.cal500 import write_order_songs

__all__ = ["prepare_order_songs"]


def prepare_order_songs(
    folder: str | os.PathLike[str], *, songs: int, seconds: int, seed: int
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Write the songs of :mod:`replication.standins.order_songs` and list them.

    Parameters
    ----------
    folder : path-like
        Folder for the files.
    songs : int
        Number of songs.
    seconds : int
        Duration of a song in s.
    seed : int
        Seed of the collection.

    Returns
    -------
    manifest : pandas.DataFrame
        Columns :data:`replication.data.manifest.COLUMNS`, a row a song or file of annotations.
    summary : dict
        ``dataset``, ``origin`` and ``songs``.
    """
    empty_partial(Path(folder))
    write_order_songs(folder, songs=songs, seconds=seconds, seed=seed)
    shutil.rmtree(Path(folder) / PARTIAL)
    songs_found = find_audio(folder, read_annotations(folder).songs).paths
    paths = [("song", song, path) for song, path in songs_found.items()]
    paths += [("annotations", Path(name).stem, Path(folder) / name) for name in FILES]
    rows = [
        {
            "id": name,
            "label": label,
            "file": path.relative_to(Path(folder)).as_posix(),
            "sha256": sha256_of(path),
            "origin": "synthetic",
            "check": "unlisted",
            "status": "used",
            "note": "",
        }
        for label, name, path in paths
    ]
    summary = {"dataset": "order_songs", "origin": "synthetic", "songs": songs}
    return pd.DataFrame(rows, columns=list(COLUMNS)), summary
