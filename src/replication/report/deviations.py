"""The list of what the papers leave open: our value, its source, the measured effect of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

__all__ = ["DEVIATION_COLUMNS", "list_deviations"]

DEVIATION_COLUMNS = ("experiment", "setting", "paper", "ours", "source", "effect", "origin")


def list_deviations(
    settings: str | Path, config: Mapping[str, Any], metrics: pd.DataFrame
) -> pd.DataFrame:
    """Assemble the table of deviations of a run.

    Parameters
    ----------
    settings : path-like
        ``resources/deviations.yaml``.
    config : mapping
        Configuration of the run; our values are read from it.
    metrics : pandas.DataFrame
        All scores of the run; effects are computed from them.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`DEVIATION_COLUMNS`.

    Raises
    ------
    ValueError
        If a setting names a configuration key, an effect or a score that does not exist.
    """
    rows = []
    for entry in yaml.safe_load(Path(settings).read_text(encoding="utf-8")):
        scores = metrics[metrics["experiment"] == entry["experiment"]]
        if scores.empty:
            continue
        try:
            effect = "; ".join(
                text
                for name, argument in entry.get("effect", {}).items()
                for text in _EFFECTS[name](scores, argument)
            )
            ours = _ours(config["experiments"][entry["experiment"]], entry)
        except LookupError as error:
            raise ValueError(f"{settings}: {entry['setting']!r}: not found: {error}") from error
        rows.append(
            {
                **{key: entry[key] for key in ("experiment", "setting", "paper", "source")},
                "ours": ours,
                "effect": effect or "not varied",
                "origin": scores["origin"].iloc[0],
            }
        )
    return pd.DataFrame(rows, columns=list(DEVIATION_COLUMNS))


def _ours(config: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """Our value: at a dotted path of an experiment's configuration, or what no run can change."""
    if "config" not in entry:
        return str(entry.get("ours", "see source"))
    value: Any = config
    for key in entry["config"].split("."):
        value = value[key]
    # "true" alone would not say what is.
    return f"{key}: {str(value).lower()}" if isinstance(value, bool) else str(value)


def _accuracies(scores: pd.DataFrame, variant: str) -> dict[str, pd.Series]:
    """Accuracies of each kernel under a variant, by repetition and fold."""
    rows = scores[(scores["metric"] == "accuracy") & (scores["variant"] == variant)]
    return {
        str(method): values.set_index(["repeat", "fold"])["value"]
        for method, values in rows.groupby("method", sort=False)
    }


def _variants(scores: pd.DataFrame, variants: Sequence[str]) -> list[str]:
    """Change of every kernel's accuracy against the main settings, on the same splits.

    Some variants are only part of some runs; those that this one lacks are skipped, and kernels
    that it has in the variant only.
    """
    main = _accuracies(scores, "")
    texts = []
    for variant in variants:
        varied = _accuracies(scores, variant)
        changes = [
            f"{method} {100 * (varied[method] - main[method]).mean():+.1f}"
            for method in varied
            if method in main
        ]
        if changes:
            texts.append(f"{variant}: accuracy {', '.join(changes)} points")
    return texts


def _methods(scores: pd.DataFrame, pairs: Sequence[Sequence[str]]) -> list[str]:
    """Difference of two kernels' accuracies on the same splits, of pairs that the run has."""
    main = _accuracies(scores, "")
    return [
        f"accuracy {a} - {b}: {100 * (main[a] - main[b]).mean():+.1f} points"
        for a, b in pairs
        if a in main and b in main
    ]


