"""Copy the shareable part of a run into the documentation: tables and curves, no photographs.

    python -m replication.report.publish results/paper docs/results/all
    python -m replication.report.publish results/paper docs/results/animal_faces --experiment faces

The folder gets the scores (gzipped, as many have a row a fold or an iteration), the value tables,
claims, deviations, the record of the run and the figures that may be passed on, see
:mod:`replication.report.sharing`. With ``--experiment`` it gets what belongs to that experiment
only; a figure with panels of several experiments stays whole. The folder's own README says what the
data are and lists every claim with its verdict.

Only what ``run.json`` lists is published, and only if all of it is there as the run has left it.
The folder is made beside its place and takes it at once, so that a kill leaves the former
publication or the new one.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.digests import check_digests, check_sums
from replication.io import (
    AlteredFileError,
    atomic_folder,
    atomic_path,
    read_json,
    write_json,
    write_table,
)
from replication.registry import EXPERIMENTS, RESOURCES, experiments_of
from replication.report.sharing import withheld_figures
from replication.report.tables import write_tables

__all__ = ["PublishError", "claims_as_markdown", "main", "publish"]

#: What a call replaces; anything else in the folder, such as blocks of repetitions, stays.
_SUMMARIES = ("claims.csv", "multiverse.csv", "deviations.csv")
_PARTS = ("README.md", "run.json", *_SUMMARIES, "tables", "metrics", "figures")
_DATASETS = RESOURCES / "datasets.csv"


class PublishError(ValueError):
    """A run cannot be published; nothing was touched. The message says why."""


def publish(
    run: Path, destination: Path, experiment: str | None = None, datasets: Path = _DATASETS
) -> None:
    """Copy a finished run's shareable results.

    Parameters
    ----------
    run : pathlib.Path
        ``results/<run>``.
    destination : pathlib.Path
        Folder of the documentation; what a former call put there is replaced.
    experiment : str, optional
        Copy the results of this experiment only.
    datasets : pathlib.Path, optional
        Table that says of which data sets images may be shown; ``resources/datasets.csv``.

    Raises
    ------
    PublishError
        If the run is not finished, a file of it is missing or altered, it has no results of the
        experiment, or a figure that :mod:`replication.registry` does not know, or the
        destination cannot be replaced.
    """
    record = _checked_record(run)
    withheld = withheld_figures(record["data"], datasets)
    listed = [Path(file) for file in sorted(record["files"])]
    try:
        figures = [
            file
            for file in listed
            if file.match("figures/*") and file.suffix in (".svg", ".png")
            if file.stem not in withheld
            if experiment in (None, *experiments_of(file.stem))
        ]
    except ValueError as error:
        raise PublishError(str(error)) from None
    scores = [file for file in listed if file.match(f"metrics/{experiment or '*'}_*.csv")]
    if experiment is not None and not scores:
        raise PublishError(f"{run}: has no results of the experiment {experiment!r}")
    _check_destination(destination, run)
    with atomic_folder(destination, without=_PARTS) as folder:
        write_json(folder / "run.json", record)
        with atomic_path(folder / "README.md") as temporary:
            claims = claims_as_markdown(_rows_of(run / "claims.csv", experiment))
            text = f"{_credits(record, experiment, datasets)}\n## Claims\n\n{claims}"
            temporary.write_text(text, encoding="utf-8")
        for name in _SUMMARIES:
            write_table(folder / name, _rows_of(run / name, experiment))
        for file in (file for file in listed if file.match("tables/*.csv")):
            table = _rows_of(run / file, experiment)
            if not table.empty:
                formats = (".csv", ".md", ".tex")
                write_tables([folder / file.with_suffix(suffix) for suffix in formats], table)
        for file in scores:
            with atomic_path(folder / f"{file}.gz") as temporary:
                # Without a time stamp equal tables give equal bytes.
                temporary.write_bytes(gzip.compress((run / file).read_bytes(), mtime=0))
        for file in figures:
            with atomic_path(folder / file) as temporary:
                shutil.copyfile(run / file, temporary)


def _checked_record(run: Path) -> dict[str, Any]:
    """Read the record of a run, all of whose files are as the run has left them."""
    path = run / "run.json"
    finish = "finish the run first (make reproduce with its settings)"
    try:
        check_digests([path])
        record: dict[str, Any] = read_json(path)
        # Without claims and deviations it is the record of another program.
        check_sums(run, {name: record["files"][name] for name in _SUMMARIES})
        check_sums(run, record["files"])
    except (FileNotFoundError, AlteredFileError) as error:
        name = error if isinstance(error, AlteredFileError) else f"{path}: is missing"
        raise PublishError(f"{name}; {finish}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise PublishError(f"{path}: is no record with a list of files; {finish}") from None
    return record


def _check_destination(destination: Path, run: Path) -> None:
    """Raise an error if the destination cannot be replaced."""
    if destination.exists() and not destination.is_dir():
        raise PublishError(f"{destination}: is a file, not a folder")
    if any(path.resolve().is_relative_to(destination.resolve()) for path in (run, Path())):
        raise PublishError(f"{destination}: holds more than results; name a folder of its own")


def _credits(record: Mapping[str, Any], experiment: str | None, datasets: Path) -> str:
    """Say which run the folder holds, on which data, and what their terms want to be cited."""
    with datasets.open(encoding="utf-8", newline="") as file:
        terms = {row["dataset"]: row for row in csv.DictReader(file)}
    commit = record.get("git", {}).get("commit", "unknown")
    lines = [
        "# Results",
        "",
        f"Written by `python -m replication.report.publish`; recorded at commit {commit} "
        "(jobs that stood already may be older), configuration and versions in "
        "[run.json](run.json). The command that made it stands in the project's README.",
        "",
    ]
    for data in record["data"]:
        if experiment is None or EXPERIMENTS[experiment].dataset == data["dataset"]:
            row = terms[data["dataset"]]
            coverage = f", {data['coverage']}" if "coverage" in data else ""
            lines += [
                f"- {data['origin']} data: {row['title']}{coverage}",
                f"  - terms: {row['licence']}",
                f"  - {row['citation']}",
            ]
    return "\n".join(lines) + "\n"


def _rows_of(path: Path, experiment: str | None) -> pd.DataFrame:
    """Read a table, or only its rows of one experiment."""
    table = pd.read_csv(path)
    return table if experiment is None else table[table["experiment"] == experiment]


def claims_as_markdown(claims: pd.DataFrame) -> str:
    """Render claims as a Markdown table: statement, place, our value, verdict.

    Parameters
    ----------
    claims : pandas.DataFrame
        Columns as in :data:`replication.report.claims.CLAIM_COLUMNS`.

    Returns
    -------
    str
    """
    lines = [
        "| the paper says | where | ours | verdict | other choices |",
        "|---|---|---|---|---|",
    ]
    for claim in claims.fillna({"compared": "", "depends_on": ""}).to_dict("records"):
        ours = f"{claim['value']:.3g}"
        if claim["low"] != claim["high"]:
            ours += f" [{claim['low']:.3g}, {claim['high']:.3g}]"
        ours += f" {claim['compared']}"
        # A claim about which nothing can be compared has no value.
        ours = "" if pd.isna(claim["value"]) else ours
        depends = claim["depends_on"].replace(" | ", "<br>")
        cells = (claim["statement"], claim["place"], ours, f"**{claim['verdict']}**", depends)
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Publish a run from the command line; 1 if it cannot be published."""
    parser = argparse.ArgumentParser(
        prog="python -m replication.report.publish", description=__doc__
    )
    parser.add_argument("run", type=Path, help="results/<run>")
    parser.add_argument("destination", type=Path, help="folder of the documentation")
    parser.add_argument("--experiment", help="only what belongs to it")
    options = parser.parse_args(arguments)
    try:
        publish(options.run, options.destination, options.experiment)
    except (PublishError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
