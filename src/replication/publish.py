"""Copy the shareable part of a run into the documentation: tables and curves, no photographs.

    python -m replication.publish results/paper docs/results/uiuc_texture --readme README.md

The folder gets the scores (gzipped, as many have a row a fold or an iteration), the value tables,
claims, deviations, the record of the run and the figures that show no images of the data set. The
claims also go between the marks ``<!-- begin: claims -->`` and ``<!-- end: claims -->`` of the
README, so that no number there is typed by hand.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from replication.io import atomic_path, read_json, write_json

__all__ = ["claims_as_markdown", "main", "publish", "replace_section"]

#: Figures that show images of the data set itself.
WITH_IMAGES = ("cvpr2016_fig1", "cvpr2016_fig2")


def publish(run: Path, destination: Path) -> None:
    """Copy a finished run's shareable results.

    Parameters
    ----------
    run : pathlib.Path
        ``results/<run>``.
    destination : pathlib.Path
        Folder of the documentation; what a former call put there is replaced.

    Raises
    ------
    FileNotFoundError
        If the run is not finished, i.e. ``run.json`` is missing.
    """
    record = read_json(run / "run.json")
    if destination.exists():
        shutil.rmtree(destination)
    destination.mkdir(parents=True)
    write_json(destination / "run.json", record)
    for name in ("claims.csv", "deviations.csv"):
        shutil.copyfile(run / name, destination / name)
    shutil.copytree(run / "tables", destination / "tables")
    (destination / "metrics").mkdir()
    for table in sorted((run / "metrics").glob("*.csv")):
        with atomic_path(destination / "metrics" / f"{table.name}.gz") as temporary:
            # Without a time stamp equal tables give equal bytes.
            temporary.write_bytes(gzip.compress(table.read_bytes(), mtime=0))
    (destination / "figures").mkdir()
    for figure in sorted((run / "figures").glob("*.svg")):
        if figure.stem not in WITH_IMAGES:
            for suffix in (".svg", ".png"):
                shutil.copyfile(
                    figure.with_suffix(suffix), destination / "figures" / (figure.stem + suffix)
                )


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
    parser.add_argument("--readme", type=Path, help="file whose claims section is rewritten")
    options = parser.parse_args(arguments)
    publish(options.run, options.destination)
    if options.readme:
        table = claims_as_markdown(pd.read_csv(options.destination / "claims.csv"))
        text = replace_section(options.readme.read_text(encoding="utf-8"), "claims", table)
        with atomic_path(options.readme) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
