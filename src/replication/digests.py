"""Digests of a run's files: a job reads what the file's writer left, or says that it does not.

A folder that keeps digests, ``results/<run>``, holds two hidden folders. ``.digests/`` has a small
record for each file that :func:`replication.io.atomic_path` wrote, under the file's own relative
path: SHA-256, size and time. ``.partial/`` holds what is being written. The order at each file is

1. write ``.partial/<random name>`` and take its digest,
2. put the record in place,
3. rename the file to its name,

so that a kill leaves the old file, the new one, or no file beside the new record; the first is
what Snakemake deletes and makes again. A file without a record was not written by a job and is
refused; when a folder begins to keep digests, what stands there by then is taken as it is.

A job hashes all its inputs (:func:`check_digests`). At the start of a run :func:`mend` looks for
files that are not what was written, by size and times first: a file that has not been touched since
its record was confirmed is not read.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = [
    "PARTIAL",
    "AlteredFileError",
    "Digest",
    "check_digests",
    "check_sums",
    "empty_partial",
    "find_altered",
    "keep_digests",
    "known_digests",
    "leave_digest",
    "mend",
    "partial_folder",
    "sha256_of",
]

PARTIAL = ".partial"
_DIGESTS, _SET_ASIDE = ".digests", "set_aside"
#: What jobs and reports write past :func:`replication.io.atomic_path`: nothing reads it.
_WITHOUT_DIGEST = ("logs", "report.html", "report-public.html", _SET_ASIDE)


class AlteredFileError(ValueError):
    """A file is not what its writer left; ``path`` names it and ``fault`` says in which way."""

    def __init__(self, path: str | os.PathLike[str], fault: str) -> None:
        # Both reach Exception, so that the error survives the way from a worker process.
        super().__init__(os.fspath(path), fault)
        self.path, self.fault = Path(path), fault

    def __str__(self) -> str:
        return f"{self.path}: {self.fault}"


@dataclass(frozen=True)
class Digest:
    """What is known of a file.

    Parameters
    ----------
    sha256 : str
        Of its bytes, hexadecimal.
    size : int
        In bytes.
    mtime_ns : int
        Time of its last change, as the operating system gives it.
    """

    sha256: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> Digest:
        """Read a file and take its digest."""
        status = path.stat()
        return cls(sha256_of(path), status.st_size, status.st_mtime_ns)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes as lower-case hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def partial_folder(path: Path) -> Path:
    """Return the folder where a file is written until it is whole.

    ``.partial`` of the nearest folder above that has one, if it lies on the same file system, so
    that the final rename is atomic; otherwise the file's own folder.
    """
    top = _nearest(path, PARTIAL)
    if top is None or (top / PARTIAL).stat().st_dev != path.parent.stat().st_dev:
        return path.parent
    return top / PARTIAL


def empty_partial(folder: Path) -> None:
    """Throw away what a kill has left half-written; from now on ``folder`` has a ``.partial``.

    To be called by whoever is alone at work in the folder.
    """
    if (folder / PARTIAL).is_file():
        (folder / PARTIAL).unlink()
    shutil.rmtree(folder / PARTIAL, ignore_errors=True)
    (folder / PARTIAL).mkdir(parents=True, exist_ok=True)


def leave_digest(path: Path, written: Path) -> Path | None:
    """Record the digest of a file that is about to be renamed to ``path``.

    Returns
    -------
    pathlib.Path or None
        The record; to be touched when the file is in place. ``None`` outside a folder that keeps
        digests.
    """
    record = _record_of(path)
    if record is not None:
        _write(record, Digest.of(written))
    return record


def check_digests(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Check that files are byte for byte what their writers left.

    Parameters
    ----------
    paths : iterable of path-like
        Files outside a folder that keeps digests, such as sources, are not looked at.

    Raises
    ------
    AlteredFileError
        For the first that is missing, cut, altered, exchanged, or was not written by a job.
    """
    for path in map(Path, paths):
        record = _record_of(path)
        if record is not None and (fault := _fault_of(path, record)):
            raise AlteredFileError(path, fault)


