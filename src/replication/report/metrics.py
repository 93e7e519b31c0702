"""The one shape in which every score of the project is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from replication.io import METRIC_COLUMNS, read_json, write_table

__all__ = ["metric_table", "say_undetermined", "write_scores"]


def metric_table(rows: Iterable[Mapping[str, Any]], **shared: Any) -> pd.DataFrame:
    """Assemble a tidy table of scores; columns that a row does not mention stay empty.

    Parameters
    ----------
    rows : iterable of mappings
        Each holds some of :data:`replication.io.METRIC_COLUMNS`, at least ``method``,
        ``metric`` and ``value``.
    **shared
        Columns that are equal in all rows.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`replication.io.METRIC_COLUMNS`, in that order.

    Raises
    ------
    ValueError
        If a row has an unknown column, or lacks ``method``, ``metric`` or ``value``.

    Examples
    --------
    >>> rows = [{"method": "pca", "metric": "accuracy", "value": 0.5}]
    >>> metric_table(rows, experiment="textures")["experiment"].tolist()
    ['textures']
    """
    complete = []
    for row in rows:
        record = {**shared, **row}
        unknown = sorted(set(record) - set(METRIC_COLUMNS))
        lacking = sorted({"method", "metric", "value"} - set(record))
        if unknown or lacking:
            raise ValueError(f"metric row has unknown columns {unknown} and lacks {lacking}: {row}")
        complete.append({column: record.get(column, "") for column in METRIC_COLUMNS})
    return pd.DataFrame(complete, columns=list(METRIC_COLUMNS))


def say_undetermined(metrics: pd.DataFrame) -> dict[tuple[str, str, int], str]:
    """Say of which levels of hierarchies rounding decides the clusters, so that none has a score.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Scores as written by the rule ``score_motions``; others play no part.

    Returns
    -------
    dict
        Words by variant, method and level.
    """
    place = ["variant", "method", "item"]
    chosen = metrics[metrics["metric"].isin(["determined", "graph_parts"])]
    words = {}
    for (variant, method, level), rows in chosen.groupby(place, sort=False):
        determined = rows.loc[rows["metric"] == "determined", "value"].astype(float)
        parts = rows.loc[rows["metric"] == "graph_parts", "value"].astype(float)
        if (determined == 0).any():
            words[str(variant), str(method), int(str(level))] = (
                f"not determined on {(determined == 0).sum()} of {len(determined)} trials, as the "
                f"graph of affinities has {parts.min():.0f} to {parts.max():.0f} parts: which "
                "belong together, rounding would decide"
            )
    return words


def write_scores(
    path: str | Path, rows: Iterable[Mapping[str, Any]], *, experiment: str, summary: str | Path
) -> None:
    """Write the scores of one data set as a file of ``metrics/``.

    Parameters
    ----------
    path : path-like
    rows : iterable of mappings
        See :func:`metric_table`.
    experiment : str
    summary : path-like
        The data set's ``results/<run>/data/<dataset>.json``, which knows its name and origin.
    """
    data = read_json(summary)
    table = metric_table(
        rows, experiment=experiment, dataset=data["dataset"], origin=data["origin"]
    )
    write_table(path, table)
