"""The one shape in which every score of the project is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

__all__ = ["METRIC_COLUMNS", "metric_table"]

#: Columns of every file in ``metrics/``. ``item`` is a level, tag, class, component or empty.
METRIC_COLUMNS = (
    "experiment",
    "dataset",
    "origin",
    "method",
    "variant",
    "item",
    "repeat",
    "fold",
    "metric",
    "value",
    "seed",
)


def metric_table(rows: Iterable[Mapping[str, Any]], **shared: Any) -> pd.DataFrame:
    """Assemble a tidy table of scores; columns that a row does not mention stay empty.

    Parameters
    ----------
    rows : iterable of mappings
        Each holds some of :data:`METRIC_COLUMNS`, ``metric`` and ``value`` among them.
    **shared
        Columns that are equal in all rows.

    Returns
    -------
    pandas.DataFrame
        Columns :data:`METRIC_COLUMNS`, in that order.

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
