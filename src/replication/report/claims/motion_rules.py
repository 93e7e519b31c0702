"""Rules for hierarchies of HMMs: scores of trials and levels, and seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from replication.report.claims.scores import (
    Comparison,
    Standing,
    decide,
    paired,
    select,
    sides,
)
from replication.report.statistics import Interval, percentile_interval

__all__ = ["MOTION_RULES"]


def _level_gaps(
    scores: pd.DataFrame, metric: str, a: str, b: str, levels: list[int]
) -> list[tuple[float, pd.Series]]:
    """Difference a - b of mean scores on each level, and its resampled values by their draw."""
    means = {m: select(scores, metric, m).groupby("item")["value"].mean() for m in (a, b)}
    draws = paired(scores, f"resampled_{metric}", ["item", "repeat"], a, b)
    # Scores have items of other kinds too, hence read back as text.
    return [
        (means[a][item] - means[b][item], draws.xs(item, level="item")) for item in map(str, levels)
    ]


def _level_difference(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]], levels: list[int]
) -> list[Comparison]:
    """Scores on levels of a hierarchy: paired differences over resampled trials and sequences."""
    comparisons = []
    for a, b in pairs:
        gaps = _level_gaps(scores, metric, a, b, levels)
        for level, gap in zip(levels, gaps, strict=True):
            interval = percentile_interval(*gap)
            name = f"{metric} on level {level}, {a} - {b}"
            comparisons.append(Comparison(name, interval, decide(interval)))
    return comparisons


def _level_trend(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]], levels: list[int]
) -> list[Comparison]:
    """How much more two methods differ on a level than on the one below, draw by draw."""
    comparisons = []
    for a, b in pairs:
        gaps = zip(levels, _level_gaps(scores, metric, a, b, levels), strict=True)
        for (lower, (before, below)), (upper, (after, above)) in pairwise(gaps):
            interval = percentile_interval(after - before, above - below)
            name = f"{metric}, {a} - {b}, on level {upper} less on level {lower}"
            comparisons.append(Comparison(name, interval, decide(interval)))
    return comparisons


def _trial_shows(
    scores: pd.DataFrame, method: str, shown: dict[str, list[str]], at_least: float
) -> list[Comparison]:
    """Share of trials that show what the paper draws of one.

    A trial shows it if each score of ``shown``, items by metric, is ``at_least`` so large. What at
    least half of the trials show is reproduced, what none shows is reversed. There is no interval:
    the paper does not say of how many trials its drawing is one.
    """
    parts = []
    for metric, items in shown.items():
        rows = select(scores, metric, method)
        values = rows.pivot(index="repeat", columns="item", values="value")
        lacking = sorted({*items} - {*values.columns})
        if lacking:
            raise LookupError(f"no {metric!r} of {', '.join(lacking)}")
        parts.append((values[items] >= at_least).all(axis=1))
    shows = pd.concat(parts, axis=1).all(axis=1)
    drawn = scores.loc[
        (scores["metric"] == "drawn") & (scores["method"] == method) & (scores["variant"] == ""),
        "repeat",
    ]
    share = float(shows.mean())
    names = " and ".join(f"{metric} of {', '.join(items)}" for metric, items in shown.items())
    standing = Standing.SAME_DIRECTION if 0 < share < 0.5 else Standing.of(share > 0)
    note = f"{shows.sum()} of {len(shows)} trials"
    for trial in drawn:
        note += ", and in the drawn one" if shows[trial] else ", not in the drawn one"
    name = f"{names} at least {at_least:g}, {method} (share of trials)"
    return [Comparison(name, Interval(share, share, share), standing, note)]


def _cost_ratio(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """How many times longer the first of each pair took, trial by trial."""
    comparisons = []
    for slow, fast in pairs:
        longer, shorter = sides(scores, "seconds", ["repeat"], slow, fast)
        comparisons.append(_more_than_one(f"seconds {slow} / {fast}", longer / shorter))
    return comparisons


def _more_than_one(name: str, ratios: pd.Series) -> Comparison:
    """Mean of ratios and their percentiles, against one."""
    if not np.isfinite(ratios).all():
        raise ValueError(f"{name}: not all of the {len(ratios)} ratios are finite numbers")
    interval = percentile_interval(float(ratios.mean()), ratios)
    return Comparison(name, interval, decide(interval, 1))


def _convergence_ratio(
    scores: pd.DataFrame, pairs: list[list[str]], first_level: bool
) -> list[Comparison]:
    """How many times longer the first of each pair took to a log-likelihood that both reach.

    It is the lower one of the two highest that they reach, trial by trial. With ``first_level``
    the second one's time holds learning the HMMs that it starts from.
    """
    comparisons = []
    for slow, fast in pairs:
        curves = []
        for method in (slow, fast):
            keys = ["repeat", "item"]
            sides = [
                select(scores, f"{metric}_by_iteration", method).astype(dict.fromkeys(keys, int))
                for metric in ("log_likelihood", "seconds")
            ]
            worth, passed = (side.set_index(keys)["value"] for side in sides)
            curves.append(pd.DataFrame({"worth": worth, "seconds": passed}).sort_index())
        best = [curve["worth"].groupby("repeat").max() for curve in curves]
        target = pd.concat(best, axis=1).min(axis=1)
        times = [
            curve.loc[
                curve["worth"] >= target.loc[curve.index.get_level_values("repeat")].to_numpy()
            ]
            .groupby("repeat")["seconds"]
            .min()
            for curve in curves
        ]
        if first_level:
            before = select(scores, "first_level_seconds", fast).astype({"repeat": int})
            times[1] = times[1] + before.set_index("repeat")["value"]
        name = f"seconds to a log-likelihood that both reach, {slow} / {fast}"
        comparisons.append(_more_than_one(name, times[0] / times[1]))
    return comparisons


#: Rules by their name in ``claims.yaml``.
MOTION_RULES: Mapping[str, Callable[..., list[Comparison]]] = {
    "convergence_ratio": _convergence_ratio,
    "cost_ratio": _cost_ratio,
    "level_difference": _level_difference,
    "level_trend": _level_trend,
    "trial_shows": _trial_shows,
}
