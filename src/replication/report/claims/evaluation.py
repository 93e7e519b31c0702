"""Read the claims, apply their rules and give verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from replication.report.claims.kernel_rules import KERNEL_RULES
from replication.report.claims.motion_rules import MOTION_RULES
from replication.report.claims.scores import Comparison, Standing, tags_given_up
from replication.report.claims.tagging_rules import TAGGING_RULES, seconds_by_fold
from replication.report.metrics import say_undetermined
from replication.report.statistics import Interval

__all__ = ["CLAIM_COLUMNS", "Claim", "ClaimError", "evaluate_claims", "read_claims"]

# ``cost`` claims are about seconds: their values differ from run to run. ``construction`` claims
# are about data that were constructed to decide them.
_KINDS = ("construction", "cost", "empirical", "identity")
_RULES: Mapping[str, Callable[..., list[Comparison]]] = {
    **KERNEL_RULES,
    **MOTION_RULES,
    **TAGGING_RULES,
}

CLAIM_COLUMNS = (
    "id",
    "paper",
    "place",
    "statement",
    "kind",
    "experiment",
    "variant",
    "dataset",
    "origin",
    "printed",
    "compared",
    "value",
    "low",
    "high",
    "standing",
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
                f"{path}: {name}: rule {claim.rule.get('name')!r}; "
                f"allowed: {', '.join(sorted(_RULES))}"
            )
        claims += _readings(claim)
    identifiers = [claim.id for claim in claims]
    repeated = sorted({i for i in identifiers if identifiers.count(i) > 1})
    if repeated:
        raise ClaimError(f"{path}: repeated ids {repeated}")
    return claims


def _readings(claim: Claim) -> list[Claim]:
    """Split a claim whose rule says ``each`` into one of each pair: each has its own verdict."""
    rule = dict(claim.rule)
    if not rule.pop("each", False):
        return [claim]
    return [
        replace(
            claim,
            id=f"{claim.id}/{a}-{b}",
            statement=f"{claim.statement.removesuffix('.')} ({a} against {b}).",
            rule={**rule, "pairs": [[a, b]]},
        )
        for a, b in rule["pairs"]
    ]


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
        Columns :data:`CLAIM_COLUMNS`, a row a claim, experiment and variant of its settings; the
        main settings have the variant ``""`` and come first. A variant that lacks what a claim
        needs has no row. ``standing`` says where the scores lie beside the claim, ``verdict``
        what follows from that; the value is that of the comparison that is farthest from holding.

    Raises
    ------
    ClaimError
        If the experiment ran but the scores that a rule needs are missing from its main settings.
    """
    rows = []
    for claim in claims:
        for experiment in claim.experiments:
            scores = metrics[metrics["experiment"] == experiment]
            if not scores.empty:
                rows.append(_decide(claim, experiment, scores))
                rows += _decide_variants(claim, experiment, scores)
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS))


