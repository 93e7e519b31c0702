"""The list of a data set's files in a run, and the record of how its raw folder came about.

The manifest is one tidy CSV: a row a file, whether it is used, missing or skipped. Paths are
relative to the raw folder and sorted, so that the bytes do not depend on where the folders stand.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from replication.data.catalog import DataSet
from replication.digests import PARTIAL, check_sums, empty_partial
from replication.io import atomic_path, read_json, sha256_of, swap_in, write_json

__all__ = [
    "COLUMNS",
    "Prepared",
    "RawFolder",
    "Request",
    "build_table",
    "groups_of",
    "raw_files",
    "read_manifest",
    "some_of",
    "standing",
    "write_manifest",
]

_SHOWN = 5

COLUMNS = ("id", "label", "file", "sha256", "origin", "check", "status", "note")
"""Columns of a manifest; all of them are text.

``origin``: real | synthetic. ``check``: listed (stands in the checksum list; if used, it matches) |
unlisted. ``status``: used | missing | skipped (damaged, see ``note``). The ``note`` of a used file
names the first one of the same content, if there is one.
"""


@dataclass(frozen=True)
class Request:
    """What :func:`replication.data.sources.prepare` was asked for; see there."""

    dataset: DataSet
    raw: Path
    archives: Path | None
    allow_subset: bool
    skip_bad_files: bool
    sizes: Mapping[str, int]
    seed: int
    n_jobs: int | None
    recordings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A data set whose raw files stand ready.

    Parameters
    ----------
    dataset, title, items : str
        Name, title, and what its files are called in plural.
    counted, beside : str
        What its coverage counts, and the label of the files that it does not count, see
        :class:`replication.data.catalog.DataSet`.
    source, origin : str
        The configured source; ``real`` or ``synthetic``.
    table : pandas.DataFrame
        Columns :data:`COLUMNS`, sorted by ``file``.
    archives : mapping
        From the name of each published archive to what is known of the copy used.
    ignored : tuple of str
        Files in the archives that are no items of the data set.
    """

    dataset: str
    title: str
    items: str
    counted: str
    beside: str
    source: str
    origin: str
    table: pd.DataFrame
    archives: Mapping[str, str]
    ignored: tuple[str, ...]

    @property
    def manifest(self) -> pd.DataFrame:
        """The files that are used."""
        return self._with("used")

    @property
    def missing(self) -> tuple[str, ...]:
        """Published files that are not at hand."""
        return tuple(self._with("missing")["file"])

    @property
    def skipped(self) -> dict[str, str]:
        """Damaged files that are left out, and what is wrong with them."""
        rows = self._with("skipped")
        return dict(zip(rows["file"], rows["note"], strict=True))

    @property
    def copies(self) -> dict[str, str]:
        """Used files that equal another one, and what their note says of it."""
        rows = self.manifest[self.manifest["note"] != ""]
        return dict(zip(rows["file"], rows["note"], strict=True))

    def _with(self, status: str) -> pd.DataFrame:
        return self.table[self.table["status"] == status].reset_index(drop=True)

    def describe(self) -> str:
        """Say how much of the data set is used, as in "500 of 1,000 images"."""
        table = self.table[self.table["label"] != self.beside]
        used = table[table["status"] == "used"]
        text = f"{len(used):,} of {len(table):,} {self.counted}"
        if len(used) == len(table):
            text = f"{len(used):,} {self.counted}"
        extra = int((used["check"] == "unlisted").sum()) if self.origin == "real" else 0
        return f"{text} ({extra:,} without a published checksum)" if extra else text

    def remarks(self) -> list[str]:
        """Say in a line each which files are left out as no items, and which are copies."""
        found = []
        if self.ignored:
            found.append(f"left out as no {self.items} ({len(self.ignored):,}): ")
            found[-1] += some_of(self.ignored)
        if self.copies:
            found.append(f"copies, which folds do not part ({len(self.copies):,}): ")
            found[-1] += some_of([f"{file} is {note}" for file, note in self.copies.items()])
        return [f"{self.dataset}: {remark}" for remark in found]

    def summary(self) -> dict[str, Any]:
        """Return what figures and the record of a run say about the data, ready for JSON."""
        return {
            "dataset": self.dataset,
            "title": self.title,
            "source": self.source,
            "origin": self.origin,
            "coverage": self.describe(),
            "used": len(self.manifest),
            "missing": len(self.missing),
            "skipped": self.skipped,
            "copies": self.copies,
            "ignored": list(self.ignored),
            "archives": dict(self.archives),
        }


