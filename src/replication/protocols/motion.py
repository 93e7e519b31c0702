r"""Hierarchical clustering of motions (NIPS 2012, section 4.1, Table 2 and Figure 1).

The paper: "we start from K1 = 56 motion examples from 8 different classes [...] and learn a HMM for
each of them, forming the first level of the hierarchy. A tree-structure is formed by successively
clustering HMMs [...] Level 2, 3, and 4 of the hierarchy correspond to K2 = 8, K3 = 4 and K4 = 2
clusters." The extended paper (JMLR 15, 2014, section 6.1) adds that the HMMs have four states of
two Gaussians, that virtual sequences have ten steps and that there are 10,000 for each HMM.

A *trial* learns the HMMs of level 1 from random starts of its own and hands the same ones to every
method. On every level a sequence has the label of its cluster, composed on the way up. Scored are

- the Rand index, "the probability that any pair of motion sequences are correctly clustered with
  respect to each other", and the adjusted one, whose value for random labels is 0;
- the data log-likelihood :math:`\sum_i \log p(y_i \mid \mathcal{M}_{c(i)})` of the whole sequences
  under the centres of their clusters, in nats;
- for each pair of classes the share of their pairs of sequences that share a cluster, and for each
  class the mean share of its own kind in the clusters of its members.

Trials differ in random starts only. How far a score would move with other sequences is seen by
drawing trials and sequences with replacement, labels fixed. A pair of draws of one sequence is left
out: it is together in any clustering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics import adjusted_rand_score, rand_score

from replication.datasets.cmu_mocap import Recordings
from replication.features.skeleton import motion_features
from replication.protocols.seeds import repetition_seed
from vhem import (
    EMH3M,
    H3M,
    HEMDTM,
    SHEM,
    VHEM,
    ClusterHierarchy,
    DynamicTextureMixture,
    ParameterKMeans,
    PPKSpectralClustering,
    SampledKLClustering,
    cluster_hierarchy,
    fit_dynamic_texture,
)

__all__ = [
    "FIRST_LEVEL",
    "METHODS",
    "HMMSettings",
    "HierarchySettings",
    "MotionSet",
    "cluster_motions",
    "fit_hmms",
    "join_blocks",
    "median_trial",
    "resample_hierarchies",
    "score_hierarchies",
]

Array = npt.NDArray[np.float64]

#: The paper's number of the first level that has clusters; the HMMs of the sequences are level 1.
FIRST_LEVEL = 2


@dataclass(frozen=True)
class MotionSet:
    """Sequences of feature vectors with what is known about them.

    Parameters
    ----------
    sequences : list of ndarray of shape (n_frames_i, n_features)
    ids, labels, subjects : ndarray of str, shape (n,)
        Name of each sequence, its class, and who moved.
    """

    sequences: list[Array]
    ids: npt.NDArray[np.str_]
    labels: npt.NDArray[np.str_]
    subjects: npt.NDArray[np.str_]

    @classmethod
    def from_recordings(cls, recordings: Recordings, **features: Any) -> MotionSet:
        """Compute the features, see :func:`replication.features.skeleton.motion_features`."""
        return cls(
            sequences=motion_features(recordings.motions, **features),
            ids=np.array([recording.listed.id for recording in recordings.recordings]),
            labels=np.array(recordings.labels),
            subjects=np.array(recordings.subjects),
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays that can be saved, see :meth:`from_arrays`."""
        return {
            "frames": np.concatenate(self.sequences),
            "lengths": np.array([len(sequence) for sequence in self.sequences]),
            "ids": self.ids,
            "labels": self.labels,
            "subjects": self.subjects,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> MotionSet:
        """Rebuild what :meth:`to_arrays` returned."""
        ends = np.cumsum(arrays["lengths"])
        return cls(
            sequences=np.split(arrays["frames"], ends[:-1]),
            ids=arrays["ids"],
            labels=arrays["labels"],
            subjects=arrays["subjects"],
        )


@dataclass(frozen=True)
class HMMSettings:
    """How HMMs are learned from sequences.

    Parameters
    ----------
    n_states, n_mix : int
        Hidden states of an HMM, Gaussians of a state.
    n_init : int
        Random starts on level 1.
    covariance_floor : float
        Smallest variance, in squared units of the features.
    """

    n_states: int
    n_mix: int
    n_init: int
    covariance_floor: float


@dataclass(frozen=True)
class HierarchySettings:
    """How the levels above are made; the same for all methods where it applies.

    Parameters
    ----------
    levels : sequence of int
        Clusters of each level, decreasing.
    n_init : int
        Random starts on each level.
    max_iter : int
        Largest number of iterations of EM.
    length : int
        Steps of virtual and sampled sequences, and of the kernel; tau.
    power : float
        Power of the probability product kernel, lambda.
    dtm_states : int
        Dimension of the state of a dynamic texture.
    """

    levels: Sequence[int]
    n_init: int
    max_iter: int
    length: int
    power: float
    dtm_states: int


def _vhem(hierarchy: HierarchySettings) -> VHEM:
    return VHEM(virtual_length=hierarchy.length, max_iter=hierarchy.max_iter)


def _ppk(hierarchy: HierarchySettings, **centers: Any) -> PPKSpectralClustering:
    return PPKSpectralClustering(power=hierarchy.power, length=hierarchy.length, **centers)


def _shem(samples: int) -> Callable[[HMMSettings, HierarchySettings, int], SHEM]:
    def make(hmms: HMMSettings, hierarchy: HierarchySettings, n: int) -> SHEM:
        return SHEM(
            n_samples=samples * n,
            length=hierarchy.length,
            max_iter=hierarchy.max_iter,
            covariance_floor=hmms.covariance_floor,
        )

    return make


#: Method -> function of (HMMs, hierarchy, number of sequences) that makes its estimator.
METHODS: Mapping[str, Callable[[HMMSettings, HierarchySettings, int], BaseEstimator]] = {
    "vhem": lambda hmms, hierarchy, n: _vhem(hierarchy),
    "ppk_sc": lambda hmms, hierarchy, n: _ppk(hierarchy, centers="nearest"),
    "ppk_sc_vhem": lambda hmms, hierarchy, n: _ppk(
        hierarchy, centers="vhem", vhem=_vhem(hierarchy)
    ),
    "shem_10": _shem(10),
    "shem_50": _shem(50),
    "em_h3m": lambda hmms, hierarchy, n: EMH3M(
        n_states=hmms.n_states,
        n_mix=hmms.n_mix,
        max_iter=hierarchy.max_iter,
        covariance_floor=hmms.covariance_floor,
    ),
    "hem_dtm": lambda hmms, hierarchy, n: HEMDTM(
        virtual_length=hierarchy.length, max_iter=hierarchy.max_iter
    ),
    "parameter_kmeans": lambda hmms, hierarchy, n: ParameterKMeans(),
    "sampled_kl": lambda hmms, hierarchy, n: SampledKLClustering(length=hierarchy.length),
}


def fit_hmms(
    sequences: Sequence[Array], hmms: HMMSettings, *, trial: int, seed: int, experiment: str
) -> H3M:
    """Learn an HMM of each sequence: level 1 of the hierarchy.

    Parameters
    ----------
    sequences : sequence of ndarray of shape (n_frames_i, n_features)
    hmms : HMMSettings
    trial : int
        Number of the trial; nothing else of it decides the random starts.
    seed : int
    experiment : str

    Returns
    -------
    H3M
        The HMMs in the order of the sequences, with equal weights.
    """
    state = repetition_seed(seed, f"{experiment}/hmms", trial)
    models = []
    for sequence, child in zip(
        sequences, np.random.SeedSequence(state).spawn(len(sequences)), strict=True
    ):
        estimator = EMH3M(
            1,
            hmms.n_states,
            hmms.n_mix,
            n_init=hmms.n_init,
            covariance_floor=hmms.covariance_floor,
            random_state=child,
        )
        models.append(estimator.fit([sequence]).model_[0])
    return H3M.from_hmms(models)


def cluster_motions(
    method: str,
    sequences: Sequence[Array],
    models: Mapping[int, H3M],
    hmms: HMMSettings,
    hierarchy: HierarchySettings,
    *,
    seed: int,
    experiment: str,
) -> tuple[dict[str, npt.NDArray[Any]], list[dict[str, Any]]]:
    """Build the hierarchy of every trial by one method.

    Parameters
    ----------
    method : str
        A key of :data:`METHODS`.
    sequences : sequence of ndarray of shape (n_frames_i, n_features)
    models : mapping of int to H3M
        The HMMs of each trial, as :func:`fit_hmms` returns them.
    hmms : HMMSettings
    hierarchy : HierarchySettings
    seed : int
    experiment : str

    Returns
    -------
    runs : dict of ndarray
        ``method`` (), ``trials`` and ``seeds`` (T,), ``labels`` (T, L, n), ``log_likelihoods``
        (T, L, n) of each sequence under the centre of its cluster in nats, ``iterations`` and
        ``converged`` (T, L).
    timings : list of dict
        Rows with the metric ``seconds``: processor time of the whole hierarchy, without the first
        level and without compiling. Unlike time on the clock it does not depend on what else runs.
    """
    trials = list(models)
    states = [repetition_seed(seed, f"{experiment}/hierarchy", trial) for trial in trials]
    _warm_up(method, sequences, models[trials[0]], hmms, hierarchy)
    runs, timings = [], []
    for trial, state in zip(trials, states, strict=True):
        base = _base(method, sequences, models[trial], hierarchy)
        estimator = METHODS[method](hmms, hierarchy, len(sequences))
        estimator.set_params(n_init=hierarchy.n_init, random_state=state)
        begun = process_time()
        found = cluster_hierarchy(base, hierarchy.levels, estimator)
        seconds = process_time() - begun
        runs.append(_describe(found, sequences))
        timings.append(
            {
                "method": method,
                "repeat": trial,
                "seed": state,
                "metric": "seconds",
                "value": seconds,
            }
        )
    columns = {key: np.array([run[key] for run in runs]) for key in runs[0]}
    shared = {"method": np.array(method), "trials": np.array(trials), "seeds": np.array(states)}
    return {**shared, **columns}, timings


def join_blocks(
    blocks: Iterable[Mapping[str, npt.NDArray[Any]]],
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Bring the trials of each method together.

    Parameters
    ----------
    blocks : iterable of mapping
        What :func:`cluster_motions` found, several blocks of trials a method.

    Returns
    -------
    dict of dict of ndarray
        For each method the same arrays with all its trials.
    """
    by_method: dict[str, list[Mapping[str, npt.NDArray[Any]]]] = {}
    for block in blocks:
        by_method.setdefault(str(block["method"]), []).append(block)
    return {
        method: {
            key: np.concatenate([part[key] for part in parts])
            for key in parts[0]
            if key != "method"
        }
        for method, parts in by_method.items()
    }


def _base(
    method: str, sequences: Sequence[Array], models: H3M, hierarchy: HierarchySettings
) -> Any:
    """Return what a method clusters: sequences, dynamic textures or HMMs."""
    if method == "em_h3m":
        return sequences
    if method == "hem_dtm":
        textures = [fit_dynamic_texture(sequence, hierarchy.dtm_states) for sequence in sequences]
        return DynamicTextureMixture.from_systems(textures)
    return models


def _warm_up(
    method: str,
    sequences: Sequence[Array],
    models: H3M,
    hmms: HMMSettings,
    hierarchy: HierarchySettings,
) -> None:
    """Go through all code once, so that no compiling is timed."""
    base = _base(method, sequences, models, hierarchy)
    estimator = METHODS[method](hmms, hierarchy, len(sequences)).set_params(n_init=1)
    if "max_iter" in estimator.get_params():
        estimator.set_params(max_iter=1)
    cluster_hierarchy(base, hierarchy.levels[-1:], estimator.set_params(random_state=0))


def _describe(found: ClusterHierarchy, sequences: Sequence[Array]) -> dict[str, Any]:
    """Labels, log-likelihoods and iterations of each level."""
    items = np.arange(len(sequences))
    return {
        "labels": np.array(found.labels, dtype=np.int16),
        "log_likelihoods": np.array(
            [
                model.component_log_likelihoods(sequences)[items, labels]
                for model, labels in zip(found.models, found.labels, strict=True)
            ]
        ),
        # Spectral clustering and k-means have no iterations of EM.
        "iterations": [getattr(fitted, "n_iter_", np.nan) for fitted in found.estimators],
        "converged": [fitted.converged_ for fitted in found.estimators],
    }


def score_hierarchies(
    labels: npt.NDArray[Any],
    subjects: npt.NDArray[Any],
    found: Mapping[str, Mapping[str, npt.NDArray[Any]]],
) -> list[dict[str, Any]]:
    """Score the clusters of every method, trial and level.

    Parameters
    ----------
    labels, subjects : ndarray of shape (n,)
        Class of each sequence and who moved. The clustering by subjects is scored too, as the
        method ``subject``: what a method gets that recognises bodies instead of motions.
    found : mapping of str to mapping
        What :func:`cluster_motions` found, by method.

    Returns
    -------
    list of dict
        Rows for :func:`replication.protocols.metrics.metric_table`. With the level as ``item``:
        ``rand_index``, ``adjusted_rand_index``, ``log_likelihood``, ``iterations``,
        ``converged``. With a class as ``item``: ``precision_at_level_2`` and so on; with a pair
        of classes: ``together_at_level_2`` and so on.
    """
    rows = []
    for method, runs in found.items():
        for t, (trial, state) in enumerate(zip(runs["trials"], runs["seeds"], strict=True)):
            shared = {"method": method, "repeat": int(trial), "seed": int(state)}
            for at, clusters in enumerate(runs["labels"][t]):
                rows += _score_level(shared, at + FIRST_LEVEL, labels, clusters)
                scores = {
                    "log_likelihood": float(runs["log_likelihoods"][t, at].sum()),
                    "converged": float(runs["converged"][t, at]),
                }
                if not np.isnan(runs["iterations"][t, at]):
                    scores["iterations"] = float(runs["iterations"][t, at])
                rows += _rows({**shared, "item": at + FIRST_LEVEL}, scores)
    n_levels = next(iter(found.values()))["labels"].shape[1]
    for level in range(FIRST_LEVEL, FIRST_LEVEL + n_levels):
        rows += _score_level({"method": "subject"}, level, labels, subjects)
    return rows


def _rows(shared: Mapping[str, Any], scores: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    for metric, value in scores.items():
        yield {**shared, "metric": metric, "value": value}


def _score_level(
    shared: Mapping[str, Any], level: int, labels: npt.NDArray[Any], clusters: npt.NDArray[Any]
) -> Iterator[dict[str, Any]]:
    """Rows on how the clusters of a level agree with the classes."""
    agreement = {
        "rand_index": float(rand_score(labels, clusters)),
        "adjusted_rand_index": float(adjusted_rand_score(labels, clusters)),
    }
    yield from _rows({**shared, "item": level}, agreement)
    classes = np.unique(labels)
    same_cluster = clusters[:, None] == clusters
    shares = same_cluster / same_cluster.sum(axis=1, keepdims=True)
    for name in classes:
        members = labels == name
        precision = float(shares[np.ix_(members, members)].sum(axis=1).mean())
        yield from _rows({**shared, "item": name}, {f"precision_at_level_{level}": precision})
    different_sequences = ~np.eye(len(labels), dtype=bool)
    for a, b in combinations_with_replacement(classes, 2):
        pairs = np.outer(labels == a, labels == b) & different_sequences
        # A class of one sequence has no pairs of its own.
        if pairs.any():
            together = float(same_cluster[pairs].mean())
            yield from _rows(
                {**shared, "item": f"{a}/{b}"}, {f"together_at_level_{level}": together}
            )


def resample_hierarchies(
    labels: npt.NDArray[Any],
    subjects: npt.NDArray[Any],
    found: Mapping[str, Mapping[str, npt.NDArray[Any]]],
    *,
    draws: int,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Score what was found on trials and sequences drawn with replacement.

    Parameters
    ----------
    labels, subjects, found
        As for :func:`score_hierarchies`; all methods have the same trials.
    draws : int
    seed : int
    experiment : str

    Returns
    -------
    list of dict
        Rows with the metrics ``resampled_rand_index`` and ``resampled_log_likelihood``, the level
        as ``item`` and the draw as ``repeat``. A draw takes the same trials and sequences for all
        methods, so that differences are paired.
    """
    n = len(labels)
    first = next(iter(found.values()))["labels"]
    n_trials, n_levels, _ = first.shape
    same_class = labels[:, None] == labels
    by_subject = subjects[:, None] == subjects
    shape = (n_levels, n_trials, n, n)
    agreements = {"subject": np.broadcast_to(by_subject == same_class, shape)}
    for method, runs in found.items():
        clusters = np.swapaxes(runs["labels"], 0, 1)
        together = clusters[..., :, None] == clusters[..., None, :]
        agreements[method] = together == same_class
    rows = []
    for draw in range(draws):
        state = repetition_seed(seed, f"{experiment}/resampling", draw)
        rng = np.random.default_rng(state)
        trials = np.bincount(rng.integers(n_trials, size=n_trials), minlength=n_trials) / n_trials
        counts = np.bincount(rng.integers(n, size=n), minlength=n)
        pairs = np.outer(counts, counts)
        np.fill_diagonal(pairs, 0)
        for method, agreement in agreements.items():
            rand = np.einsum("t,ltij,ij->l", trials, agreement, pairs, optimize=True) / pairs.sum()
            scores = {"resampled_rand_index": rand}
            if method in found:
                scores["resampled_log_likelihood"] = np.einsum(
                    "t,tli,i->l", trials, found[method]["log_likelihoods"], counts
                )
            shared = {"method": method, "repeat": draw, "seed": state}
            for at in range(n_levels):
                values = {metric: float(value[at]) for metric, value in scores.items()}
                rows += _rows({**shared, "item": at + FIRST_LEVEL}, values)
    return rows


def median_trial(labels: npt.NDArray[Any], runs: Mapping[str, npt.NDArray[Any]]) -> int:
    """Choose the trial to be shown: its Rand indices are nearest to the medians of all trials.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class of each sequence.
    runs : mapping of str to ndarray
        What :func:`cluster_motions` found.

    Returns
    -------
    int
        Position of the trial with the smallest sum over levels of absolute differences between
        its Rand index and the median; the first one if several are equally near.
    """
    rand = np.array([[rand_score(labels, level) for level in trial] for trial in runs["labels"]])
    return int(np.abs(rand - np.median(rand, axis=0)).sum(axis=1).argmin())
