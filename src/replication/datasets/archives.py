"""Zip archives from strangers: checked as a whole before anything is written.

An archive is refused, with its name, if a member could end anywhere but in the destination
(absolute paths, ``..``, drive letters, back-slashes), is no regular file (links, devices), shares
its place with another member on any file system (duplicates, names that differ in case or Unicode
form only), is encrypted, or if there is too much of it: members, bytes, or bytes per compressed
byte. Headers can lie about sizes, so the bytes that really come out are counted as well.

:func:`from_archives` makes a data set of such archives. The unpacked files decide: one that stands
in the checksum list must match it, one that does not is accepted as unlisted if it is intact. An
archive may be a subset, so that its own checksum is only noted.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from replication.datasets.catalog import (
    Archive,
    DataSetError,
    read_checksums,
    read_published,
)
from replication.datasets.manifest import Prepared, RawFolder, Request, build_table, standing
from replication.io import sha256_of

__all__ = ["MAX_MEMBERS", "MAX_RATIO", "ArchiveError", "from_archives", "list_files", "unpack"]

MAX_MEMBERS = 50_000
"""An archive with more members is refused."""

MAX_RATIO = 200
"""So is one with a member that grows by more than this factor ..."""

_RATIO_FREE = 1 << 20  # ... unless it is this small: a blank page compresses well and harms nobody.
_CHUNK = 1 << 20
_ENCRYPTED = 0x1 | 0x40
_PARCEL = ".unpacking"  # inside the raw folder, so that moving a file out of it is renaming
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\:]")


class ArchiveError(ValueError):
    """An archive is corrupt or unsafe; the message begins with its name."""

    def __init__(self, path: str | os.PathLike[str], fault: str) -> None:
        super().__init__(f"{os.fspath(path)}: {fault}")


def list_files(path: str | os.PathLike[str], *, max_bytes: int) -> list[str]:
    """Check an archive's directory and return the names of its files.

    Parameters
    ----------
    path : path-like
        Zip archive.
    max_bytes : int
        Largest total size of its unpacked members.

    Returns
    -------
    list of str
        Paths of the files inside the archive, with slashes, in its order.

    Raises
    ------
    ArchiveError
        If it is no readable zip archive or breaks one of the rules above.
    """
    with _opened(path) as archive:
        return [info.filename for info in _checked_files(archive, path, max_bytes)]


def unpack(
    path: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    wanted: Callable[[str], bool],
    *,
    max_bytes: int,
) -> list[str]:
    """Unpack the wanted files of an archive into a new folder.

    Parameters
    ----------
    path : path-like
        Zip archive.
    destination : path-like
        Folder to be made; it must not exist. If anything fails it is removed again.
    wanted : callable
        Tells from a file's name whether to unpack it.
    max_bytes : int
        Largest total size of the unpacked members.

    Returns
    -------
    list of str
        Names of the unpacked files.

    Raises
    ------
    ArchiveError
        If the archive is corrupt, truncated or breaks one of the rules above.
    """
    destination = Path(destination)
    with _opened(path) as archive:
        files = [info for info in _checked_files(archive, path, max_bytes) if wanted(info.filename)]
        destination.mkdir(parents=True)
        try:
            for info in files:
                _unpack_file(archive, info, destination / info.filename, path)
        except BaseException:
            shutil.rmtree(destination)
            raise
    return [info.filename for info in files]


def _opened(path: str | os.PathLike[str]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except Exception as error:
        raise _as_archive_error(path, error) from error


def _as_archive_error(path: str | os.PathLike[str], error: Exception) -> Exception:
    # Damaged archives make zipfile raise nearly anything. An OSError with a number is the
    # machine's (disk full, no permission); decompressors raise OSErrors without one.
    if isinstance(error, ArchiveError) or (isinstance(error, OSError) and error.errno is not None):
        return error
    return ArchiveError(path, f"is corrupt, truncated or no zip archive ({error})")


def _checked_files(
    archive: zipfile.ZipFile, path: str | os.PathLike[str], max_bytes: int
) -> list[zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise ArchiveError(path, f"has {len(infos):,} members, more than {MAX_MEMBERS:,}")
    total = sum(info.file_size for info in infos)
    if total > max_bytes:
        raise ArchiveError(path, f"unpacks to {total:,} bytes, more than {max_bytes:,}")
    # Every path and folder seen so far, as a careless file system would compare them.
    places: dict[str, tuple[str, bool]] = {}
    files = []
    for info in infos:
        fault = _fault_of(info)
        if fault is not None:
            raise ArchiveError(path, f"member {info.orig_filename!r} {fault}")
        parts = info.filename.rstrip("/").split("/")
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            is_file = depth == len(parts) and not info.is_dir()
            key = unicodedata.normalize("NFC", name).casefold()
            if key not in places:
                places[key] = (name, is_file)
            elif is_file or places[key] != (name, False):
                raise ArchiveError(path, f"members {places[key][0]!r} and {name!r} share one place")
        if not info.is_dir():
            files.append(info)
    return files


def _fault_of(info: zipfile.ZipInfo) -> str | None:
    # zipfile cuts names at a zero byte; only the original name shows that it did.
    name = info.orig_filename
    if _FORBIDDEN.search(name):
        return "has a back-slash, colon or control character in its name"
    # An absolute path begins with an empty part.
    if any(part in ("", ".", "..") for part in name.removesuffix("/").split("/")):
        return "has an absolute path or one with empty parts or dots"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        return "is a link or another special file"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.file_size > max(_RATIO_FREE, MAX_RATIO * info.compress_size):
        return f"grows more than {MAX_RATIO} times when unpacked"
    return None


def _unpack_file(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    target: Path,
    path: str | os.PathLike[str],
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    try:
        with archive.open(info) as source, target.open("xb") as file:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > info.file_size:
                    raise ArchiveError(path, f"member {info.filename!r} is larger than it says")
                file.write(chunk)
    except Exception as error:
        raise _as_archive_error(path, error) from error
    if size != info.file_size:
        raise ArchiveError(path, f"member {info.filename!r} is shorter than it says")


@dataclass
class _Taken:
    """What one archive gave; remembered, so that it may be gone at the next run."""

    sha256: str
    """Of the archive at hand."""
    note: str
    """How that compares with the published one."""
    files: dict[str, str] = field(default_factory=dict)
    """Accepted files and their sums."""
    skipped: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Damaged files, their sums and faults."""
    ignored: list[str] = field(default_factory=list)
    """Files that are no items of the data set."""


