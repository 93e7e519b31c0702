"""Archives from strangers: what is in them, checked before anything is written.

A zip archive is refused as a whole, with its name, if a member could end anywhere but in the
destination (absolute paths, ``..``, drive letters), has a name that some file system cannot hold,
is no regular file (links, devices), shares its place with another member on any file system
(duplicates, names that differ in case or Unicode form only), is encrypted or packed by a method
that Python does not know, or if there is too much of it: members, bytes, or bytes per compressed
byte. Back-slashes, which some programs write, stand for folders and pass the same checks. Of a tar
archive only the regular files of the data set are looked at. What is wrong with a damaged archive
is told from its bytes: empty, a web page, cut, another kind of archive.

Nothing is ever written under a name that an archive gives, but under the published path that
:func:`replication.data.catalog.place_of` finds for it; folders around the published layout are
looked through.

:func:`from_archives` makes a data set of such archives. The unpacked files decide: one that stands
in the checksum list must match it, one that does not is accepted as unlisted if it is intact. An
archive may be a subset, so that its own checksum is only noted. Unpacked files that lie in the
folder of archives serve as well.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pooch.hashes import hash_matches

from replication.data.catalog import (
    DataSet,
    DataSetError,
    Published,
    as_published,
    place_of,
    read_checksums,
    read_published,
)
from replication.data.manifest import (
    Prepared,
    RawFolder,
    Request,
    build_table,
    some_of,
    standing,
)
from replication.digests import PARTIAL, empty_partial
from replication.io import sha256_of

__all__ = [
    "ArchiveError",
    "Offer",
    "fault_of_name",
    "from_archives",
    "nature_of",
    "offer_of",
    "offers",
    "sum_as_listed",
]

_MAX_MEMBERS = 50_000
_MAX_RATIO = 200  # of a member's bytes to its compressed ones ...
_RATIO_FREE = 1 << 20  # ... unless it is this small: a blank page compresses well and harms nobody.
_ENCRYPTED = 0x1 | 0x40
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_OTHER_METHODS = {1: "shrink", 6: "implode", 9: "deflate64", 93: "zstd", 95: "xz", 98: "PPMd"}
_SINGLE_FILES = "single files"  # stands for an archive's name
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
    """An archive is corrupt or unsafe; the message begins with its name, ``fault`` is the rest."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(f"{path}: {fault}")
        self.fault = fault


