"""Where EM on sequences begins: a partition of the groups, and one HMM made of each part.

``"kmeans"`` clusters groups by the means and deviations of their features, then the frames of a
part into states and the frames of a state into Gaussians, and counts transitions between the
states. ``"random"`` deals the groups out, places the Gaussians on random frames with the part's
overall covariance, and draws the chain. Neither leaves a part, a state or a Gaussian undefined
when there are fewer (distinct) frames than Gaussians.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from ._types import Floats, Integers
from ._update import bounded_covars
from .models import HMM

__all__ = ["START_METHODS", "partition", "starting_hmm"]


START_METHODS = ("kmeans", "random")

# k-means looks at this many frames at most: more hardly move the centres.
_FRAMES_FOR_KMEANS = 10_000


def partition(
    method: str,
    frames: Floats,
    frames_per_group: Integers,
    n_parts: int,
    rng: np.random.Generator,
) -> Integers:
    """Deal groups of sequences into ``n_parts`` parts, none empty; returns their labels."""
    n_groups = len(frames_per_group)
    dealt = rng.permutation(np.arange(n_groups) % n_parts)
    if n_parts == 1 or method == "random":
        return dealt
    starts = np.cumsum(frames_per_group) - frames_per_group
    counts = frames_per_group[:, None]
    means = np.add.reduceat(frames, starts, axis=0) / counts
    centred = frames - np.repeat(means, frames_per_group, axis=0)
    deviations = np.sqrt(np.add.reduceat(centred**2, starts, axis=0) / counts)
    features = np.hstack([means, deviations])
    scale = features.std(axis=0)
    labels = _cluster(features / np.where(scale > 0, scale, 1.0), n_parts, rng)
    for part in range(n_parts):
        if not (labels == part).any():
            # Duplicated groups: take one from the largest part.
            largest = np.bincount(labels, minlength=n_parts).argmax()
            labels[rng.choice(np.flatnonzero(labels == largest))] = part
    return labels


def starting_hmm(
    method: str,
    frames: Floats,
    lengths: Integers,
    n_states: int,
    n_mix: int,
    full: bool,
    floor: float,
    rng: np.random.Generator,
) -> HMM:
    """Make an HMM of the sequences of one part."""
    if method == "random":
        return _random_hmm(frames, n_states, n_mix, full, floor, rng)
    return _kmeans_hmm(frames, lengths, n_states, n_mix, full, floor, rng)


def _cluster(points: Floats, n_clusters: int, rng: np.random.Generator) -> Integers:
    """k-means labels; clusters stay empty if there are too few distinct points."""
    seen = points
    if len(points) > _FRAMES_FOR_KMEANS:
        seen = points[rng.choice(len(points), _FRAMES_FOR_KMEANS, replace=False)]
    distinct = len(np.unique(seen, axis=0))
    kmeans = KMeans(min(n_clusters, distinct), n_init=1, random_state=int(rng.integers(2**31))).fit(
        seen
    )
    return kmeans.predict(points).astype(np.int64)


def _covariance(points: Floats, mean: Floats, full: bool) -> Floats:
    centred = points - mean
    return centred.T @ centred / len(points) if full else (centred**2).mean(axis=0)


def _kmeans_hmm(
    frames: Floats,
    lengths: Integers,
    n_states: int,
    n_mix: int,
    full: bool,
    floor: float,
    rng: np.random.Generator,
) -> HMM:
    d = frames.shape[1]
    overall = bounded_covars(_covariance(frames, frames.mean(axis=0), full)[None], full, floor)[0]
    labels = _cluster(frames, n_states, rng)

    # One pseudo-count per row: no transition is forbidden from the start.
    starts = np.cumsum(lengths) - lengths
    startprob = np.bincount(labels[starts], minlength=n_states) + 1.0 / n_states
    transmat = np.full((n_states, n_states), 1.0 / n_states)
    inside = np.ones(len(frames), dtype=bool)
    inside[starts] = False
    following = np.flatnonzero(inside)
    np.add.at(transmat, (labels[following - 1], labels[following]), 1.0)

    weights = np.empty((n_states, n_mix))
    means = np.empty((n_states, n_mix, d))
    covars = np.empty((n_states, n_mix, *overall.shape))
    for s in range(n_states):
        members = frames[labels == s]
        if len(members) == 0:
            members = frames[rng.integers(len(frames), size=1)]
        inner = _cluster(members, n_mix, rng)
        for m in range(n_mix):
            points = members[inner == m]
            weights[s, m] = len(points) + 1.0 / n_mix
            if len(points) == 0:
                points = members[rng.integers(len(members), size=1)]
            means[s, m] = points.mean(axis=0)
            # The overall covariance counts like one more frame: small clusters start wide.
            spread = _covariance(points, means[s, m], full)
            covars[s, m] = (spread * len(points) + overall) / (len(points) + 1)
    return HMM(
        startprob / startprob.sum(),
        transmat / transmat.sum(axis=1, keepdims=True),
        weights / weights.sum(axis=1, keepdims=True),
        means,
        bounded_covars(covars, full, floor),
    )


def _random_hmm(
    frames: Floats, n_states: int, n_mix: int, full: bool, floor: float, rng: np.random.Generator
) -> HMM:
    overall = _covariance(frames, frames.mean(axis=0), full)
    n_gaussians = n_states * n_mix
    chosen = rng.choice(len(frames), n_gaussians, replace=len(frames) < n_gaussians)
    covars = np.broadcast_to(overall, (n_states, n_mix, *overall.shape))
    return HMM(
        rng.dirichlet(np.ones(n_states)),
        rng.dirichlet(np.ones(n_states), n_states),
        rng.dirichlet(np.ones(n_mix), n_states),
        frames[chosen].reshape(n_states, n_mix, -1),
        bounded_covars(covars, full, floor),
    )
