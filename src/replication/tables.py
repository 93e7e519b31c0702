"""Tables of values, each as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from replication.io import atomic_path, write_table

__all__ = ["tabulate_accuracy", "tabulate_clustering", "write_tables"]


def tabulate_accuracy(metrics: pd.DataFrame) -> pd.DataFrame:
    """Collect the values of Figure 4 of the CVPR 2016 paper, which prints none.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Scores as written by the rule ``collect_svm``.

    Returns
    -------
    pandas.DataFrame
        One row a kernel, best first: accuracy in percent, its standard deviation over the means of
        the repetitions and over all test folds (the paper does not say which it draws), the
        percentage of parameter choices that stand on an end of their grid, and the choices made
        most often.
    """
    main = metrics[metrics["variant"] == ""]
    rows = []
    for (experiment, dataset, origin, method), scores in main.groupby(
        ["experiment", "dataset", "origin", "method"], sort=False
    ):
        folds = 100 * scores.loc[scores["metric"] == "accuracy", "value"]
        repeats = folds.groupby(scores["repeat"]).mean()
        chosen = {
            choice: scores.loc[scores["metric"] == choice, "value"].mode().iloc[0]
            for choice in ("C", "parameter")
        }
        rows.append(
            {
                "experiment": experiment,
                "dataset": dataset,
                "origin": origin,
                "kernel": method,
                "paper": "figure only",
                "accuracy (%)": folds.mean(),
                "s.d. over repetitions": repeats.std(),
                "s.d. over folds": folds.std(),
                "repetitions": len(repeats),
                "choices on a grid edge (%)": 100
                * scores.loc[scores["metric"] == "on_edge", "value"].mean(),
                "usual C": chosen["C"],
                "usual gamma or degree": chosen["parameter"],
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(
        ["experiment", "accuracy (%)"], ascending=[True, False], ignore_index=True
    )


def tabulate_clustering(metrics: pd.DataFrame) -> pd.DataFrame:
    """Collect the values of Figure 5 of the CVPR 2016 paper, which prints none.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Scores as written by the rule ``run_kmeans``.

    Returns
    -------
    pandas.DataFrame
        One row a method: mean and standard deviation of each score over random starts.
    """
    wanted = [
        "inertia",
        "relative_inertia",
        "inertia_in_phi",
        "v_measure",
        "adjusted_mutual_information",
        "iterations",
    ]
    keys = ["experiment", "dataset", "origin", "method"]
    main = metrics[(metrics["variant"] == "") & metrics["metric"].isin(wanted)]
    rows = []
    for names, scores in main.groupby(keys, sort=False):
        row: dict[str, Any] = {**dict(zip(keys, names, strict=True)), "paper": "figure only"}
        for metric in wanted:
            values = scores.loc[scores["metric"] == metric, "value"]
            row[metric.replace("_", " ")] = values.mean()
            row[metric.replace("_", " ") + " s.d."] = values.std()
        rows.append(row)
    return pd.DataFrame(rows)


def write_tables(paths: Iterable[str | Path], table: pd.DataFrame) -> None:
    """Write a table to each path in the format of its suffix: ``.csv``, ``.md`` or ``.tex``.

    CSV keeps all digits; the other two are for reading and keep four.
    """
    for path in map(Path, paths):
        if path.suffix == ".csv":
            write_table(path, table)
            continue
        with atomic_path(path) as temporary:
            if path.suffix == ".md":
                text = table.to_markdown(index=False, floatfmt=".4g") + "\n"
            else:
                text = table.to_latex(index=False, float_format="%.4g", escape=True)
            temporary.write_text(text, encoding="utf-8")
