"""Marker recordings in C3D files, the raw form of motion capture.

The extended paper used the (x, y, z) of 41 markers, 123 dimensions, from CMU's C3D files; joint
positions from ASF and AMC files are this project's default.

A C3D file has three parts in blocks of 512 bytes: a header (how many points and frames, where the
other parts begin), parameters (named arrays in groups, such as POINT:LABELS), and frames. A frame
holds x, y, z and a residual for each point, negative if the point was not seen, and then analog
channels, which are skipped. Numbers are those of one of three processors, as floats or as 16-bit
integers with a scale.

The reader is our own because it must neither crash nor hang, whatever a file holds: ezc3d 1.7.2
was ended by a memory fault or ran on for more than 15 seconds on some files with two altered
bytes, and read zeros beyond the end of files that were cut off. The tests compare the two.

Not tried on CMU's own C3D files: the tests write the files that they read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from replication.datasets.asf_amc import MotionFileError

__all__ = ["CMU_MARKERS", "MarkerRecording", "read_c3d"]

# fmt: off
CMU_MARKERS = (
    "RFHD", "LFHD", "RBHD", "LBHD", "C7", "T10", "CLAV", "STRN", "RBAC",
    "LSHO", "LUPA", "LELB", "LFRM", "LWRA", "LWRB", "LFIN",
    "RSHO", "RUPA", "RELB", "RFRM", "RWRA", "RWRB", "RFIN",
    "LFWT", "RFWT", "LBWT", "RBWT",
    "LTHI", "LKNE", "LSHN", "LANK", "LHEE", "LTOE", "LMT5",
    "RTHI", "RKNE", "RSHN", "RANK", "RHEE", "RTOE", "RMT5",
)
# fmt: on
"""The 41 markers of CMU's placement guide."""

METRES = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
_BLOCK = 512  # bytes
_MAGIC = 0x50
_INTEL, _DEC, _MIPS = 84, 85, 86
_CHARACTERS = 0xFF  # type of a parameter: -1 in its signed byte


class MarkerRecording(NamedTuple):
    """Where the markers were.

    Attributes
    ----------
    markers : tuple of str
        Names without the subject's.
    positions : ndarray of shape (n_frames, n_markers, 3)
        Metres, in the file's axes.
    frame_rate_hz : float
        Frames a second.
    """

    markers: tuple[str, ...]
    positions: npt.NDArray[np.float64]
    frame_rate_hz: float


def read_c3d(
    path: str | os.PathLike[str],
    markers: Sequence[str] = CMU_MARKERS,
    *,
    max_gap_s: float = 0.1,
) -> MarkerRecording:
    """Read named markers, with short gaps closed.

    Parameters
    ----------
    path : path-like
        A C3D file.
    markers : sequence of str
        Each one is found in the file by its name, alone or behind a subject's name and a colon
        (``liu:LFHD``).
    max_gap_s : float
        A marker that was not seen for at most this many seconds moves in a straight line
        meanwhile.

    Returns
    -------
    MarkerRecording
        With the markers in the given order.

    Raises
    ------
    MotionFileError
        If the file is no C3D file, is cut off, has no points or frames, states no frame rate or
        an unknown unit, if a marker is missing or there twice, if it was not seen for longer, or
        not in the first or the last frame.
    """
    file = _C3dFile(path)
    labels = [label.strip() for label in file.strings("LABELS")][: file.n_points]
    columns = [_column_of(path, labels, marker) for marker in markers]
    unit = file.strings("UNITS")[0].strip()
    if unit not in METRES:
        raise MotionFileError(path, None, f"unknown unit {unit!r}; known: {', '.join(METRES)}")
    positions = file.positions(columns) * METRES[unit]
    longest = int(min(max_gap_s * file.frame_rate_hz + 1e-9, file.n_frames))
    for k, marker in enumerate(markers):
        _close_gaps(path, marker, positions[:, k], longest)
    return MarkerRecording(tuple(markers), positions, file.frame_rate_hz)


