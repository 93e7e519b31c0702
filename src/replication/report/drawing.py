"""Figures and tables from the files that a run has left, as :mod:`replication.registry` says."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from replication.io import read_json, read_metrics
from replication.registry import EXPERIMENTS, RESOURCES, Exhibit

__all__ = ["FORMATS", "make_exhibit"]

FORMATS = ("png", "svg", "pdf")


def make_exhibit(exhibit: Exhibit, run: Path, experiments: Iterable[str], **options: Any) -> Any:
    """Make a figure or a table of a run.

    Parameters
    ----------
    exhibit : Exhibit
    run : pathlib.Path
        ``results/<run>``.
    experiments : iterable of str
        Experiments that the run has.
    **options
        Further arguments of the exhibit's function.

    Returns
    -------
    matplotlib.figure.Figure or pandas.DataFrame
    """
    part = [name for name in exhibit.experiments if name in set(experiments)]
    arguments = [_read(run, files) for files in exhibit.files(part)]
    if exhibit.noted:
        arguments.append([read_json(run / f"data/{EXPERIMENTS[e].dataset}.json") for e in part])
    make = getattr(importlib.import_module(exhibit.module), exhibit.function)
    return make(*arguments, **exhibit.options, **options)


def _read(run: Path, files: Sequence[str]) -> Any:
    if files[0].startswith(f"{RESOURCES.name}/"):
        return pd.read_csv(RESOURCES.parent / files[0])
    if files[0].endswith(".npz"):
        return np.load(run / files[0])
    return read_metrics(run / file for file in files)
