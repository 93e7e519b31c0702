"""What is known about each published data set before any of its files is at hand.

``resources/datasets.csv`` has one row an archive: where it was published, its size and checksum as
far as they are known, terms and citation. ``resources/checksums/<dataset>.sha256`` has one line a
file inside the archives. A :class:`DataSet` adds what only code can say: which files are items of
the data set, how to tell a damaged one, and the generator of its synthetic stand-in.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "RESOURCES",
    "Archive",
    "DataSet",
    "DataSetError",
    "Published",
    "read_checksums",
    "read_published",
]

RESOURCES = Path(__file__).resolve().parents[3] / "resources"
"""Folder of the tables that belong to the repository."""

_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


class DataSetError(ValueError):
    """The raw files of a data set are not as they must be."""


@dataclass(frozen=True)
class DataSet:
    """Layout of a data set and the generator of its synthetic stand-in.

    Parameters
    ----------
    name : str
        Name in the configuration and of its folders.
    items : str
        What its files are called in plural, "images".
    identify : callable
        Maps a file's path inside the data set to ``(id, label)``, or to ``None`` for a file that
        is no item (a read-me, a thumbnail cache).
    fault_of : callable
        Maps the path of a file on disk to what is wrong with it, or to ``None``.
    generate : callable
        ``generate(folder, seed=..., n_jobs=..., **sizes)`` writes the stand-in.
    generator_version : int
        Raised whenever the generator's output changes.
    sizes : mapping
        Sizes that ``generate`` takes, with their defaults.
    max_archive_bytes : int
        Unpacked size beyond which one archive is refused.
    """

    name: str
    items: str
    identify: Callable[[str], tuple[str, str] | None]
    fault_of: Callable[[Path], str | None]
    generate: Callable[..., None]
    generator_version: int
    sizes: Mapping[str, int]
    max_archive_bytes: int


@dataclass(frozen=True)
class Archive:
    """One published archive."""

    file: str
    urls: tuple[str, ...]
    checksum: str
    """``md5:...`` or ``sha256:...`` of the complete archive, or empty where none is published."""


@dataclass(frozen=True)
class Published:
    """Title and archives of a published data set."""

    title: str
    archives: tuple[Archive, ...]


def read_published(name: str) -> Published:
    """Read a data set's rows of ``resources/datasets.csv``.

    Raises
    ------
    ValueError
        If the table has no row of that name, or its rows disagree on the title.
    """
    path = RESOURCES / "datasets.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == name]
    titles = {row["title"] for row in rows}
    if len(titles) != 1:
        raise ValueError(f"{path.name}: {len(titles)} titles of {name}, expected 1")
    archives = tuple(
        Archive(
            file=row["file"],
            urls=tuple(url for url in (row["url"], row["mirror"]) if url),
            checksum=row["checksum"],
        )
        for row in rows
    )
    return Published(titles.pop(), archives)


def read_checksums(name: str) -> dict[str, str]:
    """Read the SHA-256 sums of a data set's files, in the format of ``sha256sum``.

    Returns
    -------
    dict
        From the file's path inside the data set, with slashes, to its sum.
    """
    path = RESOURCES / "checksums" / f"{name}.sha256"
    sums = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _CHECKSUM_LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{path.name}, line {number}: expected '<sha256>  <file>': {line!r}")
        sums[match[2]] = match[1]
    return sums
