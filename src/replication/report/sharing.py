"""Which figures must not be passed on.

A figure that shows images of a real data set may be shared only if ``resources/datasets.csv`` says
``publish_images: yes`` for it. Images are photographs and whatever is made of a single photograph
so that one could recognise it: HOGgles images, inverted densities of them. Co-occurrence matrices,
curves and means over the images of a class are no images. Synthetic images belong to nobody and may
always be shown.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from replication.registry import FIGURES

__all__ = ["may_publish_images", "withheld_figures"]


def may_publish_images(table: str | Path) -> dict[str, bool]:
    """Read ``publish_images`` of each data set.

    Parameters
    ----------
    table : path-like
        ``resources/datasets.csv``.

    Returns
    -------
    dict
        From data set to whether images of it may be passed on. All its rows must say yes.

    Raises
    ------
    ValueError
        If a row says neither yes nor no.
    """
    allowed: dict[str, bool] = {}
    with Path(table).open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            answer = row.get("publish_images")
            if answer not in ("yes", "no"):
                raise ValueError(
                    f"{table}, line {number}: publish_images is {answer!r}; allowed: yes, no"
                )
            allowed[row["dataset"]] = allowed.get(row["dataset"], True) and answer == "yes"
    return allowed


def withheld_figures(data: Iterable[Mapping[str, Any]], table: str | Path) -> set[str]:
    """Name the figures of a run that must not be passed on.

    Parameters
    ----------
    data : iterable of mappings
        The data sets of the run, with the keys ``dataset`` and ``origin`` (``real`` or
        ``synthetic``), as in ``run.json``.
    table : path-like
        ``resources/datasets.csv``.

    Returns
    -------
    set of str
        Figures with images of data sets that are not known to be synthetic or free to show. A
        figure of a data set that the run does not name is withheld too.
    """
    origins = {entry["dataset"]: entry["origin"] for entry in data}
    allowed = may_publish_images(table)
    return {
        name
        for name, figure in FIGURES.items()
        if (dataset := figure.pictures_of)
        if origins.get(dataset) != "synthetic" and not allowed.get(dataset, False)
    }
