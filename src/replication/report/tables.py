"""Tables of values, each as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from replication.io import atomic_path, write_table
from replication.registry import MULTICLASS_SCHEMES
from replication.report.metrics import say_undetermined

__all__ = [
    "tabulate_accuracy",
    "tabulate_clustering",
    "tabulate_face_classes",
    "tabulate_hierarchies",
    "tabulate_tagging",
    "write_tables",
]


def tabulate_accuracy(metrics: pd.DataFrame) -> pd.DataFrame:
    """Collect the values of Figure 4 of the CVPR 2016 paper, which prints none.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Scores as written by the rule ``collect_scores``.

    Returns
    -------
    pandas.DataFrame
        One row a kernel and multi-class scheme, best first: accuracy in percent, its standard
        deviation over the means of the repetitions and over all test folds (the paper does not say
        which it draws), the percentage of parameter choices that stand on an end of their grid, and
        the choices made most often. Schemes other than votes have the choices of these, and fewer
        repetitions.
    """
    votes, *others = MULTICLASS_SCHEMES
    schemes = metrics.assign(scheme=metrics["variant"].replace("", votes))
    rows = []
    for (experiment, dataset, origin, method, scheme), scores in schemes[
        schemes["scheme"].isin([votes, *others])
    ].groupby(["experiment", "dataset", "origin", "method", "scheme"], sort=False):
        folds = 100 * scores.loc[scores["metric"] == "accuracy", "value"]
        repeats = folds.groupby(scores["repeat"]).mean()
        chosen = {
            choice: next(iter(scores.loc[scores["metric"] == choice, "value"].mode()), np.nan)
            for choice in ("C", "parameter")
        }
        rows.append(
            {
                "experiment": experiment,
                "dataset": dataset,
                "origin": origin,
                "kernel": method,
                "multi-class": str(scheme).replace("_", " "),
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


def tabulate_face_classes(metrics: pd.DataFrame) -> pd.DataFrame:
    """List what the classes of faces consist of and how well HOGgles shows them.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Scores as written by the rule ``score_inversion``.

    Returns
    -------
    pandas.DataFrame
        One row a class, in alphabetical order, and a last one ``all``: images, copies (images of a
        class beyond the first of each photograph), images used and their share of all, and for each
        dictionary the mean correlation of HOGgles with the grey photograph, which in the last row
        is the mean of the classes. The share of the largest class, the accuracy of who always
        guesses it, stands in the last row.

    Raises
    ------
    ValueError
        If a class has a correlation and no count of images, or the other way round.
    """
    place = {key: metrics[key].iloc[0] for key in ("experiment", "dataset", "origin")}
    data = metrics[metrics["method"] == "data"]
    counts = data.pivot(index="item", columns="metric", values="value").sort_index()
    quality = metrics[metrics["metric"] == "grey_correlation"]
    variants = list(dict.fromkeys(quality["variant"]))
    correlations = quality.pivot(index="item", columns="variant", values="value")[variants]
    if set(correlations.index) != {*counts.index, "all"}:
        odd = sorted(set(correlations.index) ^ {*counts.index, "all"})
        raise ValueError(f"metrics: counts and correlations are not of the same classes: {odd}")
    share = 100 * counts["used"] / counts["used"].sum()
    largest = pd.Series({"all": share.max()}).reindex([*counts.index, "all"])
    share["all"] = share.sum()
    counts.loc["all"] = counts.sum()
    columns = {
        "images": counts["images"].astype(int),
        "copies": counts["copies"].astype(int),
        "used": counts["used"].astype(int),
        "share (%)": share,
        **{
            f"correlation with grey, {variant or 'main'}": correlations[variant]
            for variant in variants
        },
        "largest class = chance (%)": largest,
    }
    rows = pd.DataFrame(columns, index=counts.index)
    return rows.rename_axis("class").reset_index().assign(**place)[[*place, "class", *columns]]


def tabulate_hierarchies(
    metrics: pd.DataFrame,
    timings: pd.DataFrame,
    paper: pd.DataFrame,
    failures: pd.DataFrame,
) -> pd.DataFrame:
    """Set what the motion experiment gave beside Table 2 of the NIPS 2012 paper.

    Parameters
    ----------
    metrics, timings : pandas.DataFrame
        Scores and seconds as written by the rule ``score_motions``.
    paper : pandas.DataFrame
        ``resources/paper/nips2012_table2.csv``: columns method, printed_name, level, metric and
        value.
    failures : pandas.DataFrame
        Trials on which a method failed, with the columns method, variant, repeat, reason and log.

    Returns
    -------
    pandas.DataFrame
        One row a variant, method and level, the paper's methods first and in its order. Means and
        standard deviations are over trials. Log-likelihoods are of other features than the
        paper's, so that only their order compares: ``rank`` is among the paper's methods, 1 for
        the highest. Times are of the whole hierarchy, hence in the row of its first level, and
        compare as ratios to VHEM's. What the paper does not print stays empty, and so does the
        difference where the motions are synthetic. Trials on which a method failed are counted and
        explained in the last column; if it failed on all, its scores read ``failed``. They read
        ``not determined`` where rounding would decide them.
    """
    place = ["variant", "method", "level"]
    wanted = ["rand_index", "adjusted_rand_index", "log_likelihood", "iterations"]
    scores = metrics[metrics["metric"].isin([*wanted, "failed", "determined"])].rename(
        columns={"item": "level"}
    )
    scores = scores.astype({"level": int})
    keys = ["experiment", "dataset", "origin", *place]
    over_trials = scores.groupby([*keys, "metric"], sort=False)["value"].agg(["mean", "std"])
    # The columns are there whatever failed.
    columns = pd.MultiIndex.from_product([["mean", "std"], wanted], names=[None, "metric"])
    ours = pd.DataFrame(over_trials.unstack("metric"), columns=columns)
    # Times belong to a hierarchy; they stand in the row of its first level.
    paper = paper.assign(variant="", level=paper["level"].fillna(paper["level"].min()).astype(int))
    printed = paper.pivot(index=place, columns="metric", values="value")
    names = paper.set_index(place)["printed_name"].groupby(place).first()
    seconds = timings.assign(variant="", level=paper["level"].min()).groupby(place)["value"].mean()
    vhem = ("", "vhem", paper["level"].min())

    at = pd.MultiIndex.from_frame(ours.index.to_frame()[place])
    rand, likelihood = printed["rand_index"].reindex(at), printed["log_likelihood"].reindex(at)
    table = ours.index.to_frame(index=False).assign(
        **{
            "in the paper": names.reindex(at, fill_value="").to_numpy(),
            "Rand (paper)": rand.to_numpy(),
            "Rand": ours["mean", "rand_index"].to_numpy(),
            "Rand s.d.": ours["std", "rand_index"].to_numpy(),
            "Rand difference": ours["mean", "rand_index"].to_numpy() - rand.to_numpy(),
            "adjusted Rand": ours["mean", "adjusted_rand_index"].to_numpy(),
            "log-likelihood (paper)": likelihood.to_numpy(),
            "log-likelihood": ours["mean", "log_likelihood"].to_numpy(),
            "log-likelihood s.d.": ours["std", "log_likelihood"].to_numpy(),
            "iterations": ours["mean", "iterations"].to_numpy(),
            "time / VHEM (paper)": (printed["seconds"] / printed.loc[vhem, "seconds"])
            .reindex(at)
            .to_numpy(),
            "time / VHEM": (seconds / seconds.get(vhem, float("nan"))).reindex(at).to_numpy(),
            "seconds": seconds.reindex(at).to_numpy(),
        }
    )
    compared = table[table["in the paper"] != ""].groupby("level")
    table["rank (paper)"] = compared["log-likelihood (paper)"].rank(ascending=False)
    table["rank"] = compared["log-likelihood"].rank(ascending=False)
    table["Rand difference"] = table["Rand difference"].where(table["origin"] == "real")
    table = _with_reasons(table, failures, say_undetermined(metrics))
    # The paper's methods first and in its order.
    order = {method: number for number, method in enumerate(paper["method"].unique())}
    rows = table["method"].map(order).fillna(len(order))
    table = table.assign(order=rows).sort_values(["variant", "order", "method", "level"])
    return table.drop(columns="order").reset_index(drop=True)


def _with_reasons(
    table: pd.DataFrame, failures: pd.DataFrame, undetermined: Mapping[tuple[str, str, int], str]
) -> pd.DataFrame:
    """Say in each row on how many trials the method failed or was not determined, and why.

    Where this leaves a row without scores, its cells say so.
    """
    failed, reasons = {}, {}
    for names, group in failures.groupby(["variant", "method"]):
        trials = ", ".join(map(str, group["repeat"]))
        reasons[names] = "; ".join(group["reason"].unique())
        logs = ", ".join(group["log"].unique())
        failed[names] = f"failed on trials {trials}: {reasons[names]} (log: {logs})"
    cells, remarks = [], []
    for row in table[["variant", "method", "level"]].itertuples(index=False, name=None):
        said = [failed.get(row[:2]), undetermined.get(row)]
        remarks.append("; ".join(words for words in said if words))
        cells.append("not determined" if said[1] else f"failed: {reasons.get(row[:2])}")
    table["remarks"] = remarks
    without = table["Rand"].isna() & (table["remarks"] != "")
    if without.any():
        for column in ("Rand", "adjusted Rand", "log-likelihood"):
            table[column] = table[column].astype(object).where(~without, np.array(cells, object))
    return table


def tabulate_tagging(
    metrics: pd.DataFrame, timings: pd.DataFrame, paper: pd.DataFrame, retrieved: int
) -> pd.DataFrame:
    """Set what the music experiment gave beside Table 3 of the NIPS 2012 paper.

    Parameters
    ----------
    metrics, timings : pandas.DataFrame
        Scores and costs as written by the rules ``evaluate_tagging`` and
        ``collect_music_timings``.
    paper : pandas.DataFrame
        ``resources/paper/nips2012_table3.csv``: columns method, printed_name, metric and value.
    retrieved : int
        Rank of our precision at the top of a ranking; the paper's is 10.

    Returns
    -------
    pandas.DataFrame
        One row a method and quantity, the paper's methods first and in its order. ``ours`` is the
        mean over tags of means over folds, ``s.e.`` its standard error over tags. ``difference``
        is ours minus the paper's; it stays empty where the two are not the same quantity, as where
        the songs are synthetic. Rows of
        the kind ``cost`` are hours of processor time and their ratios, and differ from run to run;
        a ratio is of the ``folds`` that both methods ran, each of which bears the same part of the
        models of songs, as these are learned once for all folds of the run. A method that gave up
        on tags has their number in a row of its own, and no scores and ratios of these folds.
        Last come rows of the kind ``ceiling``, which only synthetic songs have: what an oracle
        scores that knows how they were made, and what the annotations themselves do.
    """
    names = {
        "precision": "P",
        "recall": "R",
        "f_score": "F",
        "average_precision": "MAP",
        "precision_at_k": f"P@{retrieved}" + ("" if retrieved == 10 else " (paper: P@10)"),
        "aroc": "AROC",
    }
    main = metrics[metrics["variant"] == ""]
    scores = _tag_scores(main[main["metric"].isin(list(names))], "score")
    n_folds = {str(row["method"]): int(row["folds"]) for row in scores}
    ceilings = _tag_scores(metrics[metrics["variant"] == "ceiling"], "ceiling")
    printed = paper.set_index(["method", "metric"])["value"]
    place = {key: metrics[key].iloc[0] for key in ("experiment", "dataset", "origin")}
    rows: list[dict[str, Any]] = []
    for row in [*scores, *_tagging_costs(timings, n_folds), *ceilings]:
        theirs = printed.get((row["method"], row["key"]), float("nan"))
        # Scores of other songs, or of another rank, are other quantities.
        comparable = (
            place["origin"] == "real"
            and row["kind"] == "score"
            and (row["key"] != "precision_at_k" or retrieved == 10)
        )
        rows.append(
            {
                **place,
                "method": row["method"],
                "quantity": row.get("quantity") or names[row["key"]],
                "kind": row["kind"],
                "paper": theirs,
                "ours": row["ours"],
                "s.e.": row.get("error", float("nan")),
                "difference": row["ours"] - theirs if comparable else float("nan"),
                "tags": row.get("tags", float("nan")),
                "folds": row["folds"],
            }
        )
    order = {method: number for number, method in enumerate(paper["method"].unique())}
    table = pd.DataFrame(rows)
    rank = table["method"].map(order).fillna(len(order))
    return (
        table.assign(order=rank)
        .sort_values("order", kind="stable")
        .drop(columns="order")
        .reset_index(drop=True)
    )


def _tag_scores(scores: pd.DataFrame, kind: str) -> list[dict[str, Any]]:
    """Average each method's scores over folds, then tags."""
    rows = []
    for (method, metric), values in scores.groupby(["method", "metric"], sort=False):
        per_tag = values.groupby("item")["value"].mean()
        rows.append(
            {
                "kind": kind,
                "method": str(method),
                "key": str(metric),
                "ours": float(per_tag.mean()),
                # pandas gives no number for a single tag, NumPy a warning as well
                "error": float(per_tag.std() / len(per_tag) ** 0.5),
                "tags": len(per_tag),
                "folds": values["fold"].nunique(),
            }
        )
    return rows