def check_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Check files against SHA-256 sums that somebody else keeps, such as a manifest.

    Parameters
    ----------
    folder : pathlib.Path
    sums : mapping of str to str
        From the path of a file in the folder to its sum.

    Raises
    ------
    AlteredFileError
        For the first that is missing or differs.
    """
    for file, sha256 in sums.items():
        path = folder / file
        if not path.is_file():
            raise AlteredFileError(path, "is missing")
        if (found := sha256_of(path)) != sha256:
            raise AlteredFileError(
                path,
                f"is not the file that was checked: SHA-256 {found[:12]}..., not {sha256[:12]}...",
            )


def keep_digests(folder: Path) -> None:
    """Let a folder keep digests from now on; files that stand there already get theirs.

    A folder that keeps them is left alone.
    """
    if (folder / _DIGESTS).is_dir():
        return
    empty_partial(folder)
    # Under another name until it is complete: half of the records would refuse the other half.
    records = folder / PARTIAL / _DIGESTS
    records.mkdir()
    for path in _results_in(folder):
        place = records / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(asdict(Digest.of(path))), encoding="utf-8")
    # A file of this name holds no records.
    (folder / _DIGESTS).unlink(missing_ok=True)
    records.rename(folder / _DIGESTS)


def known_digests(folder: Path) -> dict[Path, Digest | None]:
    """Return what is on record of the files of a folder; ``None`` where a record is unreadable."""
    records = folder / _DIGESTS
    return {
        folder / record.relative_to(records): _read(record)
        for record in sorted(records.rglob("*"))
        if record.is_file()
    }


def mend(run: Path, raw: Path, make_again: Callable[[list[str]], int]) -> int:
    """Begin a run in a folder where others may have been: throw away, set aside, make again.

    Results that are not what their jobs left go to ``<run>/set_aside/``, whence their owner may
    fetch what he has written into them. If a raw file is no longer the one in its manifest, the
    manifest goes, and the data are prepared again.

    Parameters
    ----------
    run, raw : pathlib.Path
        ``results/<run>`` and ``data/raw/<run>``.
    make_again : callable
        Makes the files of the given names; returns 0 if that went well.

    Returns
    -------
    int
        What ``make_again`` returned, or 0.
    """
    if not run.is_dir():
        return 0
    keep_digests(run)
    empty_partial(run)
    altered = find_altered(run, raw, confirm=True)
    for path, fault in altered:
        place = run / _SET_ASIDE / path.relative_to(run)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
        print(f"{path} {fault}: moved to {run / _SET_ASIDE}/, made again", flush=True)
    known = known_digests(run)
    # Of a file without a record nobody knows whether it is a result.
    again = [str(path) for path, _ in altered if path in known]
    status = make_again(again) if again else 0
    _restore_times(run, known)
    return status


def find_altered(run: Path, raw: Path, *, confirm: bool = False) -> list[tuple[Path, str]]:
    """List the files that :func:`mend` moves away, and what is wrong; touch no result.

    Parameters
    ----------
    run, raw : pathlib.Path
        ``results/<run>`` and ``data/raw/<run>``.
    confirm : bool, default False
        Put on record that the other files have been read, so that the next call need not do so.
    """
    found = []
    # A file whose record was lost is among them: no job would ever read it.
    for path in dict.fromkeys([*known_digests(run), *_results_in(run)]):
        record = _record_of(path)
        if record is None or not path.is_file() or _is_confirmed(path, record):
            continue
        if fault := _fault_of(path, record):
            found.append((path, fault))
        elif confirm:
            _confirm(record, Digest.of(path))
    altered = {path for path, _ in found}
    for manifest in sorted((run / "data").glob("*.csv")):
        if manifest not in altered and (other := _altered_raw(manifest, raw / manifest.stem)):
            found.append((manifest, f"lists {other}, which was altered or lost since"))
    return found


def _restore_times(run: Path, known: Mapping[Path, Digest | None]) -> None:
    """Give files that were made again, byte for byte, the times that they had.

    Nothing that was made from them has to be made again then.
    """
    for path, now in known_digests(run).items():
        before, record = known.get(path), _record_of(path)
        if before is None or now is None or record is None or not path.is_file():
            continue
        if now != before and now.sha256 == before.sha256:
            os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
            _confirm(record, before)


def _nearest(path: Path, marker: str) -> Path | None:
    """Return the nearest folder above a path that holds a folder of this name."""
    above = path.absolute().parents
    return next((folder for folder in above if (folder / marker).is_dir()), None)


def _record_of(path: Path) -> Path | None:
    folder = _nearest(path, _DIGESTS)
    if folder is None:
        return None
    return folder / _DIGESTS / path.absolute().relative_to(folder)


def _results_in(folder: Path) -> Iterator[Path]:
    """Iterate over the files of a run that jobs have written."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in parts)
        if path.is_file() and not hidden and parts[0] not in _WITHOUT_DIGEST:
            yield path


def _read(record: Path) -> Digest | None:
    """Read a record; ``None`` if a power cut has left it empty, cut or full of zeros."""
    try:
        digest = Digest(**json.loads(record.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return None
    are_numbers = isinstance(digest.size, int) and isinstance(digest.mtime_ns, int)
    return digest if are_numbers and isinstance(digest.sha256, str) else None


def _write(record: Path, digest: Digest) -> None:
    record.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=partial_folder(record))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(digest), file)
    Path(name).replace(record)


def _confirm(record: Path, digest: Digest) -> None:
    _write(record, digest)
    record.touch()


def _is_confirmed(path: Path, record: Path) -> bool:
    """Say, without reading it, that a file has not been touched since its record was confirmed.

    Size and time of change can be set back; the time of the last change of either cannot, which
    also a copy of the folder renews.
    """
    known, status = _read(record) if record.is_file() else None, path.stat()
    return (
        known is not None
        and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns)
        and status.st_ctime_ns <= record.stat().st_mtime_ns
    )


def _fault_of(path: Path, record: Path) -> str | None:
    """Say what is wrong with a file, after reading it all."""
    if not path.is_file():
        return "is missing"
    if not record.is_file():
        return "has no digest, so no job of this run has written it"
    known = _read(record)
    if known is None:
        return "cannot be checked, since the record of its digest is broken"
    found = Digest.of(path)
    if found.size != known.size:
        return f"has {found.size:,} bytes where its job left {known.size:,}"
    return None if found.sha256 == known.sha256 else "was altered after its job had written it"


def _altered_raw(manifest: Path, raw: Path) -> str | None:
    """Name a file of a manifest that is not the listed one; files older than it are not read."""
    if not raw.is_dir():
        # Thrown away as a whole, which is anyone's right; whoever needs them will say so.
        return None
    prepared = manifest.stat().st_mtime_ns
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "used"]
    for row in rows:
        path = raw / row["file"]
        try:
            if path.stat().st_ctime_ns > prepared:
                check_sums(raw, {row["file"]: row["sha256"]})
        except (AlteredFileError, FileNotFoundError):
            return str(path)
    return None
