"""``python -m replication.data``: check archives, or fetch them, without running anything."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from replication.data.catalog import DataSetError, dataset_of
from replication.data.sources import fetch_archives, folder_of
from replication.data.verify import verify
from replication.registry import DATASETS


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return 1 if a file is wrong or cannot be had."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "verify":
            return _verify(folder_of(options.folder))
        for name in options.names:
            fetch_archives(name, options.archives)
    except DataSetError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m replication.data", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("verify", help="compare a folder with the published files")
    check.add_argument("folder", type=Path, help="holds a sub-folder for each data set")
    get = commands.add_parser("fetch", help="fetch what is missing, to be used here or elsewhere")
    get.add_argument("names", nargs="+", choices=list(DATASETS))
    get.add_argument("--archives", type=Path, default=Path("data/archives"))
    return parser


def _verify(folder: Path) -> int:
    if not folder.is_dir():
        print(f"{folder}: no such folder", file=sys.stderr)
        return 1
    status = 0
    for name in DATASETS:
        try:
            verdict = verify(dataset_of(name), folder / name)
        except DataSetError as error:
            print(f"{name}: {error}")
            status = 1
        else:
            print(verdict.describe())
            status = status or int(bool(verdict.wrong))
    return status


if __name__ == "__main__":
    sys.exit(main())
