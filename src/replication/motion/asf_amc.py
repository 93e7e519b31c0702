r"""Acclaim motion files: a skeleton (``.asf``) and the angles that move it (``.amc``).

An ASF file describes bones that hang from a root. A bone has a direction (a unit vector in the
rest pose, global axes), a length, an own system of axes (three Euler angles) and the names of
the rotations that it may do (``rx ry rz``; the two hip joints of CMU's skeletons do none). The
hierarchy says which bone begins where another one ends.

An AMC file holds frames. A frame is a line with its number and one line for each movable bone,
``name v1 v2 ...``, with one value for each of its rotations in degrees; the root has three
translations (in the ASF's unit of length) and three rotations. The order of the lines is not that
of the hierarchy, so values are found by name. The file states no frame rate.

CMU's programs put the unit of length as ``length 0.45``, which means 0.45 units an inch:

.. math:: \text{metres} = \text{value} / 0.45 \cdot 0.0254

The reader is strict: what it does not understand is an error that names file and line, never a
guess. Accepted without a word are both kinds of line ends, comments, blank lines, tabs and
repeated blanks, numbers in any decimal notation (``-1.6201e-014``), frames that begin at another
number than 1, and bone lines in any order within a frame.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from replication.arrays import Floats, Indices

__all__ = [
    "ROOT",
    "ROTATIONS",
    "Bone",
    "Motion",
    "MotionFileError",
    "Skeleton",
    "read_amc",
    "read_asf",
]

ROOT = "root"
ROOT_CHANNELS = ("tx", "ty", "tz", "rx", "ry", "rz")
ROTATIONS = ("rx", "ry", "rz")
METRES_PER_INCH = 0.0254

Vector = tuple[float, float, float]


class MotionFileError(ValueError):
    """A motion file cannot be read; the message begins with the file's name and the line.

    Parameters
    ----------
    path : path-like
        The file.
    line : int or None
        Number of the line, from 1; None if the fault has no line.
    fault : str
        What is wrong and what was expected.
    """

    def __init__(self, path: str | os.PathLike[str], line: int | None, fault: str) -> None:
        # All arguments reach Exception, so that the error survives the way from a worker process.
        super().__init__(os.fspath(path), line, fault)

    def __str__(self) -> str:
        path, line, fault = self.args
        return f"{path}: {fault}" if line is None else f"{path}:{line}: {fault}"


@dataclass(frozen=True)
class Bone:
    """One bone of a skeleton in its rest pose.

    Parameters
    ----------
    name, parent : str
        The bone and the bone (or ``root``) at whose end it begins.
    direction : tuple of 3 floats
        Unit vector from its beginning to its end, global axes.
    length : float
        In the skeleton's unit of length.
    axis : tuple of 3 floats
        Euler angles in degrees of the axes about which it rotates: the axes are the columns of
        ``Rz Ry Rx``.
    dofs : tuple of str
        The rotations it may do, a part of ``("rx", "ry", "rz")`` in this order.
    """

    name: str
    parent: str
    direction: Vector
    length: float
    axis: Vector
    dofs: tuple[str, ...]


@dataclass(frozen=True)
class Skeleton:
    """Bones that hang from a root, parents before children.

    Parameters
    ----------
    bones : tuple of Bone
        Each one's parent is the root or an earlier bone.
    length_unit : float
        The ASF's ``:units length``: this many units are an inch.

    Raises
    ------
    ValueError
        If a bone stands before its parent or has the name of another joint, or if the unit of
        length is not positive.
    """

    bones: tuple[Bone, ...]
    length_unit: float

    def __post_init__(self) -> None:
        known = {ROOT}
        for bone in self.bones:
            if bone.name in known:
                raise ValueError(f"bones: two joints are called {bone.name!r}")
            if bone.parent not in known:
                raise ValueError(f"bones: {bone.name!r} stands before its parent {bone.parent!r}")
            known.add(bone.name)
        if not self.length_unit > 0:
            raise ValueError(f"length_unit must be positive, got {self.length_unit}")

    @property
    def metres_per_unit(self) -> float:
        """Metres in one unit of length."""
        return METRES_PER_INCH / self.length_unit

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the root and of the ends of the bones, each called like its bone."""
        return (ROOT, *(bone.name for bone in self.bones))

    @cached_property
    def parents(self) -> Indices:
        """Index of each joint's parent joint, shape (n_joints,); the root's is -1."""
        index = {name: j for j, name in enumerate(self.joints)}
        return np.array([-1, *(index[bone.parent] for bone in self.bones)], dtype=np.intp)

    @cached_property
    def channels(self) -> tuple[tuple[str, str], ...]:
        """Joint and degree of freedom of each column that :func:`read_amc` returns."""
        root = [(ROOT, channel) for channel in ROOT_CHANNELS]
        return (*root, *((bone.name, dof) for bone in self.bones for dof in bone.dofs))

    @cached_property
    def channel_slices(self) -> dict[str, slice]:
        """Columns of :func:`read_amc` that belong to each movable joint."""
        slices = {ROOT: slice(0, len(ROOT_CHANNELS))}
        stop = len(ROOT_CHANNELS)
        for bone in self.bones:
            if bone.dofs:
                slices[bone.name] = slice(stop, stop + len(bone.dofs))
                stop += len(bone.dofs)
        return slices


