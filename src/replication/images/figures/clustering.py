"""Figure 5 of the CVPR 2016 paper: k-means in density and kernel spaces, and what is behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_lowercase
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.images.figures.rows import draw_mean, finish_rows, rows_of
from replication.report.style import (
    METHODS,
    PAGE_WIDTH,
    PANEL_TITLES,
    add_data_note,
    use_style,
)

__all__ = ["plot_clustering", "plot_clustering_details"]

#: The paper draws the first two, with these letters.
_LETTERS = {"inertia": "a", "v_measure": "b"}
_SCORES = {
    "inertia": "Inertia, data\ndivided by mean norm",
    "v_measure": "V-measure",
    "relative_inertia": "Inertia as a share\nof the total scatter",
    "adjusted_mutual_information": "Adjusted mutual\ninformation",
}


def plot_clustering(metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw the scores of k-means with their standard deviation over random starts.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Rows as written by the rule ``run_kmeans``; one row of panels an experiment. The letters
        are the paper's: (a) is the inertia and (b) the V-measure, each of both data sets.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    metrics = metrics[metrics["variant"] == ""]
    experiments = list(dict.fromkeys(metrics["experiment"]))
    figure, axes = plt.subplots(
        len(experiments),
        len(_SCORES),
        figsize=(PAGE_WIDTH, 2.3 * len(experiments) + 0.3),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for row, experiment in zip(axes, experiments, strict=True):
        scores = metrics[metrics["experiment"] == experiment]
        for axis, metric in zip(row, _SCORES, strict=True):
            _draw_score(axis, scores, metric)
            letter = _LETTERS.get(metric)
            title = PANEL_TITLES[experiment]
            axis.set_title(f"({letter}) {title}" if letter else f"{title}, extra")
    add_data_note(figure, notes)
    return figure


def _draw_score(axis: Axes, scores: pd.DataFrame, metric: str) -> None:
    """Draw a row a method, and random labels as a line where they have a score."""
    values = scores[scores["metric"] == metric]
    rows = rows_of(scores["method"])
    for method, row in rows.items():
        runs = values.loc[values["method"] == method, "value"]
        mean = runs.mean()
        text = f"{mean:,.0f}" if mean >= 100 else f"{mean:#.3g}"
        draw_mean(axis, row, method, mean, text, {1.6: runs.std()})
    chance = values.loc[values["method"] == "random_labels", "value"]
    if not chance.empty:
        axis.axvline(chance.mean(), color="#5B5B5B", linestyle=":", linewidth=1)
        axis.annotate(
            "random labels",
            (chance.mean(), max(rows.values()) + 0.6),
            xytext=(2, 0),
            textcoords="offset points",
            fontsize=5.5,
            color="#5B5B5B",
        )
    finish_rows(axis, rows)
    axis.set_xlabel(_SCORES[metric])
    axis.margins(x=0.2)  # room for the values above the outermost points


def plot_clustering_details(metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]]) -> Figure:
    """Draw scores against the k-means iteration and against gamma.

    Parameters
    ----------
    metrics, notes
        As for :func:`plot_clustering`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    experiments = list(dict.fromkeys(metrics["experiment"]))
    figure, axes = plt.subplots(
        len(experiments),
        4,
        figsize=(PAGE_WIDTH, 2.0 * len(experiments) + 0.6),
        squeeze=False,
        layout="constrained",
    )
    letters = iter(ascii_lowercase)
    for row, experiment in zip(axes, experiments, strict=True):
        scores = metrics[metrics["experiment"] == experiment]
        _draw_iterations(row[0], scores, "iteration_inertia", "Inertia / first inertia")
        _draw_iterations(row[1], scores, "iteration_v_measure", "V-measure")
        _draw_sweep(row[2], scores, "inertia")
        _draw_sweep(row[3], scores, "v_measure")
        for axis in row:
            axis.set_title(f"({next(letters)}) {PANEL_TITLES[experiment]}")
    # A method looks the same in all panels, and not each panel has each method.
    shown = {
        label: handle
        for axis in axes[:, 0]
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=5)
    add_data_note(figure, notes)
    return figure


def _draw_iterations(axis: Axes, scores: pd.DataFrame, metric: str, label: str) -> None:
    """Draw the mean over runs; a run that has converged keeps its last value."""
    values = scores[scores["metric"] == metric]
    values = values.assign(item=values["item"].astype(int))
    for method in (name for name in METHODS if name in set(values["method"])):
        look = METHODS[method]
        rows = values[values["method"] == method]
        runs = rows.pivot(index="item", columns="repeat", values="value")
        runs = runs.reindex(range(values["item"].max() + 1)).ffill()
        if metric == "iteration_inertia":
            # The spaces have units of their own; what compares is the way down.
            runs = runs / runs.iloc[0]
        mean, spread = runs.mean(axis=1), runs.std(axis=1)
        axis.plot(mean.index, mean, look.line, color=look.colour, label=look.label)
        axis.fill_between(
            mean.index, mean - spread, mean + spread, color=look.colour, alpha=0.12, linewidth=0
        )
    axis.set_xlabel("Iteration")
    axis.set_ylabel(label)


def _draw_sweep(axis: Axes, scores: pd.DataFrame, metric: str) -> None:
    """Draw the Gaussian kernels' score against gamma."""
    values = scores[scores["variant"].str.startswith("gamma_") & (scores["metric"] == metric)]
    # k-means on densities stands there for comparison, and knows no gamma.
    values = values[values["method"] != "kmeans"]
    for method in (name for name in METHODS if name in set(values["method"])):
        look = METHODS[method]
        rows = values[values["method"] == method]
        gammas = rows["variant"].str.removeprefix("gamma_").astype(float)
        runs = rows.groupby(gammas)["value"]
        mean = runs.mean()
        axis.errorbar(
            mean.index.to_numpy(),
            mean,
            yerr=runs.std(),
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=3,
        )
    axis.set_xscale("log", base=2)
    axis.set_xlabel("$\\gamma\\cdot$ median\nsquared distance")
    axis.set_ylabel("V-measure" if metric == "v_measure" else "Inertia")
