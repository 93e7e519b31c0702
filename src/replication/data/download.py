"""From a published address to verified archives, or one page of instructions.

:func:`fetch` fills the folder of archives, which then serves like one that somebody filled by
hand. A file appears there under its name only after it was checked: against the published checksum
of the archive if there is one, and what is in it against the list of the data set's files. What
lies there whole is used as it is and never fetched; what is broken is set aside and fetched again.
Each fault of an address leads to the next one, and the page at the end names them all.

Some addresses are plain HTTP, and some hosts have a certificate that nobody vouches for. Both are
named before they are used; the checks are what makes their files count.
"""

from __future__ import annotations

import fcntl
import lzma
import shutil
import sys
import tarfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import pooch
import requests
import tenacity
import urllib3

from replication.data.archives import (
    ArchiveError,
    fault_of_name,
    nature_of,
    offer_of_archive,
    sum_as_listed,
)
from replication.data.catalog import (
    Archive,
    DataSet,
    DataSetError,
    Published,
    Way,
    place_of,
    read_checksums,
    read_published,
)
from replication.data.manifest import standing
from replication.io import set_aside

__all__ = ["PATIENCE", "DownloadError", "Patience", "describe_missing", "fetch"]

_PARCEL = ".downloading"  # inside the folder of archives, so that moving a file out is renaming
_LOCK = ".lock"
_TAR = (".tar", ".tar.gz", ".tgz")
_BYTES_PER_SECOND = 1_000_000  # for the estimate of the time; said beside it
_CHUNK = 1 << 12  # small, so that a slow answer is seen to come
_PULSE_S = 0.5  # between two looks at how fast an answer comes
_LATER_S, _LATER_SPEED = 600, 10_000  # seconds, and bytes in each one beyond them
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class DownloadError(DataSetError):
    """A data set cannot be fetched; the message says what to do by hand."""


class _Rejected(Exception):
    """A file that arrived is not the published one."""


class _Cut(_Rejected):
    """An answer ended too early; the next one may be whole."""


