"""Figure 1 of the NIPS 2012 paper: hierarchies of clusters of motions, with their classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from replication.arrays import Floats, Indices
from replication.report.style import METHODS, PAGE_WIDTH, add_data_note, use_style

__all__ = ["CLASS_COLOURS", "plot_hierarchies"]

#: Okabe and Ito's colours. Classes that move alike have colours of one kind: the walks are blue,
#: run and jog red and orange, the ball games green and purple.
CLASS_COLOURS = {
    "walk 1": "#0072B2",
    "walk 2": "#56B4E9",
    "run": "#D55E00",
    "jog": "#E69F00",
    "jump": "#F0E442",
    "basket": "#009E73",
    "soccer": "#CC79A7",
    "sit": "#4D4D4D",
}

# In units of the height of a bar: the distance from level to level, and a bar's greatest width in
# units of the distance of neighbouring bars of its level.
_LEVEL_DISTANCE = 1.75
_BAR_WIDTH = 0.55
# Widest bar, in units of the distance of two sequences.
_WIDEST_BAR = 3.2


def plot_hierarchies(table: pd.DataFrame, notes: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw one panel a method: sequences at the bottom, clusters of each level above them.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a method, level and sequence, with the columns ``method``, ``trial``, ``level``,
        ``sequence``, ``class`` and ``cluster``.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    methods = list(dict.fromkeys(table["method"]))
    figure, axes = plt.subplots(
        len(methods),
        1,
        figsize=(PAGE_WIDTH, 2.75 * len(methods) + 0.5),
        squeeze=False,
        layout="constrained",
    )
    for letter, axis, method in zip("abcdefgh", axes[:, 0], methods, strict=False):
        rows = table[table["method"] == method]
        _draw_hierarchy(axis, rows)
        axis.set_title(f"({letter}) {METHODS[method].label}", loc="left")
    classes = [name for name in CLASS_COLOURS if name in set(table["class"])]
    figure.legend(
        handles=[Patch(color=CLASS_COLOURS[name], label=name) for name in classes],
        loc="outside upper center",
        ncols=len(classes),
        handlelength=1.0,
        columnspacing=1.2,
    )
    add_data_note(figure, notes)
    return figure


def _draw_hierarchy(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw the levels of one method from the sequences up."""
    levels = rows.pivot(index="sequence", columns="level", values="cluster")
    classes = rows.drop_duplicates("sequence").set_index("sequence")["class"]
    rank = {name: place for place, name in enumerate(CLASS_COLOURS)}
    by_class = classes.map(rank).sort_values(kind="stable").index
    clusters_in_order, in_tree = _tree_order(levels.loc[by_class])
    order = classes.loc[in_tree].map(rank).sort_values(kind="stable").index
    levels, classes = levels.loc[order], classes.loc[order]
    colours = classes.map(CLASS_COLOURS)
    n = len(order)
    axis.bar(range(n), 1.0, width=0.8, color=colours, linewidth=0)
    below, feet = np.arange(n), np.arange(n, dtype=float)
    for height, level in enumerate(levels.columns, start=1):
        clusters = levels[level].to_numpy()
        names = clusters_in_order[level]
        # Spread evenly.
        places = {name: (k + 0.5) * n / len(names) - 0.5 for k, name in enumerate(names)}
        bottom = height * _LEVEL_DISTANCE
        width = min(_WIDEST_BAR, _BAR_WIDTH * n / len(places))
        for cluster, place in places.items():
            _draw_cluster(axis, classes[clusters == cluster], place, bottom, width)
        _draw_links(axis, below, feet, clusters, places, bottom, colours if height == 1 else None)
        below, feet = clusters, np.array([places[cluster] for cluster in clusters])
    ticks = [0.5 + height * _LEVEL_DISTANCE for height in range(len(levels.columns) + 1)]
    axis.set_yticks(ticks, ["Level 1", *(f"Level {level}" for level in levels.columns)])
    axis.tick_params(length=0)
    axis.set_xticks([])
    axis.set_xlim(-1, n)
    axis.set_ylim(-0.05, bottom + 1.3)
    axis.grid(False)
    axis.spines[["left", "bottom"]].set_visible(False)


def _tree_order(levels: pd.DataFrame) -> tuple[dict[Any, list[int]], pd.Index]:
    """Order the clusters of each level below those of the level above, and the sequences below all.

    Within one cluster the order is that of the mean places of their sequences in ``levels``, so
    that no arrows between clusters cross, and few lines of sequences do.
    """
    places = pd.Series(np.arange(len(levels)), index=levels.index)
    keys = {}
    for level in reversed(levels.columns):
        keys[f"{level} place"] = places.groupby(levels[level]).transform("mean")
        keys[f"{level} name"] = levels[level]
    order = pd.DataFrame(keys).sort_values(list(keys), kind="stable").index
    in_order = levels.loc[order]
    return {level: list(dict.fromkeys(column)) for level, column in in_order.items()}, order


def _draw_cluster(
    axis: Axes, classes: pd.Series[str], place: float, bottom: float, width: float
) -> None:
    """Draw a bar whose colours have the proportions of the classes, and its size above it."""
    shares = classes.value_counts(normalize=True)
    start = bottom
    for name in (name for name in CLASS_COLOURS if name in shares):
        axis.bar(place, shares[name], width=width, bottom=start, color=CLASS_COLOURS[name])
        start += shares[name]
    axis.annotate(
        f"{len(classes)}",
        (place + width / 2, bottom + 1),
        xytext=(2, -1),
        textcoords="offset points",
        va="top",
        fontsize=6,
        color="#5B5B5B",
    )


def _draw_links(
    axis: Axes,
    below: Indices,
    feet: Floats,
    clusters: Indices,
    places: Mapping[int, float],
    bottom: float,
    colours: pd.Series[str] | None,
) -> None:
    """Draw what goes where: a line a sequence in its colour, or an arrow a cluster."""
    start = bottom - _LEVEL_DISTANCE + 1.04
    for k in np.unique(below, return_index=True)[1]:
        end = places[int(clusters[k])]
        if colours is not None:
            axis.plot(
                [feet[k], end],
                [start, bottom - 0.04],
                color=colours.iloc[k],
                linewidth=0.6,
                alpha=0.8,
            )
            continue
        axis.annotate(
            "",
            xy=(end, bottom - 0.02),
            xytext=(feet[k], start),
            arrowprops={
                "arrowstyle": "-|>",
                "color": "#5B5B5B",
                "linewidth": 0.8,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
