"""Figures 1 and 2 of the CVPR 2016 paper: samples or class means, densities and embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from replication.arrays import AnyArray, Floats, Pixels
from replication.report.style import PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_means", "plot_samples"]


def plot_samples(
    samples: Mapping[str, AnyArray],
    notes: Iterable[Mapping[str, Any]],
    *,
    density_name: str,
    dark_ground: bool = False,
    columns: int = 5,
) -> Figure:
    """Draw three montages with one tile a class: image, density, phi over angle and t.

    Parameters
    ----------
    samples : mapping
        Arrays as written by the rule ``select_samples``.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.
    density_name : str
        What the densities are, for the title of panel (b).
    dark_ground : bool
        Whether densities are pictures that are meant to be looked at, with much mass drawn bright;
        otherwise much mass is dark, and the square root keeps thin tails visible beside a peak.
    columns : int
        Tiles in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    layout = ConstrainedLayoutEngine(w_pad=0.01, h_pad=0.01, wspace=0.01, hspace=0.01)
    figure = plt.figure(figsize=(PAGE_WIDTH, 2.4), layout=layout)
    # The third part also holds the scale and the labels of the axes.
    parts: Any = figure.subfigures(1, 3, wspace=0.03, width_ratios=(1, 1, 1.22))
    axes = [_montage(part, len(samples["labels"]), columns) for part in parts]

    parts[0].suptitle("(a) Sample images", fontsize=8)
    for axis, image in zip(axes[0], samples["images"], strict=True):
        axis.imshow(_central_square(image), cmap="gray", vmin=0, vmax=255)

    _draw_densities(parts[1], axes[1], samples["densities"], density_name, dark_ground)
    _draw_phi(parts[2], axes[2], samples["phi"], "Embedding", columns)
    add_data_note(figure, notes)
    return figure


def plot_means(
    samples: Mapping[str, AnyArray],
    notes: Iterable[Mapping[str, Any]],
    *,
    density_name: str,
    dark_ground: bool = False,
    columns: int = 5,
) -> Figure:
    """Draw the mean density and the mean phi of each class, which show no single photograph.

    Parameters
    ----------
    samples, notes, density_name, dark_ground, columns
        As for :func:`plot_samples`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    layout = ConstrainedLayoutEngine(w_pad=0.01, h_pad=0.01, wspace=0.01, hspace=0.01)
    figure = plt.figure(figsize=(PAGE_WIDTH, 3.9), layout=layout)
    parts: Any = figure.subfigures(1, 2, wspace=0.03, width_ratios=(1, 1.13))
    axes = [_montage(part, len(samples["mean_labels"]), columns) for part in parts]
    # Letters are those of the paper's panels.
    _draw_densities(parts[0], axes[0], samples["mean_densities"], density_name, dark_ground)
    _draw_phi(parts[1], axes[1], samples["mean_phi"], "Class means of the embedding", columns)
    for montage in axes:
        for axis, label in zip(montage, samples["mean_labels"], strict=True):
            axis.set_title(label, fontsize=4.5, pad=1)
    add_data_note(figure, notes)
    return figure


def _draw_densities(
    part: SubFigure, axes: list[Axes], densities: Floats, name: str, dark_ground: bool
) -> None:
    part.suptitle(f"(b) {name}", fontsize=8)
    for axis, density in zip(axes, densities, strict=True):
        if dark_ground:
            axis.imshow(density, cmap="gray")
        else:
            axis.imshow(np.sqrt(density / density.max()), cmap="gray_r", vmin=0, vmax=1)


def _draw_phi(part: SubFigure, axes: list[Axes], phi: Floats, name: str, columns: int) -> None:
    """Draw phi on a common scale, with a gentle root: between classes it spans two decades."""
    part.suptitle(rf"(c) {name} $\phi_\sigma(t,\theta)$", fontsize=8)
    if not axes:
        return
    limit = float(np.abs(phi).max())
    for axis, values in zip(axes, phi, strict=True):
        picture = axis.imshow(
            values.T, cmap="RdBu_r", norm=_signed_root(limit), aspect="auto", origin="lower"
        )
        axis.set_box_aspect(1)
    first = axes[columns * ((len(phi) - 1) // columns)]
    first.set_xlabel(r"$\theta\in[0,\pi)$", fontsize=6, labelpad=1)
    first.set_ylabel(r"$t$", fontsize=6, labelpad=1)
    bar = part.colorbar(picture, ax=axes, shrink=0.75, pad=0.01, aspect=25)
    ticks = limit * np.array([-1.0, -0.25, 0.0, 0.25, 1.0])
    bar.set_ticks(list(ticks), labels=[f"{tick:.2g}" for tick in ticks])
    bar.ax.tick_params(labelsize=6, width=0.4, length=2)
    bar.outline.set_linewidth(0.4)


def _central_square(image: Pixels) -> Pixels:
    """Cut the largest square from the middle, so that tiles are alike and nothing is squeezed."""
    side = min(image.shape[:2])
    top, left = ((length - side) // 2 for length in image.shape[:2])
    return image[top : top + side, left : left + side]


def _signed_root(limit: float) -> Any:
    """Colour scale sign(x) sqrt(|x|) on [-limit, limit]."""
    from matplotlib.colors import FuncNorm

    return FuncNorm(
        (lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: np.sign(x) * np.square(x)),
        vmin=-limit,
        vmax=limit,
    )


def _montage(part: SubFigure, n_tiles: int, columns: int) -> list[Axes]:
    """Make a grid of bare axes with thin frames; tiles beyond ``n_tiles`` stay empty."""
    rows = max(1, -(-n_tiles // columns))
    grid = part.subplots(rows, columns, squeeze=False, gridspec_kw={"wspace": 0, "hspace": 0})
    tiles = list(grid.flat)
    for axis in tiles:
        axis.grid(False)
        axis.set(xticks=[], yticks=[])
        for spine in axis.spines.values():
            spine.set(visible=True, linewidth=0.3, color="#5B5B5B")
    for axis in tiles[n_tiles:]:
        axis.set_axis_off()
    return tiles[:n_tiles]
