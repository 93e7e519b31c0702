"""What is known about each published data set before any of its files is at hand.

``resources/datasets.csv`` has one row an archive: where it was published, its size and checksum as
far as they are known, terms and citation. ``resources/checksums/<dataset>.sha256`` has one line a
file inside the archives. A :class:`DataSet` adds what only code can say: which files are items of
the data set and how to tell a damaged one. It is the ``DATASET`` of the module that
:data:`replication.registry.DATASETS` names, which :func:`dataset_of` imports.

Columns of ``datasets.csv`` that need a word:

- ``way``: rows of one value belong together; each value is another way to the whole data set, in
  the order in which they are tried. :data:`BY_HAND` marks what is never fetched.
- ``file``: name in the folder of archives. With a slash at its end it stands for single files: all
  of the data set below that folder, published below ``url`` likewise.
- ``mirror``: further addresses, separated by blanks.
- ``bytes``: a size to plan with, not to check by.
- ``certificate``: ``invalid`` if the HTTPS addresses of the row have one that nobody vouches for.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replication.registry import DATASETS, RESOURCES

__all__ = [
    "BY_HAND",
    "Archive",
    "DataSet",
    "DataSetError",
    "Published",
    "Way",
    "as_published",
    "dataset_of",
    "place_of",
    "read_checksums",
    "read_published",
]

BY_HAND = "by hand"
"""The way of archives that users must get for themselves."""

_TEXT_SUFFIXES = (".amc", ".asf", ".txt")
_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


class DataSetError(ValueError):
    """The raw files of a data set are not as they must be."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Layout of a data set.

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
    counted : str, optional
        What its coverage counts, "sequences"; by default the files.
    beside : str, optional
        Label of files that only belong to others, as skeletons: coverage does not count them.
    max_archive_bytes : int
        Unpacked size beyond which one archive is refused.
    unlisted_files : callable
        Names the files of the data set that its checksum list does not hold.
    from_archives : callable, optional
        Makes raw files of what lies in the folder of archives, where that is not to be unpacked:
        maps a :class:`replication.data.manifest.Request` to a ``Prepared``.
    """

    name: str
    items: str
    identify: Callable[[str], tuple[str, str] | None]
    fault_of: Callable[[Path], str | None]
    max_archive_bytes: int
    counted: str = ""
    beside: str = ""
    unlisted_files: Callable[[], Collection[str]] = tuple
    from_archives: Callable[[Any], Any] | None = None

    def files(self) -> list[str]:
        """Name all files of the data set, as far as they are known before one is at hand."""
        return sorted({*read_checksums(self.name), *self.unlisted_files()})


def dataset_of(name: str) -> DataSet:
    """Import the description of a data set.

    Raises
    ------
    KeyError
        If :data:`replication.registry.DATASETS` names no such data set.
    """
    dataset: DataSet = importlib.import_module(DATASETS[name]).DATASET
    return dataset


def place_of(dataset: DataSet, member: str) -> str | None:
    """Find the published path of a file that an archive or a folder holds.

    People pack data sets anew with folders around them; the layout below is the published one.

    Returns
    -------
    str or None
        The shortest cut of leading folders that gives an item, or ``None`` for no item.
    """
    parts = member.split("/")
    # Attributes of files, waste baskets and the like, under the files' own names.
    if any(part == "__MACOSX" or re.match(r"\.[^.]", part) for part in parts[:-1]):
        return None
    ends = ("/".join(parts[depth:]) for depth in range(len(parts)))
    return next((end for end in ends if dataset.identify(end) is not None), None)


@dataclass(frozen=True)
class Archive:
    """One published archive, or a published folder of single files."""

    file: str
    urls: tuple[str, ...]
    checksum: str
    """``md5:...`` or ``sha256:...`` of the complete archive, or empty where none is published."""
    n_bytes: int | None
    """About so large, if known."""
    licence: str
    citation: str
    invalid_certificate: bool

    @property
    def is_folder(self) -> bool:
        """Whether it stands for single files."""
        return self.file.endswith("/")


@dataclass(frozen=True)
class Way:
    """Archives that together hold a data set."""

    name: str
    archives: tuple[Archive, ...]


@dataclass(frozen=True)
class Published:
    """Title of a published data set, the ways to it, and what must be got by hand."""

    title: str
    ways: tuple[Way, ...]
    by_hand: tuple[Archive, ...]

    @property
    def archives(self) -> tuple[Archive, ...]:
        """Archives of all ways, without folders."""
        return tuple(a for way in self.ways for a in way.archives if not a.is_folder)


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
    ways: dict[str, list[Archive]] = {}
    for row in rows:
        ways.setdefault(row.get("way") or "", []).append(_archive(row))
    by_hand = tuple(ways.pop(BY_HAND, ()))
    return Published(
        titles.pop(),
        tuple(Way(name, tuple(archives)) for name, archives in ways.items()),
        by_hand,
    )


def _archive(row: Mapping[str, str]) -> Archive:
    return Archive(
        file=row["file"],
        urls=tuple(f"{row['url']} {row['mirror']}".split()),
        checksum=row["checksum"],
        n_bytes=int(row["bytes"]) if row["bytes"] else None,
        licence=row["licence"],
        citation=row["citation"],
        invalid_certificate=row.get("certificate") == "invalid",
    )


def read_checksums(name: str) -> dict[str, str]:
    """Read the SHA-256 sums of a data set's files, in the format of ``sha256sum``.

    Returns
    -------
    dict
        From the file's path inside the data set, with slashes, to its sum.
    """
    path = RESOURCES / "checksums" / f"{name}.sha256"
    sums = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        match = _CHECKSUM_LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"{path.name}, line {number}: expected '<sha256>  <file>': {line!r}")
        sums[match[2]] = match[1]
    return sums


def as_published(content: bytes, file: str, listed: Mapping[str, str]) -> bytes | None:
    """Return a file's content with the published sum, or None if it is another or not listed.

    Programs that copy files change the line ends of texts; what a text says is in its lines, so
    that one is put back into the line ends with which it has its sum.

    Parameters
    ----------
    content : bytes
        What lies here under the file's name.
    file : str
        Path inside the data set.
    listed : mapping
        SHA-256 sums, as :func:`read_checksums` returns them.
    """
    variants = [content]
    if file.lower().endswith(_TEXT_SUFFIXES):
        lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        variants += [lines, lines.replace(b"\n", b"\r\n")]
    return next((v for v in variants if hashlib.sha256(v).hexdigest() == listed.get(file)), None)
