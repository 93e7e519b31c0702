"""Data log-likelihood against seconds: how fast VHEM and EM come to good estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.report.style import METHODS, PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_convergence"]

# The methods that are followed.
_FOLLOWED = ("vhem", "em_h3m")


def plot_convergence(
    metrics: pd.DataFrame, timings: pd.DataFrame, notes: Iterable[Mapping[str, Any]]
) -> Figure:
    """Draw a line a trial and method, from the common start to where the method stopped.

    Parameters
    ----------
    metrics, timings : pandas.DataFrame
        Rows as written by the rule ``measure_motion_convergence``. The time on the left-hand side
        begins with the HMMs of the sequences learned; on the right-hand side VHEM's holds learning
        them.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    curves = _curves(metrics, timings)
    figure, axes = plt.subplots(
        1, 2, figsize=(PAGE_WIDTH, 2.6), sharex=True, sharey=True, layout="constrained"
    )
    titles = ("(a) HMMs of the sequences given", "(b) VHEM's time holds learning them")
    for axis, title, seconds in zip(axes, titles, ("seconds", "all_seconds"), strict=True):
        _draw_curves(axis, curves, seconds)
        axis.set(xscale="log", xlabel="Processor time (s)")
        axis.set_title(title, loc="left")
    axes[0].set_ylabel("Data log-likelihood\n(million nats)")
    # The common start can lie so far below that nothing else would be seen.
    later = curves.loc[curves["item"] > 0, "value"] / 1e6
    margin = 0.05 * (later.max() - later.min())
    axes[0].set_ylim(later.min() - margin, later.max() + margin)
    axes[0].legend(loc="lower right")
    add_data_note(figure, notes)
    return figure


def _curves(metrics: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Join what the models are worth and when they were found."""
    keys = ["method", "repeat", "item"]
    worth = metrics[metrics["metric"] == "log_likelihood_by_iteration"]
    passed = timings[timings["metric"] == "seconds_by_iteration"]
    # Tables that hold other metrics too are read as text.
    worth, passed = (rows.astype({"item": int, "repeat": int}) for rows in (worth, passed))
    seconds = passed[[*keys, "value"]].rename(columns={"value": "seconds"})
    curves = worth[[*keys, "value"]].merge(seconds, on=keys, validate="one_to_one")
    first = timings[timings["metric"] == "first_level_seconds"].astype({"repeat": int})
    first_level = curves["repeat"].map(first.set_index("repeat")["value"])
    curves["all_seconds"] = curves["seconds"] + first_level.where(curves["method"] == "vhem", 0.0)
    return curves.sort_values(keys, ignore_index=True)


def _draw_curves(axis: Axes, curves: pd.DataFrame, seconds: str) -> None:
    for method in _FOLLOWED:
        look = METHODS[method]
        label: str | None = look.label
        for _, trial in curves[curves["method"] == method].groupby("repeat"):
            axis.plot(
                trial[seconds],
                trial["value"] / 1e6,
                color=look.colour,
                linestyle=look.line,
                marker=look.marker,
                markevery=[-1],
                markersize=3.5,
                linewidth=0.9,
                alpha=0.75,
                label=label,
            )
            label = None
