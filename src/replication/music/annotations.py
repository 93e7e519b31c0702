"""Annotations of songs with tags, in the files of CAL500.

====================================  ==========================================================
``songNames.txt``                     one song a line, ``<artist>-<title>``: the order of rows
``vocab.txt``                         one tag a line: the order of columns
``hardAnnotations.txt``               comma-separated 0 and 1: at least two listeners, and 80 % of
                                      those asked, say that the tag fits
``softAnnotations.txt``               comma-separated shares of listeners, 0 to 1
====================================  ==========================================================

The papers speak of 149 tags, of which 97 are scored. The file lists 174. The rule that gives the
papers' numbers: leave out the 16 tags ``Genre-Best…`` and the 9 tags ``…-Solo``, which repeat other
tags; of the rest, score those with at least 30 songs (:func:`modelled_tags`,
:func:`scored_tags`).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from replication.arrays import Bools, Floats
from replication.data.catalog import DataSetError
from replication.io import atomic_path

__all__ = [
    "AUDIO_FOLDER",
    "FILES",
    "PUBLISHED_COUNTS",
    "Annotations",
    "Cal500Error",
    "check_published_counts",
    "modelled_tags",
    "read_annotations",
    "scored_tags",
    "write_annotations",
]

PUBLISHED_COUNTS = {"songs": 502, "tags": 174, "modelled tags": 149, "scored tags": 97}
"""What the published files hold, and what the papers' rule makes of them."""

_SONGS, _TAGS = "songNames.txt", "vocab.txt"
_HARD, _SOFT = "hardAnnotations.txt", "softAnnotations.txt"
FILES = (_SONGS, _TAGS, _HARD, _SOFT)
"""The four files."""
AUDIO_FOLDER = "CAL500_32kps"
"""The folder of recordings beside them."""


