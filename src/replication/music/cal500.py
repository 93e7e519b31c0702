"""CAL500: 502 songs of western popular music annotated with 174 tags by paid listeners.

Turnbull, Barrington, Torres, Lanckriet, SIGIR 2007. In the published layout the four files of
:mod:`replication.music.annotations` stand beside the folder ``CAL500_32kps`` that holds a
recording ``<artist>-<title>.mp3`` of each song; .wav, .flac and .ogg are accepted as well.

The annotations may be copied for non-profit research and education with their notice, so they are
no part of this package. The recordings are commercial; whoever has them adds them as above.
"""

from __future__ import annotations

import difflib
import os
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import joblib

from replication.data.catalog import DataSet, as_published, read_checksums, read_published
from replication.data.manifest import Prepared, RawFolder, Request, build_table, standing
from replication.io import atomic_path, sha256_of
from replication.music.annotations import (
    AUDIO_FOLDER,
    FILES,
    Cal500Error,
    check_published_counts,
    read_annotations,
)
from replication.music.framing import SAMPLING_RATE, frame_seconds

__all__ = ["AUDIO_SUFFIXES", "DATASET", "AudioFiles", "find_audio", "from_folder"]

AUDIO_SUFFIXES = (".mp3", ".wav", ".flac", ".ogg")

_NOTICE = "README_CAL500.txt"


@dataclass(frozen=True)
class AudioFiles:
    """Recordings of the annotated songs.

    Attributes
    ----------
    paths : mapping of str to pathlib.Path
        Song to file, in the order of the annotations.
    songs_without_audio : tuple of str
        Annotated songs that have no file.
    audio_without_song : tuple of pathlib.Path
        Recordings whose name is no annotated song, and what has the name of one but another suffix.
    others : tuple of pathlib.Path
        What is no recording by name (``desktop.ini``, ``Thumbs.db``).
    """

    paths: Mapping[str, Path]
    songs_without_audio: tuple[str, ...]
    audio_without_song: tuple[Path, ...]
    others: tuple[Path, ...] = ()


def find_audio(folder: str | os.PathLike[str], songs: Sequence[str]) -> AudioFiles:
    """Match the files of ``<folder>/CAL500_32kps`` with annotated songs by name.

    An accent may be a part of its letter or a character of its own, in the name of a file and in
    that of a song: names are compared in the composed form (Unicode's NFC).

    Parameters
    ----------
    folder : path-like
        Folder of the data set.
    songs : sequence of str
        Annotated songs.

    Returns
    -------
    AudioFiles

    Raises
    ------
    Cal500Error
        If the folder is missing or a song has several files.
    """
    audio = Path(folder) / AUDIO_FOLDER
    if not audio.is_dir():
        raise Cal500Error(
            f"{audio}: no such folder; it must hold the recordings <artist>-<title>.mp3 "
            f"({', '.join(AUDIO_SUFFIXES)})"
        )
    found: dict[str, Path] = {}
    strangers: list[Path] = []
    others: list[Path] = []
    known = {_composed(song): song for song in songs}
    # File managers leave hidden files of their own.
    for path in sorted(path for path in audio.iterdir() if not path.name.startswith(".")):
        name = path.name[: -len(path.suffix)] if path.suffix else path.name
        song = known.get(_composed(name))
        is_audio = path.suffix.lower() in AUDIO_SUFFIXES
        if not is_audio or song is None or not path.is_file():
            (strangers if is_audio or song is not None else others).append(path)
        elif song in found:
            form = ""
            if _composed(found[song].name) == _composed(path.name):
                form = " (the names differ in the Unicode form of their accents)"
            raise Cal500Error(f"{path}: song {song!r} has another file, {found[song].name}{form}")
        else:
            found[song] = path
    return AudioFiles(
        paths={song: found[song] for song in songs if song in found},
        songs_without_audio=tuple(song for song in songs if song not in found),
        audio_without_song=tuple(strangers),
        others=tuple(others),
    )


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _identify(file: str) -> tuple[str, str] | None:
    """Return id and label of a file of the data set, or None for any other file."""
    folder, _, name = file.rpartition("/")
    path = Path(name)
    if folder == AUDIO_FOLDER and path.suffix.lower() in AUDIO_SUFFIXES:
        return path.stem, "song"
    if not folder and name in FILES:
        return path.stem, "annotations"
    return None


