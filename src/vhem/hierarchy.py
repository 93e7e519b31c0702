"""Hierarchies of clusters: each level clusters the centres of the one below.

Section 4.1 of the NIPS paper [1]_ clusters 56 HMMs into 8, the 8 centres into 4 and those into 2.
An item's label on a level is the composition of the labels on the way up.

References
----------
.. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm for
   clustering hidden Markov models", NIPS 2012.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from ._clustering import MixtureClusterer
from ._inputs import Models, first_of, is_hmm
from ._types import Integers
from ._validation import check_count
from .em import EMH3M
from .rivals.dynamic_texture import DynamicTexture, DynamicTextureMixture, Textures
from .rivals.gaussian import HEMGMM
from .rivals.ppk import PPKSpectralClustering
from .variational import VHEM

__all__ = ["ClusterHierarchy", "cluster_hierarchy"]


@dataclass(frozen=True, eq=False)
class ClusterHierarchy:
    """What :func:`cluster_hierarchy` found; all lists have one entry a level, finest first.

    Attributes
    ----------
    levels : tuple of int
        Number of clusters.
    labels : list of ndarray of shape (n_items,), int
        Cluster of every item of the lowest level.
    parents : list of ndarray, int
        Cluster of everything on the level below: of the items, then of the clusters. A cluster
        without any item has the parent -1 where labels come from sequences.
    models : list of H3M or DynamicTextureMixture
        The centres.
    estimators : list of estimator
        The fitted estimators.
    seconds : list of float
        Time spent on the level.
    """

    levels: tuple[int, ...]
    labels: list[Integers]
    parents: list[Integers]
    models: list[Any]
    estimators: list[BaseEstimator]
    seconds: list[float]


def cluster_hierarchy(
    models_or_sequences: Models | Textures | Sequence[ArrayLike],
    levels: Sequence[int] = (8, 4, 2),
    estimator: BaseEstimator | None = None,
) -> ClusterHierarchy:
    """Cluster repeatedly, every level from the one below.

    Three kinds of estimators go up in different ways:

    - :class:`vhem.VHEM`, :class:`vhem.SHEM`, :class:`vhem.HEMDTM` and the controls take the
      reduced mixture of a level, weights included, as the base of the next.
    - :class:`vhem.PPKSpectralClustering` keeps the embedding of the first level and merges
      clusters in it (:meth:`vhem.PPKSpectralClustering.merge`).
    - :class:`vhem.EMH3M` has no models to start from: on every level it is fitted to all
      sequences, those of a lower cluster sharing one assignment, so that clusters are nested.

    Parameters
    ----------
    models_or_sequences : what the estimator takes
        Models for most, sequences for :class:`vhem.EMH3M`.
    levels : sequence of int, default=(8, 4, 2)
        Number of clusters of each level, decreasing.
    estimator : estimator, optional
        Cloned for every level, where its number of clusters is set. ``VHEM()`` by default.

    Returns
    -------
    ClusterHierarchy
        Labels, models and seconds for each level.

    Raises
    ------
    ValueError
        If ``levels`` is empty or not decreasing.
    TypeError
        If the estimator and what is clustered do not go together.

    Examples
    --------
    >>> from vhem import H3M, HMM, VHEM
    >>> def level(mean):
    ...     return HMM([1.0], [[1.0]], [[1.0]], [[[mean]]], [[[1.0]]])
    >>> base = H3M.from_hmms([level(mean) for mean in (0.0, 0.1, 5.0, 5.1, 90.0, 90.1)])
    >>> hierarchy = cluster_hierarchy(base, levels=(3, 2), estimator=VHEM(random_state=0))
    >>> [len(set(labels)) for labels in hierarchy.labels]
    [3, 2]
    >>> bool(hierarchy.labels[1][0] == hierarchy.labels[1][2])
    True
    """
    levels = tuple(check_count(f"levels[{i}]", level) for i, level in enumerate(levels))
    if not levels:
        raise ValueError("levels is empty, expected at least one number of clusters")
    for i in range(1, len(levels)):
        if levels[i] >= levels[i - 1]:
            raise ValueError(
                f"levels[{i}] is {levels[i]}, expected fewer than levels[{i - 1}] = {levels[i - 1]}"
            )
    estimator = VHEM() if estimator is None else estimator
    if not isinstance(estimator, MixtureClusterer) or isinstance(estimator, HEMGMM):
        name = getattr(estimator, "__name__", type(estimator).__name__)
        raise TypeError(f"{name} makes no models of clusters of models that could be clustered")
    if isinstance(estimator, EMH3M):
        first, models_or_sequences = first_of(models_or_sequences)
        if is_hmm(first) or isinstance(first, DynamicTexture | DynamicTextureMixture):
            raise TypeError(f"EMH3M cannot cluster a {type(first).__name__}: it takes sequences")
        steps = _nested(models_or_sequences, levels, estimator)
    elif isinstance(estimator, PPKSpectralClustering):
        steps = _merged(models_or_sequences, levels, estimator)
    else:
        steps = _successive(models_or_sequences, levels, estimator)
    labels: list[Integers] = []
    parents: list[Integers] = []
    models: list[Any] = []
    estimators: list[BaseEstimator] = []
    seconds: list[float] = []
    begun = time.perf_counter()
    for fitted, level_labels, level_parents in steps:
        ended = time.perf_counter()
        seconds.append(ended - begun)
        begun = ended
        labels.append(level_labels)
        parents.append(level_parents)
        models.append(fitted.model_)
        estimators.append(fitted)
    return ClusterHierarchy(levels, labels, parents, models, estimators, seconds)


_Steps = Iterator[tuple[Any, Integers, Integers]]


def _with_clusters(estimator: BaseEstimator, number: int) -> Any:
    copy = clone(estimator)
    name = "n_clusters" if "n_clusters" in copy.get_params() else "n_components"
    return copy.set_params(**{name: number})


def _successive(model: Any, levels: Sequence[int], estimator: BaseEstimator) -> _Steps:
    labels: Integers | None = None
    for number in levels:
        fitted = _with_clusters(estimator, number).fit(model)
        parents = fitted.labels_
        labels = parents if labels is None else parents[labels]
        model = fitted.model_
        yield fitted, labels, parents


def _merged(model: Any, levels: Sequence[int], estimator: PPKSpectralClustering) -> _Steps:
    fitted = _with_clusters(estimator, levels[0]).fit(model)
    yield fitted, fitted.labels_, fitted.labels_
    for number in levels[1:]:
        merged = fitted.merge(model, number)
        yield merged, merged.labels_, merged.labels_[fitted.exemplars_]
        fitted = merged


def _nested(sequences: Any, levels: Sequence[int], estimator: EMH3M) -> _Steps:
    groups: Integers | None = None
    below = 0
    for number in levels:
        fitted = _with_clusters(estimator, number).fit(sequences, groups=groups)
        labels = fitted.labels_
        if groups is None:
            parents = labels
        else:
            parents = np.full(below, -1)
            parents[groups] = labels
        groups, below = labels, number
        yield fitted, labels, parents