class Cal500Error(DataSetError):
    """Files of the data set contradict each other or its layout; the message names the file."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """Songs, tags and which fits which.

    Attributes
    ----------
    songs : tuple of str
        Names ``<artist>-<title>``, distinct.
    tags : tuple of str
        Tags, distinct.
    hard : ndarray of bool, shape (n_songs, n_tags)
        Whether listeners agree that a tag fits.
    soft : ndarray of float64, shape (n_songs, n_tags)
        Share of listeners, 0 to 1.
    """

    songs: tuple[str, ...]
    tags: tuple[str, ...]
    hard: Bools
    soft: Floats

    def select(
        self, *, songs: Sequence[str] | None = None, tags: Sequence[str] | None = None
    ) -> Annotations:
        """Return the annotations of some songs and tags, in the given order.

        Raises
        ------
        KeyError
            If a name is unknown.
        """
        rows = _positions(self.songs, self.songs if songs is None else songs)
        columns = _positions(self.tags, self.tags if tags is None else tags)
        grid = np.ix_(rows, columns)
        return Annotations(
            tuple(self.songs[row] for row in rows),
            tuple(self.tags[column] for column in columns),
            self.hard[grid],
            self.soft[grid],
        )


def read_annotations(folder: str | os.PathLike[str]) -> Annotations:
    """Read the four text files of the data set.

    Parameters
    ----------
    folder : path-like
        Folder that holds them.

    Returns
    -------
    Annotations

    Raises
    ------
    Cal500Error
        If a file is missing, empty or no text, a name is repeated or is no file name, the
        matrices' shapes do not fit the lists, or an annotation is out of range.
    """
    folder = Path(folder)
    songs = _read_names(folder / _SONGS)
    tags = _read_names(folder / _TAGS)
    for song in songs:
        if Path(song).name != song:
            raise Cal500Error(f"{folder / _SONGS}: {song!r} cannot be the name of a file")
    shape = (len(songs), len(tags))
    hard = _read_matrix(folder / _HARD, shape)
    if not np.isin(hard, (0, 1)).all():
        raise Cal500Error(f"{folder / _HARD}: holds values other than 0 and 1")
    soft = _read_matrix(folder / _SOFT, shape)
    if not ((soft >= 0) & (soft <= 1)).all():
        raise Cal500Error(f"{folder / _SOFT}: holds values outside 0 to 1")
    return Annotations(songs, tags, hard.astype(bool), soft)


def write_annotations(folder: str | os.PathLike[str], annotations: Annotations) -> None:
    """Write the four text files that :func:`read_annotations` reads."""
    folder = Path(folder)
    for name, lines in (
        (_SONGS, annotations.songs),
        (_TAGS, annotations.tags),
        (_HARD, (",".join(str(int(value)) for value in row) for row in annotations.hard)),
        (_SOFT, (",".join(f"{value:g}" for value in row) for row in annotations.soft)),
    ):
        with atomic_path(folder / name) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def modelled_tags(annotations: Annotations) -> tuple[str, ...]:
    """Tags that get a model: all but ``Genre-Best…`` and ``…-Solo`` (149 of the published 174)."""
    return tuple(
        tag
        for tag in annotations.tags
        if not tag.startswith("Genre-Best") and not tag.endswith("-Solo")
    )


def scored_tags(annotations: Annotations, min_songs: int = 30) -> tuple[str, ...]:
    """Modelled tags that enter the scores: those with enough songs (97 of the published 149).

    Parameters
    ----------
    annotations : Annotations
        Of the songs that are at hand: with fewer songs fewer tags can be scored.
    min_songs : int, default 30
        Songs that a tag must have (NIPS 2012, Table 3).

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        If no tag has so many songs.
    """
    modelled = modelled_tags(annotations)
    counts = annotations.select(tags=modelled).hard.sum(axis=0)
    scored = tuple(tag for tag, count in zip(modelled, counts, strict=True) if count >= min_songs)
    if not scored:
        raise ValueError(
            f"min_songs: no tag has {min_songs} of the {len(annotations.songs)} songs, "
            f"the most frequent has {counts.max(initial=0)}"
        )
    return scored


def check_published_counts(annotations: Annotations) -> None:
    """Check that annotations have the published size and that the rule gives the papers' numbers.

    Raises
    ------
    Cal500Error
        If a number differs from :data:`PUBLISHED_COUNTS`; the message tells each.
    """
    found = {
        "songs": len(annotations.songs),
        "tags": len(annotations.tags),
        "modelled tags": len(modelled_tags(annotations)),
        "scored tags": len(scored_tags(annotations)),
    }
    wrong = [
        f"{found[name]} {name} where the published files have {count}"
        for name, count in PUBLISHED_COUNTS.items()
        if found[name] != count
    ]
    if wrong:
        raise Cal500Error("annotations of CAL500: " + ", ".join(wrong))


def _positions(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    where = {name: index for index, name in enumerate(names)}
    return [where[name] for name in wanted]


def _read_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Cal500Error(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise Cal500Error(f"{path}: is no text in UTF-8 ({error.reason})") from None
    if not text.strip():
        raise Cal500Error(f"{path}: is empty")
    return text


def _read_names(path: Path) -> tuple[str, ...]:
    names = [line.strip() for line in _read_text(path).splitlines() if line.strip()]
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(unicodedata.normalize("NFC", name), name)
        if other is not name:
            form = "" if other == name else ", in two Unicode forms of its accents"
            raise Cal500Error(f"{path}: {name!r} stands there twice{form}")
    return tuple(names)


def _read_matrix(path: Path, shape: tuple[int, int]) -> Floats:
    lines = [line for line in _read_text(path).splitlines() if line.strip()]
    if len(lines) != shape[0]:
        raise Cal500Error(f"{path}: has {len(lines)} rows, {_SONGS} names {shape[0]} songs")
    matrix = np.empty(shape)
    for number, line in enumerate(lines):
        fields = line.split(",")
        if len(fields) != shape[1]:
            raise Cal500Error(
                f"{path}: row {number + 1} has {len(fields)} values, {_TAGS} lists {shape[1]} tags"
            )
        try:
            matrix[number] = [float(field) for field in fields]
        except ValueError as error:
            raise Cal500Error(f"{path}: row {number + 1}: {error}") from None
    return matrix