@dataclass(frozen=True)
class Offer:
    """Files of a data set that a zip or tar archive, or a folder of single files, holds.

    Parameters
    ----------
    path : pathlib.Path
        Archive or folder.
    members : mapping
        From a file's published path to its name in there.
    ignored : tuple of str
        What else it holds.
    max_bytes : int
        Unpacked size beyond which an archive is refused.
    """

    path: Path
    members: Mapping[str, str]
    ignored: tuple[str, ...]
    max_bytes: int

    @property
    def name(self) -> str:
        """Of the archive."""
        return _SINGLE_FILES if self.path.is_dir() else self.path.name

    def read(self, members: Mapping[str, str] | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield published path and content of each of the members, by default of all.

        Raises
        ------
        ArchiveError
            If the archive is damaged; of what has been yielded by then nothing is to be used.
        """
        members = self.members if members is None else members
        if self.path.is_dir():
            for file, member in members.items():
                yield file, (self.path / member).read_bytes()
            return
        files = {member: file for file, member in members.items()}
        left = self.max_bytes
        with _damage_told(self.path):
            for name, size, content in _files_in(self.path, self.max_bytes):
                if name in files:
                    left -= size
                    if left < 0:
                        raise ArchiveError(
                            self.path, f"unpacks to more than {self.max_bytes:,} bytes"
                        )
                    # No more bytes come than the directory says.
                    found = content()
                    if len(found) != size:
                        raise ArchiveError(
                            self.path, f"member {_short(name)} is not as large as it says"
                        )
                    yield files[name], found

    def sums(self, listed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield published path and SHA-256 sum of each file, see :func:`sum_as_listed`."""
        for file, content in self.read():
            yield file, sum_as_listed(content, file, listed)

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


def sum_as_listed(content: bytes, file: str, listed: Mapping[str, str]) -> str:
    """Return the SHA-256 sum of a file, of a text with the line ends that its listed sum is of."""
    published = as_published(content, file, listed)
    return hashlib.sha256(content if published is None else published).hexdigest()


def offer_of(dataset: DataSet, path: Path) -> Offer:
    """Say which files of a data set an archive holds, or a folder outside of hidden ones.

    Raises
    ------
    ArchiveError
        If it is no readable archive, breaks one of the rules above, or holds a file twice.
    """
    members: dict[str, str] = {}
    ignored = []
    with _damage_told(path):
        for member, _, _ in _files_in(path, dataset.max_archive_bytes):
            place = place_of(dataset, member)
            if place is None:
                ignored.append(member)
                continue
            if place in members:
                raise ArchiveError(path, f"{members[place]!r} and {member!r} are one file, {place}")
            if not path.is_dir() and (fault := _fault_of_place(place)):
                raise ArchiveError(path, f"member {_short(member)} {fault}")
            members[place] = member
    return Offer(path, members, tuple(ignored), dataset.max_archive_bytes)


def offers(dataset: DataSet, published: Published, folder: Path | None) -> list[Offer]:
    """Say which files of a data set a folder of archives holds, packed and unpacked.

    Raises
    ------
    ArchiveError
        As :func:`offer_of` does.
    """
    if folder is None or not folder.is_dir():
        return []
    paths = [folder / archive.file for archive in published.archives]
    found = [offer_of(dataset, p) for p in paths if p.suffix == ".zip" and p.is_file()]
    loose = offer_of(dataset, folder)
    return [*found, loose] if loose.members else found


# --- how archives are read ------------------------------------------------------------------------


def _files_in(path: Path, max_bytes: int) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yield name, size and content, to be read before the next one, of each file in there."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path)
            if file.is_file() and not any(part.startswith(".") for part in name.parts[:-1]):
                yield name.as_posix(), file.stat().st_size, file.read_bytes
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for full, info in _checked_files(archive, path, max_bytes).items():
                yield full, info.file_size, partial(archive.read, info)
    else:
        with tarfile.open(path, "r:*") as tar:
            for member in tar:
                if stream := tar.extractfile(member) if member.isfile() else None:
                    yield member.name, member.size, stream.read
            # The checksum of a compressed archive stands behind the last member.
            while tar.fileobj is not None and (rest := tar.fileobj.read(1 << 16)):
                max_bytes -= len(rest)
                if max_bytes < 0:
                    raise ArchiveError(path, "has no end")


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Whatever its damage makes a reader raise, say what is wrong with an archive."""
    try:
        yield
    except DataSetError:
        raise
    except Exception as error:
        # An OSError with a number is the machine's (disk full, no permission), except for places
        # before the start of the file; decompressors raise OSErrors without one.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        corrupt = "corrupt" if path.suffix == ".zip" else "corrupt, cut or no tar archive"
        raise ArchiveError(path, f"is {nature_of(path) or f'{corrupt} ({error})'}") from error


def nature_of(path: Path) -> str:
    """Say what a file is that is not the archive it should be; empty if it looks like one."""
    with path.open("rb") as file:
        head = file.read(1 << 20)
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, n_bytes - (1 << 16) - 22))
        end = file.read()
    if not head:
        return "empty (0 bytes)"
    if head[:1024].lstrip().lower().startswith(_PAGE_STARTS):
        return "a web page"
    if path.suffix != ".zip":
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
    archive: zipfile.ZipFile, path: Path, max_bytes: int
) -> dict[str, zipfile.ZipInfo]:
    """Check all members of a zip archive; return the files by their names with slashes."""
    infos = archive.infolist()
    if len(infos) > _MAX_MEMBERS:
        raise ArchiveError(path, f"has {len(infos):,} members, more than {_MAX_MEMBERS:,}")
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
        if fault := fault_of_name(full) or _fault_of(info, is_folder=is_folder):
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


def _fault_of_place(place: str) -> str | None:
    if len(os.fsencode(place)) > _MAX_PATH or any(map(_is_long, place.split("/"))):
        return "has a name that is too long"
    return fault_of_name(place)


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
    if info.file_size > max(_RATIO_FREE, _MAX_RATIO * info.compress_size):
        return f"grows more than {_MAX_RATIO} times when unpacked"
    return None


# --- a data set of archives -----------------------------------------------------------------------


@dataclass
class _Taken:
    """What one archive gave; remembered, so that it may be gone at the next run.

    Its own sum and how that compares with the published one, sums of accepted files, sums and
    faults of damaged ones, and what is no item of the data set.
    """

    sha256: str
    note: str
    ignored: list[str]
    files: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, tuple[str, str]] = field(default_factory=dict)


def from_archives(request: Request) -> Prepared:
    """Unpack what is not yet unpacked of a data set's archives and list its files."""
    dataset = request.dataset
    published = read_published(dataset.name)
    listed = read_checksums(dataset.name)
    present = {offer.name: offer for offer in offers(dataset, published, request.archives)}
    folder = RawFolder(request.raw, {"source": "archives"})
    taken = {name: _Taken(**known) for name, known in folder.load().get("archives", {}).items()}
    gone = [earlier for name, earlier in taken.items() if name not in present]
    used = standing(folder.path, listed)
    for earlier in gone:
        used |= standing(folder.path, earlier.files)
    # A data set may know of files without a published checksum.
    expected = {*listed, *dataset.unlisted_files()}
    offered = [offer.members for offer in present.values()]
    missing = sorted(expected.difference(used, *offered, *(earlier.skipped for earlier in gone)))
    if missing and (len(missing) == len(expected) or not request.allow_subset):
        raise DataSetError(_missing_message(request, published, present, missing, expected))

    checksums = {archive.file: archive.checksum for archive in published.archives}
    for name, offer in present.items():
        now = _begin(offer, checksums.get(name))
        # An archive of the same name but other content says nothing about the files here.
        known = taken.get(name)
        kept = known.files if known is not None and known.sha256 == now.sha256 else {}
        have = {**standing(folder.path, kept), **used}
        now.files |= {file: have[file] for file in offer.members if file in have}
        _take(request, offer, listed, folder.path, now)
        taken[name] = now
        folder.save({"archives": {name: vars(each) for name, each in taken.items()}})
        used |= now.files
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
        counted=dataset.counted or dataset.items,
        beside=dataset.beside,
        source="archives",
        origin="real",
        table=build_table(
            dataset, "real", used=used, skipped=skipped, listed=listed, expected=expected
        ),
        archives=dict.fromkeys(checksums, "absent")
        | {name: known.note for name, known in taken.items()},
        ignored=tuple(sorted({file for known in taken.values() for file in known.ignored})),
    )


