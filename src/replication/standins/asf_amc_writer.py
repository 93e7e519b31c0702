"""Write what :mod:`replication.motion.asf_amc` reads, in the layout of CMU's files."""

from __future__ import annotations

import os

from replication.arrays import Floats
from replication.io import atomic_path
from replication.motion.asf_amc import Skeleton, Vector

__all__ = ["write_amc", "write_asf"]


def write_asf(path: str | os.PathLike[str], skeleton: Skeleton, comment: str) -> None:
    """Write a skeleton in the layout of CMU's files, with Windows line ends.

    Parameters
    ----------
    path : path-like
        The ASF file to write.
    skeleton : Skeleton
        Numbers are written with 9 significant digits.
    comment : str
        One line for the head of the file.
    """
    lines = [
        f"# {comment}",
        ":version 1.10",
        ":name skeleton",
        ":units",
        "  mass 1.0",
        f"  length {skeleton.length_unit:.9g}",
        "  angle deg",
        ":root",
        "   order TX TY TZ RX RY RZ",
        "   axis XYZ",
        "   position 0 0 0",
        "   orientation 0 0 0",
        ":bonedata",
    ]
    for number, bone in enumerate(skeleton.bones, start=1):
        lines += [
            "  begin",
            f"     id {number}",
            f"     name {bone.name}",
            f"     direction {_formatted(bone.direction)}",
            f"     length {bone.length:.9g}",
            f"     axis {_formatted(bone.axis)}  XYZ",
            *([f"    dof {' '.join(bone.dofs)}"] if bone.dofs else []),
            "  end",
        ]
    lines += [":hierarchy", "  begin"]
    for parent in skeleton.joints:
        children = [bone.name for bone in skeleton.bones if bone.parent == parent]
        if children:
            lines.append(f"    {parent} {' '.join(children)}")
    lines.append("  end")
    _write_lines(path, lines)


def write_amc(
    path: str | os.PathLike[str],
    skeleton: Skeleton,
    values: Floats,
    comment: str,
) -> None:
    """Write a motion in the layout of CMU's files, with Windows line ends.

    Parameters
    ----------
    path : path-like
        The AMC file to write.
    skeleton : Skeleton
        The skeleton that it moves.
    values : ndarray of shape (n_frames, n_channels)
        As :func:`replication.motion.asf_amc.read_amc` returns them; written with 6 significant
        digits, as CMU's are.
    comment : str
        One line for the head of the file.

    Raises
    ------
    ValueError
        If ``values`` has another number of columns than the skeleton has channels.
    """
    if values.ndim != 2 or values.shape[1] != len(skeleton.channels):
        raise ValueError(
            f"values must have shape (n_frames, {len(skeleton.channels)}), got {values.shape}"
        )
    lines = [f"#!OML:ASF {comment}", ":FULLY-SPECIFIED", ":DEGREES"]
    # One template a frame: formatting value by value is several times slower.
    template = "\r\n".join(
        [
            "{}",
            *(
                " ".join([name, *["{:.6g}"] * (columns.stop - columns.start)])
                for name, columns in skeleton.channel_slices.items()
            ),
        ]
    )
    lines += [template.format(number, *row) for number, row in enumerate(values.tolist(), start=1)]
    _write_lines(path, lines)


def _write_lines(path: str | os.PathLike[str], lines: list[str]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(("\r\n".join(lines) + "\r\n").encode("ascii"))


def _formatted(vector: Vector) -> str:
    return " ".join(f"{component:.9g}" for component in vector)