class Motion(NamedTuple):
    """A recording: who moved, how, and how often it was measured.

    Attributes
    ----------
    skeleton : Skeleton
    values : ndarray of shape (n_frames, n_channels)
        As :func:`read_amc` returns them.
    frame_rate_hz : float
        Frames a second; the files do not state it.
    """

    skeleton: Skeleton
    values: Floats
    frame_rate_hz: float


class _Line(NamedTuple):
    """A line that holds something: its number and its words."""

    number: int
    words: list[str]


class _Section(NamedTuple):
    """A part of an ASF file: the line of its ``:keyword`` and the lines below."""

    head: _Line
    body: list[_Line]


_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
# An AMC line that begins with anything else is a comment, a keyword or a frame number.
_NAME = re.compile(r"[A-Za-z][!-~]*")
_NEEDED_SECTIONS = ("units", "root", "bonedata", "hierarchy")
# Parts of the format that say nothing about the pose.
_IGNORED_SECTIONS = ("version", "name", "documentation", "skin")
_BONE_KEYS = ("id", "name", "direction", "length", "axis", "dof")
# Joint limits and masses serve simulation; recorded motion is what it is.
_IGNORED_BONE_KEYS = ("limits", "bodymass", "cofmass")
_UNIT_TOLERANCE = 1e-3
_AMC_KEYWORDS = (b":FULLY-SPECIFIED", b":DEGREES")
_MAX_DIGITS = 12  # of a frame number
# Nobody turns or goes so far; a number that has lost its point or its exponent does.
_MAX_DEGREES, _MAX_METRES = 3600.0, 1000.0


def read_asf(path: str | os.PathLike[str]) -> Skeleton:
    """Read a skeleton.

    Parameters
    ----------
    path : path-like
        An ASF file with angles in degrees, axes XYZ, and a root at the origin whose channels are
        ``TX TY TZ RX RY RZ``, as CMU's are.

    Returns
    -------
    Skeleton
        Its bones in depth-first order of the hierarchy.

    Raises
    ------
    MotionFileError
        If the file holds anything else, if a bone is missing in one of its two parts, or if the
        hierarchy is not one tree below the root.
    """
    return _AsfReader(path).skeleton()


