"""Figure 3 of the CVPR 2016 paper: variance captured by PCA and by SW kernel PCA."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from replication.figures.style import COLUMN_WIDTH, METHODS, PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_variance"]

_TITLES = {"textures": "Textures", "faces": "Animal faces"}


def plot_variance(
    metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]], n_components: int
) -> Figure:
    """Draw cumulative percent variance against the number of components.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Rows with ``metric == "cumulative_percent_variance"``; one panel an experiment.
    notes : iterable of mappings
        Data summaries, see :func:`replication.figures.style.add_data_note`.
    n_components : int
        Components shown.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    curves = metrics[metrics["metric"] == "cumulative_percent_variance"]
    experiments = list(dict.fromkeys(curves["experiment"]))
    width = COLUMN_WIDTH if len(experiments) == 1 else PAGE_WIDTH
    figure, axes = plt.subplots(
        1,
        len(experiments),
        figsize=(width, 2.6),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for letter, axis, experiment in zip("abcdef", axes[0], experiments, strict=False):
        panel = curves[curves["experiment"] == experiment]
        for method, curve in panel.groupby("method", sort=False):
            look = METHODS[str(method)]
            k = curve["item"].astype(int)
            shown = k <= n_components
            axis.plot(
                k[shown], curve["value"][shown], look.line, color=look.colour, label=look.label
            )
        axis.set_title(f"({letter}) {_TITLES[experiment]}")
        axis.set_xscale("log")
        axis.set_xlim(1, min(n_components, panel["item"].astype(int).max()))
        axis.set_ylim(0, 101)
        axis.xaxis.set_major_formatter("{x:.0f}")
        axis.set_xlabel("Number of components")
    axes[0, 0].set_ylabel("Cumulative percent variance")
    axes[0, -1].legend(loc="lower right")
    add_data_note(figure, notes)
    return figure
