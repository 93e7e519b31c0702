"""Zip archives from strangers: checked as a whole before anything is written.

An archive is refused, with its name, if a member could end anywhere but in the destination
(absolute paths, ``..``, drive letters, back-slashes), is no regular file (links, devices), shares
its place with another member on any file system (duplicates, names that differ in case or Unicode
form only), is encrypted, or if there is too much of it: members, bytes, or bytes per compressed
byte. Headers can lie about sizes, so the bytes that really come out are counted as well.

:func:`from_archives` makes a data set of such archives. The unpacked files decide: one that stands
in the checksum list must match it, one that does not is accepted as unlisted if it is intact. An
archive may be a subset, so that its own checksum is only noted. Unpacked files that lie in the
folder of archives serve as well; folders around the published layout are looked through.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from replication.datasets.catalog import (
    Archive,
    DataSet,
    DataSetError,
    Published,
    place_of,
    read_checksums,
    read_published,
)
from replication.datasets.manifest import Prepared, RawFolder, Request, build_table, standing
from replication.io import sha256_of

__all__ = [
    "MAX_MEMBERS",
    "MAX_RATIO",
    "ArchiveError",
    "Offer",
    "from_archives",
    "list_files",
    "offer_of_archive",
    "offers",
    "unpack",
]

MAX_MEMBERS = 50_000
"""An archive with more members is refused."""

MAX_RATIO = 200
"""So is one with a member that grows by more than this factor ..."""

_RATIO_FREE = 1 << 20  # ... unless it is this small: a blank page compresses well and harms nobody.
_CHUNK = 1 << 20
_ENCRYPTED = 0x1 | 0x40
_SINGLE_FILES = "single files"  # stands for an archive's name
_PARCEL = ".unpacking"  # inside the raw folder, so that moving a file out of it is renaming
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\:]")


class ArchiveError(DataSetError):
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


@dataclass(frozen=True)
class Offer:
    """Files of a data set that one archive, or the folder of archives itself, holds."""

    name: str
    """Of the archive."""
    path: Path
    """Archive or folder."""
    members: Mapping[str, str]
    """From a file's published path to its name in there."""
    ignored: tuple[str, ...]
    """What else an archive holds."""
    max_bytes: int

    def sums(self) -> Iterator[tuple[str, str]]:
        """Yield published path and SHA-256 sum of each file; damaged archives raise."""
        if self.path.is_dir():
            for file, member in self.members.items():
                yield file, sha256_of(self.path / member)
            return
        with _opened(self.path) as archive:
            for file, member in self.members.items():
                try:
                    with archive.open(member) as stream:
                        yield file, hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
                except Exception as error:
                    raise _as_archive_error(self.path, error) from error

    def sha256(self) -> str:
        """Sum of the archive, or of the sums and names of single files."""
        if not self.path.is_dir():
            return sha256_of(self.path)
        return hashlib.sha256(repr(sorted(self.sums())).encode()).hexdigest()

    def unpack(self, destination: Path, files: Iterable[str]) -> None:
        """Put files into a new folder, under their names in here."""
        wanted = {self.members[file] for file in files}
        if not self.path.is_dir():
            unpack(self.path, destination, wanted.__contains__, max_bytes=self.max_bytes)
            return
        for member in wanted:
            (destination / member).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.path / member, destination / member)


def offer_of_archive(dataset: DataSet, path: Path) -> Offer:
    """Say which files of a data set a zip archive holds.

    Raises
    ------
    ArchiveError
        If it is no readable zip archive, breaks one of the rules above, or holds a file twice.
    """
    members = list_files(path, max_bytes=dataset.max_archive_bytes)
    return _offer(dataset, path.name, path, members)