def some_of(names: Sequence[str]) -> str:
    """Name the first few of many."""
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def build_table(
    dataset: DataSet,
    origin: str,
    *,
    used: Mapping[str, str],
    skipped: Mapping[str, tuple[str, str]] | None = None,
    listed: Iterable[str] = (),
    expected: Iterable[str] = (),
) -> pd.DataFrame:
    """Build the table of a manifest.

    Parameters
    ----------
    dataset : DataSet
    origin : str
        ``real`` or ``synthetic``.
    used : mapping
        From file to SHA-256 sum.
    skipped : mapping, optional
        From file to the sum and fault of a damaged one.
    listed : iterable of str
        All files of the published list; those neither used nor skipped are missing.
    expected : iterable of str
        Files that the data set knows of without a published checksum; likewise.
    """
    skipped = skipped or {}
    listed = set(listed)
    rows = []
    firsts: dict[str, str] = {}
    for file in sorted({*used, *skipped, *listed, *expected}):
        identified = dataset.identify(file)
        if identified is None:
            raise ValueError(f"{dataset.name}: {file} does not follow the published layout")
        if file in used:
            sha256, status = used[file], "used"
            first = firsts.setdefault(sha256, file)
            note = "" if first == file else f"equal to {first}"
        elif file in skipped:
            (sha256, note), status = skipped[file], "skipped"
        else:
            sha256, status, note = "", "missing", ""
        check = "listed" if file in listed else "unlisted"
        rows.append((*identified, file, sha256, origin, check, status, note))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    repeated = table.loc[table["id"].duplicated(keep=False), "file"]
    if len(repeated):
        raise ValueError(f"{dataset.name}: files share one id: {', '.join(repeated)}")
    return table


def standing(folder: Path, sums: Mapping[str, str]) -> dict[str, str]:
    """Return those of the files that stand in the folder with the right content."""
    return {
        file: sha256
        for file, sha256 in sums.items()
        if (folder / file).is_file() and sha256_of(folder / file) == sha256
    }


def write_manifest(path: str | os.PathLike[str], prepared: Prepared) -> None:
    """Write the manifest with all its rows as CSV, atomically."""
    with atomic_path(path) as temporary:
        prepared.table.to_csv(temporary, index=False, lineterminator="\n")


