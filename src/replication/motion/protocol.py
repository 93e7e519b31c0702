r"""Hierarchical clustering of motions (NIPS 2012, section 4.1, Table 2 and Figure 1).

The paper: "we start from K1 = 56 motion examples from 8 different classes [...] and learn a HMM for
each of them, forming the first level of the hierarchy. A tree-structure is formed by successively
clustering HMMs [...] Level 2, 3, and 4 of the hierarchy correspond to K2 = 8, K3 = 4 and K4 = 2
clusters." The extended paper (JMLR 15, 2014, section 6.1) adds that the HMMs have four states of
two Gaussians, that virtual sequences have ten steps and that there are 10,000 for each HMM.

A *trial* learns the HMMs of level 1 from random starts of its own and hands the same ones to every
method. What they find is scored in
:mod:`replication.motion.scores`.

A method may fail on a trial: numbers that degenerate, fewer clusters than a level asks for, or more
seconds than it is allowed. That is a result too; the trial is marked, the others go on.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from replication.arrays import AnyArray, Floats
from replication.seeds import repetition_seed
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
    "METHODS",
    "HMMSettings",
    "HierarchySettings",
    "cluster_motions",
    "first_levels",
    "fit_hmms",
]


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
    kernel_root : 1, "frame" or "value"
        The affinity of PPK-SC is this root of the kernel, see
        :class:`vhem.PPKSpectralClustering`; the methods ``ppk_sc_literal`` take the kernel itself.
    dtm_states : int
        Dimension of the state of a dynamic texture.
    time_limit_s : float
        Processor seconds after which a method has failed on a trial.
    """

    levels: Sequence[int]
    n_init: int
    max_iter: int
    length: int
    power: float
    kernel_root: int | str
    dtm_states: int
    time_limit_s: float


def _vhem(hierarchy: HierarchySettings) -> VHEM:
    return VHEM(virtual_length=hierarchy.length, max_iter=hierarchy.max_iter)


def _ppk(
    centers: str, root: int | None = None
) -> Callable[[HMMSettings, HierarchySettings, int], PPKSpectralClustering]:
    def make(hmms: HMMSettings, hierarchy: HierarchySettings, n: int) -> PPKSpectralClustering:
        return PPKSpectralClustering(
            power=hierarchy.power,
            length=hierarchy.length,
            root=hierarchy.kernel_root if root is None else root,
            centers=centers,
            vhem=_vhem(hierarchy),
        )

    return make


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
    "ppk_sc": _ppk("nearest"),
    "ppk_sc_vhem": _ppk("vhem"),
    "ppk_sc_literal": _ppk("nearest", root=1),
    "ppk_sc_literal_vhem": _ppk("vhem", root=1),
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
    sequences: Sequence[Floats], hmms: HMMSettings, *, trial: int, seed: int, experiment: str
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


