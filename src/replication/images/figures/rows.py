"""A row a method: a marker at the mean, its value above, its spread below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes

from replication.report.style import METHODS

__all__ = ["draw_mean", "finish_rows", "rows_of"]

#: Room for the note between the paper's methods and the others, in rows.
_GAP = 0.7
#: How far below its row the spread is drawn: many are shorter than the marker is wide.
_BELOW = 0.3


def rows_of(methods: Iterable[str]) -> dict[str, float]:
    """Give each method a row, the paper's methods on top, the others below a gap."""
    present = set(methods)
    names = [name for name in METHODS if name in present]
    names.sort(key=lambda name: METHODS[name].beyond_paper)
    return {name: i + _GAP * METHODS[name].beyond_paper for i, name in enumerate(names)}


def draw_mean(
    axis: Axes, row: float, method: str, mean: float, text: str, spreads: Mapping[float, float]
) -> None:
    """Draw a method's mean and its standard deviations.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    row : float
        One of :func:`rows_of`.
    method : str
    mean : float
    text : str
        The value in words.
    spreads : mapping
        From line width to half length; NaN: nothing is drawn, as one value has no spread.
    """
    look = METHODS[method]
    axis.plot(mean, row, marker=look.marker, markersize=4.5, color=look.colour)
    for width, spread in spreads.items():
        axis.errorbar(
            mean, row + _BELOW, xerr=spread, fmt="none", color=look.colour,
            elinewidth=width, capsize=2, capthick=0.8,
        )  # fmt: skip
    axis.annotate(
        text,
        (mean, row),
        xytext=(0, 4.5),
        textcoords="offset points",
        ha="center",
        fontsize=6,
        color=look.colour,
        # Lines of the panel must not run through a number.
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )


def finish_rows(axis: Axes, rows: Mapping[str, float]) -> None:
    """Name the rows, and draw a line between the paper's methods and the others."""
    axis.set_yticks(list(rows.values()), [METHODS[method].label for method in rows])
    axis.set_ylim(max(rows.values()) + 0.7, -0.8)
    n_paper = sum(not METHODS[method].beyond_paper for method in rows)
    if 0 < n_paper < len(rows):
        axis.axhline(n_paper - 0.5, color="#9A9A9A", linewidth=0.6)
        # In the gap, where no value can stand.
        axis.annotate(
            "below: not in the paper's figure",
            (0.01, n_paper - 0.5),
            xycoords=("axes fraction", "data"),
            xytext=(0, -1.5),
            textcoords="offset points",
            va="top",
            fontsize=5,
            color="#5B5B5B",
            style="italic",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
        )
