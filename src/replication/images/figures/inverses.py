"""Densities along normals and axes, cluster centres and barycentres, drawn as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.arrays import AnyArray, Floats, Integers
from replication.report.style import PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_inverses"]

_CENTRES_IN_A_ROW = 7


def plot_inverses(
    panels: Mapping[str, AnyArray],
    scores: pd.DataFrame,
    notes: Iterable[Mapping[str, Any]],
    *,
    dark_ground: bool = False,
) -> Figure:
    """Draw inverted points of the embedding, each with its residual relative to uniform.

    Parameters
    ----------
    panels : mapping
        Arrays as written by the rule ``compute_inverses``.
    scores : pandas.DataFrame
        Scores of the same pictures as written by the rule ``compute_inverses``.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.
    dark_ground : bool
        Whether densities are pictures that are meant to be looked at, with much mass drawn bright;
        otherwise much mass is dark, and the square root keeps thin tails visible beside a peak.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the scores are not those of the pictures.
    """
    use_style()
    residuals = _relative_residuals(panels, scores)
    n_centres = int((panels["kind"] == "centre").sum())
    centre_rows = -(-n_centres // _CENTRES_IN_A_ROW)
    figure = plt.figure(figsize=(PAGE_WIDTH, 3.9 + 1.08 * centre_rows), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(3.9, 1.08 * centre_rows))
    above, below = parts
    lines, means = above.subfigures(1, 2, width_ratios=(5, 3.2))
    first, second = panels["classes"]
    grid = lines.subplots(4, 5)
    lines.suptitle("(a) Along the SVM normal and three principal components", fontsize=8)
    names = [f"SVM normal:\n{first} to\n{second}", *(f"Component {k}" for k in (1, 2, 3))]
    kinds = ("normal", "component_1", "component_2", "component_3")
    for axes, kind, name in zip(grid, kinds, names, strict=True):
        _draw_row(axes, panels, residuals, _of_kind(panels, kind), dark_ground)
        axes[0].set_ylabel(name, fontsize=6)
    grid = means.subplots(3, 2)
    means.suptitle("(b) SW barycentre, Euclidean mean", fontsize=8)
    pairs = np.transpose([_of_kind(panels, kind) for kind in ("barycentre", "mean")])
    for axes, pair in zip(grid, pairs, strict=True):
        _draw_row(axes, panels, residuals, pair, dark_ground)
    grid = below.subplots(centre_rows, _CENTRES_IN_A_ROW, squeeze=False)
    below.suptitle(
        "(c) Centres of SW k-means: images in the cluster, and how many of its commonest class",
        fontsize=8,
    )
    for axis in grid.flat[n_centres:]:
        axis.set_axis_off()
    for start, axes in enumerate(grid):
        row = _of_kind(panels, "centre")[start * _CENTRES_IN_A_ROW :][:_CENTRES_IN_A_ROW]
        _draw_row(axes[: len(row)], panels, residuals, row, dark_ground)
    add_data_note(figure, notes)
    return figure


def _relative_residuals(panels: Mapping[str, AnyArray], scores: pd.DataFrame) -> Floats:
    """Relative residual of each picture, NaN where there is none; both lists have one order."""
    found = scores[scores["metric"] == "relative_residual"]
    fitted = np.isfinite(panels["residuals"])
    if found["method"].tolist() != panels["kind"][fitted].tolist():
        raise ValueError("scores: are not those of the pictures, of which they name other kinds")
    residuals = np.full(len(fitted), np.nan)
    residuals[fitted] = found["value"].to_numpy(dtype=np.float64)
    return residuals


def _of_kind(panels: Mapping[str, AnyArray], kind: str) -> Integers:
    return np.flatnonzero(panels["kind"] == kind)


def _draw_row(
    axes: Iterable[Axes],
    panels: Mapping[str, AnyArray],
    residuals: Floats,
    row: Integers,
    dark_ground: bool,
) -> None:
    """Draw the pictures of a row; all share one scale, so that they compare."""
    # The few pixels of a peak or of a thin bright line must not make all else faint.
    high = np.quantile(panels["images"][row], 0.998)
    for axis, index in zip(axes, row, strict=True):
        image = panels["images"][index]
        if dark_ground:
            axis.imshow(image, cmap="gray", vmin=0, vmax=high)
        else:
            axis.imshow(np.sqrt(image / high), cmap="gray_r", vmin=0, vmax=1)
        axis.grid(False)
        axis.set(xticks=[], yticks=[])
        for spine in axis.spines.values():
            spine.set(visible=True, linewidth=0.3, color="#5B5B5B")
        residual, decision = residuals[index], panels["decisions"][index]
        # Two significant digits, without an exponent.
        percent = f"{float(f'{100 * residual:.2g}'):g} %"
        below = [f"residual {percent}"] if np.isfinite(residual) else []
        below += [f"decision {round(decision, 2) + 0.0:+.2f}"] if np.isfinite(decision) else []
        axis.set_title(panels["title"][index], fontsize=5.5, pad=2)
        axis.set_xlabel("\n".join(below), fontsize=5.5, labelpad=1)
