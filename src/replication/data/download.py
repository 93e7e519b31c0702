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
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlsplit

import pooch
import requests
import tenacity
import urllib3

from replication.data.archives import (
    ArchiveError,
    Offer,
    fault_of_name,
    nature_of,
    offer_of,
    sum_as_listed,
)
from replication.data.catalog import (
    Archive,
    DataSet,
    DataSetError,
    Way,
    read_checksums,
    read_published,
)
from replication.data.manifest import standing
from replication.digests import PARTIAL, empty_partial
from replication.io import set_aside

__all__ = ["PATIENCE", "DownloadError", "Patience", "describe_missing", "fetch"]

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


class _TooSlow(requests.Timeout):
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
"""Two minutes at most for an address that is dead."""


def fetch(dataset: DataSet, folder: Path, raw: Path | None = None) -> None:
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

    Raises
    ------
    DownloadError
        If no way to the data set is complete in the end. What was fetched and checked stays.
    """
    shelf = _Shelf(dataset, folder)
    if not shelf.broken() and shelf.is_filled(raw):
        return
    try:
        with _alone(folder):
            faults = []
            for path, fault in shelf.broken().items():
                faults.append(f"{path}\n      {fault}; set aside as {set_aside(path).name}")
                print(faults[-1], flush=True)
            # Another process may have fetched it while this one waited.
            if not shelf.is_filled(raw):
                print(shelf.terms(), flush=True)
                empty_partial(folder)  # of a process that was killed
                try:
                    _Errand(shelf, PATIENCE, faults).run()
                finally:
                    shutil.rmtree(folder / PARTIAL, ignore_errors=True)
    except OSError as error:
        raise DownloadError(
            f"{dataset.name}: cannot write to {folder}: {error.strerror or error}\n"
            "Make room there or name another folder of archives; what was fetched and checked "
            "stays."
        ) from error


def describe_missing(dataset: DataSet, folder: Path, raw: Path | None = None) -> str:
    """Say what :func:`fetch` would fetch, how large it is and how long it takes, or nothing."""
    shelf = _Shelf(dataset, folder)
    return "" if shelf.is_filled(raw) else shelf.terms()


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


class _Shelf:
    """A data set's folder of archives: what is there, what is missing and how to get it."""

    def __init__(self, dataset: DataSet, folder: Path) -> None:
        self.dataset, self.folder = dataset, folder
        self.published = read_published(dataset.name)
        self._files, self._listed = dataset.files(), read_checksums(dataset.name)

    def is_filled(self, raw: Path | None) -> bool:
        """Tell whether there is all of the data set, here or unpacked, or all of one way to it."""
        places = [place for place in (raw, self.folder) if place and self._has_all(place)]
        if any(standing(place, self._listed) == self._listed for place in places):
            return True
        return any(not self.missing(way) for way in self.published.ways)

    def missing(self, way: Way) -> list[Archive]:
        """List the files of a way that are not there whole, and tar archives not unpacked."""
        return [
            file
            for file in self._files_of(way)
            if not (
                self._has_all(self.folder)
                if file.file.endswith(_TAR)
                else (self.folder / file.file).is_file() and not self._fault(file)
            )
        ]

    def broken(self) -> dict[Path, str]:
        """Say what is wrong with files that lie at their place."""
        files = [file for way in self.published.ways for file in self._files_of(way)]
        faults = {self.folder / file.file: self._fault(file) for file in files}
        return {path: fault for path, fault in faults.items() if fault}

    def _has_all(self, place: Path) -> bool:
        return all((place / file).is_file() for file in self._files)

    def _files_of(self, way: Way) -> Iterator[Archive]:
        """Iterate over what is fetched for a way, single files in place of their folder."""
        for archive in way.archives:
            single = [file for file in self._files if file.startswith(archive.file)]
            for file in single if archive.is_folder else [archive.file]:
                below = quote(file.removeprefix(archive.file))
                yield replace(archive, file=file, urls=tuple(url + below for url in archive.urls))

    def _fault(self, file: Archive) -> str:
        """Say what is wrong with a file that somebody has put at its place; parts will do."""
        path = self.folder / file.file
        # A tar archive whose files lie beside it has been read.
        is_read = file.file.endswith(_TAR) and self._has_all(self.folder)
        if is_read or not path.is_file():
            return ""
        return _known_fault(self.dataset, replace(file, checksum=""), path, path.stat().st_mtime_ns)

    def put(self, file: Archive, path: Path) -> None:
        """Move a checked file, and what is in a tar archive before it, to the final place."""
        moves = {file.file: path}
        if file.file.endswith(_TAR):
            moves = _unpacked(offer_of(self.dataset, path), self.folder / PARTIAL) | moves
        for place, source in moves.items():
            target = self.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)

    def terms(self) -> str:
        """Describe the ways to a data set: files, sizes, time, addresses, terms, citation."""
        lines = [f"{self.published.title} ({self.dataset.name}) is not complete in {self.folder}"]
        every = [archive for way in self.published.ways for archive in way.archives]
        lines += [f"  terms: {terms}" for terms in dict.fromkeys(a.licence for a in every)]
        lines += [f"  cite: {cited}" for cited in dict.fromkeys(a.citation for a in every)]
        for number, way in enumerate(self.published.ways):
            missing = {file.file for file in self.missing(way)}
            rows = [a for a in way.archives if any(file.startswith(a.file) for file in missing)]
            name = f" ({way.name})" if way.name else ""
            lines.append(f"  {'or' if number else 'missing'}{name}: {_effort(rows)}")
            for archive in rows:
                count = sum(file.startswith(archive.file) for file in missing)
                what = f"{count} files" if archive.is_folder else _size(archive.n_bytes)
                lines.append(f"    {archive.file}, {what}")
                lines += [f"      {url}{_warning(archive, url)}" for url in archive.urls]
        if any("[" in line for line in lines):
            lines.append(
                "  [...]: nobody vouches for the sender; files count only after their check"
            )
        lines += [
            f"  by hand, if you may have it: {a.file} ({a.licence}), published at "
            f"{', '.join(a.urls)}"
            for a in self.published.by_hand
        ]
        return "\n".join(lines)

    def instructions(self, faults: Sequence[str]) -> str:
        """Say on one page what failed and which file to put where."""
        lines = [f"{self.dataset.name} could not be fetched. What was tried:"]
        lines += [f"  {fault}" for fault in faults]
        lines += ["", self.terms(), ""]
        lines.append(
            "Get the files of one of these ways from wherever they still are, and put them at"
        )
        for number, way in enumerate(self.published.ways):
            first, *others = [self.folder / archive.file for archive in way.archives]
            lines.append(f"  {'or at' if number else '     '} {first}")
            lines += [f"        {path}" for path in others]
        lines += [
            f"  or the unpacked files in the published layout: {self.folder / self._files[0]} ...",
            "Then check them and give the same command again; nothing is fetched twice:",
            f"  python -m replication.data verify {self.folder.parent}",
            "Part of the data set is enough with ALLOW_SUBSET=true (allow_subset: true); none of",
            "it is needed with source: embedded, which makes synthetic data.",
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
    return " [invalid certificate]" if archive.invalid_certificate else ""


# --- what counts as the published file -----------------------------------------------------------


@cache
def _known_fault(dataset: DataSet, archive: Archive, path: Path, mtime_ns: int) -> str:
    """Judge a file once for as long as it does not change."""
    return _fault_of(dataset, archive, path)


def _fault_of(dataset: DataSet, archive: Archive, path: Path) -> str:
    """Say why a file is not what was published; empty if it is."""
    listed = read_checksums(dataset.name)
    if archive.checksum:
        kind, _, expected = archive.checksum.partition(":")
        found = pooch.file_hash(str(path), alg=kind)
        if found != expected:
            return (
                f"is {nature_of(path) or 'not the published file'} ({_size(path.stat().st_size)}, "
                f"{kind} {found}; published: {_size(archive.n_bytes)}, {expected})"
            )
    if archive.file.endswith((".zip", *_TAR)):
        try:
            offer = offer_of(dataset, path)
            # All of them before the first is judged: damage may show at the end.
            sums = dict(offer.sums(listed))
        except ArchiveError as error:
            return error.fault
        if not sums:
            return offer.describe_nothing(dataset.items)
    else:
        if archive.file not in listed and (fault := dataset.fault_of(path)):
            return f"is {nature_of(path) or 'not the published file'}: {fault}"
        sums = {archive.file: sum_as_listed(path.read_bytes(), archive.file, listed)}
    for file, sha256 in sums.items():
        if listed.get(file, sha256) != sha256:
            return (
                f"is {nature_of(path) or 'intact'}, but holds another {file} than was published "
                f"(sha256 {sha256}, published {listed[file]})"
            )
    return ""


def _unpacked(tar: Offer, folder: Path) -> dict[str, Path]:
    """Unpack a tar archive, which the archives stage does not read; its terms travel along."""
    names = {member.rpartition("/")[2]: member for member in tar.ignored}
    notices = {
        name: member
        for name, member in names.items()
        if name.upper().startswith("README") and not fault_of_name(name)
    }
    unpacked = {}
    for place, content in tar.read({**notices, **tar.members}):
        unpacked[place] = folder / "unpacked" / place
        unpacked[place].parent.mkdir(parents=True, exist_ok=True)
        unpacked[place].write_bytes(content)
    return unpacked


# --- the way here ---------------------------------------------------------------------------------


class _Errand:
    """One attempt to fetch a data set; ``faults`` gets a line for each thing that goes wrong."""

    def __init__(self, shelf: _Shelf, patience: Patience, faults: list[str]) -> None:
        self._shelf, self._patience, self._faults = shelf, patience, faults
        # Hosts that did not answer, which are not asked again for each of many files.
        self._silent: dict[str, str] = {}

    def run(self) -> None:
        """Try one way after the other."""
        for way in self._shelf.published.ways:
            # One file that cannot be had makes the others of its way useless.
            if all(self._get(file) for file in self._shelf.missing(way)):
                return
        raise DownloadError(self._shelf.instructions(self._faults))

    def _get(self, file: Archive) -> bool:
        """Fetch one file from the first address that gives the right one."""
        here = self._shelf.folder / file.file
        if here.is_file():
            self._shelf.put(file, here)
            return True
        path = self._shelf.folder / PARTIAL / here.name
        for url in file.urls:
            fault = self._fault_of_transfer(file, url, path) or _fault_of(
                self._shelf.dataset, file, path
            )
            if not fault:
                self._shelf.put(file, path)
                return True
            self._faults.append(f"{url}\n      {fault}")
        return False

    def _fault_of_transfer(self, file: Archive, url: str, path: Path) -> str:
        """Bring the bytes from one address; say what is wrong, if anything is."""
        host = urlsplit(url).netloc
        if host in self._silent:
            return self._silent[host]
        try:
            self._transfer(file, url, path)
        except _Rejected as error:
            return str(error)
        except requests.HTTPError as error:
            return f"the server answers {_status(error)}"
        except requests.exceptions.SSLError:
            return "its certificate is not valid"
        except requests.TooManyRedirects:
            return "redirects without end"
        except (requests.ConnectionError, requests.Timeout) as error:
            late = isinstance(error, requests.Timeout) or "timed out" in str(error)
            self._silent[host] = "the answer takes too long" if late else "cannot be reached"
            return self._silent[host]
        except (requests.RequestException, ValueError) as error:
            return f"the answer makes no sense ({error})"
        except OSError as error:
            return f"{error.strerror or error}; make room or name another folder of archives"
        return ""

    def _transfer(self, file: Archive, url: str, path: Path) -> None:
        """Bring the bytes, with further attempts if the fault may pass."""
        most = self._shelf.dataset.max_archive_bytes
        if file.n_bytes is not None:
            free = shutil.disk_usage(path.parent).free
            if free < file.n_bytes:
                raise _Rejected(
                    f"{file.file} needs about {_size(file.n_bytes)}, {_size(free)} are free; "
                    "make room or name another folder of archives"
                )
            # The listed size is a rough one.
            most = min(most, 2 * file.n_bytes + _CHUNK)
        for attempt in tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._patience.attempts),
            wait=tenacity.wait_exponential(multiplier=self._patience.pause),
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        ):
            with attempt, path.open("wb") as stream, warnings.catch_warnings():
                # Said to the user already, and the file is checked.
                warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
                body = _Body(stream, most)
                downloader = pooch.HTTPDownloader(
                    progressbar=sys.stderr.isatty(),  # a log gets no bar
                    chunk_size=_CHUNK,
                    timeout=(self._patience.connect, self._patience.read),
                    verify=not file.invalid_certificate,
                    hooks={"response": body.look_at},
                )
                body.fill(partial(downloader, url, body, None), self._patience)


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

        def run() -> None:
            try:
                transfer()
                done.set_result(None)
            except BaseException as error:
                done.set_exception(error)
            for answer in self._answers:  # after an error pooch leaves the connection open
                answer.close()

        # A time-out is between two pieces, and none of them covers names and headers.
        threading.Thread(target=run, daemon=True).start()
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


def _status(error: requests.HTTPError) -> int:
    assert error.response is not None  # pooch raises the error for an answer
    return error.response.status_code


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, requests.HTTPError):
        return _status(error) in _PASSING
    passing = (requests.ConnectionError, requests.Timeout, _Cut)
    return isinstance(error, passing) and not isinstance(
        error, (requests.exceptions.SSLError, _TooSlow)
    )
