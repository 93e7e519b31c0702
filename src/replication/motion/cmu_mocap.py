"""CMU motion capture: the 56 sequences of eight classes that ``resources/motions.tsv`` names.

The class sizes are those of the extended paper; which sequences make up a class is our choice,
since neither paper lists them. Two facts about the files matter to whoever uses them:

- the published archive has no skeleton of subjects 06, 07 and 11 at hand here; ``motions.tsv``
  says whose skeleton such a sequence borrows;
- some recordings begin before the body was solved: joints then stand at exactly 0 0 0 (in 09_10
  all of them for four frames, in 16_15 the left arm). Such leading frames are dropped and counted.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from replication.arrays import Floats
from replication.data.catalog import DataSet, DataSetError
from replication.data.manifest import raw_files
from replication.motion.asf_amc import (
    ROOT,
    Bone,
    Motion,
    MotionFileError,
    Skeleton,
    read_amc,
    read_asf,
)
from replication.registry import RESOURCES

__all__ = [
    "CLASS_SIZES",
    "DATASET",
    "DEGREES_OF_FREEDOM",
    "SKELETON_LABEL",
    "ListedMotion",
    "Recording",
    "Recordings",
    "listed_motions",
    "load_recordings",
    "n_unsolved_frames",
]

CLASS_SIZES = {
    "walk 1": 9,
    "jump": 4,
    "run": 11,
    "jog": 9,
    "basket": 4,
    "soccer": 6,
    "walk 2": 7,
    "sit": 6,
}
"""Classes and their sizes, as read off the bars of Figure 2 of the extended paper (JMLR 2014)."""

SKELETON_LABEL = "skeleton"
"""Label in the manifest of the files that are skeletons, not sequences."""

# CMU's index gives the length of few sequences, at half the rate and rounded either way. Without a
# checksum nothing else tells that a file was cut at the end of a frame.
_FRAMES_AT_60_HZ = {"06_02": 361, "06_03": 264, "06_04": 197, "06_05": 192}
_ROUNDING = 2

_ALL, _BEND, _HINGE = ("rx", "ry", "rz"), ("rx", "rz"), ("rx",)
_LEG = {"hipjoint": (), "femur": _ALL, "tibia": _HINGE, "foot": _BEND, "toes": _HINGE}
_SPINE = ("lowerback", "upperback", "thorax", "lowerneck", "upperneck", "head")
_ARM = {
    **{"clavicle": ("ry", "rz"), "humerus": _ALL, "radius": _HINGE, "wrist": ("ry",)},
    **{"hand": _BEND, "fingers": _HINGE, "thumb": _BEND},
}
DEGREES_OF_FREEDOM: Mapping[str, tuple[str, ...]] = {
    **{side + bone: dofs for side in "lr" for bone, dofs in _LEG.items()},
    **dict.fromkeys(_SPINE, _ALL),
    **{side + bone: dofs for side in "lr" for bone, dofs in _ARM.items()},
}
"""Bones of CMU's skeletons in the order of their files, and the rotations that each can make."""

# They differ in lengths and angles, which do not matter to what a file of angles must hold.
_ANY_SKELETON = Skeleton(
    tuple(
        Bone(name, ROOT, (0.0, 1.0, 0.0), 1.0, (0.0, 0.0, 0.0), dofs)
        for name, dofs in DEGREES_OF_FREEDOM.items()
    ),
    0.45,
)


class ListedMotion(NamedTuple):
    """A row of ``resources/motions.tsv``.

    Attributes
    ----------
    id : str
        CMU's name, subject and trial: ``16_15``.
    label : str
        Its class.
    skeleton : str
        Subject whose skeleton it moves; not its own if that is not published.
    frame_rate_hz : float
        Frames a second, from CMU's index.
    reconstructed : bool
        Whether the file at hand was rebuilt from a copy in another format.
    """

    id: str
    label: str
    skeleton: str
    frame_rate_hz: float
    reconstructed: bool

    @property
    def subject(self) -> str:
        """Who moved."""
        return self.id.partition("_")[0]

    @property
    def file(self) -> str:
        """The sequence's file in the published layout."""
        return f"all_asfamc/subjects/{self.subject}/{self.id}.amc"

    @property
    def skeleton_file(self) -> str:
        """The skeleton's file in the published layout."""
        return f"all_asfamc/subjects/{self.skeleton}/{self.skeleton}.asf"


@cache
def listed_motions() -> tuple[ListedMotion, ...]:
    """Read ``resources/motions.tsv``.

    Raises
    ------
    ValueError
        If a sequence stands there twice or the classes have other sizes than ``CLASS_SIZES``.
    """
    path = RESOURCES / "motions.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        motions = tuple(
            ListedMotion(
                id=row["sequence"],
                label=row["class"],
                skeleton=row["skeleton"],
                frame_rate_hz=float(row["frame_rate_hz"]),
                reconstructed=row["bytes"] == "reconstructed",
            )
            for row in csv.DictReader(file, delimiter="\t")
        )
    repeated = [name for name, count in Counter(m.id for m in motions).items() if count > 1]
    if repeated:
        raise ValueError(f"{path.name}: sequences stand there twice: {', '.join(repeated)}")
    sizes = Counter(motion.label for motion in motions)
    if sizes != CLASS_SIZES:
        raise ValueError(f"{path.name}: classes of {dict(sizes)}, expected {CLASS_SIZES}")
    return motions