def from_archives(request: Request) -> Prepared:
    """Unpack what is not yet unpacked of a data set's archives and list its files."""
    dataset = request.dataset
    published = read_published(dataset.name)
    listed = read_checksums(dataset.name)
    present = {
        archive.file: request.archives / archive.file
        for archive in published.archives
        if request.archives is not None and (request.archives / archive.file).is_file()
    }
    members = {
        name: list_files(path, max_bytes=dataset.max_archive_bytes)
        for name, path in present.items()
    }
    folder = RawFolder(request.raw, {"source": "archives"})
    shutil.rmtree(folder.path / _PARCEL, ignore_errors=True)  # of a run that was killed
    taken = {name: _Taken(**known) for name, known in folder.load().get("archives", {}).items()}
    used = standing(folder.path, listed)
    remembered = (
        file for name, known in taken.items() if name not in present for file in known.skipped
    )
    missing = sorted(set(listed) - set(used) - set().union(remembered, *members.values()))
    if missing and (len(missing) == len(listed) or not request.allow_subset):
        raise DataSetError(_missing_message(request, published.archives, present, missing, listed))

    for archive in published.archives:
        known = taken.get(archive.file)
        if archive.file in present:
            path = present[archive.file]
            now = _Taken(sha256_of(path), _compare(path, archive))
            # An archive of the same name but other content says nothing about the files here.
            kept = known.files if known is not None and known.sha256 == now.sha256 else {}
            have = {**standing(folder.path, kept), **used}
            _take(request, path, members[archive.file], have, listed, folder.path, now)
            taken[archive.file] = now
            folder.save({"archives": {name: vars(each) for name, each in taken.items()}})
            used.update(now.files)
        elif known is not None:
            used.update(standing(folder.path, known.files))
    skipped = {
        file: (sha256, fault)
        for known in taken.values()
        for file, (sha256, fault) in known.skipped.items()
        if file not in used
    }
    if skipped and not request.skip_bad_files:
        file, (_, fault) = min(skipped.items())
        raise DataSetError(_bad_message(dataset.name, file, fault))
    folder.finish()
    return Prepared(
        dataset=dataset.name,
        title=published.title,
        items=dataset.items,
        source="archives",
        origin="real",
        table=build_table(dataset, "real", used=used, skipped=skipped, listed=listed),
        archives={
            archive.file: taken[archive.file].note if archive.file in taken else "absent"
            for archive in published.archives
        },
        ignored=tuple(sorted({file for known in taken.values() for file in known.ignored})),
    )


