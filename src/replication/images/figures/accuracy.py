"""Figure 4 of the CVPR 2016 paper: classification accuracy of kernel SVMs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.images.figures.rows import draw_mean, finish_rows, rows_of
from replication.report.style import (
    PAGE_WIDTH,
    PANEL_LETTERS,
    PANEL_TITLES,
    add_data_note,
    use_style,
)

__all__ = ["plot_accuracy"]


def plot_accuracy(metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw mean accuracy with its standard deviation, over repetitions and over folds.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Rows with ``metric == "accuracy"`` and no variant; one panel an experiment. If there are
        rows with ``metric == "used"``, the size of a class each, the share of the largest class
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
    # One list of rows leaves the panels more room, and a kernel stands beside itself.
    rows = rows_of(scores["method"])
    figure, axes = plt.subplots(
        1,
        len(experiments),
        figsize=(PAGE_WIDTH * (1 if len(experiments) > 1 else 0.75), 1.5 + 0.3 * len(rows)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, experiment in zip(axes[0], experiments, strict=True):
        _draw(axis, scores[scores["experiment"] == experiment], rows)
        sizes = metrics[(metrics["metric"] == "used") & (metrics["experiment"] == experiment)]
        if not sizes.empty:
            _mark_largest_class(axis, 100 * sizes["value"].max() / sizes["value"].sum())
        axis.set_title(f"({PANEL_LETTERS[experiment]}) {PANEL_TITLES[experiment]}")
    add_data_note(figure, notes)
    return figure


def _draw(axis: Axes, scores: pd.DataFrame, rows: Mapping[str, float]) -> None:
    for method, own in scores.groupby("method"):
        folds = 100 * own["value"]
        repeats = folds.groupby(own["repeat"]).mean()
        text = f"{folds.mean():.1f}"
        if len(repeats) > 1:
            text += f" ± {repeats.std():.1f}"
        spreads = {0.8: folds.std(), 2.4: repeats.std()}
        draw_mean(axis, rows[str(method)], str(method), folds.mean(), text, spreads)
    finish_rows(axis, rows)
    axis.margins(x=0.12)  # room for the values above the outermost points
    axis.set_xlabel(
        "Accuracy (%)\nthick, and after ±: s.d. over repetitions\nthin: s.d. over folds"
    )


def _mark_largest_class(axis: Axes, share: float) -> None:
    """Draw the accuracy of who always guesses the largest class, as a dotted line."""
    axis.axvline(share, color="#5B5B5B", linewidth=0.8, linestyle=":", zorder=0.5)
    # Not beside the line, where a weak kernel's value may stand.
    axis.set_xlabel(f"{axis.get_xlabel()}\ndotted: largest class, {share:.1f}")
