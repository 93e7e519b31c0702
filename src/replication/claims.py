"""Every claim of the papers with our value, its interval and a verdict that nobody typed in.

A claim (``resources/claims.yaml``) names a rule and the scores that it needs. A rule turns scores
into comparisons, each with an interval of its own that fits how the scores arose; the verdict
follows from the comparisons:

==========================  ======================================================================
``reproduced``              every comparison holds: its interval lies on the claimed side
``mixed``                   some comparisons hold, others do not
``not reproduced``          none holds
``not decided``             a method failed on every trial, or gave up on tags in every fold, so
                            that nothing can be compared
``synthetic data only``     the claim is about data, and these are synthetic: no verdict (unless
                            the claim is about songs constructed to decide it)
==========================  ======================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from replication.statistics import (
    Interval,
    corrected_resampled_t,
    holm,
    paired_t,
    percentile_interval,
    subsampling_interval,
)

__all__ = ["CLAIM_COLUMNS", "Claim", "ClaimError", "evaluate_claims", "read_claims"]

# ``cost`` claims are about seconds: their values differ from run to run. ``construction`` claims
# are about data that were constructed to decide them.
_KINDS = ("construction", "cost", "empirical", "identity")
_SIGNIFICANCE = 0.05

CLAIM_COLUMNS = (
    "id",
    "paper",
    "place",
    "statement",
    "kind",
    "experiment",
    "dataset",
    "origin",
    "printed",
    "value",
    "low",
    "high",
    "verdict",
    "reason",
)


class ClaimError(ValueError):
    """A claim is malformed, or the scores that its rule needs are missing."""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper and the rule that decides it (the keys of ``claims.yaml``)."""

    id: str
    paper: str
    place: str
    statement: str
    kind: str
    experiments: tuple[str, ...]
    printed: str
    rule: Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One statement of a claim in numbers."""

    name: str
    interval: Interval
    holds: bool

    def __str__(self) -> str:
        value, low, high = self.interval
        sign = "holds" if self.holds else "does not hold"
        limits = "" if low == high == value else f" [{low:.3g}, {high:.3g}]"
        return f"{self.name}: {value:.3g}{limits} {sign}"


def read_claims(path: str | Path) -> list[Claim]:
    """Read and check the list of claims.

    Parameters
    ----------
    path : path-like
        A YAML list of mappings with the fields of :class:`Claim`.

    Returns
    -------
    list of Claim

    Raises
    ------
    ClaimError
        If a claim has missing or unknown keys, an unknown rule or kind, or a repeated id.
    """
    claims = []
    for number, entry in enumerate(yaml.safe_load(Path(path).read_text(encoding="utf-8"))):
        name = entry.get("id", f"entry {number}")
        fields = set(Claim.__dataclass_fields__)
        if set(entry) != fields:
            raise ClaimError(
                f"{path}: {name}: missing keys {sorted(fields - set(entry))}, "
                f"unknown keys {sorted(set(entry) - fields)}"
            )
        claim = Claim(**{**entry, "experiments": tuple(entry["experiments"])})
        if claim.kind not in _KINDS:
            raise ClaimError(f"{path}: {name}: kind {claim.kind!r}; allowed: {', '.join(_KINDS)}")
        if claim.rule.get("name") not in _RULES:
            raise ClaimError(
                f"{path}: {name}: rule {claim.rule.get('name')!r}; allowed: {', '.join(_RULES)}"
            )
        claims.append(claim)
    identifiers = [claim.id for claim in claims]
    repeated = sorted({i for i in identifiers if identifiers.count(i) > 1})
    if repeated:
        raise ClaimError(f"{path}: repeated ids {repeated}")
    return claims


def evaluate_claims(claims: Iterable[Claim], metrics: pd.DataFrame) -> pd.DataFrame:
    """Decide every claim on every experiment that it speaks of and that has scores.

    Parameters
    ----------
    claims : iterable of Claim
    metrics : pandas.DataFrame
        All scores of a run, columns as in :data:`replication.io.METRIC_COLUMNS`.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`CLAIM_COLUMNS`, a row a claim and experiment.

    Raises
    ------
    ClaimError
        If the experiment ran but the scores that a rule needs are missing.
    """
    rows = []
    for claim in claims:
        for experiment in claim.experiments:
            scores = metrics[metrics["experiment"] == experiment]
            # Some methods are only part of some configurations.
            needed = claim.rule.get("needs")
            if not scores.empty and needed in (None, *scores["method"].unique()):
                rows.append(_decide(claim, experiment, scores))
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS))


def _decide(claim: Claim, experiment: str, scores: pd.DataFrame) -> dict[str, Any]:
    """Apply a claim's rule to the scores of one experiment."""
    rule = {key: value for key, value in claim.rule.items() if key != "needs"}
    rule, failed = _without_failures(scores, rule)
    try:
        comparisons = _RULES[rule.pop("name")](scores, **rule)
    except (LookupError, TypeError, ValueError) as error:
        raise ClaimError(
            f"{claim.id}: rule cannot be computed for {experiment}: {error}"
        ) from error
    for comparison in comparisons:
        if not np.isfinite(comparison.interval).all():
            raise ClaimError(f"{claim.id}: not finite for {experiment}: {comparison}")
    origins = scores["origin"].unique()
    if len(origins) != 1:
        raise ClaimError(f"{claim.id}: scores of {experiment} mix origins {sorted(origins)}")
    # The comparison that is farthest from holding speaks for the claim.
    if comparisons:
        weakest = min(comparisons, key=lambda each: (each.holds, each.interval.low)).interval
    else:
        weakest = Interval(math.nan, math.nan, math.nan)
    return {
        "id": claim.id,
        "paper": claim.paper,
        "place": claim.place,
        "statement": claim.statement,
        "kind": claim.kind,
        "experiment": experiment,
        "dataset": scores["dataset"].iloc[0],
        "origin": origins[0],
        "printed": claim.printed,
        "value": weakest.value,
        "low": weakest.low,
        "high": weakest.high,
        "verdict": _verdict(claim.kind, origins[0], comparisons),
        "reason": "; ".join([*map(str, comparisons), *failed]),
    }