def _decide_variants(claim: Claim, experiment: str, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Apply a claim's rule to each variant of the settings that has all that it needs."""
    rows = []
    for variant in dict.fromkeys(scores["variant"]):
        if variant == "":
            continue
        varied = scores[scores["variant"] == variant].assign(variant="")
        if _in_this_run(varied, claim.rule)[1]:
            continue
        try:
            rows.append({**_decide(claim, experiment, varied), "variant": variant})
        except ClaimError as error:
            if not isinstance(error.__cause__, LookupError):
                raise
    return rows


def _decide(claim: Claim, experiment: str, scores: pd.DataFrame) -> dict[str, Any]:
    """Apply a claim's rule to the scores of one experiment."""
    rule, absent = _in_this_run(scores, claim.rule)
    rule, failed = _without_failures(scores, rule)
    try:
        comparisons = [] if _is_empty(rule) else _RULES[rule.pop("name")](scores, **rule)
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
    order = list(Standing)
    weakest = min(
        comparisons,
        key=lambda each: (order.index(each.standing), each.interval.low),
        default=Comparison("", Interval(math.nan, math.nan, math.nan), Standing.UNDECIDED),
    )
    standing = _standing(comparisons)
    return {
        "id": claim.id,
        "paper": claim.paper,
        "place": claim.place,
        "statement": claim.statement,
        "kind": claim.kind,
        "experiment": experiment,
        "variant": "",
        "dataset": scores["dataset"].iloc[0],
        "origin": origins[0],
        "printed": claim.printed,
        "compared": weakest.name,
        "value": weakest.interval.value,
        "low": weakest.interval.low,
        "high": weakest.interval.high,
        "standing": standing,
        "verdict": _verdict(claim.kind, origins[0], standing, bool(absent)),
        "reason": "; ".join([*map(str, comparisons), *failed, *absent]),
    }


def _in_this_run(scores: pd.DataFrame, rule: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the rule without what the configuration leaves out, and words for that.

    A method that has no score at all was not run. Items (numbers of components, or classes) are
    missing if a metric has others.
    """
    rule = dict(rule)
    main = scores[scores["variant"] == ""]
    there = set(main["method"])
    methods = [*rule.get("pairs", []), *([[rule["method"]]] if "method" in rule else [])]
    absent = dict.fromkeys(name for pair in methods for name in pair if name not in there)
    if "pairs" in rule:
        rule["pairs"] = [pair for pair in rule["pairs"] if there.issuperset(pair)]
    if "items" in rule:
        metric = f"{rule['draws']}_share" if "draws" in rule else rule["metric"]
        missing = _missing(main, metric, rule["items"])
        rule["items"] = [item for item in rule["items"] if item not in missing]
        absent |= dict.fromkeys(missing)
    for metric, items in rule.get("shown", {}).items():
        absent |= dict.fromkeys(_missing(main, metric, items))
    if rule.get("method") in absent or ("shown" in rule and absent):
        rule["items"] = []
    return rule, [f"{name} not in this run" for name in absent]


def _missing(scores: pd.DataFrame, metric: str, items: list[Any]) -> list[Any]:
    """Return the items that a metric lacks which has others."""
    found = set(scores.loc[scores["metric"] == metric, "item"].astype(str))
    return [item for item in items if found and str(item) not in found]


def _is_empty(rule: Mapping[str, Any]) -> bool:
    """Say whether nothing is left to compare; a method that gives up is compared with none."""
    no_pairs = rule.get("pairs") == [] and rule["name"] != "attempt"
    return no_pairs or rule.get("items") == []


def _without_failures(
    scores: pd.DataFrame, rule: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the rule with what can be compared, and why other methods cannot."""
    without = _without_scores(scores, rule)
    if "shown" in rule and rule["method"] in without:
        return {**rule, "items": []}, [without[rule["method"]]]
    if "pairs" not in rule:
        methods = [rule["method"]] if rule["name"] == "stage_share" else []
        return dict(rule), _gave_up(scores, rule, methods)
    named = {method for pair in rule["pairs"] for method in pair}
    reasons = [reason for method, reason in without.items() if method in named]
    pairs = []
    for pair in rule["pairs"]:
        gave_up = _gave_up(scores, rule, pair)
        reasons += [reason for reason in gave_up if reason not in reasons]
        if not gave_up and not without.keys() & {*pair}:
            pairs.append(pair)
    return {**rule, "pairs": pairs}, reasons


def _without_scores(scores: pd.DataFrame, rule: Mapping[str, Any]) -> dict[str, str]:
    """Say of methods that failed on every trial, or are not determined where the rule looks."""
    main = scores[scores["variant"] == ""]
    failed = set(main.loc[main["metric"] == "failed", "method"])
    failed -= set(main.loc[main["metric"] != "failed", "method"])
    without = {method: f"{method} failed on every trial" for method in sorted(failed)}
    shown = [int(metric.rpartition("_")[2]) for metric in rule.get("shown", {})]
    for (_, method, level), words in say_undetermined(main).items():
        if level in rule.get("levels", shown):
            without.setdefault(method, f"{method} on level {level} {words}")
    return without


def _gave_up(scores: pd.DataFrame, rule: Mapping[str, Any], methods: list[str]) -> list[str]:
    """Say that methods gave up on tags, if that leaves no fold in which all can be compared."""
    counts = tags_given_up(scores).groupby("method").sum()
    named = [method for method in methods if method in counts.index]
    # To give up is what an attempt is about.
    if not named or (rule["name"] == "attempt" and rule["method"] in named):
        return []
    reasons = [f"{method} gave up on {counts[method]:g} tags" for method in named]
    if rule["name"] in ("learning_time_ratio", "stage_share"):
        parts = [set(seconds_by_fold(scores, method).index) for method in methods]
        return [] if set.intersection(*parts) else reasons
    for metric in rule.get("metrics", [rule.get("metric")]):
        rows = scores[(scores["metric"] == metric) & (scores["variant"] == "")]
        keys = rows["item"].astype(str) + "/" + rows["fold"].astype(str)
        parts = [set(keys[rows["method"] == method]) for method in methods]
        if metric is not None and not set.intersection(*parts):
            return reasons
    return []


def _standing(comparisons: list[Comparison]) -> str:
    """Sum up comparisons: the weakest, or ``mixed`` if the scores contradict each other."""
    standings = {comparison.standing for comparison in comparisons}
    if {Standing.REPRODUCED, Standing.REVERSED} <= standings:
        return "mixed"
    return min(standings, key=list(Standing).index, default="")


def _verdict(kind: str, origin: str, standing: str, absent: bool) -> str:
    if absent and not standing:
        return "not in this run"
    if kind not in ("construction", "identity") and origin == "synthetic":
        return "synthetic data only"
    return standing or "not decided"