def offers(dataset: DataSet, published: Published, folder: Path | None) -> list[Offer]:
    """Say which files of a data set a folder of archives holds, packed and unpacked.

    Raises
    ------
    ArchiveError
        As :func:`offer_of_archive` does.
    """
    if folder is None or not folder.is_dir():
        return []
    found = [
        offer_of_archive(dataset, folder / archive.file)
        for archive in published.archives
        if archive.file.endswith(".zip") and (folder / archive.file).is_file()
    ]
    single = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("[!.]*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    loose = _offer(dataset, _SINGLE_FILES, folder, single)
    return [*found, loose] if loose.members else found


def _offer(dataset: DataSet, name: str, path: Path, candidates: Iterable[str]) -> Offer:
    members: dict[str, str] = {}
    ignored = []
    for member in candidates:
        place = place_of(dataset, member)
        if place is None:
            ignored.append(member)
        elif place in members:
            raise ArchiveError(path, f"{members[place]!r} and {member!r} are one file, {place}")
        else:
            members[place] = member
    return Offer(name, path, members, tuple(ignored), dataset.max_archive_bytes)


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
    # The list of a data set with files of several kinds is that of one kind.
    listed = {
        file: sha256
        for file, sha256 in read_checksums(dataset.name).items()
        if dataset.identify(file) is not None
    }
    present = {
        each.name: each
        for each in offers(dataset, published, request.archives)
        if each.members or not request.is_other_format
    }
    identity = {"source": "archives"}
    if request.is_other_format:
        identity["format"] = dataset.file_format
    folder = RawFolder(request.raw, identity)
    shutil.rmtree(folder.path / _PARCEL, ignore_errors=True)  # of a run that was killed
    taken = {name: _Taken(**known) for name, known in folder.load().get("archives", {}).items()}
    used = standing(folder.path, listed)
    for name, earlier in taken.items():
        if name not in present:
            used.update(standing(folder.path, earlier.files))
    # A data set may know of files without a published checksum.
    expected = {*listed, *dataset.unlisted_files()}
    remembered = (
        file for name, known in taken.items() if name not in present for file in known.skipped
    )
    offered = (offer.members for offer in present.values())
    missing = sorted(expected - set(used) - set().union(remembered, *offered))
    if missing and (len(missing) == len(expected) or not request.allow_subset):
        raise DataSetError(_missing_message(request, published, present, missing, expected))

    notes = {archive.file: archive for archive in published.archives}
    for name in [*notes, _SINGLE_FILES]:
        known = taken.get(name)
        if name in present:
            offer = present[name]
            note = _compare(offer.path, notes[name]) if name in notes else "not packed"
            now = _Taken(offer.sha256(), note, ignored=list(offer.ignored) if name in notes else [])
            # An archive of the same name but other content says nothing about the files here.
            kept = known.files if known is not None and known.sha256 == now.sha256 else {}
            have = {**standing(folder.path, kept), **used}
            _take(request, offer, have, listed, folder.path, now)
            taken[name] = now
            folder.save({"archives": {name: vars(each) for name, each in taken.items()}})
            used.update(now.files)
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
        table=build_table(
            dataset, "real", used=used, skipped=skipped, listed=listed, expected=expected
        ),
        archives={archive.file: "absent" for archive in published.archives}
        | {name: known.note for name, known in taken.items()},
        ignored=tuple(sorted({file for known in taken.values() for file in known.ignored})),
    )


def _take(
    request: Request,
    offer: Offer,
    have: Mapping[str, str],
    listed: Mapping[str, str],
    folder: Path,
    taken: _Taken,
) -> None:
    """Move the files of one archive that are not at hand into the folder, if all may go there."""
    fault_of = request.dataset.fault_of
    taken.files.update({file: have[file] for file in offer.members if file in have})
    wanted = set(offer.members) - set(taken.files)
    if not wanted:
        return
    parcel = folder / _PARCEL
    try:
        offer.unpack(parcel, wanted)
        accepted = {}
        for file in sorted(wanted):
            unpacked = parcel / offer.members[file]
            sha256 = sha256_of(unpacked)
            if sha256 == listed.get(file):
                accepted[file] = sha256
            elif fault := fault_of(unpacked):
                if not request.skip_bad_files:
                    raise DataSetError(_bad_message(offer.name, file, fault))
                taken.skipped[file] = (sha256, fault)
            elif file in listed:
                raise DataSetError(
                    f"{offer.name}: {file} is intact but differs from the published file "
                    f"(SHA-256 {sha256}, published {listed[file]}); altered data are never used"
                )
            else:
                accepted[file] = sha256
        for file in accepted:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (parcel / offer.members[file]).replace(folder / file)
        taken.files.update(accepted)
    finally:
        shutil.rmtree(parcel, ignore_errors=True)  # unpacking may have removed it


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
    published: Published,
    present: Collection[str],
    missing: list[str],
    expected: Collection[str],
) -> str:
    at_hand, items = len(expected) - len(missing), request.dataset.items
    lines = [f"{request.dataset.name}: {at_hand:,} of {len(expected):,} {items} are at hand"]
    lines += [
        f"  missing archive {archive.file}, published at {' or '.join(archive.urls)}"
        for archive in published.archives
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