def _fault_of(
    path: Path, /, sampling_rate: int = SAMPLING_RATE, min_frames: int = 125
) -> str | None:
    """Return what is wrong with a recording, or None. Annotations are checked when read."""
    if path.suffix.lower() not in AUDIO_SUFFIXES:
        return None
    # Seconds of imports, and not every job reads sound.
    from replication.data.audio import AudioFileError, load_audio

    try:
        load_audio(path, sampling_rate, min_seconds=frame_seconds(min_frames, sampling_rate))
    except AudioFileError as error:
        return error.fault
    return None


def from_folder(request: Request) -> Prepared:
    """Take annotations and recordings from a folder of loose files and list them.

    The folder, ``<archives>/cal500``, is laid out as the module's text says: the published archives
    are tar files of other layouts, which the user unpacks. The annotations must be the published
    ones, byte for byte; a notice beside them comes along, as their terms want.

    Raises
    ------
    DataSetError
        If annotations are missing or altered, no recording is at hand, songs lack one and
        ``allow_subset`` is not set, or a recording is damaged or belongs to no song and bad files
        are not to be skipped.
    """
    folder = RawFolder(request.raw, {"source": "archives"})
    state = folder.load()
    listed = read_checksums(request.dataset.name)
    _take_annotations(request, folder.path, listed)
    annotations = read_annotations(folder.path)
    check_published_counts(annotations)

    kept = standing(folder.path, state.get("files", {}))
    offered = _offered_audio(request, annotations.songs)
    strangers = list(_describe_strangers(offered))
    if strangers and not request.skip_bad_files:
        raise Cal500Error(
            "\n  ".join(strangers) + "\non_bad_file: skip would list such files and go on"
        )
    # What other features could be made of is looked at anew.
    checked = kept if state.get("recordings") == request.recordings else {}
    used, skipped = _take_audio(request, folder, offered, checked)
    # Recordings of an earlier run stay, wherever their source has gone.
    at_hand = {identified[0] for file in {*used, *skipped} if (identified := _identify(file))}
    earlier = {file: sum_ for file, sum_ in kept.items() if Path(file).stem not in at_hand}
    used |= earlier
    at_hand |= {Path(file).stem for file in earlier}
    folder.save({"files": used, "recordings": dict(request.recordings)})

    missing = [song for song in annotations.songs if song not in at_hand]
    if not used or (missing and not request.allow_subset):
        raise Cal500Error(_missing_message(request, annotations.songs, missing))
    folder.finish()
    absent = [f"{AUDIO_FOLDER}/{song}.mp3" for song in missing]
    table = build_table(
        request.dataset,
        "real",
        used={**used, **listed},
        skipped=skipped,
        listed=[*listed, *absent],
    )
    # Songs are known by name only: no checksums of the recordings were published.
    table.loc[table["label"] == "song", "check"] = "unlisted"
    return Prepared(
        dataset=request.dataset.name,
        title=read_published(request.dataset.name).title,
        items=request.dataset.items,
        counted=request.dataset.counted or request.dataset.items,
        beside=request.dataset.beside,
        source="archives",
        origin="real",
        table=table,
        archives={},
        ignored=tuple(
            f"{AUDIO_FOLDER}/{path.name}" for path in (*offered.audio_without_song, *offered.others)
        ),
    )


