"""The list of what the papers leave open: our value, its source, the measured effect of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from replication.registry import MULTICLASS_SCHEMES
from replication.report.multiverse import changed_settings

__all__ = ["DEVIATION_COLUMNS", "list_deviations", "setting_labels"]

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
            experiment = config["experiments"][entry["experiment"]]
            effects = _varied(scores, experiment, entry)
            for name, argument in entry.get("effect", {}).items():
                effects += _EFFECTS[name](scores, argument)
            effect = "; ".join(effects)
            ours = _ours(experiment, entry)
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


def setting_labels(settings: str | Path) -> dict[tuple[str, str], str]:
    """Name settings in words, by experiment and dotted path in its configuration.

    Parameters
    ----------
    settings : path-like
        ``resources/deviations.yaml``.

    Returns
    -------
    dict
    """
    entries = yaml.safe_load(Path(settings).read_text(encoding="utf-8"))
    return {
        (entry["experiment"], entry[key]): entry["setting"]
        for entry in entries
        for key in ("config", "varied")
        if key in entry
    }


def _ours(config: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """Our value: at a dotted path of an experiment's configuration, or what no run can change."""
    if "config" not in entry:
        return str(entry.get("ours", "see source"))
    value: Any = config
    for key in entry["config"].split("."):
        value = value[key]
    # "true" alone would not say what is.
    return f"{key}: {str(value).lower()}" if isinstance(value, bool) else str(value)


def _varied(
    scores: pd.DataFrame, experiment: Mapping[str, Any], entry: Mapping[str, Any]
) -> list[str]:
    """Say what the variants of the sensitivity study change that change an entry's setting."""
    variants = [
        variant
        for variant in experiment.get("sensitivity", {}).get("variants", {})
        if entry.get("config") in changed_settings(experiment, variant)
    ]
    return (
        _rand(scores, variants)
        if "rand_index" in set(scores["metric"])
        else _variants(scores, variants)
    )


def _accuracies(scores: pd.DataFrame, variant: str) -> dict[str, pd.Series]:
    """Accuracies of each kernel under a variant, by repetition and fold."""
    rows = scores[(scores["metric"] == "accuracy") & (scores["variant"] == variant)]
    return {
        str(method): values.set_index(["repeat", "fold"])["value"]
        for method, values in rows.groupby("method", sort=False)
    }


def _variants(scores: pd.DataFrame, variants: Sequence[str]) -> list[str]:
    """Change of every kernel's accuracy against the main settings, on the same splits.

    Kernels that the run has in the variant only are skipped.
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
    """Accuracy of the multi-class schemes on the splits of which all are scored."""
    votes, *others = MULTICLASS_SCHEMES
    found = {scheme: _accuracies(scores, scheme) for scheme in others}
    main = _accuracies(scores, "")
    texts = []
    for method in (m for m in methods if all(m in found[scheme] for scheme in others)):
        splits = found[others[0]][method].index
        of_schemes = {votes: main[method].reindex(splits), **{s: found[s][method] for s in others}}
        accuracies = [f"{name} {100 * of.mean():.1f} %" for name, of in of_schemes.items()]
        texts.append(f"{method}: {', '.join(accuracies)} ({len(splits)} folds)")
    return texts


def _sweep(scores: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """V-measure over gamma."""
    rows = scores[scores["variant"].str.startswith("gamma_") & (scores["metric"] == "v_measure")]
    texts = []
    for method in methods:
        own = rows[rows["method"] == method]
        if own.empty:
            raise LookupError(f"sweep over gamma of {method!r}")
        gammas = own["variant"].str.removeprefix("gamma_").astype(float)
        means = own.groupby(gammas)["value"].mean()
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
    """Change of the Rand index of each level against the main settings, on the same trials."""
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
    "schemes": _schemes,
    "sweep": _sweep,
    "tag_scores": _tag_scores,
    "test_likelihood": _test_likelihood,
}
