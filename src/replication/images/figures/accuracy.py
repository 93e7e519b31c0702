"""Figure 4 of the CVPR 2016 paper: classification accuracy of kernel SVMs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.report.style import (
    METHODS,
    PAGE_WIDTH,
    PANEL_TITLES,
    add_data_note,
    mark_as_beyond_paper,
    use_style,
)

__all__ = ["plot_accuracy"]

#: Room for the note between the paper's kernels and the others, in rows.
_GAP = 0.7


def plot_accuracy(metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw mean accuracy with its standard deviation, over repetitions and over folds.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Rows with ``metric == "accuracy"`` and no variant; one panel an experiment. If there are
        rows with ``metric == "images"``, the size of a class each, the share of the largest class
        is drawn: it is reached without looking at a picture.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    scores = metrics[(metrics["metric"] == "accuracy") & (metrics["variant"] == "")]
    experiments = list(dict.fromkeys(scores["experiment"]))
    figure, axes = plt.subplots(
        1,
        len(experiments),
        figsize=(PAGE_WIDTH if len(experiments) > 1 else 0.75 * PAGE_WIDTH, 4.3),
        squeeze=False,
        layout="constrained",
    )
    for letter, axis, experiment in zip("abcdef", axes[0], experiments, strict=False):
        _draw(axis, scores[scores["experiment"] == experiment])
        sizes = metrics[(metrics["metric"] == "images") & (metrics["experiment"] == experiment)]
        if not sizes.empty:
            _mark_largest_class(axis, 100 * sizes["value"].max() / sizes["value"].sum())
        axis.set_title(f"({letter}) {PANEL_TITLES[experiment]}")
    add_data_note(figure, notes)
    return figure


def _draw(axis: Axes, scores: pd.DataFrame) -> None:
    """Draw a row a kernel: the paper's kernels first, the others below a line."""
    present = set(scores["method"])
    methods = [name for name in METHODS if name in present]
    methods.sort(key=lambda name: METHODS[name].beyond_paper)
    rows = [i + _GAP * METHODS[method].beyond_paper for i, method in enumerate(methods)]
    for row, method in zip(rows, methods, strict=True):
        look = METHODS[method]
        folds = 100 * scores.loc[scores["method"] == method, "value"]
        repeats = folds.groupby(scores["repeat"]).mean()
        mean = folds.mean()
        axis.errorbar(mean, row, xerr=folds.std(), color=look.colour, linewidth=0.8, alpha=0.55)
        axis.errorbar(
            mean,
            row,
            # One repetition has no spread.
            xerr=repeats.std() if len(repeats) > 1 else 0.0,
            marker=look.marker,
            markersize=4.5,
            color=look.colour,
            linewidth=2.4,
        )
        axis.annotate(
            f"{mean:.1f}",
            (mean, row),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=6,
            color=look.colour,
        )
    axis.set_yticks(rows, [METHODS[method].label for method in methods])
    axis.set_ylim(rows[-1] + 0.6, -0.7)
    axis.set_xlabel("Accuracy (%)\nthick: s.d. over repetitions\nthin: s.d. over folds")
    mark_as_beyond_paper(axis, methods, _GAP)


def _mark_largest_class(axis: Axes, share: float) -> None:
    """Draw the accuracy of who always guesses the largest class, as a dotted line."""
    axis.axvline(share, color="#5B5B5B", linewidth=0.8, linestyle=":", zorder=0.5)
    # Beside the line a weak kernel's value may stand.
    axis.set_xlabel(f"{axis.get_xlabel()}\ndotted: largest class, {share:.1f}")