def _take_annotations(request: Request, raw: Path, listed: Mapping[str, str]) -> None:
    there = standing(raw, listed)
    for file, expected in listed.items():
        if file in there:
            continue
        source = None if request.archives is None else request.archives / file
        if source is None or not source.is_file():
            where = (
                "no folder of archives was named" if source is None else f"{source}: no such file"
            )
            raise Cal500Error(f"{request.dataset.name}: {file} is missing ({where})")
        published = as_published(source.read_bytes(), file, listed)
        if published is None:
            raise Cal500Error(
                f"{source}: differs from the published file by more than line ends (SHA-256 "
                f"{sha256_of(source)}, published {expected}); altered data are never used"
            )
        with atomic_path(raw / file) as temporary:
            temporary.write_bytes(published)
    if request.archives is not None and (request.archives / _NOTICE).is_file():
        _copy(request.archives / _NOTICE, raw / _NOTICE)


def _offered_audio(request: Request, songs: Sequence[str]) -> AudioFiles:
    if request.archives is None or not (request.archives / AUDIO_FOLDER).is_dir():
        return AudioFiles({}, tuple(songs), ())
    return find_audio(request.archives, songs)


def _take_audio(
    request: Request, folder: RawFolder, offered: AudioFiles, kept: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Copy the intact recordings; return sums of these, and sums and faults of the others."""
    files = {f"{AUDIO_FOLDER}/{song}{path.suffix}": path for song, path in offered.paths.items()}
    sums = {file: sha256_of(path) for file, path in files.items()}
    new = [file for file in files if kept.get(file) != sums[file]]
    faults = joblib.Parallel(n_jobs=request.n_jobs)(
        joblib.delayed(partial(_fault_of, **request.recordings))(files[file]) for file in new
    )
    skipped = {file: (sums[file], fault) for file, fault in zip(new, faults, strict=True) if fault}
    if skipped and not request.skip_bad_files:
        file, (_, fault) = min(skipped.items())
        raise Cal500Error(
            f"{request.dataset.name}: {file} {fault}; on_bad_file: skip would list it and go on "
            "without it"
        )
    for file in new:
        if file not in skipped:
            _copy(files[file], folder.path / file)
    return {file: sums[file] for file in files if file not in skipped}, skipped


def _copy(source: Path, target: Path) -> None:
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)


def _describe_strangers(offered: AudioFiles) -> Iterator[str]:
    """Describe each file without a song, with the missing song that it may be meant for."""
    for path in offered.audio_without_song:
        if path.suffix.lower() not in AUDIO_SUFFIXES:
            yield f"{path}: a recording must end with {', '.join(AUDIO_SUFFIXES)}"
            continue
        close = difflib.get_close_matches(path.stem, offered.songs_without_audio, n=1)
        hint = f"; is it meant for {close[0]!r}?" if close else ""
        yield f"{path}: is the recording of no annotated song{hint}"


def _missing_message(request: Request, songs: Sequence[str], missing: Sequence[str]) -> str:
    at_hand = len(songs) - len(missing)
    shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
    place = "<archives>/cal500" if request.archives is None else str(request.archives)
    lines = [
        f"{request.dataset.name}: recordings of {at_hand:,} of {len(songs):,} songs are at hand",
        f"  missing ({len(missing):,}): {shown}",
        f"  recordings are looked for in {place}/{AUDIO_FOLDER}, "
        f"named <artist>-<title> with suffix {', '.join(AUDIO_SUFFIXES)}",
    ]
    if at_hand:
        lines.append("  allow_subset: true goes on with what there is")
    return "\n".join(lines)


DATASET = DataSet(
    name="cal500",
    items="songs and files of annotations",
    counted="songs",
    beside="annotations",
    identify=_identify,
    fault_of=_fault_of,
    max_archive_bytes=1 << 31,
    # Its archives are tar files that nobody can offer; users have loose files.
    from_archives=from_folder,
)
"""Labels of its files are ``song`` and ``annotations``; the id of a song is its name."""