def _without_failures(
    scores: pd.DataFrame, rule: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the rule with the pairs of methods that can be compared, and why others cannot."""
    if "pairs" not in rule:
        methods = [rule["method"]] if rule["name"] == "stage_share" else []
        return dict(rule), _gave_up(scores, rule, methods)
    failed = set(scores.loc[(scores["metric"] == "failed") & (scores["variant"] == ""), "method"])
    worked = set(scores.loc[(scores["metric"] != "failed") & (scores["variant"] == ""), "method"])
    failed -= worked
    named = failed.intersection(method for pair in rule["pairs"] for method in pair)
    reasons = [f"{method} failed on every trial" for method in sorted(named)]
    pairs = []
    for pair in rule["pairs"]:
        gave_up = _gave_up(scores, rule, pair)
        reasons += [reason for reason in gave_up if reason not in reasons]
        if not gave_up and not failed.intersection(pair):
            pairs.append(pair)
    return {**rule, "pairs": pairs}, reasons


def _given_up(scores: pd.DataFrame) -> pd.Series:
    """Tags that methods gave up on, by method and fold, where there are any."""
    rows = scores[(scores["metric"] == "tags_given_up") & (scores["variant"] == "")]
    # Learning and scoring both count them.
    rows = rows.assign(fold=rows["fold"].astype(str), value=rows["value"].astype(float))
    counts = rows.groupby(["method", "fold"])["value"].max()
    return counts[counts > 0]


def _gave_up(scores: pd.DataFrame, rule: Mapping[str, Any], methods: list[str]) -> list[str]:
    """Say that methods gave up on tags, if that leaves no fold in which all can be compared."""
    counts = _given_up(scores).groupby("method").sum()
    named = [method for method in methods if method in counts.index]
    # To give up is what an attempt is about.
    if not named or (rule["name"] == "attempt" and rule["method"] in named):
        return []
    reasons = [f"{method} gave up on {counts[method]:g} tags" for method in named]
    if rule["name"] in ("learning_time_ratio", "stage_share"):
        parts = [set(_seconds_by_fold(scores, method).index) for method in methods]
        return [] if set.intersection(*parts) else reasons
    for metric in rule.get("metrics", [rule.get("metric")]):
        rows = scores[(scores["metric"] == metric) & (scores["variant"] == "")]
        keys = rows["item"].astype(str) + "/" + rows["fold"].astype(str)
        parts = [set(keys[rows["method"] == method]) for method in methods]
        if metric is not None and not set.intersection(*parts):
            return reasons
    return []


def _verdict(kind: str, origin: str, comparisons: list[Comparison]) -> str:
    if kind not in ("construction", "identity") and origin == "synthetic":
        return "synthetic data only"
    if not comparisons:
        return "not decided"
    holds = [comparison.holds for comparison in comparisons]
    if all(holds):
        return "reproduced"
    return "mixed" if any(holds) else "not reproduced"


def _select(scores: pd.DataFrame, metric: str, method: str | None = None) -> pd.DataFrame:
    """Return the rows of a metric (and method) of the main variant, all of them finite numbers.

    Scores that are undefined by right have no row; any other that is not a number is a failure, and
    comparisons with it would be false, or true, by chance.
    """
    chosen = scores[(scores["metric"] == metric) & (scores["variant"] == "")]
    if method is not None:
        chosen = chosen[chosen["method"] == method]
    if chosen.empty:
        raise LookupError(f"no scores {metric!r}" + (f" of {method!r}" if method else ""))
    # An empty cell of a file is read as text, and so are all others of its column.
    values = pd.to_numeric(chosen["value"], errors="coerce").astype(float)
    bad = chosen.loc[~np.isfinite(values), "method"]
    if not bad.empty:
        names = ", ".join(map(repr, sorted(bad.unique())))
        raise ValueError(
            f"{len(bad)} of {len(chosen)} scores {metric!r} are not finite numbers, of {names}"
        )
    return chosen.assign(value=values)


def _sides(
    scores: pd.DataFrame, metric: str, keys: list[str], a: str, b: str
) -> tuple[pd.Series, pd.Series]:
    """Scores of two methods that agree in ``keys``; those that only one has are left out."""
    sides = []
    for method in (a, b):
        side = _select(scores, metric, method).set_index(keys)["value"]
        repeated = side.index[side.index.duplicated()]
        if len(repeated):
            raise ValueError(
                f"several scores {metric!r} of {method!r} with the same {', '.join(keys)}, "
                f"e.g. {repeated[0]}: is it listed twice?"
            )
        sides.append(side)
    shared = sides[0].index.intersection(sides[1].index)
    if shared.empty:
        raise LookupError(f"no {metric!r} that {a!r} and {b!r} share")
    return sides[0].reindex(shared), sides[1].reindex(shared)


def _paired(scores: pd.DataFrame, metric: str, keys: list[str], a: str, b: str) -> pd.Series:
    """Differences a - b of scores that agree in ``keys``."""
    first, second = _sides(scores, metric, keys, a, b)
    return first - second


def _cv_difference(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """Accuracy over repeated cross-validation: the corrected resampled t interval."""
    comparisons = []
    for a, b in pairs:
        difference = _paired(scores, "accuracy", ["repeat", "fold"], a, b)
        n_folds = _check_folds(scores, difference.index.get_level_values("repeat").unique(), a, b)
        interval = corrected_resampled_t(difference, test_share=1 / n_folds)
        comparisons.append(Comparison(f"accuracy {a} - {b}", interval, interval.low > 0))
    return comparisons


def _check_folds(scores: pd.DataFrame, repeats: pd.Index, a: str, b: str) -> int:
    """Return the number of folds of the repeats that both methods have; all have the same."""
    found = {}
    for method in (a, b):
        rows = _select(scores, "accuracy", method)
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
        whole = _paired(numbers, metric, ["item"], a, b)
        parts = _paired(numbers, draws, ["item", "repeat"], a, b)
        shares = _sides(numbers, f"{draws}_share", ["item"], a, b)
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
        draws = _paired(scores, f"resampled_{metric}", ["item"], a, b)
        interval = percentile_interval(float(draws.mean()), draws)
        starts = _paired(scores, metric, ["repeat"], a, b)
        _, low, high = percentile_interval(float(starts.mean()), starts)
        name = f"{metric} {a} - {b} (single starts [{low:.3g}, {high:.3g}])"
        comparisons.append(Comparison(name, interval, interval.low > 0))
    return comparisons


def _bound(
    scores: pd.DataFrame,
    metric: str,
    at_most: float | None = None,
    at_least: float | None = None,
) -> list[Comparison]:
    """Worst value of an identity's error against its tolerance."""
    if (at_most is None) == (at_least is None):
        raise ValueError("exactly one of at_most and at_least is needed")
    values = _select(scores, metric)["value"]
    worst = float(values.max() if at_least is None else values.min())
    holds = worst <= at_most if at_most is not None else worst >= at_least  # type: ignore[operator]
    limit = f"at most {at_most:g}" if at_most is not None else f"at least {at_least:g}"
    return [Comparison(f"{metric} ({limit})", Interval(worst, worst, worst), bool(holds))]


def _level_difference(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]], levels: list[int]
) -> list[Comparison]:
    """Scores on levels of a hierarchy: paired differences over resampled trials and sequences."""
    comparisons = []
    for a, b in pairs:
        means = {m: _select(scores, metric, m).groupby("item")["value"].mean() for m in (a, b)}
        draws = _paired(scores, f"resampled_{metric}", ["item", "repeat"], a, b)
        for level in levels:
            # Scores have items of other kinds too, hence read back as text.
            value = means[a][str(level)] - means[b][str(level)]
            chosen = draws[draws.index.get_level_values("item") == str(level)]
            interval = percentile_interval(value, chosen)
            name = f"{metric} on level {level}, {a} - {b}"
            comparisons.append(Comparison(name, interval, interval.low > 0))
    return comparisons


