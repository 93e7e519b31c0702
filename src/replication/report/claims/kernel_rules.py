"""Rules for kernels: identities, accuracy, variance and clusterings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from replication.report.claims.scores import (
    Comparison,
    Standing,
    decide,
    paired,
    select,
    sides,
)
from replication.report.statistics import (
    Interval,
    corrected_resampled_t,
    percentile_interval,
    subsampling_interval,
)

__all__ = ["KERNEL_RULES"]

_UNITS = {
    "inertia": "squared mean norms",
    "relative_inertia": "share of the total scatter",
}


def _bound(
    scores: pd.DataFrame,
    metric: str,
    at_most: float | None = None,
    at_least: float | None = None,
) -> list[Comparison]:
    """Worst value of an identity's error against its tolerance."""
    if (at_most is None) == (at_least is None):
        raise ValueError("exactly one of at_most and at_least is needed")
    values = select(scores, metric)["value"]
    worst = float(values.max() if at_least is None else values.min())
    holds = worst <= at_most if at_most is not None else worst >= at_least  # type: ignore[operator]
    limit = f"at most {at_most:g}" if at_most is not None else f"at least {at_least:g}"
    name = f"{metric} ({limit})"
    return [Comparison(name, Interval(worst, worst, worst), Standing.of(bool(holds)))]


def _cv_difference(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """Accuracy over repeated cross-validation: the corrected resampled t interval.

    Beside it stands what the paper draws, mean and standard deviation over repetitions.
    """
    comparisons = []
    for a, b in pairs:
        points = 100 * paired(scores, "accuracy", ["repeat", "fold"], a, b)
        n_folds = _check_folds(scores, points.index.get_level_values("repeat").unique(), a, b)
        interval = corrected_resampled_t(points, test_share=1 / n_folds)
        shown = [
            (m, 100 * select(scores, "accuracy", m).groupby("repeat")["value"].mean())
            for m in (a, b)
        ]
        name = f"accuracy {a} - {b} (percentage points)"
        note = _means(shown, "repetitions")
        comparisons.append(Comparison(name, interval, decide(interval), note))
    return comparisons


def _often(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """Share of comparisons of accuracies that are reproduced: more than half is often."""
    found = [comparison.standing for comparison in _cv_difference(scores, pairs)]
    shares = {
        standing: sum(each is standing for each in found) / len(found) for standing in Standing
    }
    better, worse = shares[Standing.REPRODUCED], shares[Standing.REVERSED]
    in_favour = better + shares[Standing.SAME_DIRECTION]
    if better > 0.5:
        standing = Standing.REPRODUCED
    elif worse > 0.5:
        standing = Standing.REVERSED
    else:
        standing = Standing.SAME_DIRECTION if in_favour > 0.5 else Standing.UNDECIDED
    name = f"share of {len(found)} comparisons that are reproduced (more than half)"
    note = f"{in_favour:.0%} in the paper's direction, {worse:.0%} reversed"
    return [Comparison(name, Interval(better, better, better), standing, note)]


def _means(values: Iterable[tuple[str, pd.Series]], over: str) -> str:
    """Write means and standard deviations, the statistic that the paper gives."""
    shown = ", ".join(
        f"{name} {of.mean():.4g} ({of.std():.2g})" if len(of) > 1 else f"{name} {of.mean():.4g}"
        for name, of in values
    )
    return f"mean and s.d. over {over}: {shown}"


def _check_folds(scores: pd.DataFrame, repeats: pd.Index, a: str, b: str) -> int:
    """Return the number of folds of the repeats that both methods have; all have the same."""
    found = {}
    for method in (a, b):
        rows = select(scores, "accuracy", method)
        for repeat, folds in rows[rows["repeat"].isin(repeats)].groupby("repeat")["fold"]:
            found[method, repeat] = sorted(folds.tolist())
    first = next(iter(found.values()))
    for (method, repeat), those in found.items():
        if those != first:
            raise ValueError(
                f"accuracy of {a!r} and {b!r}: {method!r} has folds {those} in repeat {repeat}, "
                f"where others are {first}"
            )
    return len(first)


def _subsampled_difference(
    scores: pd.DataFrame, metric: str, draws: str, pairs: list[list[str]], items: list[int]
) -> list[Comparison]:
    """Difference of scores of all data, with the interval of subsets without replacement.

    ``draws`` is the metric of the subsets, and ``<draws>_share`` their share of the data.
    """
    # Scores of textures have items of other kinds too, hence read back as text.
    numbers = scores.assign(item=pd.to_numeric(scores["item"], errors="coerce"))
    comparisons = []
    for a, b in pairs:
        whole = paired(numbers, metric, ["item"], a, b)
        parts = paired(numbers, draws, ["item", "repeat"], a, b)
        shares = sides(numbers, f"{draws}_share", ["item"], a, b)
        for item in items:
            share = {float(side[item]) for side in shares}
            if len(share) != 1:
                raise ValueError(f"{draws!r} of {a!r} and {b!r}: subsets of shares {share}")
            chosen = parts[parts.index.get_level_values("item") == item]
            interval = subsampling_interval(float(whole[item]), chosen, share.pop())
            name = f"{metric} of {item} components, {a} - {b} (percentage points)"
            comparisons.append(Comparison(name, interval, decide(interval)))
    return comparisons


def _resampled_difference(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]]
) -> list[Comparison]:
    """Scores of k-means: mean paired difference and its percentiles over images and random starts.

    The values ``resampled_<metric>`` are centred on the mean score of all images. Beside them
    stands what the paper draws, mean and standard deviation over random starts.
    """
    comparisons = []
    for a, b in pairs:
        draws = paired(scores, f"resampled_{metric}", ["item"], a, b)
        interval = percentile_interval(float(draws.mean()), draws)
        starts = [(m, select(scores, metric, m)["value"]) for m in (a, b)]
        unit = f" ({_UNITS[metric]})" if metric in _UNITS else ""
        name, note = f"{metric} {a} - {b}{unit}", _means(starts, "starts")
        comparisons.append(Comparison(name, interval, decide(interval), note))
    return comparisons


#: Rules by their name in ``claims.yaml``.
KERNEL_RULES: Mapping[str, Callable[..., list[Comparison]]] = {
    "bound": _bound,
    "cv_difference": _cv_difference,
    "often": _often,
    "resampled_difference": _resampled_difference,
    "subsampled_difference": _subsampled_difference,
}
