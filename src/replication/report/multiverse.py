"""On which settings a verdict depends: every claim under every choice that the papers leave open.

A variant of a sensitivity study changes settings of an experiment; besides, the k-means of the
Gaussian kernel is repeated over gamma, and the machines of the paper's kernels are put together in
each way that the paper names. The rules of :mod:`replication.report.claims` are applied to each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from replication.registry import MULTICLASS_SCHEMES

__all__ = ["SETTING_COLUMNS", "changed_settings", "headlines", "name_settings", "say_dependence"]

SETTING_COLUMNS = ("setting", "choice")


def changed_settings(experiment: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """Name the settings that a variant changes, by dotted path, and its choices.

    Parameters
    ----------
    experiment : mapping
        ``experiments.<name>`` of the configuration.
    variant : str
        Of its sensitivity study, or one that its protocols make themselves.

    Returns
    -------
    dict of str to object
        Empty if the variant is of no setting, as a method's upper bound.

    Examples
    --------
    >>> changed_settings({}, "gamma_0.25")
    {'kmeans.gamma': 0.25}
    """
    variants = experiment.get("sensitivity", {}).get("variants", {})
    if variant in variants:
        parts = variants[variant].items()
        return {f"{part}.{key}": value for part, keys in parts for key, value in keys.items()}
    if variant in MULTICLASS_SCHEMES:
        return {"svm.multiclass": variant}
    if variant.startswith("gamma_"):
        return {"kmeans.gamma": float(variant.removeprefix("gamma_"))}
    return {}


def name_settings(
    claims: pd.DataFrame,
    experiments: Mapping[str, Mapping[str, Any]],
    labels: Mapping[tuple[str, str], str],
) -> pd.DataFrame:
    """Put beside each verdict the setting that it was reached under, and its choice.

    Parameters
    ----------
    claims : pandas.DataFrame
        From :func:`replication.report.claims.evaluate_claims`.
    experiments : mapping
        ``experiments`` of the configuration.
    labels : mapping
        Name of a setting by experiment and dotted path, see
        :func:`replication.report.deviations.setting_labels`; a path without one names itself.

    Returns
    -------
    pandas.DataFrame
        With the columns :data:`SETTING_COLUMNS`. The main settings stand once for each setting
        that is varied, with their own choice, and once without a setting. Variants that repeat
        the main choice, or are of no setting, are left out.
    """
    rows: list[dict[Any, Any]] = []
    for (_, experiment), group in claims.groupby(["id", "experiment"], sort=False):
        names = {key: label for (of, key), label in labels.items() if of == experiment}
        rows += _name_group(group.to_dict("records"), experiments.get(str(experiment), {}), names)
    return pd.DataFrame(rows, columns=[*claims.columns, *SETTING_COLUMNS])


def _name_group(
    rows: list[dict[Any, Any]], experiment: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[dict[Any, Any]]:
    """Name the settings of one claim's rows on one experiment, of which the first is the main."""
    main = rows[0]
    yield {**main, "setting": "", "choice": ""}
    seen = set()
    for row in rows[1:]:
        changes = changed_settings(experiment, row["variant"])
        if not changes:
            continue
        own = {key: _choice_of(experiment, key) for key in changes}
        if changes == own:
            continue
        setting = " and ".join(names.get(key, key) for key in changes)
        if setting not in seen:
            seen.add(setting)
            yield {**main, "setting": setting, "choice": _words(own.values())}
        yield {**row, "setting": setting, "choice": _words(changes.values())}


def _choice_of(experiment: Mapping[str, Any], key: str) -> Any:
    """Our choice at a dotted path."""
    if key == "svm.multiclass":
        return MULTICLASS_SCHEMES[0]
    value: Any = experiment
    for part in key.split("."):
        value = value[part]
    return value


def _words(values: Iterable[Any]) -> str:
    """Write choices as they would stand in a configuration."""
    return ", ".join(
        f"{value:g}" if isinstance(value, float) else str(value).lower().replace("_", " ")
        for value in values
    )


def headlines(named: pd.DataFrame) -> pd.DataFrame:
    """Sum up each claim and experiment: the verdict of the main settings, and what it depends on.

    Parameters
    ----------
    named : pandas.DataFrame
        From :func:`name_settings`.

    Returns
    -------
    pandas.DataFrame
        A row a claim and experiment, with the words of :func:`say_dependence` as ``depends_on``.
    """
    rows = []
    for _, group in named.groupby(["id", "experiment"], sort=False):
        main = group.iloc[0].drop(["variant", "standing", *SETTING_COLUMNS])
        rows.append({**main, "depends_on": say_dependence(group)})
    columns = named.columns.drop(["variant", "standing", *SETTING_COLUMNS])
    return pd.DataFrame(rows, columns=[*columns, "depends_on"])


def say_dependence(rows: pd.DataFrame) -> str:
    """Say in words under which choices a claim has another standing than under the main ones.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of one claim and experiment, from :func:`name_settings`.

    Returns
    -------
    str
        Setting by setting, numbers in ascending order, e.g. ``cooccurrence.levels: 8, 16
        undecided; 128, 256 reproduced``; empty if nothing was varied.
    """
    varied = rows[rows["setting"] != ""]
    if varied.empty:
        return ""
    main = rows["standing"].iloc[0]
    parts = []
    for setting, choices in varied.groupby("setting", sort=False):
        if (choices["standing"] != main).any():
            parts.append(f"{setting}: {_by_standing(choices)}")
    n = int((varied["variant"] != "").sum())
    return " | ".join(parts) if parts else f"the same under {n} other choices"


def _by_standing(choices: pd.DataFrame) -> str:
    """Join neighbouring choices of one standing, numbers in ascending order."""
    numbers = pd.to_numeric(choices["choice"], errors="coerce")
    if numbers.notna().all():
        choices = choices.iloc[numbers.argsort(kind="stable")]
    runs: list[tuple[str, list[str]]] = []
    for standing, choice in zip(choices["standing"], choices["choice"], strict=True):
        if runs and runs[-1][0] == standing:
            runs[-1][1].append(choice)
        else:
            runs.append((standing, [choice]))
    return "; ".join(f"{', '.join(names)} {standing or 'not decided'}" for standing, names in runs)