class _TooSlow(Exception):
    """An answer would take days."""


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
    slack, speed : float
        So many seconds beyond those of ``connect`` and ``read`` an answer may be slower than these
        bytes a second; ten minutes later it must come a hundred times as fast.
    """

    connect: float = 10
    read: float = 60
    attempts: int = 4
    pause: float = 1
    slack: float = 15
    speed: float = 100


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
    published = read_published(dataset.name)
    if not _broken(dataset, published, folder) and _is_at_hand(dataset, folder, raw):
        return
    try:
        with _alone(folder):
            faults = [
                f"{path}\n      {fault}; set aside as {set_aside(path).name}"
                for path, fault in _broken(dataset, published, folder).items()
            ]
            for fault in faults:
                print(fault, flush=True)
            # Another process may have fetched it while this one waited.
            if _is_at_hand(dataset, folder, raw):
                return
            print(_terms(dataset, published, folder), flush=True)
            parcel = folder / _PARCEL
            shutil.rmtree(parcel, ignore_errors=True)  # of a process that was killed
            parcel.mkdir()
            try:
                _Errand(dataset, folder, parcel, patience or PATIENCE, faults).run(published)
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
    listed = read_checksums(dataset.name)
    for place in (raw, folder):
        if (
            place is not None
            and all((place / file).is_file() for file in dataset.files())
            and standing(place, listed) == listed
        ):
            return True
    return any(not _missing(dataset, way, folder) for way in read_published(dataset.name).ways)


def _missing(dataset: DataSet, way: Way, folder: Path) -> list[Archive]:
    """List the files of a way that are not there whole, single files in place of their folder."""
    return [
        file
        for file in _files(dataset, way)
        if not (folder / file.file).is_file()
        or _is_packed(dataset, file, folder)
        or _fault_at(dataset, file, folder)
    ]


def _broken(dataset: DataSet, published: Published, folder: Path) -> dict[Path, str]:
    """Say what is wrong with files that lie at their place."""
    files = [file for way in published.ways for file in _files(dataset, way)]
    faults = {folder / file.file: _fault_at(dataset, file, folder) for file in files}
    return {path: fault for path, fault in faults.items() if fault}


def _files(dataset: DataSet, way: Way) -> list[Archive]:
    return [
        file
        for archive in way.archives
        for file in (_single_files(dataset, archive) if archive.is_folder else [archive])
    ]


def _is_packed(dataset: DataSet, archive: Archive, folder: Path) -> bool:
    """Tell whether it is a tar archive, put there by hand, that nobody has unpacked yet."""
    return archive.file.endswith(_TAR) and not all(
        (folder / file).is_file() for file in dataset.files()
    )


def _single_files(dataset: DataSet, archive: Archive) -> list[Archive]:
    return [
        replace(
            archive,
            file=file,
            urls=tuple(url + quote(file.removeprefix(archive.file)) for url in archive.urls),
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
    faults: list[str]
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
        here = self.folder / archive.file
        if here.is_file():
            self._put(archive, here)
            return True
        for url in archive.urls:
            fault = self._get_from(archive, url)
            if fault is None:
                return True
            self.faults.append(f"{url}\n      {fault}")
        return False

    def _get_from(self, archive: Archive, url: str) -> str | None:
        """Fetch one file from one address; return what is wrong, if anything is."""
        host = url.split("/")[2]
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
        except (requests.ConnectionError, requests.Timeout, _TooSlow) as error:
            late = isinstance(error, (requests.Timeout, _TooSlow)) or "timed out" in str(error)
            self.silent[host] = "the answer takes too long" if late else "cannot be reached"
            return self.silent[host]
        except (requests.RequestException, ValueError) as error:
            return f"the answer makes no sense ({error})"
        except OSError as error:
            return f"{error.strerror or error}; make room or name another folder of archives"
        self._put(archive, path)
        return None

    def _transfer(self, archive: Archive, url: str, path: Path) -> None:
        """Bring the bytes, with further attempts if the fault may pass."""
        free = shutil.disk_usage(self.parcel).free
        if archive.n_bytes is not None and free < archive.n_bytes:
            raise _Rejected(
                f"{archive.file} needs about {_size(archive.n_bytes)}, {_size(free)} are free; "
                "make room or name another folder of archives"
            )
        # The listed size is a rough one.
        most = self.dataset.max_archive_bytes
        if archive.n_bytes is not None:
            most = min(most, 2 * archive.n_bytes + _CHUNK)
        for attempt in tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.patience.attempts),
            wait=tenacity.wait_exponential(multiplier=self.patience.pause),
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        ):
            with attempt, path.open("wb") as file:
                body = _Body(file, most)
                downloader = pooch.HTTPDownloader(
                    progressbar=sys.stderr.isatty(),  # a log gets no bar
                    chunk_size=_CHUNK,
                    timeout=(self.patience.connect, self.patience.read),
                    verify=not archive.invalid_certificate,
                    hooks={"response": body.look_at},
                )
                with warnings.catch_warnings():
                    # Said to the user already, and the file is checked.
                    warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
                    body.fill(partial(downloader, url, body, None), self.patience)

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


class _Body:
    """A file that an answer fills, in bounded time and to a bounded size."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most
        self._answers: list[requests.Response] = []
        self._n_bytes = 0

    def write(self, chunk: bytes) -> None:
        self._n_bytes += len(chunk)
        if self._n_bytes > self._most:
            raise _Rejected(f"more than {self._most:,} bytes came, and no end")
        self._file.write(chunk)

    def flush(self) -> None:
        self._file.flush()

    def look_at(self, answer: requests.Response, *_: object, **__: object) -> None:
        """Keep an answer, which may lead to others, and refuse one that is too large."""
        self._answers.append(answer)
        announced = answer.headers.get("Content-Length", "")
        if announced.isdigit() and int(announced) > self._most:
            raise _Rejected(f"{int(announced):,} bytes are announced, at most {self._most:,} taken")

    def fill(self, transfer: Callable[[], None], patience: Patience) -> None:
        """Transfer within the time that the patience allows."""
        done: Future[None] = Future()
        # A time-out is between two pieces, and none of them covers names and headers.
        threading.Thread(target=self._run, args=(transfer, done), daemon=True).start()
        start = time.monotonic()
        while not wait([done], timeout=_PULSE_S).done:
            seconds = time.monotonic() - start - patience.connect - patience.read - patience.slack
            expected = patience.speed * seconds + _LATER_SPEED * max(0, seconds - _LATER_S)
            if self._n_bytes < expected:
                for answer in self._answers:
                    with suppress(Exception):  # it may have ended by now
                        answer.raw.shutdown()
                raise _TooSlow
        try:
            done.result()
        except requests.exceptions.ChunkedEncodingError as error:
            announced = self._answers[-1].headers.get("Content-Length", "an unknown number of")
            came = self._answers[-1].raw.tell()
            raise _Cut(f"the connection was cut: {came} of {announced} bytes came") from error
        if self._n_bytes == 0:
            raise _Rejected(f"empty answer (status {self._answers[-1].status_code})")

    def _run(self, transfer: Callable[[], None], done: Future[None]) -> None:
        fault: BaseException | None = None
        try:
            transfer()
        except BaseException as error:
            fault = error
        for answer in self._answers:  # after an error pooch leaves the connection open
            answer.close()
        if fault is None:
            done.set_result(None)
        else:
            done.set_exception(fault)