class _AsfReader:
    """Parses one ASF file; the methods share its name for their errors."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        lines = [line.decode("latin-1") for line in Path(path).read_bytes().splitlines()]
        self.n_lines = len(lines)
        self.sections = self._split(lines)

    def error(self, line: int | None, fault: str) -> MotionFileError:
        return MotionFileError(self.path, line, fault)

    def _split(self, lines: Sequence[str]) -> dict[str, _Section]:
        sections: dict[str, _Section] = {}
        body: list[_Line] = []
        for number, line in enumerate(lines, start=1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if not words[0].startswith(":"):
                if not sections:
                    raise self.error(number, f"expected a :keyword, found {_shown(words[0])}")
                body.append(_Line(number, words))
                continue
            keyword = words[0][1:].lower()
            if keyword not in _NEEDED_SECTIONS + _IGNORED_SECTIONS:
                raise self.error(number, f"unknown keyword {_shown(words[0])}")
            if keyword in sections:
                raise self.error(number, f"the part :{keyword} stands here a second time")
            body = []
            sections[keyword] = _Section(_Line(number, words), body)
        for keyword in _NEEDED_SECTIONS:
            if keyword not in sections:
                raise self.error(
                    None, f"the part :{keyword} is missing (file of {len(lines)} lines)"
                )
        return sections

    def skeleton(self) -> Skeleton:
        length_unit = self._length_unit()
        self._check_root()
        entries = {bone.name: (line, bone) for line, bone in self._bones()}
        skeleton = Skeleton(self._ordered(entries), length_unit)
        metres = sum(bone.length for bone in skeleton.bones) * skeleton.metres_per_unit
        if not 1 / _MAX_METRES <= metres <= _MAX_METRES:
            raise self.error(None, f"all bones together are {metres:g} metres long")
        return skeleton

    def _length_unit(self) -> float:
        section = self.sections["units"]
        units = self._entries(
            section.body, ("mass", "length", "angle"), ("length", "angle"), section.head
        )
        angle = units["angle"]
        if [word.lower() for word in angle.words[1:]] not in (["deg"], ["degrees"]):
            raise self.error(angle.number, "angles must be in degrees: 'angle deg'")
        (length,) = self._numbers(units["length"], 1)
        if length <= 0:
            raise self.error(
                units["length"].number, f"the unit of length must be positive, got {length}"
            )
        return length

    def _check_root(self) -> None:
        section = self.sections["root"]
        keys = ("order", "axis", "position", "orientation")
        root = self._entries(section.body, keys, ("order", "axis"), section.head)
        order = root["order"]
        if tuple(word.lower() for word in order.words[1:]) != ROOT_CHANNELS:
            raise self.error(order.number, "the root's order must be TX TY TZ RX RY RZ")
        axis = root["axis"]
        if [word.upper() for word in axis.words[1:]] != ["XYZ"]:
            raise self.error(axis.number, "the root's axis must be XYZ")
        for key in ("position", "orientation"):
            if key in root and any(self._numbers(root[key], 3)):
                raise self.error(root[key].number, f"the root's {key} must be 0 0 0")

    def _bones(self) -> Iterable[tuple[int, Bone]]:
        seen: set[str] = {ROOT}
        for begin, block in self._blocks(self.sections["bonedata"]):
            bone = self._bone(begin, block)
            if bone.name in seen:
                raise self.error(begin.number, f"a second bone is called {_shown(bone.name)}")
            seen.add(bone.name)
            yield begin.number, bone

    def _bone(self, begin: _Line, block: list[_Line]) -> Bone:
        # The lines that continue `limits` begin with a bracket.
        block = [line for line in block if not line.words[0].startswith("(")]
        needed = ("name", "direction", "length", "axis")
        entries = self._entries(block, _BONE_KEYS + _IGNORED_BONE_KEYS, needed, begin)
        name = entries["name"]
        if len(name.words) != 2 or _NAME.fullmatch(name.words[1]) is None:
            raise self.error(name.number, "expected 'name' and one word that begins with a letter")
        direction = self._vector(entries["direction"])
        if abs(math.hypot(*direction) - 1) > _UNIT_TOLERANCE:
            raise self.error(entries["direction"].number, "the direction is not of length 1")
        (length,) = self._numbers(entries["length"], 1)
        if length < 0:
            raise self.error(entries["length"].number, f"the length is negative: {length}")
        axis = entries["axis"]
        if axis.words[-1].upper() != "XYZ":
            raise self.error(axis.number, "expected three angles and XYZ")
        return Bone(
            name=name.words[1],
            parent="",  # known only from the hierarchy
            direction=direction,
            length=length,
            axis=self._vector(_Line(axis.number, axis.words[:-1])),
            dofs=self._dofs(entries["dof"]) if "dof" in entries else (),
        )

    def _dofs(self, line: _Line) -> tuple[str, ...]:
        dofs = tuple(word.lower() for word in line.words[1:])
        for dof in dofs:
            if dof not in ROTATIONS:
                raise self.error(
                    line.number, f"unknown degree of freedom {_shown(dof)}; a bone may do rx ry rz"
                )
        # Another order would be another product of rotations.
        if dofs != tuple(dof for dof in ROTATIONS if dof in dofs):
            raise self.error(line.number, "rotations must stand once each, in the order rx ry rz")
        return dofs

    def _ordered(self, entries: dict[str, tuple[int, Bone]]) -> tuple[Bone, ...]:
        children, line_of = self._children(entries)
        ordered: list[Bone] = []
        # A stack, not recursion: a long chain in a broken file must not exhaust Python's.
        pending = [(ROOT, child) for child in reversed(children.pop(ROOT, []))]
        while pending:
            parent, name = pending.pop()
            bone = entries[name][1]
            ordered.append(Bone(name, parent, bone.direction, bone.length, bone.axis, bone.dofs))
            pending += [(name, child) for child in reversed(children.pop(name, []))]
        placed = {bone.name for bone in ordered}
        for name, (line, _) in entries.items():
            if name not in placed:
                where = line_of.get(name, line)
                raise self.error(
                    where, f"the hierarchy does not connect bone {_shown(name)} to root"
                )
        return tuple(ordered)

    def _children(
        self, entries: dict[str, tuple[int, Bone]]
    ) -> tuple[dict[str, list[str]], dict[str, int]]:
        section = self.sections["hierarchy"]
        blocks = list(self._blocks(section))
        if len(blocks) != 1:
            raise self.error(
                section.head.number, f"expected one begin ... end, found {len(blocks)}"
            )
        children: dict[str, list[str]] = {}
        line_of: dict[str, int] = {}
        for number, (parent, *names) in blocks[0][1]:
            for name in (parent, *names):
                if name != ROOT and name not in entries:
                    raise self.error(number, f"bone {_shown(name)} is missing in :bonedata")
            for name in names:
                if name == ROOT or name in line_of:
                    raise self.error(number, f"bone {_shown(name)} has a second parent here")
                line_of[name] = number
            children.setdefault(parent, []).extend(names)
        return children, line_of

    def _blocks(self, section: _Section) -> Iterable[tuple[_Line, list[_Line]]]:
        begin: _Line | None = None
        block: list[_Line] = []
        for line in section.body:
            word = line.words[0].lower()
            if begin is None:
                if word != "begin":
                    raise self.error(
                        line.number, f"expected 'begin', found {_shown(line.words[0])}"
                    )
                begin, block = line, []
            elif word == "begin":
                raise self.error(line.number, f"'begin' within the block of line {begin.number}")
            elif word == "end":
                yield begin, block
                begin = None
            else:
                block.append(line)
        if begin is not None:
            raise self.error(begin.number, "this 'begin' has no 'end': the file is cut off")

    def _entries(
        self, lines: list[_Line], known: Sequence[str], needed: Sequence[str], head: _Line
    ) -> dict[str, _Line]:
        entries: dict[str, _Line] = {}
        for line in lines:
            key = line.words[0].lower()
            if key not in known:
                raise self.error(
                    line.number, f"unknown entry {_shown(line.words[0])}; known: {' '.join(known)}"
                )
            if key in entries:
                raise self.error(line.number, f"a second entry {key!r} in one block")
            entries[key] = line
        for key in needed:
            if key not in entries:
                raise self.error(head.number, f"the entry {key!r} is missing in this block")
        return entries

    def _numbers(self, line: _Line, count: int) -> list[float]:
        words = line.words[1:]
        if len(words) != count:
            raise self.error(line.number, f"expected {count} numbers, found {len(words)} words")
        for word in words:
            if _NUMBER.fullmatch(word) is None or not math.isfinite(float(word)):
                raise self.error(line.number, f"{_shown(word)} is not a finite number")
        return [float(word) for word in words]

    def _vector(self, line: _Line) -> Vector:
        x, y, z = self._numbers(line, 3)
        return x, y, z


def read_amc(path: str | os.PathLike[str], skeleton: Skeleton) -> Floats:
    """Read the frames of a motion.

    Parameters
    ----------
    path : path-like
        An AMC file.
    skeleton : Skeleton
        The skeleton that it moves. Each frame must hold a line for the root and for each bone
        with rotations, and none other.

    Returns
    -------
    ndarray of shape (n_frames, n_channels)
        Columns as ``skeleton.channels``: translations in the skeleton's unit of length,
        rotations in degrees.

    Raises
    ------
    MotionFileError
        If there is no frame, a frame is cut off, repeats or lacks a bone, or names one that the
        skeleton has not; if frame numbers do not rise by one; if a bone has too few or too many
        values or one that is no finite number or beyond belief; if the angles can only be radians;
        or at an unknown ``:keyword`` or ``:RADIANS``.
    """
    slices = {name.encode("latin-1"): columns for name, columns in skeleton.channel_slices.items()}
    lines = Path(path).read_bytes().splitlines()
    values = _regular_frames(lines, slices)
    if values is None:
        # Whatever is out of the ordinary is read again line by line: it may still be valid, and if
        # not, the error can say where.
        values = _frames_by_line(path, lines, slices)
    _check_plausible(path, values, skeleton)
    return values


def _check_plausible(path: str | os.PathLike[str], values: Floats, skeleton: Skeleton) -> None:
    sizes = np.abs(values)
    limits = np.where([channel[0] == "r" for _, channel in skeleton.channels], _MAX_DEGREES, np.inf)
    limits[:3] = _MAX_METRES / skeleton.metres_per_unit
    if (sizes > limits).any():
        frame, column = np.argwhere(sizes > limits)[0]
        joint, channel = skeleton.channels[column]
        raise MotionFileError(
            path,
            None,
            f"{channel} of {joint!r} is {values[frame, column]:g} in frame {frame} from 0, beyond "
            f"{limits[column]:g}",
        )
    largest = sizes[:, 3:].max()
    if 0 < largest < 2 * math.pi:
        raise MotionFileError(
            path, None, f"no rotation is beyond {largest:.3g}: radians, where degrees are needed?"
        )


def _regular_frames(lines: list[bytes], slices: dict[bytes, slice]) -> Floats | None:
    """Read all frames at once if they are laid out alike without any deviation, else None."""
    head = next((k for k, line in enumerate(lines) if line.isdigit()), len(lines))
    header, lines = lines[:head], lines[head:]
    n_frames, rest = divmod(len(lines), len(slices) + 1)
    known_header = all(line.startswith(b"#") or line.upper() in _AMC_KEYWORDS for line in header)
    if n_frames == 0 or rest != 0 or not known_header:
        return None
    names = [line.split(maxsplit=1)[0] if line else b"" for line in lines[1 : len(slices) + 1]]
    if sorted(names) != sorted(slices):
        return None
    words = b" ".join(lines).split()
    n_channels = max(columns.stop for columns in slices.values())
    width = 1 + len(names) + n_channels
    if len(words) != n_frames * width:
        return None
    numbers = words[::width]
    if numbers != lines[:: len(slices) + 1]:
        return None
    if not all(len(word) <= _MAX_DIGITS and word.isdigit() for word in numbers):
        return None
    if [int(word) for word in numbers] != list(range(int(numbers[0]), int(numbers[0]) + n_frames)):
        return None
    values = np.empty((n_frames, n_channels))
    position = 1
    for k, name in enumerate(names, start=1):
        # Names at equal distances, each at the start of its line and none among the values: then
        # every line holds as many values as it must.
        if words[position::width] != [name] * n_frames:
            return None
        if not all(line.startswith(name) for line in lines[k :: len(names) + 1]):
            return None
        columns = slices[name]
        for column in range(columns.start, columns.stop):
            position += 1
            found = words[position::width]
            if b"_" in b"".join(found):
                return None
            try:
                values[:, column] = list(map(float, found))
            except ValueError:
                return None
        position += 1
    return values if np.isfinite(values).all() else None


def _frames_by_line(
    path: str | os.PathLike[str], lines: list[bytes], slices: dict[bytes, slice]
) -> Floats:
    """Read frames in any valid layout; every error of :func:`read_amc` is found here."""
    n_channels = max(columns.stop for columns in slices.values())
    frames: list[list[float]] = []
    row: list[float] = []
    missing: set[bytes] = set()
    frame: int | None = None
    frame_line = 0

    def close_frame() -> None:
        if missing:
            names = ", ".join(_text(name) for name in sorted(missing)[:5])
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise MotionFileError(path, frame_line, f"frame {frame} lacks {names}{more}")

    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        name = words[0]
        if name.isdigit():
            close_frame()
            frame = _next_frame(path, number, words, frame)
            frame_line = number
            row = [0.0] * n_channels
            frames.append(row)
            missing = set(slices)
        elif frame is None:
            _check_amc_header(path, number, name)
        elif name not in slices:
            raise MotionFileError(path, number, f"{_text(name)} is no movable bone of the skeleton")
        else:
            if name not in missing:
                raise MotionFileError(path, number, f"a second {_text(name)} in frame {frame}")
            missing.remove(name)
            columns = slices[name]
            row[columns] = _amc_values(path, number, words, columns.stop - columns.start)
    if frame is None:
        raise MotionFileError(path, None, f"no frame in this file of {len(lines)} lines")
    close_frame()
    return np.array(frames, dtype=np.float64)


def _amc_values(
    path: str | os.PathLike[str], number: int, words: list[bytes], count: int
) -> list[float]:
    if len(words) != count + 1:
        raise MotionFileError(
            path, number, f"{_text(words[0])} has {len(words) - 1} values, expected {count}"
        )
    try:
        values = [float(word) for word in words[1:]]
    except ValueError:
        values = [math.nan]
    # Python would also read "nan", "inf" and "1_0".
    if not all(map(math.isfinite, values)) or any(b"_" in word for word in words[1:]):
        found = b" ".join(words[1:])
        raise MotionFileError(path, number, f"not all finite numbers: {_text(found)}")
    return values


def _next_frame(
    path: str | os.PathLike[str], number: int, words: list[bytes], previous: int | None
) -> int:
    # int() refuses thousands of digits with a ValueError of its own.
    if len(words) != 1 or len(words[0]) > _MAX_DIGITS:
        raise MotionFileError(path, number, "a frame begins with a line of one frame number")
    frame = int(words[0])
    if previous is not None and frame != previous + 1:
        raise MotionFileError(path, number, f"frame {frame} follows frame {previous}")
    return frame


def _check_amc_header(path: str | os.PathLike[str], number: int, word: bytes) -> None:
    if word.upper() == b":RADIANS":
        raise MotionFileError(path, number, "angles must be in degrees, the file says :RADIANS")
    if word.upper() not in _AMC_KEYWORDS:
        raise MotionFileError(
            path,
            number,
            f"expected #, :FULLY-SPECIFIED, :DEGREES or the first frame, found {_text(word)}",
        )


def _text(word: bytes) -> str:
    return _shown(word.decode("latin-1"))


def _shown(word: str) -> str:
    """Quote a word of a file for a message, however long or strange it is."""
    return repr(word if len(word) <= 40 else f"{word[:37]}...")
