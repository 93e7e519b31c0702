"""From a published address to verified archives, or one page of instructions.

:func:`fetch` fills the folder of archives, which then serves like one that somebody filled by
hand. A file appears there under its name only after it was checked: against the published checksum
of the archive if there is one, and what is in it against the list of the data set's files. What
lies there already is used as it is and never fetched.

Some addresses are plain HTTP, and some hosts have a certificate that nobody vouches for. Both are
named before they are used; the checks are what makes their files count.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tarfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote, urlsplit

import pooch
import requests
import tenacity
import urllib3
from tqdm import tqdm

from replication.datasets.archives import ArchiveError, offer_of_archive
from replication.datasets.catalog import (
    Archive,
    DataSet,
    DataSetError,
    Published,
    Way,
    place_of,
    read_checksums,
    read_published,
)
from replication.datasets.manifest import standing
from replication.io import sha256_of

__all__ = ["PATIENCE", "DownloadError", "Patience", "describe_missing", "fetch"]

_PARCEL = ".downloading"  # inside the folder of archives, so that moving a file out is renaming
_LOCK = ".lock"
_TAR = (".tar", ".tar.gz", ".tgz")
_BYTES_PER_SECOND = 1_000_000  # for the estimate of the time; said beside it
_CHUNK = 1 << 16
_PAGE_STARTS = (b"<!doctype html", b"<html", b"<?xml")
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class DownloadError(DataSetError):
    """A data set cannot be fetched; the message says what to do by hand."""


class _Rejected(Exception):
    """A file that arrived is not the published one."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server and how often to ask again.

    Parameters
    ----------
    connect, read : float
        Seconds to wait for a connection, and between two pieces of an answer.
    attempts : int
        How often one address is tried if its fault may pass.
    pause : float
        Seconds before the second attempt; each further pause is twice as long.
    """

    connect: float = 10
    read: float = 60
    attempts: int = 4
    pause: float = 1


PATIENCE = Patience()
"""The default: two minutes at most for an address that is dead."""


def fetch(
    dataset: DataSet, folder: Path, raw: Path | None = None, *, patience: Patience | None = None
) -> None:
    """Fetch what is missing of a data set into its folder of archives.

    Sizes, terms and sources are printed before anything is fetched. Processes that want the same
    data set wait for each other.

    Parameters
    ----------
    dataset : DataSet
    folder : pathlib.Path
        The data set's folder of archives.
    raw : pathlib.Path, optional
        Folder of unpacked files; if they are all there, nothing is fetched.
    patience : Patience, default :data:`PATIENCE`

    Raises
    ------
    DownloadError
        If no way to the data set is complete in the end. What was fetched and checked stays.
    """
    if _is_at_hand(dataset, folder, raw):
        return
    published = read_published(dataset.name)
    try:
        with _alone(folder):
            # Another process may have fetched it while this one waited.
            if _is_at_hand(dataset, folder, raw):
                return
            print(_terms(dataset, published, folder), flush=True)
            parcel = folder / _PARCEL
            shutil.rmtree(parcel, ignore_errors=True)  # of a process that was killed
            parcel.mkdir()
            try:
                _Errand(dataset, folder, parcel, patience or PATIENCE).run(published)
            finally:
                shutil.rmtree(parcel, ignore_errors=True)
    except OSError as error:
        raise DownloadError(
            f"{dataset.name}: cannot write to {folder}: {error.strerror or error}\n"
            "Make room there or name another folder of archives; what was fetched and checked "
            "stays."
        ) from error


def describe_missing(dataset: DataSet, folder: Path, raw: Path | None = None) -> str:
    """Say what is missing of a data set, how large it is and how long it takes, or nothing.

    Parameters
    ----------
    dataset, folder, raw
        As for :func:`fetch`.

    Returns
    -------
    str
        Some lines, or the empty string if nothing is missing.
    """
    if _is_at_hand(dataset, folder, raw):
        return ""
    return _terms(dataset, read_published(dataset.name), folder)


def _is_at_hand(dataset: DataSet, folder: Path, raw: Path | None) -> bool:
    ways = read_published(dataset.name).ways
    if any(not _missing(dataset, way, folder) for way in ways):
        return True
    files = dataset.files()
    if all((folder / file).is_file() for file in files):
        return True
    if raw is None:
        return False
    listed = read_checksums(dataset.name)
    return all((raw / file).is_file() for file in files) and standing(raw, listed) == listed


def _missing(dataset: DataSet, way: Way, folder: Path) -> list[Archive]:
    """List the files of a way that are not there, single files in place of their folder."""
    return [
        file
        for archive in way.archives
        for file in (_single_files(dataset, archive) if archive.is_folder else [archive])
        if not (folder / file.file).is_file() or _is_packed(dataset, file, folder)
    ]


def _is_packed(dataset: DataSet, archive: Archive, folder: Path) -> bool:
    """Tell whether it is a tar archive, put there by hand, that nobody has unpacked yet."""
    return archive.file.endswith(_TAR) and not all(
        (folder / file).is_file() for file in dataset.files()
    )


def _single_files(dataset: DataSet, archive: Archive) -> list[Archive]:
    listed = read_checksums(dataset.name)
    return [
        replace(
            archive,
            file=file,
            urls=tuple(url + quote(file.removeprefix(archive.file)) for url in archive.urls),
            checksum=f"sha256:{listed[file]}" if file in listed else "",
            n_bytes=None,
        )
        for file in dataset.files()
        if file.startswith(archive.file)
    ]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the operating system frees if the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Another process fetches into {folder}; waiting for it ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass
class _Errand:
    """One attempt to fetch a data set."""

    dataset: DataSet
    folder: Path
    parcel: Path
    patience: Patience
    faults: list[str] = field(default_factory=list)
    """What went wrong so far, a line each."""
    silent: dict[str, str] = field(default_factory=dict)
    """Hosts that did not answer, which are not asked again for each of many files."""

    def run(self, published: Published) -> None:
        """Try one way after the other."""
        for way in published.ways:
            missing = _missing(self.dataset, way, self.folder)
            # One file that cannot be had makes the others of its way useless.
            if all(self._get(archive) for archive in missing):
                return
        raise DownloadError(_instructions(self.dataset, published, self.folder, self.faults))

    def _get(self, archive: Archive) -> bool:
        """Fetch one file from the first address that gives the right one."""
        by_hand = self.folder / archive.file
        if by_hand.is_file():
            return self._unpack_beside(archive, by_hand)
        for url in archive.urls:
            fault = self._get_from(archive, url)
            if fault is None:
                return True
            self.faults.append(f"{url}\n      {fault}")
        return False

    def _unpack_beside(self, archive: Archive, path: Path) -> bool:
        try:
            _check(self.dataset, replace(archive, checksum=""), path)
        except _Rejected as error:
            self.faults.append(f"{path}\n      {error}")
            return False
        self._put(archive, path)
        return True

    def _get_from(self, archive: Archive, url: str) -> str | None:
        """Fetch one file from one address; return what is wrong, if anything is."""
        host = urlsplit(url).netloc
        if host in self.silent:
            return self.silent[host]
        path = self.parcel / Path(archive.file).name
        try:
            self._transfer(archive, url, path)
            _check(self.dataset, archive, path)
        except _Rejected as error:
            return str(error)
        except requests.HTTPError as error:
            return f"the server answers {_status(error)}"
        except requests.exceptions.SSLError:
            return "its certificate is not valid"
        except requests.TooManyRedirects:
            return "redirects without end"
        except requests.exceptions.ChunkedEncodingError:
            return "the connection was cut before the end"
        except (requests.ConnectionError, requests.Timeout) as error:
            late = isinstance(error, requests.Timeout) or "timed out" in str(error)
            self.silent[host] = "the answer takes too long" if late else "cannot be reached"
            return self.silent[host]
        except (requests.RequestException, ValueError) as error:
            return f"the answer makes no sense ({error})"
        self._put(archive, path)
        return None

    def _transfer(self, archive: Archive, url: str, path: Path) -> None:
        """Bring the bytes, with further attempts if the fault may pass."""
        free = shutil.disk_usage(self.parcel).free
        if archive.n_bytes is not None and free < archive.n_bytes:
            raise OSError(
                f"{archive.file} needs about {_size(archive.n_bytes)}, {_size(free)} are free"
            )
        for attempt in tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.patience.attempts),
            wait=tenacity.wait_exponential(multiplier=self.patience.pause),
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        ):
            with (
                attempt,
                _progress(archive) as bar,
                warnings.catch_warnings(),
                ExitStack() as answers,
            ):

                def close_later(answer: requests.Response, *_: object, **__: object) -> None:
                    answers.callback(answer.close)

                # Said to the user already, and the file is checked.
                warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
                pooch.HTTPDownloader(
                    progressbar=bar,
                    chunk_size=_CHUNK,
                    timeout=(self.patience.connect, self.patience.read),
                    verify=not archive.invalid_certificate,
                    # After an error pooch leaves the connection open.
                    hooks={"response": close_later},
                )(url, str(path), None)

    def _put(self, archive: Archive, path: Path) -> None:
        """Move a checked file, and what is in a tar archive before it, to the final place."""
        if archive.file.endswith(_TAR):
            unpacked = self.parcel / "unpacked"
            for place in _unpack_tar(self.dataset, path, unpacked):
                target = self.folder / place
                target.parent.mkdir(parents=True, exist_ok=True)
                (unpacked / place).replace(target)
        target = self.folder / archive.file
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def _status(error: requests.HTTPError) -> int:
    assert error.response is not None  # pooch raises the error for an answer
    return error.response.status_code


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, requests.HTTPError):
        return _status(error) in _PASSING
    if isinstance(error, requests.exceptions.SSLError):
        return False
    return isinstance(
        error,
        (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError),
    )


@contextmanager
def _progress(archive: Archive) -> Iterator[tqdm[NoReturn]]:
    # pooch asks for the truth of the bar, which is its total; a log gets no bar.
    with tqdm(
        total=archive.n_bytes or 1,
        desc=archive.file,
        unit="B",
        unit_scale=True,
        disable=None,
    ) as bar:
        yield bar


def _check(dataset: DataSet, archive: Archive, path: Path) -> None:
    """Raise an error unless a file that arrived is what was published."""
    if archive.checksum:
        kind, _, expected = archive.checksum.partition(":")
        found = pooch.file_hash(str(path), alg=kind)
        if found != expected:
            raise _Rejected(f"is {_nature(path)} ({kind} {found}, published {expected})")
    try:
        if archive.file.endswith(".zip"):
            sums = offer_of_archive(dataset, path).sums()
        elif archive.file.endswith(_TAR):
            sums = _tar_sums(dataset, path)
        else:
            sums = iter([(archive.file, sha256_of(path))])
            fault = None if archive.checksum else dataset.fault_of(path)
            if fault is not None:
                raise _Rejected(f"is {_nature(path)}: {fault}")
        _compare(dataset, sums)
    except ArchiveError as error:
        raise _Rejected(f"is {_nature(path)}: {error}") from error


def _compare(dataset: DataSet, sums: Iterator[tuple[str, str]]) -> None:
    listed = read_checksums(dataset.name)
    some = False
    for file, sha256 in sums:
        some = True
        if listed.get(file, sha256) != sha256:
            raise _Rejected(
                f"holds another {file} than was published (sha256 {sha256}, published "
                f"{listed[file]})"
            )
    if not some:
        raise _Rejected(f"holds none of the {dataset.items}")


def _nature(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(1024).lstrip().lower()
    return "a web page" if start.startswith(_PAGE_STARTS) else "not the published file"


def _tar_sums(dataset: DataSet, path: Path) -> Iterator[tuple[str, str]]:
    for place, content in _tar_items(dataset, path):
        yield place, hashlib.sha256(content).hexdigest()


def _unpack_tar(dataset: DataSet, path: Path, destination: Path) -> list[str]:
    """Unpack the items of a tar archive, which the archives stage does not read."""
    places = []
    for place, content in _tar_items(dataset, path, with_notices=True):
        (destination / place).parent.mkdir(parents=True, exist_ok=True)
        (destination / place).write_bytes(content)
        places.append(place)
    return places


def _tar_items(
    dataset: DataSet, path: Path, *, with_notices: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Yield published path and content of each item, and of read-me files, whose terms travel."""
    total = 0
    try:
        with tarfile.open(path, "r|*") as archive:
            for info in archive:
                name = info.name.rpartition("/")[2]
                place = place_of(dataset, info.name)
                if place is None and with_notices and name.upper().startswith("README"):
                    place = name
                if place is None or not info.isfile() or ".." in place.split("/"):
                    continue
                total += info.size
                if total > dataset.max_archive_bytes:
                    raise ArchiveError(path, f"unpacks to more than {dataset.max_archive_bytes:,}")
                stream = archive.extractfile(info)
                assert stream is not None  # only of files that are no regular ones
                yield place, stream.read()
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ArchiveError(path, f"is corrupt, truncated or no tar archive ({error})") from error


