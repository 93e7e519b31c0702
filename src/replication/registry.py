"""What there is: data sets, experiments, methods, scores, figures and tables, each named here only.

The rules of the workflow, the launcher, the configuration's check and what is published read these
tables; nothing slow is imported. To add a data set, an experiment or a figure is to add an entry
here and the module that the entry names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "COLLECTIONS",
    "DATASETS",
    "EXPERIMENTS",
    "MOTION_METHODS",
    "PICTURES_OF",
    "RESOURCES",
    "SONG_MODELS",
    "Experiment",
    "experiments_of",
    "standin_of",
]

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
"""Folder of the tables that belong to the repository."""

DATASETS: Mapping[str, str] = {
    "uiuc_texture": "replication.images.uiuc_texture",
    "animal_faces": "replication.images.animal_faces",
    "cmu_mocap": "replication.motion.cmu_mocap",
    "cal500": "replication.music.cal500",
}
"""Module that describes each data set, see :func:`replication.data.catalog.dataset_of`."""


def standin_of(dataset: str) -> str:
    """Name the module whose ``write`` makes the synthetic stand-in of a data set."""
    return f"replication.standins.{dataset}"


@dataclass(frozen=True)
class Experiment:
    """What an experiment works on and what it leaves behind.

    Parameters
    ----------
    dataset : str
        One of :data:`DATASETS`.
    metrics : tuple of str
        Scores: ``metrics/<experiment>_<name>.csv``.
    timings : tuple of str
        Protocols whose seconds count as results: ``timings/<experiment>_<name>.csv``.
    figdata : tuple of str
        Files of ``figdata/``: what figures draw that is no score.
    figures : tuple of str
        Figures that it takes part in.
    tables : tuple of str
        Tables that it takes part in.
    """

    dataset: str
    metrics: tuple[str, ...]
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    timings: tuple[str, ...] = ()
    figdata: tuple[str, ...] = ()


_OF_DENSITIES = ("variance", "svm", "multiclass", "kmeans", "identities", "inverses")
_FIGURES_OF_BOTH = (
    "cvpr2016_fig3",
    "cvpr2016_fig4",
    "cvpr2016_fig5",
    "extra_kmeans",
    "extra_variance",
)

EXPERIMENTS: Mapping[str, Experiment] = {
    "textures": Experiment(
        "uiuc_texture",
        metrics=_OF_DENSITIES,
        figdata=("textures_samples.npz", "textures_inverses.npz", "definiteness.csv"),
        figures=(
            "cvpr2016_fig1",
            *_FIGURES_OF_BOTH,
            "extra_definiteness",
            "extra_textures_inverse",
        ),
        tables=("cvpr2016_fig4", "cvpr2016_fig5"),
    ),
    "faces": Experiment(
        "animal_faces",
        metrics=(*_OF_DENSITIES, "inversion"),
        figdata=("faces_samples.npz", "faces_inverses.npz"),
        figures=("cvpr2016_fig2", *_FIGURES_OF_BOTH, "extra_faces_inverse"),
        tables=("cvpr2016_fig4", "cvpr2016_fig5", "faces_classes"),
    ),
    "motion": Experiment(
        "cmu_mocap",
        metrics=("hierarchy", "convergence"),
        timings=("hierarchy", "convergence"),
        figdata=("motion_hierarchies.csv", "motion_exemplars.npz"),
        figures=("nips2012_fig1", "extra_motion_clusters", "extra_motion_convergence"),
        tables=("nips2012_table2",),
    ),
    "music": Experiment(
        "cal500",
        metrics=("cal500", "order", "estimation"),
        timings=("tagging",),
        tables=("nips2012_table3",),
    ),
}

MOTION_METHODS = (
    "vhem",
    "ppk_sc",
    "ppk_sc_vhem",
    "shem_10",
    "shem_50",
    "em_h3m",
    "hem_dtm",
    "parameter_kmeans",
    "sampled_kl",
)
"""Methods that cluster motions, see :data:`replication.motion.protocol.METHODS`."""

SONG_MODELS: Mapping[str, str | None] = {
    "vhem": "h3m",
    "em_h3m": None,
    "ppk_sc": "hmm",
    "hem_dtm": "dtm",
    "hem_gmm": "gmm",
    "shem": "h3m",
    "ppk_sc_pair": "hmm_pair",
}
"""Methods that learn tags, and the models of songs that each starts from (none: from frames)."""

COLLECTIONS: Mapping[str, str] = {"cal500": "music", "order": "music_order"}
"""Collections of songs, and the names under which they are scored, which decide their seeds."""

PICTURES_OF: Mapping[str, str] = {
    "cvpr2016_fig1": "uiuc_texture",
    "cvpr2016_fig2": "animal_faces",
    "extra_faces_inverse": "animal_faces",
    "extra_motion_clusters": "cmu_mocap",
}
"""Data set whose images a figure shows; figures that are not listed show none."""


def experiments_of(figure: str) -> list[str]:
    """Name the experiments that take part in a figure.

    Raises
    ------
    ValueError
        If the figure is unknown: nobody has said what it shows, so it cannot be shared.
    """
    found = [name for name, experiment in EXPERIMENTS.items() if figure in experiment.figures]
    if not found:
        raise ValueError(f"figure {figure!r} is not listed in replication.registry.EXPERIMENTS")
    return found
