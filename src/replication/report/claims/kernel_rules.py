"""Rules for kernels: identities, accuracy, variance and clusterings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from replication.report.claims.scores import Comparison, paired, select, sides
from replication.report.statistics import (
    Interval,
    corrected_resampled_t,
    percentile_interval,
    subsampling_interval,
)

__all__ = ["KERNEL_RULES"]


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
    return [Comparison(f"{metric} ({limit})", Interval(worst, worst, worst), bool(holds))]


def _cv_difference(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """Accuracy over repeated cross-validation: the corrected resampled t interval."""
    comparisons = []
    for a, b in pairs:
        difference = paired(scores, "accuracy", ["repeat", "fold"], a, b)
        n_folds = _check_folds(scores, difference.index.get_level_values("repeat").unique(), a, b)
        interval = corrected_resampled_t(difference, test_share=1 / n_folds)
        comparisons.append(Comparison(f"accuracy {a} - {b}", interval, interval.low > 0))
    return comparisons


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
            name = f"{metric} of {item} components, {a} - {b}"
            comparisons.append(Comparison(name, interval, interval.low > 0))
    return comparisons


def _resampled_difference(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]]
) -> list[Comparison]:
    """Scores of k-means: mean paired difference and its percentiles over images and random starts.

    The values ``resampled_<metric>`` are centred on the mean score of all images. The percentiles
    of the starts alone, one by one and not of their mean, stand beside.
    """
    comparisons = []
    for a, b in pairs:
        draws = paired(scores, f"resampled_{metric}", ["item"], a, b)
        interval = percentile_interval(float(draws.mean()), draws)
        starts = paired(scores, metric, ["repeat"], a, b)
        _, low, high = percentile_interval(float(starts.mean()), starts)
        name = f"{metric} {a} - {b} (single starts [{low:.3g}, {high:.3g}])"
        comparisons.append(Comparison(name, interval, interval.low > 0))
    return comparisons


#: Rules by their name in ``claims.yaml``.
KERNEL_RULES: Mapping[str, Callable[..., list[Comparison]]] = {
    "bound": _bound,
    "cv_difference": _cv_difference,
    "resampled_difference": _resampled_difference,
    "subsampled_difference": _subsampled_difference,
}