@dataclass(frozen=True)
class Recording:
    """A sequence with its frames.

    Parameters
    ----------
    listed : ListedMotion
        What is known about it.
    motion : Motion
        Its skeleton, its frames without the unsolved ones at the beginning, its frame rate.
    n_unsolved : int
        How many frames were dropped.
    """

    listed: ListedMotion
    motion: Motion
    n_unsolved: int


@dataclass(frozen=True)
class Recordings:
    """The sequences of a run.

    Parameters
    ----------
    recordings : tuple of Recording
        In the order of ``motions.tsv``.
    missing : tuple of str
        Listed sequences that the manifest does not use.
    """

    recordings: tuple[Recording, ...]
    missing: tuple[str, ...]

    @property
    def motions(self) -> list[Motion]:
        """What moves, for :func:`replication.motion.skeleton.motion_features`."""
        return [recording.motion for recording in self.recordings]

    @property
    def labels(self) -> list[str]:
        """Class of each sequence."""
        return [recording.listed.label for recording in self.recordings]

    @property
    def subjects(self) -> list[str]:
        """Who moved in each sequence: the clustering that a method must not just find."""
        return [recording.listed.subject for recording in self.recordings]

    def describe(self) -> str:
        """Say how many sequences there are, as in "54 of 56 sequences"."""
        used, listed = len(self.recordings), len(self.recordings) + len(self.missing)
        return f"{used} of {listed} sequences" if self.missing else f"{used} sequences"


def load_recordings(
    manifest: pd.DataFrame, raw: str | os.PathLike[str], *, allow_subset: bool = False
) -> Recordings:
    """Read the sequences of a manifest.

    Parameters
    ----------
    manifest : pandas.DataFrame
        The used files, from :func:`replication.data.manifest.read_manifest`.
    raw : path-like
        Folder of the raw files.
    allow_subset : bool
        Go on if sequences of real data are missing, or the skeleton of some. Synthetic data are
        as many as the configuration says.

    Returns
    -------
    Recordings

    Raises
    ------
    ValueError
        If real sequences are missing and no subset is allowed, or nothing is left.
    MotionFileError
        If a file cannot be read.
    """
    files = set(manifest["file"])
    here = [m for m in listed_motions() if {m.file, m.skeleton_file} <= files]
    missing = tuple(m.id for m in listed_motions() if m not in here)
    synthetic = set(manifest["origin"]) == {"synthetic"}
    if not here or (missing and not (allow_subset or synthetic)):
        raise DataSetError(
            f"cmu_mocap: {len(here)} of {len(listed_motions())} sequences have a file and a "
            f"skeleton; missing: {', '.join(missing)}"
        )
    raw_files(manifest, raw)
    folder = Path(raw)
    skeletons = {m.skeleton_file: read_asf(folder / m.skeleton_file) for m in here}
    recordings = tuple(_recording(folder, m, skeletons[m.skeleton_file]) for m in here)
    return Recordings(recordings, missing)


def n_unsolved_frames(skeleton: Skeleton, values: Floats) -> int:
    """Count the frames at the beginning in which some joint was not solved yet.

    Such a joint stands at exactly zero in each of its rotations, and later does not; joints with
    one rotation, which may well be zero for a while, and joints that never move do not count.
    """
    n_frames = 0
    for columns in skeleton.channel_slices.values():
        if columns.stop - columns.start > 1:
            solved = (values[:, columns] != 0).any(axis=1)
            if solved.any():
                n_frames = max(n_frames, int(solved.argmax()))
    return n_frames


def _recording(folder: Path, listed: ListedMotion, skeleton: Skeleton) -> Recording:
    values = read_amc(folder / listed.file, skeleton)
    n_unsolved = n_unsolved_frames(skeleton, values)
    motion = Motion(skeleton, values[n_unsolved:], listed.frame_rate_hz)
    return Recording(listed, motion, n_unsolved)


@cache
def _identities() -> dict[str, tuple[str, str]]:
    motions = listed_motions()
    skeletons = {m.skeleton_file: (m.skeleton, SKELETON_LABEL) for m in motions}
    return skeletons | {m.file: (m.id, m.label) for m in motions}


def _identify(file: str) -> tuple[str, str] | None:
    return _identities().get(file)


def _fault_of(path: Path) -> str | None:
    try:
        if path.suffix == ".amc":
            n_frames = len(read_amc(path, _ANY_SKELETON))
            published = 2 * _FRAMES_AT_60_HZ.get(path.stem, n_frames / 2)
            if abs(n_frames - published) > _ROUNDING:
                return f"has {n_frames} frames, about {published} were published"
        else:
            skeleton = read_asf(path)
            if skeleton.joints != _ANY_SKELETON.joints:
                return "has other joints than CMU's skeletons"
            if skeleton.channels != _ANY_SKELETON.channels:
                return "has other degrees of freedom than CMU's skeletons"
    except MotionFileError as error:
        _, line, fault = error.args
        return fault if line is None else f"line {line}: {fault}"
    return None


DATASET = DataSet(
    name="cmu_mocap",
    items="motion files",
    counted="sequences",
    beside=SKELETON_LABEL,
    identify=_identify,
    fault_of=_fault_of,
    max_archive_bytes=8 << 30,
    unlisted_files=_identities,
)
"""Sequences and skeletons. The published archive holds some 2,500 sequences; others than the
listed ones are left in it."""
