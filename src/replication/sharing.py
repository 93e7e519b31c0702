"""Which figures belong to which experiment, and which of them must not be passed on.

A figure that shows images of a real data set may be shared only if ``resources/datasets.csv`` says
``publish_images: yes`` for it. Images are photographs and whatever is made of a single photograph
so that one could recognise it: HOGgles images, inverted densities of them. Co-occurrence matrices
and curves are no images. Synthetic images belong to nobody and may always be shown.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "DATASET_OF",
    "FIGURES",
    "PICTURES_OF",
    "experiments_of",
    "may_publish_images",
    "withheld_figures",
]

#: Data set that each experiment works on.
DATASET_OF: Mapping[str, str] = {
    "textures": "uiuc_texture",
    "faces": "animal_faces",
    "motion": "cmu_mocap",
    "music": "cal500",
}

#: Figures that each experiment takes part in.
FIGURES: Mapping[str, tuple[str, ...]] = {
    "textures": (
        "cvpr2016_fig1",
        "cvpr2016_fig3",
        "cvpr2016_fig4",
        "cvpr2016_fig5",
        "extra_definiteness",
        "extra_kmeans",
        "extra_textures_inverse",
        "extra_variance",
    ),
    "faces": (
        "cvpr2016_fig2",
        "cvpr2016_fig3",
        "cvpr2016_fig4",
        "cvpr2016_fig5",
        "extra_faces_inverse",
        "extra_kmeans",
        "extra_variance",
    ),
    "motion": ("nips2012_fig1", "extra_motion_clusters", "extra_motion_convergence"),
    "music": (),
}

#: Data set whose images a figure shows; figures that are not listed show none.
PICTURES_OF: Mapping[str, str] = {
    "cvpr2016_fig1": "uiuc_texture",
    "cvpr2016_fig2": "animal_faces",
    "extra_faces_inverse": "animal_faces",
    "extra_motion_clusters": "cmu_mocap",
}


def experiments_of(figure: str) -> list[str]:
    """Name the experiments that take part in a figure.

    Raises
    ------
    ValueError
        If the figure is unknown: nobody has said what it shows, so it cannot be shared.
    """
    found = [experiment for experiment, figures in FIGURES.items() if figure in figures]
    if not found:
        raise ValueError(f"figure {figure!r} is not listed in replication.sharing.FIGURES")
    return found


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
        figure
        for figure, dataset in PICTURES_OF.items()
        if origins.get(dataset) != "synthetic" and not allowed.get(dataset, False)
    }
