"""Zip archives from strangers: checked as a whole before anything is written.

An archive is refused, with its name, if a member could end anywhere but in the destination
(absolute paths, ``..``, drive letters), has a name that some file system cannot hold, is no regular
file (links, devices), shares its place with another member on any file system (duplicates, names
that differ in case or Unicode form only), is encrypted or packed by a method that Python does not
know, or if there is too much of it: members, bytes, or bytes per compressed byte. Back-slashes,
which some programs write, stand for folders and pass the same checks. What is wrong with a damaged
archive is told from its bytes: empty, a web page, cut, another kind of archive.

:func:`from_archives` makes a data set of such archives. The unpacked files decide: one that stands
in the checksum list must match it, one that does not is accepted as unlisted if it is intact. An
archive may be a subset, so that its own checksum is only noted. Unpacked files that lie in the
folder of archives serve as well; folders around the published layout are looked through.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from replication.data.catalog import (
    Archive,
    DataSet,
    DataSetError,
    Published,
    as_published,
    place_of,
    read_checksums,
    read_published,
)
from replication.data.manifest import Prepared, RawFolder, Request, build_table, standing
from replication.io import sha256_of

__all__ = [
    "MAX_MEMBERS",
    "MAX_RATIO",
    "ArchiveError",
    "Offer",
    "fault_of_name",
    "from_archives",
    "list_files",
    "nature_of",
    "offer_of_archive",
    "offers",
    "sum_as_listed",
    "unpack",
]

MAX_MEMBERS = 50_000
"""An archive with more members is refused."""

MAX_RATIO = 200
"""So is one with a member that grows by more than this factor ..."""

_RATIO_FREE = 1 << 20  # ... unless it is this small: a blank page compresses well and harms nobody.
_ENCRYPTED = 0x1 | 0x40
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_OTHER_METHODS = {1: "shrink", 6: "implode", 9: "deflate64", 93: "zstd", 95: "xz", 98: "PPMd"}
_SINGLE_FILES = "single files"  # stands for an archive's name
_PARCEL = ".unpacking"  # inside the raw folder, so that moving a file out of it is renaming
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:]")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*[. ]")
# What systems put beside files; never an item, so that nothing is written under such a name.
_LEFT_BESIDE = re.compile(r"(?<=Icon)\r\Z|:(encryptable|Zone\.Identifier)\Z")
_MAX_NAME, _MAX_PATH = 255, 1000  # bytes that common file systems allow, with room for folders
_PAGE_STARTS = (b"<!doctype html", b"<html", b"<?xml")
_OTHER_ARCHIVES = {
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_PACKED_SUFFIXES = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")


class ArchiveError(DataSetError):
    """An archive is corrupt or unsafe; the message begins with its name.

    Attributes
    ----------
    fault : str
        What is wrong with it.
    """

    def __init__(self, path: str | os.PathLike[str], fault: str) -> None:
        super().__init__(f"{os.fspath(path)}: {fault}")
        self.fault = fault


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
        return list(_checked_files(archive, path, max_bytes))


def unpack(
    path: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    wanted: Callable[[str], bool],
    *,
    max_bytes: int,
    places: Mapping[str, str] | None = None,
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
    places : mapping, optional
        From a file's name to its path in the destination, if that is not its name.

    Returns
    -------
    list of str
        Names of the unpacked files.

    Raises
    ------
    ArchiveError
        If the archive is damaged or breaks one of the rules above.
    """
    destination = Path(destination)
    with _opened(path) as archive:
        members = _checked_files(archive, path, max_bytes)
        targets = {name: (places or {}).get(name, name) for name in members if wanted(name)}
        for target in targets.values():
            if len(os.fsencode(target)) > _MAX_PATH or any(map(_is_long, target.split("/"))):
                raise ArchiveError(path, f"member {_short(target)} has a name that is too long")
        destination.mkdir(parents=True)
        try:
            for name, target in targets.items():
                _unpack_file(archive, members[name], destination / target, path)
        except BaseException:
            shutil.rmtree(destination)
            raise
    return list(targets)