def _terms(dataset: DataSet, published: Published, folder: Path) -> str:
    """Describe the ways to a data set: files, sizes, time, addresses, terms, citation."""
    lines = [f"{published.title} ({dataset.name}) is not complete in {folder}"]
    every = [archive for way in published.ways for archive in way.archives]
    lines += [f"  terms: {terms}" for terms in dict.fromkeys(a.licence for a in every)]
    lines += [f"  cite: {cited}" for cited in dict.fromkeys(a.citation for a in every)]
    for number, way in enumerate(published.ways):
        missing = {file.file for file in _missing(dataset, way, folder)}
        rows = [a for a in way.archives if any(file.startswith(a.file) for file in missing)]
        name = f" ({way.name})" if way.name else ""
        lines.append(f"  {'or' if number else 'missing'}{name}: {_effort(rows)}")
        for archive in rows:
            count = sum(file.startswith(archive.file) for file in missing)
            what = f"{count} files" if archive.is_folder else _size(archive.n_bytes)
            lines.append(f"    {archive.file}, {what}")
            lines += [f"      {url}{_warning(archive, url)}" for url in archive.urls]
    if any("[" in line for line in lines):
        lines.append("  [...]: nobody vouches for the sender; files count only after their check")
    lines += [
        f"  by hand, if you may have it: {a.file} ({a.licence}), published at {', '.join(a.urls)}"
        for a in published.by_hand
    ]
    return "\n".join(lines)