def _status(error: requests.HTTPError) -> int:
    assert error.response is not None  # pooch raises the error for an answer
    return error.response.status_code


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, requests.HTTPError):
        return _status(error) in _PASSING
    passing = (requests.ConnectionError, requests.Timeout, _Cut)
    return isinstance(error, passing) and not isinstance(error, requests.exceptions.SSLError)


def _fault_at(dataset: DataSet, archive: Archive, folder: Path) -> str:
    """Say what is wrong with a file that somebody has put at its place; parts will do."""
    path = folder / archive.file
    # A tar archive whose files lie beside it has been read.
    is_read = archive.file.endswith(_TAR) and not _is_packed(dataset, archive, folder)
    if is_read or not path.is_file():
        return ""
    return _known_fault(dataset, replace(archive, checksum=""), path, path.stat().st_mtime_ns)


@cache
def _known_fault(dataset: DataSet, archive: Archive, path: Path, mtime_ns: int) -> str:
    del mtime_ns  # a file that has changed is judged again
    try:
        _check(dataset, archive, path)
    except _Rejected as error:
        return str(error)
    return ""


def _check(dataset: DataSet, archive: Archive, path: Path) -> None:
    """Raise an error unless a file that arrived is what was published."""
    listed = read_checksums(dataset.name)
    if archive.checksum:
        kind, _, expected = archive.checksum.partition(":")
        found = pooch.file_hash(str(path), alg=kind)
        if found != expected:
            raise _Rejected(
                f"is {nature_of(path) or 'not the published file'} ({_size(path.stat().st_size)}, "
                f"{kind} {found}; published: {_size(archive.n_bytes)}, {expected})"
            )
    try:
        if archive.file.endswith(".zip"):
            offer = offer_of_archive(dataset, path)
            if not offer.members:
                raise _Rejected(offer.describe_nothing(dataset.items))
            sums = offer.sums(listed)
        elif archive.file.endswith(_TAR):
            sums = _tar_sums(dataset, path, listed)
        else:
            if archive.file not in listed and (fault := dataset.fault_of(path)):
                raise _Rejected(f"is {nature_of(path) or 'not the published file'}: {fault}")
            sums = iter([(archive.file, sum_as_listed(path.read_bytes(), archive.file, listed))])
        # All of them before the first is judged: damage may show at the end.
        found_sums = dict(sums)
    except ArchiveError as error:
        raise _Rejected(error.fault) from error
    if not found_sums:
        raise _Rejected(f"holds none of the {dataset.items}")
    for file, sha256 in found_sums.items():
        if listed.get(file, sha256) != sha256:
            raise _Rejected(
                f"is {nature_of(path) or 'intact'}, but holds another {file} than was published "
                f"(sha256 {sha256}, published {listed[file]})"
            )


def _tar_sums(dataset: DataSet, path: Path, listed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for place, content in _tar_items(dataset, path):
        yield place, sum_as_listed(content, place, listed)


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
        with tarfile.open(path, "r:*") as archive:
            for info in archive:
                name = info.name.rpartition("/")[2]
                place = place_of(dataset, info.name)
                if place is None and with_notices and name.upper().startswith("README"):
                    place = name
                if place is None or not info.isfile():
                    continue
                if fault := fault_of_name(place):
                    raise ArchiveError(path, f"member {name[:60]!r} {fault}")
                total += info.size
                _check_total(dataset, path, total)
                stream = archive.extractfile(info)
                assert stream is not None  # only of files that are no regular ones
                yield place, stream.read()
            # The checksum of a compressed archive stands behind the last member.
            while archive.fileobj is not None and (rest := archive.fileobj.read(_CHUNK)):
                total += len(rest)
                _check_total(dataset, path, total)
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        nature = (
            nature_of(path) or f"corrupt, cut or no tar archive ({str(error).partition(':')[0]})"
        )
        raise ArchiveError(path, f"is {nature}") from error


def _check_total(dataset: DataSet, path: Path, n_bytes: int) -> None:
    if n_bytes > dataset.max_archive_bytes:
        raise ArchiveError(path, f"unpacks to more than {dataset.max_archive_bytes:,} bytes")


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
        f"  python -m replication.data verify {folder.parent}",
        "Part of the data set is enough with ALLOW_SUBSET=true (allow_subset: true); none of it is",
        "needed with source: embedded, which makes synthetic data.",
    ]
    return "\n".join(lines)