def _take(
    request: Request,
    path: Path,
    members: list[str],
    have: Mapping[str, str],
    listed: Mapping[str, str],
    folder: Path,
    taken: _Taken,
) -> None:
    """Move the files of one archive that are not at hand into the folder, if all may go there."""
    identify, fault_of = request.dataset.identify, request.dataset.fault_of
    items = {file for file in members if identify(file)}
    taken.ignored.extend(file for file in members if file not in items)
    taken.files.update({file: have[file] for file in items if file in have})
    wanted = items - set(taken.files)
    if not wanted:
        return
    parcel = folder / _PARCEL
    unpack(path, parcel, wanted.__contains__, max_bytes=request.dataset.max_archive_bytes)
    try:
        accepted = {}
        for file in sorted(wanted):
            sha256 = sha256_of(parcel / file)
            if sha256 == listed.get(file):
                accepted[file] = sha256
            elif fault := fault_of(parcel / file):
                if not request.skip_bad_files:
                    raise DataSetError(_bad_message(path.name, file, fault))
                taken.skipped[file] = (sha256, fault)
            elif file in listed:
                raise DataSetError(
                    f"{path.name}: {file} is intact but differs from the published file "
                    f"(SHA-256 {sha256}, published {listed[file]}); altered data are never used"
                )
            else:
                accepted[file] = sha256
        for file in accepted:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (parcel / file).replace(folder / file)
        taken.files.update(accepted)
    finally:
        shutil.rmtree(parcel)


def _compare(path: Path, archive: Archive) -> str:
    if not archive.checksum:
        return "no published checksum"
    kind, _, expected = archive.checksum.partition(":")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    return "as published" if found == expected else f"differs from the published {kind} sum"


def _bad_message(where: str, file: str, fault: str) -> str:
    return f"{where}: {file} {fault}; on_bad_file: skip would list it and go on without it"


def _missing_message(
    request: Request,
    archives: tuple[Archive, ...],
    present: Mapping[str, Path],
    missing: list[str],
    listed: Mapping[str, str],
) -> str:
    at_hand, items = len(listed) - len(missing), request.dataset.items
    lines = [f"{request.dataset.name}: {at_hand:,} of {len(listed):,} {items} are at hand"]
    lines += [
        f"  missing archive {archive.file}, published at {' or '.join(archive.urls)}"
        for archive in archives
        if archive.file not in present
    ]
    shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
    lines.append(f"  missing files ({len(missing):,}): {shown}")
    if request.archives is None:
        lines.append("  no folder of archives was named")
    else:
        lines.append(f"  archives are looked for in {request.archives}")
    if at_hand:
        lines.append("  allow_subset: true goes on with what there is")
    return "\n".join(lines)