def _unpack_file(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    target: Path,
    path: str | os.PathLike[str],
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # No more bytes come than the directory says, and they must have its checksum.
    with archive.open(info) as source, target.open("xb") as file:
        shutil.copyfileobj(source, file)
        if file.tell() != info.file_size:
            raise ArchiveError(path, f"member {info.filename!r} is not as large as it says")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; whatever its damage makes the reader raise, say what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except DataSetError:
        raise
    except Exception as error:
        # An OSError with a number is the machine's (disk full, no permission), except for places
        # before the start of the file; decompressors raise OSErrors without one.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise ArchiveError(path, f"is {nature_of(path) or f'corrupt ({error})'}") from error


def nature_of(path: str | os.PathLike[str]) -> str:
    """Say what a file is that is not the archive it should be; empty if it looks like one."""
    with Path(path).open("rb") as file:
        head = file.read(1 << 20)
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, n_bytes - (1 << 16) - 22))
        end = file.read()
    if not head:
        return "empty (0 bytes)"
    if head[:1024].lstrip().lower().startswith(_PAGE_STARTS):
        return "a web page"
    if Path(path).suffix != ".zip":
        return ""
    for magic, kind in _OTHER_ARCHIVES.items():
        if head.startswith(magic):
            return f"no zip but a {kind} archive: unpack it with another program"
    if b"PK\5\6" not in end:
        if head.startswith(b"PK"):
            return f"corrupt: cut after {n_bytes:,} bytes, its end is missing"
        return "no zip archive"
    if not head.startswith(b"PK"):
        return "corrupt: bytes are missing at its start"
    feeds, pairs = head.count(b"\n"), head.count(b"\r\n")
    is_binary = len(head.translate(None, bytes(range(128)))) > len(head) / 4
    if is_binary and feeds > 64 and (pairs == feeds or (pairs == 0 and len(head) == 1 << 20)):
        return "corrupt: its line ends were changed on the way, as if it were a text"
    return ""


def _checked_files(
    archive: zipfile.ZipFile, path: str | os.PathLike[str], max_bytes: int
) -> dict[str, zipfile.ZipInfo]:
    """Check all members; return the files by their names with slashes."""
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise ArchiveError(path, f"has {len(infos):,} members, more than {MAX_MEMBERS:,}")
    total = sum(info.file_size for info in infos)
    if total > max_bytes:
        raise ArchiveError(path, f"unpacks to {total:,} bytes, more than {max_bytes:,}")
    # Every path and folder seen so far, as a careless file system would compare them.
    places: dict[str, tuple[str, bool]] = {}
    files = {}
    for info in infos:
        # zipfile cuts names at a zero byte; only the original name shows that it did.
        full = info.orig_filename.replace("\\", "/")
        is_folder = full.endswith("/")
        fault = fault_of_name(full) or _fault_of(info, is_folder=is_folder)
        if fault is not None:
            raise ArchiveError(path, f"member {_short(info.orig_filename)} {fault}")
        parts = full.removesuffix("/").split("/")
        for depth in range(1, len(parts) + 1):
            name = "/".join(parts[:depth])
            is_file = depth == len(parts) and not is_folder
            key = unicodedata.normalize("NFC", name).casefold()
            if key not in places:
                places[key] = (name, is_file)
            elif is_file or places[key] != (name, False):
                raise ArchiveError(path, f"members {places[key][0]!r} and {name!r} share one place")
        if not is_folder:
            files[full] = info
    return files


def fault_of_name(name: str) -> str | None:
    """Say why nothing may be written under a name that an archive gives, or None."""
    name = _LEFT_BESIDE.sub("", name)
    if _FORBIDDEN.search(name):
        return "has a colon or control character in its name"
    parts = name.removesuffix("/").split("/")
    # An absolute path begins with an empty part.
    if any(part in ("", ".", "..") for part in parts):
        return "has an absolute path or one with empty parts or dots"
    if _is_long(parts[-1]):  # folders around the published layout are never written
        return f"has a name of more than {_MAX_NAME} bytes"
    if any(map(_RESERVED.fullmatch, parts)):
        return "has a name that some systems reserve, or that ends with a blank or a dot"
    return None


def _is_long(part: str) -> bool:
    return len(os.fsencode(part)) > _MAX_NAME


