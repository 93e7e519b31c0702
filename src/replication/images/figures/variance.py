"""Figure 3 of the CVPR 2016 paper: variance captured by PCA and by SW kernel PCA."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_lowercase
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.report.style import (
    COLUMN_WIDTH,
    METHODS,
    PAGE_WIDTH,
    PANEL_LETTERS,
    PANEL_TITLES,
    Method,
    add_data_note,
    use_style,
)

__all__ = ["plot_variance", "plot_variance_of_kernels"]


def plot_variance(
    metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]], n_components: int = 100
) -> Figure:
    """Draw cumulative percent variance against the number of components.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Rows with ``metric == "cumulative_percent_variance"`` and no variant; one panel an
        experiment. Rows with ``metric == "subsampled_cpv"`` give bars from the 2.5th to the
        97.5th percentile over subsets of the images, as the legend says with their share
        (``subsampled_cpv_share``). They are not confidence intervals: large subsets share most
        images, and small samples have a higher CPV.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.
    n_components : int
        Components shown.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    metrics = metrics[metrics["variant"] == ""]
    experiments = list(dict.fromkeys(metrics["experiment"]))
    width = COLUMN_WIDTH if len(experiments) == 1 else PAGE_WIDTH
    figure, axes = plt.subplots(
        1,
        len(experiments),
        figsize=(width, 3.1),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, experiment in zip(axes[0], experiments, strict=True):
        panel = metrics[metrics["experiment"] == experiment]
        for method in dict.fromkeys(panel["method"]):
            rows = panel[panel["method"] == method]
            _draw_curve(axis, rows, METHODS[method], METHODS[method].label)
            _draw_subsets(axis, rows, METHODS[method].colour)
        _name_subsets(axis, panel)
        axis.set_title(f"({PANEL_LETTERS[experiment]}) {PANEL_TITLES[experiment]}")
        _finish(axis, min(n_components, _components(panel).max()), ncols=1)
    axes[0, 0].set_ylabel("Cumulative percent variance")
    add_data_note(figure, notes)
    return figure


def plot_variance_of_kernels(
    metrics: pd.DataFrame, notes: Iterable[Mapping[str, Any]], n_components: int = 100
) -> Figure:
    """Draw the same for Gaussian and polynomial kernels, on densities and on SW geometry.

    Parameters
    ----------
    metrics, notes, n_components
        As for :func:`plot_variance`; rows with a variant (``gamma=...``, ``degree=...``).

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    metrics = metrics[metrics["metric"] == "cumulative_percent_variance"]
    experiments = list(dict.fromkeys(metrics["experiment"]))
    figure, axes = plt.subplots(
        len(experiments),
        2,
        figsize=(PAGE_WIDTH, 3.0 * len(experiments)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    kernels = {
        "gamma": ("Gaussian kernels", ("rbf", "sw_gaussian")),
        "degree": ("Polynomial kernels", ("polynomial", "sw_polynomial")),
    }
    letters = iter(ascii_lowercase)
    for row, experiment in zip(axes, experiments, strict=True):
        panel = metrics[metrics["experiment"] == experiment]
        for axis, (parameter, (title, methods)) in zip(row, kernels.items(), strict=True):
            shown = panel[panel["method"].isin(methods)]
            variants = list(dict.fromkeys(shown["variant"]))
            for method in methods:
                look = METHODS[method]
                for variant, line in zip(variants, ("-", "--", ":", "-."), strict=False):
                    curve = shown[(shown["method"] == method) & (shown["variant"] == variant)]
                    value = variant.removeprefix(f"{parameter}=")
                    sign = r"$\gamma\cdot$median$=$" if parameter == "gamma" else "$d=$"
                    side = "SW" if method.startswith("sw") else "densities"
                    _draw_curve(axis, curve, look._replace(line=line), f"{side}, {sign}{value}")
            axis.set_title(f"({next(letters)}) {PANEL_TITLES[experiment]}: {title}")
            _finish(axis, min(n_components, _components(panel).max()), ncols=2)
        row[0].set_ylabel("Cumulative percent variance")
    add_data_note(figure, notes)
    return figure


def _components(rows: pd.DataFrame) -> pd.Series:
    return rows["item"].astype(int)


def _draw_curve(axis: Axes, rows: pd.DataFrame, look: Method, label: str) -> None:
    curve = rows[rows["metric"] == "cumulative_percent_variance"]
    axis.plot(_components(curve), curve["value"], look.line, color=look.colour, label=label)


def _draw_subsets(axis: Axes, rows: pd.DataFrame, colour: str) -> None:
    subsets = rows[rows["metric"] == "subsampled_cpv"]
    values = subsets.groupby(_components(subsets))["value"]
    low, high = values.quantile(0.025), values.quantile(0.975)
    _draw_bars(axis, low.index, low, high, colour)


def _name_subsets(axis: Axes, rows: pd.DataFrame) -> None:
    """Say in the legend what the bars are."""
    shares = sorted(rows.loc[rows["metric"] == "subsampled_cpv_share", "value"].unique())
    size = "".join(f" of {100 * share:.3g} %" for share in shares)
    label = f"95 % of subsets{size} of the images"
    _draw_bars(axis, [np.nan], [np.nan], [np.nan], "#5B5B5B", label=label)


def _draw_bars(axis: Axes, x: Any, low: Any, high: Any, colour: str, label: str = "") -> None:
    """Draw bars with caps; a white rim sets them off from the curve that they stand on."""
    middle, half = np.add(low, high) / 2, np.subtract(high, low) / 2
    axis.errorbar(
        x, middle, half, fmt="none", color="white", zorder=3,
        elinewidth=2.6, capthick=2.6, capsize=3.8,
    )  # fmt: skip
    axis.errorbar(
        x, middle, half, fmt="none", color=colour, zorder=3.1,
        elinewidth=1, capthick=1, capsize=3, label=label,
    )  # fmt: skip


def _finish(axis: Axes, n_components: int, ncols: int) -> None:
    axis.set_xscale("log")
    axis.set_xlim(0.95, n_components)
    axis.set_ylim(0, 101)
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.set_xlabel("Number of components")
    # Below the panel: curves of some data leave no room in it.
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=ncols)
