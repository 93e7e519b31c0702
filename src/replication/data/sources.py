"""Everything that knows where data come from and how their files are laid out.

:func:`prepare` is the one entry: it makes a data set's raw files stand in a folder, in the
published layout, and returns their list. Nothing downstream asks for the source.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from replication.data.archives import from_archives, offers
from replication.data.catalog import DataSet, DataSetError, dataset_of, read_published
from replication.data.download import DownloadError, fetch
from replication.data.embedded import from_generator, sizes_of
from replication.data.manifest import Prepared, Request
from replication.registry import DATASETS

__all__ = [
    "BAD_FILE_POLICIES",
    "SOURCES",
    "fetch_archives",
    "folder_of",
    "prepare",
]


def fetch_archives(
    name: str,
    archives: str | os.PathLike[str],
    *,
    raw: str | os.PathLike[str] | None = None,
    allow_subset: bool = False,
) -> None:
    """Fetch what is missing of a data set into the folder of archives.

    Sizes, terms and sources are printed before anything is fetched, and progress is shown.

    Parameters
    ----------
    name : str
        Data set, one of :data:`replication.registry.DATASETS`.
    archives : path-like
        Folder whose sub-folder ``name`` is filled.
    raw : path-like, optional
        Folder of unpacked files; if they are all there, nothing is fetched.
    allow_subset : bool, default False
        Go on with what there is if something cannot be fetched; the instructions are printed.

    Raises
    ------
    DownloadError
        If something cannot be fetched. The message is a page of instructions.
    """
    _check_choice("data set", name, DATASETS)
    try:
        fetch(dataset_of(name), folder_of(archives) / name, None if raw is None else Path(raw))
    except DownloadError as error:
        if not (allow_subset and _some_files_of(name, folder_of(archives) / name, raw)):
            raise
        print(error, "Going on with what there is.", sep="\n", flush=True)


def _some_files_of(name: str, folder: Path, raw: str | os.PathLike[str] | None) -> bool:
    dataset = dataset_of(name)
    return bool(offers(dataset, read_published(name), folder)) or (
        raw is not None and any((Path(raw) / file).is_file() for file in dataset.files())
    )


def _from_download(request: Request) -> Prepared:
    """Fetch what is missing, then do what is done with archives."""
    if request.archives is None:
        raise DataSetError(f"{request.dataset.name}: no folder of archives was named")
    fetch_archives(
        request.dataset.name,
        request.archives.parent,
        raw=request.raw,
        allow_subset=request.allow_subset,
    )
    return dataclasses.replace(_source_of(request.dataset, "archives")(request), source="download")


SOURCES: dict[str, Callable[[Request], Prepared]] = {
    "embedded": from_generator,
    "archives": from_archives,
    "download": _from_download,
}
"""Where raw files can come from."""

BAD_FILE_POLICIES = ("error", "skip")
"""What can be done with a damaged file: stop, or list it and go on."""


def prepare(
    name: str,
    *,
    source: str,
    raw: str | os.PathLike[str],
    archives: str | os.PathLike[str] | None = None,
    allow_subset: bool = False,
    on_bad_file: str = "error",
    embedded: Mapping[str, int] | None = None,
    seed: int = 0,
    recordings: Mapping[str, int] | None = None,
    n_jobs: int | None = None,
) -> Prepared:
    """Make a data set's raw files stand in a folder and list them.

    Files that stand there already and pass their check are kept, so an interrupted call goes on
    where it stopped and a complete one does nothing, wherever the archives are by then.

    Parameters
    ----------
    name : str
        Data set, one of :data:`replication.registry.DATASETS`.
    source : str
        One of :data:`SOURCES`. ``embedded`` writes synthetic files; ``archives`` unpacks the
        published archives, or what there is of them; ``download`` fetches those that are missing
        first.
    raw : path-like
        Folder for the files, in the published layout. It is this function's own.
    archives : path-like, optional
        Folder whose sub-folder ``name`` holds the published archives.
    allow_subset : bool, default False
        Go on if published files are missing.
    on_bad_file : {"error", "skip"}, default "error"
        What to do with a damaged file: stop, or list it as skipped.
    embedded : mapping, optional
        Sizes of the synthetic data; what it leaves out has the generator's default.
    seed : int, default 0
        Seed of the synthetic data.
    recordings : mapping, optional
        ``sampling_rate`` in Hz and ``min_frames``, which every recording of a song must have.
    n_jobs : int, optional
        Processes for the synthetic data (joblib's convention).

    Returns
    -------
    Prepared

    Raises
    ------
    ValueError
        If an argument is unknown (the message lists what is allowed), files are missing, damaged
        or altered, or an archive is corrupt or unsafe.
    """
    _check_choice("data set", name, DATASETS)
    _check_choice(f"{name}: source", source, SOURCES)
    _check_choice(f"{name}: on_bad_file", on_bad_file, BAD_FILE_POLICIES)
    dataset = dataset_of(name)
    sizes = {}
    if source == "embedded":
        sizes = sizes_of(name)
        for size in embedded or {}:
            _check_choice(f"{name}: embedded", size, sizes)
        sizes |= embedded or {}
    make = _source_of(dataset, source)
    prepared = make(
        Request(
            dataset=dataset,
            raw=Path(raw),
            archives=None if archives is None else folder_of(archives) / name,
            allow_subset=allow_subset,
            skip_bad_files=on_bad_file == "skip",
            sizes=sizes,
            seed=seed,
            n_jobs=n_jobs,
            recordings=recordings or {},
        )
    )
    for remark in prepared.remarks():
        print(remark, flush=True)
    return prepared


def folder_of(archives: str | os.PathLike[str]) -> Path:
    """Return the folder of archives, a tilde expanded as a shell would.

    Raises
    ------
    DataSetError
        If there is no such user.
    """
    try:
        return Path(archives).expanduser()
    except RuntimeError as error:
        raise DataSetError(f"{archives}: {error} (folder of archives)") from error


def _source_of(dataset: DataSet, source: str) -> Callable[[Request], Prepared]:
    own = dataset.from_archives if source == "archives" else None
    return own or SOURCES[source]


def _check_choice(what: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{what} {value!r} is unknown; it comes with: {', '.join(allowed)}")