def _schemes(scores: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Accuracy of the multi-class schemes, of the methods for which the run compares them."""
    schemes = ("one_vs_one", "one_vs_rest", "pairwise_coupling")
    found = {scheme: _accuracies(scores, scheme) for scheme in schemes}
    return [
        f"{method}: "
        + ", ".join(f"{scheme} {100 * found[scheme][method].mean():.1f} %" for scheme in schemes)
        for method in methods
        if method in found["one_vs_one"]
    ]


def _sweep(scores: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """V-measure over gamma."""
    texts = []
    for method in methods:
        rows = scores[
            (scores["variant"] == "gamma sweep")
            & (scores["metric"] == "v_measure")
            & (scores["method"] == method)
        ]
        if rows.empty:
            raise LookupError(f"gamma sweep of {method!r}")
        means = rows.groupby(rows["item"].astype(float))["value"].mean()
        values = ", ".join(f"{value:.3f} at {gamma:g}" for gamma, value in means.items())
        texts.append(f"V-measure of {method}: {values}")
    return texts


def _edges(scores: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Share of parameter choices on an end of their grid, of the methods that the run has."""
    rows = scores[(scores["metric"] == "on_edge") & (scores["variant"] == "")]
    shares = rows.groupby("method")["value"].mean()
    parts = [f"{m} {100 * shares[m]:.0f} %" for m in methods if m in shares.index]
    return [f"choices on an edge of a grid: {', '.join(parts)}"] if parts else []


def _rand(scores: pd.DataFrame, variants: Sequence[str]) -> list[str]:
    """Change of the Rand index of each level against the main settings, on the same trials.

    The default run has fewer variants than the one on real data; those that it lacks are skipped.
    """
    rows = scores[scores["metric"] == "rand_index"]
    main = rows[rows["variant"] == ""].set_index(["method", "item", "repeat"])["value"]
    texts = []
    for variant in variants:
        varied = rows[rows["variant"] == variant].set_index(["method", "item", "repeat"])["value"]
        # Clustering by subject has no trials, and no settings that could change it.
        changes = (varied - main).dropna()
        changes = changes[changes.index.get_level_values("method") != "subject"]
        for method, values in changes.groupby("method", sort=False):
            levels = values.groupby("item").mean()
            parts = ", ".join(f"{change:+.3f} on level {item}" for item, change in levels.items())
            texts.append(f"{variant}: Rand index of {method} {parts}")
    return texts


def _parts(scores: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Parts of the graph of affinities on the first level, over trials."""
    rows = scores[(scores["metric"] == "graph_parts") & (scores["variant"] == "")]
    texts = []
    for method in methods:
        counts = rows[rows["method"] == method]
        if counts.empty:
            continue  # it failed
        first = counts.loc[counts["item"].astype(int) == counts["item"].astype(int).min(), "value"]
        texts.append(
            f"graph of {method}: {first.min():.0f} to {first.max():.0f} parts, "
            f"median {first.median():g}"
        )
    return texts


def _test_likelihood(scores: pd.DataFrame, variants: Sequence[str]) -> list[str]:
    """Change of the log-likelihood of test songs against the main settings, on the same tags.

    A run that does not try a variant skips it.
    """
    rows = scores[scores["metric"] == "test_log_likelihood"]
    main = rows[rows["variant"] == ""].set_index(["method", "item", "fold"])["value"]
    texts = []
    for variant in variants:
        varied = rows[rows["variant"] == variant].set_index(["method", "item", "fold"])["value"]
        changes = (varied - main).dropna()
        for method, values in changes.groupby("method", sort=False):
            texts.append(
                f"{variant}: log-likelihood of test songs by {method} "
                f"{values.mean():+.2g} nats a frame"
            )
    return texts


def _tag_scores(scores: pd.DataFrame, variants: Sequence[str]) -> list[str]:
    """Change of annotation precision and F of each method against the main settings.

    Means over tags of means over folds, of the tags and folds that each side scores: what a
    variant leaves out of the average is part of its effect. The main setting itself is skipped.
    """
    texts = []
    for variant in variants:
        rows = scores[scores["variant"] == variant]
        parts = []
        for method in dict.fromkeys(rows["method"]):
            changes = []
            for metric, letter in (("precision", "P"), ("f_score", "F")):
                means = []
                for name in (variant, ""):
                    chosen = scores[
                        (scores["variant"] == name)
                        & (scores["metric"] == metric)
                        & (scores["method"] == method)
                    ]
                    means.append(chosen.groupby("item")["value"].mean().mean())
                changes.append(f"{letter} {means[0] - means[1]:+.3f}")
            parts.append(f"{method} {', '.join(changes)}")
        if parts:
            texts.append(f"{variant}: {'; '.join(parts)}")
    if not texts:
        raise LookupError(f"variants {list(variants)}")
    return texts


_EFFECTS: Mapping[str, Callable[[pd.DataFrame, Any], list[str]]] = {
    "edges": _edges,
    "methods": _methods,
    "parts": _parts,
    "rand": _rand,
    "schemes": _schemes,
    "sweep": _sweep,
    "tag_scores": _tag_scores,
    "test_likelihood": _test_likelihood,
    "variants": _variants,
}
