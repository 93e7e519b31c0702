"""Rules for tags of songs: scores of tags and of resampled songs, seconds and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd

from replication.report.claims.scores import (
    Comparison,
    Standing,
    decide,
    paired,
    select,
    tags_given_up,
)
from replication.report.statistics import Interval, holm, paired_t, percentile_interval

__all__ = ["TAGGING_RULES", "seconds_by_fold"]

_SIGNIFICANCE = 0.05


def _over_songs(scores: pd.DataFrame, metric: str, a: str, b: str) -> pd.Series:
    """Differences a - b on resampled songs, on the largest set of folds that both methods have.

    The item names the folds of a set; nothing stands for all of them.
    """
    chosen = scores[scores["metric"] == f"resampled_{metric}"]
    sets = [
        set(select(chosen, f"resampled_{metric}", method)["item"].astype(str)) for method in (a, b)
    ]
    shared = sets[0] & sets[1]
    if not shared:
        raise LookupError(f"no folds of 'resampled_{metric}' that {a!r} and {b!r} share")
    largest = max(shared, key=lambda name: len(name.split(",")) if name else math.inf)
    chosen = chosen[chosen["item"].astype(str) == largest]
    return paired(chosen, f"resampled_{metric}", ["repeat"], a, b)


def _tag_tests(
    scores: pd.DataFrame, metrics: list[str], pairs: list[list[str]]
) -> list[tuple[str, str, str, Interval, float]]:
    """Paired t over tags (means over the folds that both methods have) of each metric and pair."""
    tests = []
    for metric in metrics:
        for a, b in pairs:
            difference = paired(scores, metric, ["item", "fold"], a, b)
            interval, p = paired_t(difference.groupby("item").mean())
            tests.append((metric, a, b, interval, p))
    return tests


def _tag_difference(
    scores: pd.DataFrame, metrics: list[str], pairs: list[list[str]], resampled: bool = True
) -> list[Comparison]:
    """Scores of tags: a paired t over tags as in the paper, and a bootstrap over songs.

    Tags are correlated, so that the first alone finds too much. Both must agree where songs are
    ``resampled``. The p-values are Holm's, whose family is the metrics and pairs of one claim;
    claims are not corrected for each other.
    """
    comparisons = []
    tests = _tag_tests(scores, metrics, pairs)
    adjusted = holm([p for *_, p in tests]).tolist()
    for (metric, a, b, interval, _), p in zip(tests, adjusted, strict=True):
        # What the test does not find is as if zero lay within its interval.
        tested = interval if p < _SIGNIFICANCE else interval._replace(low=-math.inf, high=math.inf)
        note = f"p {p:.2g}"
        standing = decide(tested)
        if resampled:
            songs = percentile_interval(interval.value, _over_songs(scores, metric, a, b))
            both = Interval(
                interval.value, min(tested.low, songs.low), max(tested.high, songs.high)
            )
            standing = decide(both)
            note += f", over songs [{songs.low:.3g}, {songs.high:.3g}]"
        comparisons.append(Comparison(f"{metric} {a} - {b}", interval, standing, note))
    return comparisons


def _no_tag_difference(
    scores: pd.DataFrame, metrics: list[str], pairs: list[list[str]]
) -> list[Comparison]:
    """Scores that nothing tells apart, which does not make them equal.

    Neither the paired t over tags nor, where songs were resampled, the bootstrap over songs may
    find a difference. The p-values are not adjusted: Holm's correction, whose family is one claim,
    makes a difference harder to find, and so would let the claim hold the more easily the more
    metrics it speaks of.
    """
    comparisons = []
    for metric, a, b, interval, p in _tag_tests(scores, metrics, pairs):
        holds = p >= _SIGNIFICANCE
        note = f"unadjusted p {p:.2g}"
        if (scores["metric"] == f"resampled_{metric}").any():
            songs = percentile_interval(interval.value, _over_songs(scores, metric, a, b))
            holds = holds and songs.low <= 0 <= songs.high
            note += f", over songs [{songs.low:.3g}, {songs.high:.3g}]"
        comparisons.append(Comparison(f"{metric} {a} - {b}", interval, Standing.of(holds), note))
    return comparisons


def _attempt(
    scores: pd.DataFrame, method: str, metrics: list[str], pairs: list[list[str]]
) -> list[Comparison]:
    """Say that a method fails: it gives up on tags within its time, or its models are worse."""
    select(scores, "tags_given_up", method)
    given_up = float(tags_given_up(scores).groupby("method").sum().get(method, 0.0))
    if given_up:
        interval = Interval(given_up, given_up, given_up)
        return [Comparison(f"tags that {method} gave up on", interval, Standing.REPRODUCED)]
    return _tag_difference(scores, metrics, pairs)


def _margin(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]], at_least: float
) -> list[Comparison]:
    """Mean over tags of a score: a difference as large as was asked for, and not by chance."""
    comparisons = []
    for a, b in pairs:
        difference = paired(scores, metric, ["item", "fold"], a, b).groupby("item").mean()
        draws = _over_songs(scores, metric, a, b)
        interval = percentile_interval(float(difference.mean()), draws)
        standing = decide(interval)
        if standing is Standing.REPRODUCED and interval.value < at_least:
            standing = Standing.SAME_DIRECTION
        name = f"{metric} {a} - {b} (at least {at_least:g})"
        comparisons.append(Comparison(name, interval, standing))
    return comparisons


def seconds_by_fold(scores: pd.DataFrame, method: str) -> pd.DataFrame:
    """Seconds of learning songs and tags, a row a fold in which the method learned all tags.

    Models of songs serve all folds of the run, so that each fold bears the same part of them. A
    method that was tried on one fold bears that of one fold. A fold in which the method gave up on
    tags is left out: fewer tags take less time.
    """
    rows = select(scores, "seconds")
    rows = rows.assign(fold=rows["fold"].astype(str))
    n_folds = rows.loc[rows["item"] == "tags", "fold"].nunique()
    own = rows[rows["method"] == method]
    given_up = set(tags_given_up(scores).index)
    tags = own[own["item"] == "tags"].groupby("fold")["value"].sum()
    songs = float(own.loc[own["item"] == "songs", "value"].sum())
    tags = tags[[(method, fold) not in given_up for fold in tags.index]]
    return pd.DataFrame({"songs": songs / max(n_folds, 1), "tags": tags})


def _learning_time_ratio(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """How many times longer the first of each pair learned, in all; smallest and largest fold."""
    comparisons = []
    for slow, fast in pairs:
        sides = [seconds_by_fold(scores, method).sum(axis=1) for method in (slow, fast)]
        folds = (sides[0] / sides[1]).dropna()
        if folds.empty:
            raise LookupError(f"no fold in which both {slow!r} and {fast!r} learned")
        shared = folds.index
        total = float(sides[0][shared].sum() / sides[1][shared].sum())
        interval = Interval(total, float(folds.min()), float(folds.max()))
        name = f"seconds of learning {slow} / {fast}"
        comparisons.append(Comparison(name, interval, decide(interval, 1)))
    return comparisons


def _stage_share(
    scores: pd.DataFrame, method: str, item: str, at_least: float, at_most: float
) -> list[Comparison]:
    """Share that a stage has of the seconds of learning."""
    by_fold = seconds_by_fold(scores, method)
    if by_fold.empty:
        if method in tags_given_up(scores).index.get_level_values("method"):
            return []
        raise LookupError(f"no fold in which {method!r} learned")
    stages = by_fold.sum()
    share = float(stages[item] / stages.sum())
    name = f"share of {item} in the seconds of {method} ({at_least:g} to {at_most:g})"
    standing = Standing.of(at_least <= share <= at_most)
    return [Comparison(name, Interval(share, share, share), standing)]


def _memory_ratio(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """How many times more memory the first of each pair needs in its largest stage."""
    comparisons = []
    for large, small in pairs:
        peaks = [select(scores, "peak_bytes", m)["value"].max() for m in (large, small)]
        ratio = float(peaks[0] / peaks[1])
        interval = Interval(ratio, ratio, ratio)
        comparisons.append(
            Comparison(f"peak memory {large} / {small}", interval, decide(interval, 1))
        )
    return comparisons


#: Rules by their name in ``claims.yaml``.
TAGGING_RULES: Mapping[str, Callable[..., list[Comparison]]] = {
    "attempt": _attempt,
    "learning_time_ratio": _learning_time_ratio,
    "margin": _margin,
    "memory_ratio": _memory_ratio,
    "no_tag_difference": _no_tag_difference,
    "stage_share": _stage_share,
    "tag_difference": _tag_difference,
}