def _tagging_costs(timings: pd.DataFrame, n_folds: Mapping[str, int]) -> list[dict[str, Any]]:
    """Sum up hours of processor time, and compare those of the folds that two methods ran."""
    rows: list[dict[str, Any]] = []

    def add(method: str, quantity: str, key: str, value: float, folds: int) -> None:
        row = {"method": method, "quantity": quantity, "key": key, "ours": value, "folds": folds}
        rows.append({"kind": "cost", **row})

    seconds = timings[timings["metric"] == "seconds"]
    hours = seconds.groupby(["method", "item"])["value"].sum().unstack().fillna(0.0) / 3600
    learning = hours.reindex(columns=["songs", "tags"], fill_value=0.0).sum(axis=1)
    for method, folds in n_folds.items():
        add(method, "hours of learning", "hours", float(learning[method]), folds)
        for stage in ("songs", "tags", "scores"):
            value = float(hours.loc[method].to_dict().get(stage, 0.0))
            add(method, f"hours: {stage}", f"hours_{stage}", value, folds)
    by_fold = seconds[seconds["item"] == "tags"].pivot_table(
        index="fold", columns="method", values="value", aggfunc="sum"
    )
    given_up = timings[(timings["metric"] == "tags_given_up") & (timings["value"] > 0)]
    for name, group in given_up.groupby("method", sort=False):
        method = str(name)
        by_fold.loc[group["fold"].unique(), method] = float("nan")
        count = float(group["value"].sum())
        add(method, "tags given up", "given_up", count, n_folds.get(method, 0))
    for a, b in (("vhem", "em_h3m"), ("vhem", "ppk_sc"), ("ppk_sc_pair", "ppk_sc")):
        if a not in n_folds or b not in n_folds:
            continue
        both = by_fold[[a, b]].dropna()
        if both.empty:
            continue
        songs = hours.reindex(columns=["songs"], fill_value=0.0)["songs"] * 3600
        shared = both.sum() + songs[[a, b]] * len(both) / len(by_fold)
        ratio = float(shared[a] / shared[b])
        add(a, f"hours / {b}", f"hours_over_{b}", ratio, len(both))
    if "vhem" in n_folds:
        share = hours.loc["vhem"].to_dict()["songs"] / float(learning["vhem"])
        add("vhem", "share of songs in hours", "song_share", share, n_folds["vhem"])
    return rows


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
                filled = table.astype(object).where(table.notna(), None)
                for column in filled:
                    # One that also holds words is not formatted as one of numbers.
                    cells = filled[column]
                    numbers = cells.map(lambda cell: isinstance(cell, float))
                    if cells.map(lambda cell: isinstance(cell, str)).any():
                        filled[column] = cells.where(~numbers, cells[numbers].map("{:.4g}".format))
                text = filled.to_markdown(index=False, floatfmt=".4g", missingval="") + "\n"
            else:
                text = table.to_latex(index=False, float_format="%.4g", escape=True, na_rep="")
            temporary.write_text(text, encoding="utf-8")