def _trial_bound(
    scores: pd.DataFrame, metric: str, method: str, items: list[str], at_least: float
) -> list[Comparison]:
    """Mean over trials of a score against a bound, with the percentiles of the trials."""
    comparisons = []
    rows = _select(scores, metric, method)
    for item in items:
        trials = rows.loc[rows["item"] == item, "value"]
        if trials.empty:
            raise LookupError(f"no {metric!r} of {item!r}")
        interval = percentile_interval(float(trials.mean()), trials)
        name = f"{metric} of {item}, {method} (at least {at_least:g})"
        comparisons.append(Comparison(name, interval, interval.low >= at_least))
    return comparisons


def _cost_ratio(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """How many times longer the first of each pair took, trial by trial."""
    comparisons = []
    for slow, fast in pairs:
        longer, shorter = _sides(scores, "seconds", ["repeat"], slow, fast)
        comparisons.append(_more_than_one(f"seconds {slow} / {fast}", longer / shorter))
    return comparisons


def _more_than_one(name: str, ratios: pd.Series) -> Comparison:
    """Mean of ratios and their percentiles, against one."""
    if not np.isfinite(ratios).all():
        raise ValueError(f"{name}: not all of the {len(ratios)} ratios are finite numbers")
    interval = percentile_interval(float(ratios.mean()), ratios)
    return Comparison(name, interval, interval.low > 1)


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
                _select(scores, f"{metric}_by_iteration", method).astype(dict.fromkeys(keys, int))
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
            before = _select(scores, "first_level_seconds", fast).astype({"repeat": int})
            times[1] = times[1] + before.set_index("repeat")["value"]
        name = f"seconds to a log-likelihood that both reach, {slow} / {fast}"
        comparisons.append(_more_than_one(name, times[0] / times[1]))
    return comparisons


def _over_songs(scores: pd.DataFrame, metric: str, a: str, b: str) -> pd.Series:
    """Differences a - b on resampled songs, on the largest set of folds that both methods have.

    The item names the folds of a set; nothing stands for all of them.
    """
    chosen = scores[scores["metric"] == f"resampled_{metric}"]
    sets = [
        set(_select(chosen, f"resampled_{metric}", method)["item"].astype(str)) for method in (a, b)
    ]
    shared = sets[0] & sets[1]
    if not shared:
        raise LookupError(f"no folds of 'resampled_{metric}' that {a!r} and {b!r} share")
    largest = max(shared, key=lambda name: len(name.split(",")) if name else math.inf)
    chosen = chosen[chosen["item"].astype(str) == largest]
    return _paired(chosen, f"resampled_{metric}", ["repeat"], a, b)


def _tag_tests(
    scores: pd.DataFrame, metrics: list[str], pairs: list[list[str]]
) -> list[tuple[str, str, str, Interval, float]]:
    """Paired t over tags (means over the folds that both methods have) of each metric and pair."""
    tests = []
    for metric in metrics:
        for a, b in pairs:
            difference = _paired(scores, metric, ["item", "fold"], a, b)
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
        holds = interval.value > 0 and p < _SIGNIFICANCE
        note = f"p {p:.2g}"
        if resampled:
            songs = percentile_interval(interval.value, _over_songs(scores, metric, a, b))
            holds = holds and songs.low > 0
            note += f", over songs [{songs.low:.3g}, {songs.high:.3g}]"
        comparisons.append(Comparison(f"{metric} {a} - {b} ({note})", interval, holds))
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
        comparisons.append(Comparison(f"{metric} {a} - {b} ({note})", interval, holds))
    return comparisons


def _attempt(
    scores: pd.DataFrame, method: str, metrics: list[str], pairs: list[list[str]]
) -> list[Comparison]:
    """Say that a method fails: it gives up on tags within its time, or its models are worse."""
    _select(scores, "tags_given_up", method)
    given_up = float(_given_up(scores).groupby("method").sum().get(method, 0.0))
    if given_up:
        interval = Interval(given_up, given_up, given_up)
        return [Comparison(f"tags that {method} gave up on", interval, True)]
    return _tag_difference(scores, metrics, pairs)


def _margin(
    scores: pd.DataFrame, metric: str, pairs: list[list[str]], at_least: float
) -> list[Comparison]:
    """Mean over tags of a score: a difference as large as was asked for, and not by chance."""
    comparisons = []
    for a, b in pairs:
        difference = _paired(scores, metric, ["item", "fold"], a, b).groupby("item").mean()
        draws = _over_songs(scores, metric, a, b)
        interval = percentile_interval(float(difference.mean()), draws)
        holds = interval.value >= at_least and interval.low > 0
        name = f"{metric} {a} - {b} (at least {at_least:g})"
        comparisons.append(Comparison(name, interval, holds))
    return comparisons


def _seconds_by_fold(scores: pd.DataFrame, method: str) -> pd.DataFrame:
    """Seconds of learning songs and tags, a row a fold in which the method learned all tags.

    Models of songs serve all folds of the run, so that each fold bears the same part of them. A
    method that was tried on one fold bears that of one fold. A fold in which the method gave up on
    tags is left out: fewer tags take less time.
    """
    rows = _select(scores, "seconds")
    rows = rows.assign(fold=rows["fold"].astype(str))
    n_folds = rows.loc[rows["item"] == "tags", "fold"].nunique()
    own = rows[rows["method"] == method]
    given_up = set(_given_up(scores).index)
    tags = own[own["item"] == "tags"].groupby("fold")["value"].sum()
    songs = float(own.loc[own["item"] == "songs", "value"].sum())
    tags = tags[[(method, fold) not in given_up for fold in tags.index]]
    return pd.DataFrame({"songs": songs / max(n_folds, 1), "tags": tags})


def _learning_time_ratio(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """How many times longer the first of each pair learned, in all; smallest and largest fold."""
    comparisons = []
    for slow, fast in pairs:
        sides = [_seconds_by_fold(scores, method).sum(axis=1) for method in (slow, fast)]
        folds = (sides[0] / sides[1]).dropna()
        if folds.empty:
            raise LookupError(f"no fold in which both {slow!r} and {fast!r} learned")
        shared = folds.index
        total = float(sides[0][shared].sum() / sides[1][shared].sum())
        interval = Interval(total, float(folds.min()), float(folds.max()))
        comparisons.append(
            Comparison(f"seconds of learning {slow} / {fast}", interval, interval.low > 1)
        )
    return comparisons


def _stage_share(
    scores: pd.DataFrame, method: str, item: str, at_least: float, at_most: float
) -> list[Comparison]:
    """Share that a stage has of the seconds of learning."""
    by_fold = _seconds_by_fold(scores, method)
    if by_fold.empty:
        if method in _given_up(scores).index.get_level_values("method"):
            return []
        raise LookupError(f"no fold in which {method!r} learned")
    stages = by_fold.sum()
    share = float(stages[item] / stages.sum())
    name = f"share of {item} in the seconds of {method} ({at_least:g} to {at_most:g})"
    return [Comparison(name, Interval(share, share, share), at_least <= share <= at_most)]


def _memory_ratio(scores: pd.DataFrame, pairs: list[list[str]]) -> list[Comparison]:
    """How many times more memory the first of each pair needs in its largest stage."""
    comparisons = []
    for large, small in pairs:
        peaks = [_select(scores, "peak_bytes", m)["value"].max() for m in (large, small)]
        ratio = float(peaks[0] / peaks[1])
        name = f"peak memory {large} / {small}"
        comparisons.append(Comparison(name, Interval(ratio, ratio, ratio), ratio > 1))
    return comparisons


_RULES: Mapping[str, Callable[..., list[Comparison]]] = {
    "attempt": _attempt,
    "bound": _bound,
    "convergence_ratio": _convergence_ratio,
    "cost_ratio": _cost_ratio,
    "cv_difference": _cv_difference,
    "learning_time_ratio": _learning_time_ratio,
    "level_difference": _level_difference,
    "margin": _margin,
    "memory_ratio": _memory_ratio,
    "no_tag_difference": _no_tag_difference,
    "resampled_difference": _resampled_difference,
    "stage_share": _stage_share,
    "subsampled_difference": _subsampled_difference,
    "tag_difference": _tag_difference,
    "trial_bound": _trial_bound,
}