class _C3dFile:
    """The parts of a C3D file; every access is checked against its end."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._content = Path(path).read_bytes()
        header = self._bytes(0, _BLOCK, "header")
        if header[1] != _MAGIC or header[0] == 0:
            raise self._error("no C3D file: its second byte is not 0x50")
        self._parameters = (header[0] - 1) * _BLOCK
        self._processor = self._bytes(self._parameters, 4, "parameters")[3]
        if self._processor not in (_INTEL, _DEC, _MIPS):
            raise self._error(f"unknown processor type {self._processor}")
        self.n_points, self._n_analog, first, last = self._integers(2, 4)
        self.n_frames = last - first + 1
        if self.n_points == 0 or self.n_frames <= 0:
            raise self._error(f"{self.n_points} points in {self.n_frames} frames")
        self._scale = self._floats(12, 1)[0]
        (start,) = self._integers(16, 1)
        self._data = (start - 1) * _BLOCK
        if self._data < _BLOCK:
            raise self._error(f"the data begin in block {start}")
        self.frame_rate_hz = float(self._floats(20, 1)[0])
        if not (np.isfinite(self._scale) and 0 < self.frame_rate_hz < np.inf):
            raise self._error(f"scale {self._scale}, frame rate {self.frame_rate_hz} Hz")

    def _error(self, fault: str) -> MotionFileError:
        return MotionFileError(self._path, None, fault)

    def _bytes(self, start: int, count: int, what: str) -> bytes:
        if not 0 <= start <= len(self._content) - count:
            raise self._error(
                f"cut off in its {what}: {len(self._content)} bytes, expected {start + count}"
            )
        return self._content[start : start + count]

    def _integers(self, start: int, count: int) -> list[int]:
        order = ">" if self._processor == _MIPS else "<"
        return np.frombuffer(self._bytes(start, 2 * count, "header"), f"{order}u2").tolist()

    def _floats(self, start: int, count: int) -> npt.NDArray[np.float64]:
        content = self._bytes(start, 4 * count, "numbers")
        if self._processor == _DEC:
            # A VAX float has its two words exchanged and an exponent that is larger by two.
            words = np.frombuffer(content, "<u2").reshape(-1, 2)[:, ::-1]
            return np.ascontiguousarray(words).view("<f4").ravel().astype(np.float64) / 4
        order = ">" if self._processor == _MIPS else "<"
        return np.frombuffer(content, f"{order}f4").astype(np.float64)

    def strings(self, name: str) -> list[str]:
        """Return a text parameter of the group POINT, one string a column."""
        groups: dict[int, str] = {}
        found: dict[int, tuple[tuple[int, ...], bytes]] = {}
        at = self._parameters + 4
        while True:
            length, group = self._bytes(at, 2, "parameters")
            # A negative length locks the record; group numbers of groups are negative.
            length = min(length, 256 - length)
            if length == 0:
                break
            title = self._bytes(at + 2, length, "parameters").decode("latin-1").upper()
            (step,) = self._integers(at + 2 + length, 1)
            if group > 127:
                groups[256 - group] = title
            elif title == name:
                found[group] = self._parameter(at + 4 + length)
            if step == 0:
                break
            at += 2 + length + step
        for group, (shape, content) in found.items():
            if groups.get(group) == "POINT" and len(shape) in (1, 2) and shape[0] > 0 and content:
                width = shape[0]
                return [
                    content[k : k + width].decode("latin-1") for k in range(0, len(content), width)
                ]
        raise self._error(f"the parameter POINT:{name} is missing or no text")

    def _parameter(self, at: int) -> tuple[tuple[int, ...], bytes]:
        """Return shape and bytes of a text parameter; of others nothing."""
        kind, n_dimensions = self._bytes(at, 2, "parameters")
        shape = tuple(self._bytes(at + 2, n_dimensions, "parameters"))
        if kind != _CHARACTERS:
            return (), b""
        count = int(np.prod(shape, dtype=np.int64)) if n_dimensions < 3 else 0
        return shape, self._bytes(at + 2 + n_dimensions, count, "parameters")

    def positions(self, columns: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return points in the file's unit, (n_frames, n_columns, 3); NaN where not seen."""
        width = 4 * self.n_points + self._n_analog
        count = self.n_frames * width
        # A negative scale says that numbers are floats, else they are scaled integers.
        if self._scale < 0:
            values, factor = self._floats(self._data, count), 1.0
        else:
            order = ">" if self._processor == _MIPS else "<"
            content = self._bytes(self._data, 2 * count, "frames")
            values = np.frombuffer(content, f"{order}i2").astype(np.float64)
            factor = float(self._scale)
        frames = values.reshape(self.n_frames, width)[:, : 4 * self.n_points]
        points = frames.reshape(self.n_frames, self.n_points, 4)[:, list(columns)]
        seen = (points[..., 3] >= 0) & np.isfinite(points).all(axis=-1)
        return np.where(seen[..., np.newaxis], points[..., :3] * factor, np.nan)


def _column_of(path: str | os.PathLike[str], labels: Sequence[str], marker: str) -> int:
    found = [k for k, label in enumerate(labels) if label.rpartition(":")[2] == marker]
    if not found:
        raise MotionFileError(path, None, f"no marker {marker!r}; found {', '.join(labels)}")
    if len(found) > 1:
        names = ", ".join(labels[k] for k in found)
        raise MotionFileError(path, None, f"marker {marker!r} is not unique: {names}")
    return found[0]


def _close_gaps(
    path: str | os.PathLike[str],
    marker: str,
    positions: npt.NDArray[np.float64],
    max_frames: int,
) -> None:
    """Fill the gaps of one marker (n_frames, 3) in place."""
    seen = ~np.isnan(positions[:, 0])
    if not (seen[0] and seen[-1]):
        raise MotionFileError(path, None, f"{marker} is not seen at the beginning or at the end")
    frames = np.flatnonzero(seen)
    longest = int(np.diff(frames, prepend=-1).max()) - 1
    if longest > max_frames:
        raise MotionFileError(
            path, None, f"{marker} is not seen for {longest} frames, allowed are {max_frames}"
        )
    for axis in range(3):
        positions[~seen, axis] = np.interp(np.flatnonzero(~seen), frames, positions[seen, axis])