def _begin(offer: Offer, checksum: str | None) -> _Taken:
    """Say from what something is about to be taken; of single files there is no checksum."""
    if checksum is None:
        # What lies beside the archives, such as they themselves, is nobody's litter.
        litter = [file for file in offer.ignored if "/" in file]
        return _Taken(offer.sha256(), "not packed", litter)
    note = f"differs from the published {checksum.partition(':')[0]} sum"
    if not checksum:
        note = "no published checksum"
    elif hash_matches(str(offer.path), checksum):
        note = "as published"
    return _Taken(offer.sha256(), note, list(offer.ignored))


def _take(
    request: Request, offer: Offer, listed: Mapping[str, str], folder: Path, taken: _Taken
) -> None:
    """Move the files of one archive that are not at hand into the folder, if all may go there."""
    wanted = {file: name for file, name in offer.members.items() if file not in taken.files}
    parcel = folder / PARTIAL
    accepted = {}
    try:
        for file, content in offer.read(wanted) if wanted else ():
            sha256 = hashlib.sha256(content).hexdigest()
            published = as_published(content, file, listed)
            unpacked = parcel / file
            unpacked.parent.mkdir(parents=True, exist_ok=True)
            unpacked.write_bytes(content if published is None else published)
            if published is not None:
                if published != content:
                    print(f"{offer.name}: {file}: only its line ends differ; they are put right")
                accepted[file] = listed[file]
            elif fault := request.dataset.fault_of(unpacked):
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
        taken.files |= accepted
    finally:
        empty_partial(folder)


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
    for archive in published.archives:
        if archive.file not in present:
            where = " or ".join(archive.urls)
            lines.append(f"  missing archive {archive.file}, published at {where}")
    for name, offer in present.items():
        if not offer.members:
            lines.append(f"  {name} {offer.describe_nothing(items)}")
    lines.append(f"  missing files ({len(missing):,}): {some_of(missing)}")
    if request.archives is None:
        lines.append("  no folder of archives was named")
    else:
        lines.append(f"  archives are looked for in {request.archives}")
    if at_hand:
        lines.append("  allow_subset: true goes on with what there is")
    return "\n".join(lines)
