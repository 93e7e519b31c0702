"""Stick figures: each motion a row of poses, evenly spaced in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from replication.arrays import AnyArray, Floats, Indices
from replication.report.style import PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_exemplars", "plot_stick_figures"]

# Left and right differ in colour and in lightness, so that they stay apart in a grey print.
_SIDE_COLOURS = {-1: "#D55E00", 0: "#222222", 1: "#56B4E9"}
# Metres between neighbouring poses, and the height of a row.
_SPACING = 1.15
_ROW_HEIGHT = 2.15
_FLOOR_MARGIN = 0.1


def plot_exemplars(exemplars: Mapping[str, AnyArray], notes: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw a motion of each cluster.

    Parameters
    ----------
    exemplars : mapping
        See :func:`replication.motion.scores.cluster_exemplars`.
    notes : iterable of mappings
        See :func:`plot_stick_figures`.
    """
    frames = np.split(exemplars["positions"], np.cumsum(exemplars["lengths"])[:-1])
    titles = [f"{k}\n{title}" for k, title in enumerate(exemplars["titles"], start=1)]
    motions = dict(zip(titles, frames, strict=True))
    return plot_stick_figures(motions, exemplars["parents"], exemplars["sides"], notes)


def plot_stick_figures(
    motions: Mapping[str, Floats],
    parents: Indices,
    sides: Indices,
    notes: Iterable[Mapping[str, Any]],
    *,
    n_poses: int = 10,
    azimuth: float = -60.0,
) -> Figure:
    """Draw one row of stick figures a motion, in orthographic projection.

    Parameters
    ----------
    motions : mapping from str to ndarray of shape (n_frames, n_joints, 3)
        Row title and joint positions in metres: y upwards with the floor at 0, z the direction
        that the person faces, x to the person's left. Each pose is moved so that joint 0 stands
        above its place in the row.
    parents : ndarray of shape (n_joints,)
        Index of the joint at which each joint's bone begins; negative for the root.
    sides : ndarray of shape (n_joints,)
        1 for joints on the left, -1 on the right, 0 in the middle; chooses the colour.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.
    n_poses : int
        Poses in a row, the first and the last frame among them.
    azimuth : float
        Degrees from the front (0) towards the person's left (90) or right (-90) from which one
        looks; from the right, a person who faces z faces the right of the picture.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no motion or a motion has another number of joints than ``parents``.
    """
    if not motions:
        raise ValueError("motions must hold at least one motion")
    for title, positions in motions.items():
        if positions.ndim != 3 or positions.shape[1:] != (len(parents), 3) or not len(positions):
            raise ValueError(
                f"motion {title!r} must have shape (n_frames > 0, {len(parents)}, 3), "
                f"got {positions.shape}"
            )
    use_style()
    width = _SPACING * n_poses
    scale = (PAGE_WIDTH - 0.8) / width
    figure = plt.figure(
        figsize=(PAGE_WIDTH, _ROW_HEIGHT * scale * len(motions) + 0.25), layout="constrained"
    )
    axes = figure.subplots(len(motions), 1, squeeze=False)[:, 0]
    for axis, (title, positions) in zip(axes, motions.items(), strict=True):
        _draw_row(axis, positions, parents, sides, n_poses, azimuth)
        axis.set(xlim=(-_SPACING / 2, width - _SPACING / 2), ylim=(-_FLOOR_MARGIN, _ROW_HEIGHT))
        axis.set_ylabel(title, rotation=0, ha="right", va="center")
    add_data_note(figure, notes)
    return figure


def _draw_row(
    axis: Axes,
    positions: Floats,
    parents: Indices,
    sides: Indices,
    n_poses: int,
    azimuth: float,
) -> None:
    frames = np.linspace(0, len(positions) - 1, n_poses).round().astype(np.intp)
    bones = np.flatnonzero(parents >= 0)
    # Who stands at azimuth a sees the direction (cos a, -sin a) of (x, z) as rightwards.
    angle = np.radians(azimuth)
    picture = np.stack(
        [
            positions[..., 0] * np.cos(angle) - positions[..., 2] * np.sin(angle),
            positions[..., 1],
        ],
        axis=-1,
    )
    for place, frame in enumerate(frames):
        joints = picture[frame].copy()
        joints[:, 0] += place * _SPACING - joints[0, 0]
        axis.add_collection(
            LineCollection(
                list(np.stack([joints[parents[bones]], joints[bones]], axis=1)),
                colors=[_SIDE_COLOURS[int(side)] for side in sides[bones]],
                linewidths=1.0,
                capstyle="round",
            )
        )
    axis.axhline(0, color="#BBBBBB", linewidth=0.5, zorder=0)
    axis.set(xticks=[], yticks=[], aspect="equal")
    axis.grid(False)
    axis.spines[["left", "bottom"]].set_visible(False)