def first_levels(blocks: Iterable[H3M], n: int, start: int) -> dict[int, H3M]:
    """Part the HMMs of blocks of trials into trials.

    Parameters
    ----------
    blocks : iterable of H3M
        What :func:`fit_hmms` returned for trial after trial, joined.
    n : int
        HMMs of a trial.
    start : int
        Number of the first trial.
    """
    hmms = [hmm for block in blocks for hmm in block]
    return {start + at // n: H3M.from_hmms(hmms[at : at + n]) for at in range(0, len(hmms), n)}


def cluster_motions(
    methods: Iterable[str],
    sequences: Sequence[Floats],
    models: Mapping[int, H3M],
    hmms: HMMSettings,
    hierarchy: HierarchySettings,
    *,
    seed: int,
    experiment: str,
    log: str = "",
) -> tuple[dict[str, AnyArray], list[dict[str, Any]]]:
    """Build the hierarchy of every trial by every method, a method after the other.

    Parameters
    ----------
    methods : iterable of str
        Keys of :data:`METHODS`.
    sequences : sequence of ndarray of shape (n_frames_i, n_features)
    models : mapping of int to H3M
        The HMMs of each trial, as :func:`fit_hmms` returns them.
    hmms : HMMSettings
    hierarchy : HierarchySettings
    seed : int
    experiment : str
    log : str
        Where the job's messages end up; kept beside a failure.

    Returns
    -------
    runs : dict of ndarray
        A row a method and trial: ``methods``, ``trials`` and ``seeds`` (R,), ``labels`` (R, L, n),
        ``log_likelihoods`` (R, L, n) of each sequence under the centre of its cluster in nats,
        ``iterations``, ``converged``, ``graph_parts`` and ``determined`` (R, L), ``failures`` (R,):
        why the method failed on the trial, else empty, ``logs`` (R,): where more is said. Where it
        failed, labels are -1 and all else NaN.
    timings : list of dict
        Rows with the metric ``seconds``: processor time of the whole hierarchy, without the first
        level and without compiling. Unlike time on the clock it does not depend on what else runs.
        Trials that failed have none.
    """
    runs, timings = [], []
    for method in methods:
        with contextlib.suppress(*_FAILURES), _time_limit(hierarchy.time_limit_s):
            _warm_up(method, sequences, next(iter(models.values())), hmms, hierarchy)
        for trial, first_level in models.items():
            state = repetition_seed(seed, f"{experiment}/hierarchy", trial)
            row = {"methods": method, "trials": trial, "seeds": state}
            try:
                with _time_limit(hierarchy.time_limit_s):
                    base = _base(method, sequences, first_level, hierarchy)
                    estimator = METHODS[method](hmms, hierarchy, len(sequences))
                    estimator.set_params(n_init=hierarchy.n_init, random_state=state)
                    begun = process_time()
                    found = cluster_hierarchy(base, hierarchy.levels, estimator)
                    seconds = process_time() - begun
                    runs.append({**row, **_describe(found, sequences)})
            except _FAILURES as error:
                print(f"{method} failed on trial {trial}:", file=sys.stderr)
                traceback.print_exc()
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                failure = _failure(reason, len(hierarchy.levels), len(sequences))
                runs.append({**row, **failure, "logs": log})
                continue
            timing = {"method": method, "repeat": trial, "seed": state}
            timings.append({**timing, "metric": "seconds", "value": seconds})
    return {key: np.array([run[key] for run in runs]) for key in runs[0]}, timings


# What a method's own numbers can bring about. Any other exception is a mistake in the program.
_FAILURES = (ArithmeticError, ValueError, np.linalg.LinAlgError, TimeoutError)


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise a TimeoutError once the process has computed for so long; in the main thread only."""

    def stop(signum: int, frame: object) -> None:
        raise TimeoutError(f"more than {seconds:g} processor seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _base(
    method: str, sequences: Sequence[Floats], models: H3M, hierarchy: HierarchySettings
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
    sequences: Sequence[Floats],
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


def _describe(found: ClusterHierarchy, sequences: Sequence[Floats]) -> dict[str, Any]:
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
        "converged": [float(fitted.converged_) for fitted in found.estimators],
        # Parts that a graph of affinities falls into, and whether it decides the clusters.
        "graph_parts": [getattr(fitted, "n_parts_", np.nan) for fitted in found.estimators],
        "determined": [
            float(getattr(fitted, "determined_", np.nan)) for fitted in found.estimators
        ],
        "failures": "",
        "logs": "",
    }


def _failure(reason: str, n_levels: int, n_sequences: int) -> dict[str, Any]:
    """Return what stands for a trial on which the method failed."""
    return {
        "labels": np.full((n_levels, n_sequences), -1, dtype=np.int16),
        "log_likelihoods": np.full((n_levels, n_sequences), np.nan),
        **dict.fromkeys(
            ("iterations", "converged", "graph_parts", "determined"), [np.nan] * n_levels
        ),
        "failures": reason,
    }
