"""Copy the shareable part of a run into the documentation: tables and curves, no photographs.

    python -m replication.publish results/paper docs/results/uiuc_texture --readme README.md
    python -m replication.publish results/paper docs/results/animal_faces --experiment faces

The folder gets the scores (gzipped, as many have a row a fold or an iteration), the value tables,
claims, deviations, the record of the run and the figures that may be passed on, see
:mod:`replication.sharing`. With ``--experiment`` it gets what belongs to that experiment only; a
figure with panels of several experiments stays whole. The claims also go between the marks
``<!-- begin: claims -->`` and ``<!-- end: claims -->`` of the README, or ``claims faces`` for one
experiment, so that no number there is typed by hand.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.io import atomic_path, read_json, write_json, write_table
from replication.sharing import DATASET_OF, experiments_of, withheld_figures
from replication.tables import write_tables

__all__ = ["claims_as_markdown", "main", "publish", "replace_section"]

#: What a call replaces; anything else in the folder, such as blocks of repetitions, stays.
_PARTS = ("README.md", "run.json", "claims.csv", "deviations.csv", "tables", "metrics", "figures")
_DATASETS = Path(__file__).resolve().parents[2] / "resources/datasets.csv"


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
    FileNotFoundError
        If the run is not finished, i.e. ``run.json`` is missing.
    ValueError
        If the run has no results of the experiment, or a figure that
        :mod:`replication.sharing` does not know.
    """
    record = read_json(run / "run.json")
    withheld = withheld_figures(record["data"], datasets)
    figures = [
        figure
        for figure in sorted((run / "figures").glob("*.svg"))
        if experiment in (None, *experiments_of(figure.stem)) and figure.stem not in withheld
    ]
    scores = sorted((run / "metrics").glob(f"{experiment or '*'}_*.csv"))
    if experiment is not None and not scores:
        raise ValueError(f"{run}: has no results of the experiment {experiment!r}")
    for name in _PARTS:
        old = destination / name
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)
    write_json(destination / "run.json", record)
    with atomic_path(destination / "README.md") as temporary:
        temporary.write_text(_credits(record, experiment, datasets), encoding="utf-8")
    for name in ("claims.csv", "deviations.csv"):
        write_table(destination / name, _rows_of(run / name, experiment))
    for path in sorted((run / "tables").glob("*.csv")):
        table = _rows_of(path, experiment)
        if not table.empty:
            copies = [destination / "tables" / f"{path.stem}{s}" for s in (".csv", ".md", ".tex")]
            write_tables(copies, table)
    for path in scores:
        with atomic_path(destination / "metrics" / f"{path.name}.gz") as temporary:
            # Without a time stamp equal tables give equal bytes.
            temporary.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    for figure in figures:
        for suffix in (".svg", ".png"):
            with atomic_path(destination / "figures" / (figure.stem + suffix)) as temporary:
                shutil.copyfile(figure.with_suffix(suffix), temporary)


def _credits(record: Mapping[str, Any], experiment: str | None, datasets: Path) -> str:
    """Say which run the folder holds, on which data, and what their terms want to be cited."""
    with datasets.open(encoding="utf-8", newline="") as file:
        terms = {row["dataset"]: row for row in csv.DictReader(file)}
    commit = record.get("git", {}).get("commit", "unknown")
    lines = [
        "# Results",
        "",
        f"Written by `python -m replication.publish`; recorded at commit {commit} (jobs that stood "
        "already may be older), configuration and versions in [run.json](run.json). The command "
        "that made it stands in the project's README, below the claims.",
        "",
    ]
    for data in record["data"]:
        if experiment is None or DATASET_OF[experiment] == data["dataset"]:
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
        Columns as in :data:`replication.claims.CLAIM_COLUMNS`.

    Returns
    -------
    str
    """
    lines = ["| the paper says | where | ours | verdict |", "|---|---|---|---|"]
    for claim in claims.to_dict("records"):
        ours = f"{claim['value']:.3g}"
        if claim["low"] != claim["high"]:
            ours += f" [{claim['low']:.3g}, {claim['high']:.3g}]"
        cells = (claim["statement"], claim["place"], ours, f"**{claim['verdict']}**")
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def replace_section(text: str, name: str, content: str) -> str:
    """Replace what stands between ``<!-- begin: name -->`` and ``<!-- end: name -->``.

    Raises
    ------
    ValueError
        If the text does not have the two marks exactly once, in this order.
    """
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the text needs exactly one section {begin.strip()} ... {end}")
    return pattern.sub(lambda match: begin + content + end, text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Publish a run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m replication.publish", description=__doc__)
    parser.add_argument("run", type=Path, help="results/<run>")
    parser.add_argument("destination", type=Path, help="folder of the documentation")
    parser.add_argument("--experiment", help="only what belongs to it")
    parser.add_argument("--readme", type=Path, help="file whose claims section is rewritten")
    options = parser.parse_args(arguments)
    publish(options.run, options.destination, options.experiment)
    if options.readme:
        table = claims_as_markdown(pd.read_csv(options.destination / "claims.csv"))
        section = f"claims {options.experiment}" if options.experiment else "claims"
        text = replace_section(options.readme.read_text(encoding="utf-8"), section, table)
        with atomic_path(options.readme) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
