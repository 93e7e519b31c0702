"""What there is: data sets, experiments, methods, scores, figures and tables, each named here only.

The rules of the workflow, the launcher, the configuration's check and what is published read these
tables; nothing slow is imported. To add a data set, an experiment or a figure is to add an entry
here and the module that the entry names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "COLLECTIONS",
    "DATASETS",
    "EXPERIMENTS",
    "FEATURES_OF_KIND",
    "FIGURES",
    "MOTION_METHODS",
    "MULTICLASS_SCHEMES",
    "RESOURCES",
    "SONG_MODELS",
    "TABLES",
    "Exhibit",
    "Experiment",
    "exhibits_of",
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
    """

    dataset: str
    metrics: tuple[str, ...]
    timings: tuple[str, ...] = ()
    figdata: tuple[str, ...] = ()


_OF_DENSITIES = ("variance", "svm", "kmeans", "sensitivity", "identities", "inverses")

EXPERIMENTS: Mapping[str, Experiment] = {
    "textures": Experiment(
        "uiuc_texture",
        metrics=(*_OF_DENSITIES, "plane"),
        timings=("plane",),
        figdata=("textures_samples.npz", "textures_inverses.npz", "definiteness.csv"),
    ),
    "faces": Experiment(
        "animal_faces",
        metrics=(*_OF_DENSITIES, "inversion"),
        figdata=("faces_samples.npz", "faces_inverses.npz"),
    ),
    "motion": Experiment(
        "cmu_mocap",
        metrics=("hierarchy", "convergence"),
        timings=("hierarchy", "convergence"),
        figdata=("motion_hierarchies.csv", "motion_exemplars.npz"),
    ),
    "music": Experiment("cal500", metrics=("cal500", "order", "estimation"), timings=("tagging",)),
}


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table: what it is made from, and by which function.

    Parameters
    ----------
    made_by : str
        ``module:function`` below :mod:`replication`. It gets what is read and, if it is noted, the
        summaries of its data sets.
    reads : tuple of tuple of str
        Files for each argument, below the run's folder or ``resources/``; tables are joined.
        ``{experiment}`` stands for each experiment of the run that has such a file.
    experiments : tuple of str
        Those that take part.
    options : mapping
        Further arguments of the function.
    noted : bool
        Whether it says where its data come from: all figures that show data do.
    paper, title : str
        Headings of a figure in Snakemake's report.
    pictures_of : str
        Data set whose images a figure shows, if it does.
    """

    made_by: str
    reads: tuple[tuple[str, ...], ...]
    experiments: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    noted: bool = True
    paper: str = ""
    title: str = ""
    pictures_of: str = ""

    @property
    def module(self) -> str:
        """Dotted name of the module of the function."""
        return f"replication.{self.made_by.partition(':')[0]}"

    @property
    def function(self) -> str:
        """Name of the function."""
        return self.made_by.partition(":")[2]

    def files(self, experiments: Iterable[str]) -> list[list[str]]:
        """Name the files for each argument in a run of these experiments."""
        return [
            [file for pattern in patterns for file in _expanded(pattern, experiments)]
            for patterns in self.reads
        ]


def _expanded(pattern: str, experiments: Iterable[str]) -> list[str]:
    if "{experiment}" not in pattern:
        return [pattern]
    part = pattern.rpartition("}_")[2].removesuffix(".csv")
    return [pattern.format(experiment=e) for e in experiments if part in EXPERIMENTS[e].metrics]


_IMAGES, _MOTION = ("textures", "faces"), ("motion",)

FIGURES: Mapping[str, Exhibit] = {
    "cvpr2016_fig1": Exhibit(
        "images.figures.samples:plot_samples",
        (("figdata/textures_samples.npz",),),
        ("textures",),
        {"density_name": "Co-occurrence matrices"},
        paper="CVPR 2016",
        title="Figure 1",
        pictures_of="uiuc_texture",
    ),
    "cvpr2016_fig2": Exhibit(
        "images.figures.samples:plot_samples",
        (("figdata/faces_samples.npz",),),
        ("faces",),
        {"density_name": "HOGgles images", "dark_ground": True},
        paper="CVPR 2016",
        title="Figure 2",
        pictures_of="animal_faces",
    ),
    # Means show no single photograph, so that these may be passed on.
    "cvpr2016_fig1_means": Exhibit(
        "images.figures.samples:plot_means",
        (("figdata/textures_samples.npz",),),
        ("textures",),
        {"density_name": "Class means of co-occurrence matrices"},
        paper="CVPR 2016",
        title="Figure 1, class means",
    ),
    "cvpr2016_fig2_means": Exhibit(
        "images.figures.samples:plot_means",
        (("figdata/faces_samples.npz",),),
        ("faces",),
        {"density_name": "Class means of HOGgles images", "dark_ground": True},
        paper="CVPR 2016",
        title="Figure 2, class means",
    ),
    "cvpr2016_fig3": Exhibit(
        "images.figures.variance:plot_variance",
        (("metrics/{experiment}_variance.csv",),),
        _IMAGES,
        paper="CVPR 2016",
        title="Figure 3",
    ),
    "cvpr2016_fig4": Exhibit(
        "images.figures.accuracy:plot_accuracy",
        # The latter holds the sizes of the faces' classes, which differ.
        (("metrics/{experiment}_svm.csv", "metrics/{experiment}_inversion.csv"),),
        _IMAGES,
        paper="CVPR 2016",
        title="Figure 4",
    ),
    "cvpr2016_fig5": Exhibit(
        "images.figures.clustering:plot_clustering",
        (("metrics/{experiment}_kmeans.csv",),),
        _IMAGES,
        paper="CVPR 2016",
        title="Figure 5",
    ),
    "extra_definiteness": Exhibit(
        "images.figures.definiteness:plot_definiteness",
        (("figdata/definiteness.csv",),),
        ("textures",),
        noted=False,
        paper="Beyond the papers",
        title="Plain transport is not definite",
    ),
    "extra_kmeans": Exhibit(
        "images.figures.clustering:plot_clustering_details",
        (("metrics/{experiment}_kmeans.csv",),),
        _IMAGES,
        paper="Beyond the papers",
        title="k-means by iteration and by gamma",
    ),
    "extra_variance": Exhibit(
        "images.figures.variance:plot_variance_of_kernels",
        (("metrics/{experiment}_variance.csv",),),
        _IMAGES,
        paper="Beyond the papers",
        title="Kernel PCA with other kernels",
    ),
    "extra_textures_inverse": Exhibit(
        "images.figures.inverses:plot_inverses",
        (("figdata/textures_inverses.npz",), ("metrics/textures_inverses.csv",)),
        ("textures",),
        paper="Beyond the papers",
        title="Inverted points: textures",
    ),
    "extra_faces_inverse": Exhibit(
        "images.figures.inverses:plot_inverses",
        (("figdata/faces_inverses.npz",), ("metrics/faces_inverses.csv",)),
        ("faces",),
        {"dark_ground": True},
        paper="Beyond the papers",
        title="Inverted points: faces",
        pictures_of="animal_faces",
    ),
    "nips2012_fig1": Exhibit(
        "motion.figures.hierarchy:plot_hierarchies",
        (("figdata/motion_hierarchies.csv",),),
        _MOTION,
        paper="NIPS 2012",
        title="Figure 1",
    ),
    "extra_motion_clusters": Exhibit(
        "motion.figures.stick:plot_exemplars",
        (("figdata/motion_exemplars.npz",),),
        _MOTION,
        paper="Beyond the papers",
        title="A motion of each cluster",
        pictures_of="cmu_mocap",
    ),
    # Its horizontal axis is time: the picture differs from run to run.
    "extra_motion_convergence": Exhibit(
        "motion.figures.convergence:plot_convergence",
        (("metrics/motion_convergence.csv",), ("timings/motion_convergence.csv",)),
        _MOTION,
        paper="Beyond the papers",
        title="Log-likelihood against time",
    ),
}

FIGURES = {
    **FIGURES,
    **{
        f"extra_multiverse_{experiment}": Exhibit(
            "report.forest:plot_multiverse",
            (("multiverse.csv",),),
            (experiment,),
            {"experiment": experiment},
            paper="Beyond the papers",
            title=f"Verdicts under each choice that the papers leave open: {experiment}",
        )
        for experiment in (*_IMAGES, *_MOTION)
    },
}

TABLES: Mapping[str, Exhibit] = {
    "cvpr2016_fig4": Exhibit(
        "report.tables:tabulate_accuracy",
        (("metrics/{experiment}_svm.csv",),),
        _IMAGES,
        noted=False,
    ),
    "cvpr2016_fig5": Exhibit(
        "report.tables:tabulate_clustering",
        (("metrics/{experiment}_kmeans.csv",),),
        _IMAGES,
        noted=False,
    ),
    "faces_classes": Exhibit(
        "report.tables:tabulate_face_classes",
        (("metrics/faces_inversion.csv",),),
        ("faces",),
        noted=False,
    ),
    "nips2012_table2": Exhibit(
        "report.tables:tabulate_hierarchies",
        (
            ("metrics/motion_hierarchy.csv",),
            ("timings/motion_hierarchy.csv",),
            ("resources/paper/nips2012_table2.csv",),
            ("runs/motion_failures.csv",),
        ),
        _MOTION,
        noted=False,
    ),
    "nips2012_table3": Exhibit(
        "report.tables:tabulate_tagging",
        (
            ("metrics/music_cal500.csv",),
            ("timings/music_tagging.csv",),
            ("resources/paper/nips2012_table3.csv",),
        ),
        ("music",),
        noted=False,
    ),
}


def exhibits_of(kind: Mapping[str, Exhibit], experiments: Iterable[str]) -> list[str]:
    """Name the figures or tables that some of the experiments take part in."""
    chosen = set(experiments)
    return [name for name, exhibit in kind.items() if chosen.intersection(exhibit.experiments)]


MULTICLASS_SCHEMES = ("one_vs_one", "one_vs_rest", "pairwise_coupling")
"""Ways to make a multi-class machine of binary ones, the main one first."""

MOTION_METHODS = (
    "vhem",
    "ppk_sc",
    "ppk_sc_vhem",
    "ppk_sc_literal",
    "ppk_sc_literal_vhem",
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

FEATURES_OF_KIND: Mapping[str, str] = {
    "h3m": "mfcc",
    "hmm": "mfcc",
    "hmm_pair": "mfcc",
    "gmm": "mfcc",
    "dtm": "mel",
}
"""Features of which each kind of song model is a model, see :mod:`replication.music.mfcc`."""

COLLECTIONS: Mapping[str, str] = {"cal500": "music", "order": "music_order"}
"""Collections of songs, and the names under which they are scored, which decide their seeds."""


def experiments_of(figure: str) -> list[str]:
    """Name the experiments that take part in a figure.

    Raises
    ------
    ValueError
        If the figure is unknown: nobody has said what it shows, so it cannot be shared.
    """
    if figure not in FIGURES:
        raise ValueError(f"figure {figure!r} is not listed in replication.registry.FIGURES")
    return list(FIGURES[figure].experiments)