def _effort(archives: Sequence[Archive]) -> str:
    sizes = [archive.n_bytes for archive in archives if archive.n_bytes is not None]
    if len(sizes) < len(archives):
        return "size and time unknown"
    minutes = max(1, round(sum(sizes) / _BYTES_PER_SECOND / 60))
    speed = _size(_BYTES_PER_SECOND)
    return f"about {_size(sum(sizes))}, about {minutes} min at {speed} a second"


def _size(n_bytes: int | None) -> str:
    if n_bytes is None:
        return "size unknown"
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes >= 1e6 else f"{n_bytes:,} bytes"


def _warning(archive: Archive, url: str) -> str:
    if url.startswith("http:"):
        return " [plain HTTP]"
    if archive.invalid_certificate:
        return " [invalid certificate]"
    return ""


def _instructions(
    dataset: DataSet, published: Published, folder: Path, faults: Sequence[str]
) -> str:
    """Say on one page what failed and which file to put where."""
    lines = [f"{dataset.name} could not be fetched. What was tried:"]
    lines += [f"  {fault}" for fault in faults]
    lines += ["", _terms(dataset, published, folder), ""]
    lines.append("Get the files of one of these ways from wherever they still are, and put them at")
    for number, way in enumerate(published.ways):
        lines += [f"  {'or at' if number else '     '} {folder / a.file}" for a in way.archives[:1]]
        lines += [f"        {folder / archive.file}" for archive in way.archives[1:]]
    lines += [
        f"  or the unpacked files in the published layout: {folder / dataset.files()[0]} ...",
        "Then check them and give the same command again; nothing is fetched twice:",
        f"  python -m replication.datasets verify {folder.parent}",
        "Part of the data set is enough with ALLOW_SUBSET=true (allow_subset: true); none of it is",
        "needed with source: embedded, which makes synthetic data.",
    ]
    return "\n".join(lines)