def read_manifest(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the files that a run uses, or those of them that an experiment has selected.

    Returns
    -------
    pandas.DataFrame
        The rows of status ``used`` in their order, columns :data:`COLUMNS`, and ``group`` if an
        experiment has found out which files are copies of one original.

    Raises
    ------
    ValueError
        If the file is no manifest or uses no file.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(table.columns) not in (COLUMNS, (*COLUMNS, "group")):
        raise ValueError(
            f"{path}: expected columns {', '.join(COLUMNS)}, got {list(table.columns)}"
        )
    used = table[table["status"] == "used"].reset_index(drop=True)
    if used.empty:
        raise ValueError(f"{path}: the manifest uses no file")
    return used


def raw_files(manifest: pd.DataFrame, raw: str | os.PathLike[str]) -> list[Path]:
    """Give the paths of a manifest's files; each still is what it was when it was prepared.

    Parameters
    ----------
    manifest : pandas.DataFrame
        Rows as :func:`read_manifest` returns them.
    raw : path-like
        Folder that the files are relative to.

    Raises
    ------
    AlteredFileError
        If a file is missing, or has another SHA-256 than the manifest says.
    """
    check_sums(Path(raw), dict(zip(manifest["file"], manifest["sha256"], strict=True)))
    return [Path(raw, file) for file in manifest["file"]]


def groups_of(manifest: pd.DataFrame) -> npt.NDArray[np.int_] | None:
    """Give the group of each file that a protocol must not take apart.

    Files of equal content are in one group, and so are those that an experiment has found to be
    copies of one original.

    Parameters
    ----------
    manifest : pandas.DataFrame
        As :func:`read_manifest` returns it.

    Returns
    -------
    ndarray of int, shape (n,), or None
        The position of the group's first file; ``None`` if all files may be separated.
    """
    if "group" not in manifest and manifest["sha256"].is_unique:
        return None
    files = np.arange(len(manifest))
    keys = [manifest[key] for key in ("sha256", "group") if key in manifest]
    firsts = [np.unique(key, return_index=True, return_inverse=True)[1:] for key in keys]
    ends = np.concatenate([first[key] for first, key in firsts])
    # Not on top: most jobs read a manifest, few ask for groups.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(ends)), (np.tile(files, len(keys)), ends)), (len(files),) * 2)
    _, component = connected_components(links, directed=False)
    _, first = np.unique(component, return_index=True)
    groups: npt.NDArray[np.int_] = first[component]
    return groups


class RawFolder:
    """A folder of raw files that all come from one source with the same parameters.

    The folder holds a record of its source. Files of another source or of other parameters never
    mix with it: the new ones are made in a folder beside it, which takes its place once complete.
    An interrupted run finds its files where it left them.

    Parameters
    ----------
    path : path-like
        Where the raw files shall stand.
    identity : mapping
        Source and parameters, ready for JSON.

    Raises
    ------
    ValueError
        If ``path`` is a file or a folder with files but without a record, which is not ours.
    """

    _RECORD = ".source.json"

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
        self._final = Path(path)
        self._identity = dict(identity)
        self._beside = self._final.with_name(f".{self._final.name}.new")
        self.path = self._final
        if not self._matches(self._final):
            self._begin()
        empty_partial(self.path)

    def _begin(self) -> None:
        """Choose the folder for files that are not there yet, and empty it."""
        if self._is_foreign(self._final):
            raise ValueError(
                f"{self._final} holds files but no record of their source, so they may be "
                "someone's own: move them away, or name another folder"
            )
        if self._record_of(self._final) is not None or self._matches(self._beside):
            self.path = self._beside
        if not self._matches(self.path):
            self.clear()

    def _record_of(self, folder: Path) -> dict[str, Any] | None:
        path = folder / self._RECORD
        if not path.is_file():
            return None
        try:
            record = read_json(path)
            if isinstance(record["state"], dict) and "identity" in record:
                return dict(record)
        except (ValueError, TypeError, KeyError):
            pass
        # As a power cut leaves it. Nothing is known of the files, so each is checked or made again.
        print(f"{path}: the record of the files' source was broken and is written anew")
        record = {"identity": self._identity, "state": {}}
        write_json(path, record)
        return record

    def clear(self) -> None:
        """Throw all files away."""
        if self.path.exists():
            shutil.rmtree(self.path)
        self.save({})
        empty_partial(self.path)

    def _matches(self, folder: Path) -> bool:
        record = self._record_of(folder)
        return record is not None and record["identity"] == self._identity

    def _is_foreign(self, folder: Path) -> bool:
        if not folder.exists():
            return False
        # Names with a dot are what a run that was killed at the very start leaves.
        return not folder.is_dir() or (
            self._record_of(folder) is None
            and any(not entry.name.startswith(".") for entry in folder.iterdir())
        )

    def load(self) -> dict[str, Any]:
        """Return what was last saved."""
        record = self._record_of(self.path)
        return {} if record is None else record["state"]

    def save(self, state: Mapping[str, Any]) -> None:
        """Remember something about the files for the next run."""
        write_json(self.path / self._RECORD, {"identity": self._identity, "state": state})

    def finish(self) -> None:
        """Let the files take the place of those of another source, if there were any."""
        if self.path != self._final:
            swap_in(self.path, self._final)
            self.path = self._final
        for leftover in (self._beside, self._final / PARTIAL):
            shutil.rmtree(leftover, ignore_errors=True)
