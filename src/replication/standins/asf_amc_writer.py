"""Write what :mod:`replication.motion.asf_amc` reads, in the layout of CMU's files."""

from __future__ import annotations

import os
from collections.abc import Iterable

from replication.arrays import Floats
from replication.io import atomic_path
from replication.motion.asf_amc import Skeleton

__all__ = ["write_amc", "write_asf"]

_HEAD = """\
:version 1.10
:name skeleton
:units
  mass 1.0
  length {:.9g}
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata"""


def write_asf(path: str | os.PathLike[str], skeleton: Skeleton, comment: str) -> None:
    """Write a skeleton with 9 significant digits, below a comment of one line."""
    lines = [f"# {comment}", *_HEAD.format(skeleton.length_unit).splitlines()]
    for number, bone in enumerate(skeleton.bones, start=1):
        lines += [
            "  begin",
            f"     id {number}",
            f"     name {bone.name}",
            f"     direction {_joined(bone.direction, 9)}",
            f"     length {bone.length:.9g}",
            f"     axis {_joined(bone.axis, 9)}  XYZ",
            *([f"    dof {' '.join(bone.dofs)}"] if bone.dofs else []),
            "  end",
        ]
    lines += [":hierarchy", "  begin"]
    for parent in skeleton.joints:
        children = [bone.name for bone in skeleton.bones if bone.parent == parent]
        if children:
            lines.append(f"    {parent} {' '.join(children)}")
    _write_lines(path, [*lines, "  end"])


def write_amc(
    path: str | os.PathLike[str], skeleton: Skeleton, values: Floats, comment: str
) -> None:
    """Write a motion with 6 significant digits, as CMU's are, below a comment of one line.

    Raises
    ------
    ValueError
        If ``values`` is not of shape (n_frames, n_channels) with the channels of the skeleton.
    """
    if values.ndim != 2 or values.shape[1] != len(skeleton.channels):
        raise ValueError(
            f"values must have shape (n_frames, {len(skeleton.channels)}), got {values.shape}"
        )
    lines = [f"#!OML:ASF {comment}", ":FULLY-SPECIFIED", ":DEGREES"]
    for number, row in enumerate(values.tolist(), start=1):
        lines.append(str(number))
        lines += [f"{name} {_joined(row[at], 6)}" for name, at in skeleton.channel_slices.items()]
    _write_lines(path, lines)


def _joined(numbers: Iterable[float], digits: int) -> str:
    return " ".join(f"{number:.{digits}g}" for number in numbers)


def _write_lines(path: str | os.PathLike[str], lines: list[str]) -> None:
    # With Windows line ends, as CMU's.
    with atomic_path(path) as temporary:
        temporary.write_bytes(("\r\n".join(lines) + "\r\n").encode("ascii"))