def _short(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def _fault_of(info: zipfile.ZipInfo, *, is_folder: bool) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        return "is a link or another special file"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted; unpack it with another program, which asks for the password"
    if info.compress_type not in _METHODS:
        method = _OTHER_METHODS.get(info.compress_type, "unknown")
        return (
            f"is compressed by a method that is not supported, {method} (number "
            f"{info.compress_type}); unpack the archive with another program"
        )
    if info.file_size > max(_RATIO_FREE, MAX_RATIO * info.compress_size):
        return f"grows more than {MAX_RATIO} times when unpacked"
    return None


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
    """What else it holds."""
    max_bytes: int

    def sums(self, listed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield published path and SHA-256 sum of each file; damaged archives raise.

        A text that differs from the listed one in its line ends only has the listed sum.
        """
        if self.path.is_dir():
            for file, member in self.members.items():
                yield file, sum_as_listed((self.path / member).read_bytes(), file, listed)
            return
        with _opened(self.path) as archive:
            infos = _checked_files(archive, self.path, self.max_bytes)
            for file, member in self.members.items():
                yield file, sum_as_listed(archive.read(infos[member]), file, listed)

    def sha256(self) -> str:
        """Sum of the archive, or of the sums and names of single files."""
        if not self.path.is_dir():
            return sha256_of(self.path)
        return hashlib.sha256(repr(sorted(self.sums({}))).encode()).hexdigest()

    def describe_nothing(self, items: str) -> str:
        """Say that it holds no file of the data set, and what instead."""
        packed = [file for file in self.ignored if file.lower().endswith(_PACKED_SUFFIXES)]
        inside = f", but an archive, {packed[0]}: unpack that one into its folder" if packed else ""
        return f"holds none of the {items}{inside}"

    def unpack(self, destination: Path, files: Iterable[str]) -> None:
        """Put files into a new folder, in the published layout."""
        places = {self.members[file]: file for file in files}
        if not self.path.is_dir():
            wanted = places.__contains__
            unpack(self.path, destination, wanted, max_bytes=self.max_bytes, places=places)
            return
        for member, file in places.items():
            (destination / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.path / member, destination / file)


def sum_as_listed(content: bytes, file: str, listed: Mapping[str, str]) -> str:
    """Return the SHA-256 sum of a file, of a text with the line ends that its listed sum is of."""
    published = as_published(content, file, listed)
    return hashlib.sha256(content if published is None else published).hexdigest()


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
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    single = [
        file.as_posix()
        for file in files
        if not any(part.startswith(".") for part in file.parts[:-1])
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
    listed = read_checksums(dataset.name)
    present = {each.name: each for each in offers(dataset, published, request.archives)}
    folder = RawFolder(request.raw, {"source": "archives"})
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

    archives = {archive.file: archive for archive in published.archives}
    for name in [*archives, _SINGLE_FILES]:
        if name in present:
            now = _begin(present[name], archives.get(name))
            # An archive of the same name but other content says nothing about the files here.
            known = taken.get(name)
            kept = known.files if known is not None and known.sha256 == now.sha256 else {}
            have = {**standing(folder.path, kept), **used}
            _take(request, present[name], have, listed, folder.path, now)
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
        archives=dict.fromkeys(archives, "absent")
        | {name: known.note for name, known in taken.items()},
        ignored=tuple(sorted({file for known in taken.values() for file in known.ignored})),
    )


def _begin(offer: Offer, archive: Archive | None) -> _Taken:
    """Say what there is to take of an archive, or of single files."""
    # What lies beside the archives, such as they themselves, is nobody's litter.
    litter = [file for file in offer.ignored if archive is not None or "/" in file]
    note = "not packed" if archive is None else _compare(offer.path, archive)
    return _Taken(offer.sha256(), note, ignored=litter)


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
            unpacked = parcel / file
            content = unpacked.read_bytes()
            sha256 = hashlib.sha256(content).hexdigest()
            published = as_published(content, file, listed)
            if published is not None:
                if published != content:
                    print(f"{offer.name}: {file}: only its line ends differ; they are put right")
                    unpacked.write_bytes(published)
                accepted[file] = listed[file]
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
            (parcel / file).replace(folder / file)
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
    present: Mapping[str, Offer],
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
    lines += [
        f"  {name} {offer.describe_nothing(items)}"
        for name, offer in present.items()
        if not offer.members
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
