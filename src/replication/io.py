"""Files that are either whole or absent, and logs that hold everything.

Every artefact of a run is written through this module, so that a kill at any moment leaves
either the old file, the new file or no file, never half of one. What is written into a run leaves
its digest there, and a job checks those of its inputs, see :mod:`replication.digests`.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from replication.digests import (
    AlteredFileError,
    check_digests,
    leave_digest,
    partial_folder,
    sha256_of,
)

__all__ = [
    "METRIC_COLUMNS",
    "AlteredFileError",
    "atomic_folder",
    "atomic_path",
    "log_to",
    "read_json",
    "read_metrics",
    "save_array",
    "save_arrays",
    "set_aside",
    "sha256_of",
    "start_job",
    "swap_in",
    "write_json",
    "write_table",
]

#: Columns of every file in ``metrics/``. ``item`` is a level, tag, class, component or empty.
METRIC_COLUMNS = (
    "experiment",
    "dataset",
    "origin",
    "method",
    "variant",
    "item",
    "repeat",
    "fold",
    "metric",
    "value",
    "seed",
)


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that becomes ``path`` only if the block succeeds.

    The temporary file stands on the file system of ``path``, so that the final rename is atomic:
    in the ``.partial`` of a folder above that has one, which the next run empties, or beside
    ``path``. It keeps the suffix of ``path`` because many writers choose their format by it.
    Missing folders are created.

    Parameters
    ----------
    path : path-like
        Where the finished file shall stand.

    Yields
    ------
    pathlib.Path
        Path of an existing empty file to be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "deep" / "a.txt"
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=partial_folder(path), prefix=".", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; a result is as readable as any file the user makes.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        record = leave_digest(path, temporary)
        temporary.replace(path)
        if record is not None:
            record.touch()
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path, without: Collection[str] = ()) -> Iterator[Path]:
    """Yield a copy of a folder that takes the folder's place only if the block succeeds.

    Parameters
    ----------
    path : pathlib.Path
        The folder; there need not be one yet.
    without : collection of str
        Entries of it that are not copied.

    Yields
    ------
    pathlib.Path
        Folder beside it. One that a kill has left is thrown away.
    """
    path = path.resolve()
    copy, old = (path.with_name(f".{path.name}.{each}") for each in ("new", "old"))
    if old.exists() and not path.exists():
        # The last call was killed where a folder is replaced in two steps.
        old.rename(path)
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    try:
        if path.exists():
            shutil.copytree(
                path,
                copy,
                symlinks=True,
                dirs_exist_ok=True,
                ignore=lambda folder, _: without if Path(folder) == path else (),
            )
        yield copy
        swap_in(copy, path)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def swap_in(new: Path, final: Path) -> None:
    """Let a finished folder take the place of another one at once; the old one is thrown away.

    Where the file system cannot exchange two names, a kill may leave the old folder as
    ``.<name>.old`` and none in its place.
    """
    old = final.with_name(f".{final.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if final.exists() and _exchange(new, final):
        new.rename(old)
    else:
        if final.exists():
            final.rename(old)
        new.rename(final)
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names by Linux's ``renameat2``; say whether that was possible."""
    here, exchange = -100, 2
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def set_aside(path: str | os.PathLike[str]) -> Path:
    """Give a broken file a name under which nothing looks for it, and return that name."""
    path = Path(path)
    for number in itertools.count(1):
        aside = path.with_name(f"{path.name}.broken{number if number > 1 else ''}")
        if not aside.exists():
            break
    return path.rename(aside)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file written by :func:`write_json`."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write ``content`` as indented JSON with sorted keys, atomically."""
    with atomic_path(path) as temporary:
        text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def log_to(path: str | os.PathLike[str]) -> None:
    """Send everything that this process and its children print to a log file, for good.

    Snakemake names a log for each ``script:`` job but does not fill it. A job is a process of its
    own, so the redirection lasts until it ends and a traceback lands in the log too. It is done
    on the file descriptors: compiled code and worker processes write there as well.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    with path.open("wb", buffering=0) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)


def start_job(job: Any) -> None:
    """Begin a job: its output goes to its log, and its inputs are what their writers left.

    Parameters
    ----------
    job : snakemake.script.Snakemake
        What a script knows as ``snakemake``.

    Raises
    ------
    SystemExit
        With a line in the log that names the first input that is cut, altered or exchanged.
    """
    log_to(job.log[0])
    # A script that is run without Snakemake, in a test, is handed a plain namespace.
    inputs = job.input if isinstance(job.input, Iterable) else vars(job.input).values()
    try:
        check_digests(path for each in inputs for path in ([each] if _is_path(each) else each))
    except AlteredFileError as error:
        raise SystemExit(
            f"{error}; `make reproduce` moves it away and makes it again (or delete it, if "
            "Snakemake was started by hand)"
        ) from None


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def save_array(path: str | os.PathLike[str], array: npt.NDArray[Any]) -> None:
    """Write one array as ``.npy``, atomically; it can be memory-mapped when read."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def save_arrays(path: str | os.PathLike[str], **arrays: npt.NDArray[Any]) -> None:
    """Write named arrays as compressed ``.npz``, atomically; equal arrays give equal bytes."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def read_metrics(paths: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """Read and join tables of scores; what a row leaves empty stays the empty string.

    A run without experiments, or variants, has no scores: an empty table with the columns of one.
    """
    tables = [pd.read_csv(path, keep_default_na=False) for path in paths]
    # The columns of an empty table have no type of their own, and would take it from others.
    tables = [table for table in tables if not table.empty]
    if not tables:
        return pd.DataFrame(columns=list(METRIC_COLUMNS))
    return pd.concat(tables, ignore_index=True)


def write_table(path: str | os.PathLike[str], table: pd.DataFrame) -> None:
    """Write a table as CSV, atomically, with twelve significant digits and LF line ends.

    Twelve digits are more than any result here is good for, and hide the last bits in which
    processors differ.
    """
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, float_format="%.12g", lineterminator="\n")
