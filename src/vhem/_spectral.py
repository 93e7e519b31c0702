"""Spectral clustering from the logarithms of affinities (Ng, Jordan and Weiss 2001).

Affinities without the diagonal are scaled by the square roots of their row sums; the leading
eigenvectors give each item a row, the rows are scaled to unit length and clustered by k-means. The
diagonal is not a detail: where affinities between different items are of the order 1e-20, a matrix
with its diagonal of ones is the identity to working precision, while without it the scaling
restores the affinities' relative size. Logarithms make that possible even where the affinities
themselves underflow.

References
----------
.. [1] A. Y. Ng, M. I. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS
   2001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from ._numerics import logsumexp_last
from ._types import Floats, Integers

__all__ = [
    "SpectralEmbedding",
    "cluster_centres",
    "cluster_points",
    "cluster_weights",
    "spectral_embedding",
]

# What is nearer than this is equal: rounding of the affinities, which are exponentials of large
# numbers, is amplified on the way to eigenvalues and distances, all of which are of the order 1.
_EQUAL = np.finfo(np.float64).eps ** 0.5
# The first item with at least this share of the largest is taken to fix a direction. Which one that
# is must not be a matter of rounding either; small graphs do not have this ratio.
_LARGE = 0.29


class SpectralEmbedding(NamedTuple):
    """Items in the space of the leading eigenvectors.

    Attributes
    ----------
    points : ndarray of shape (n, n_dimensions)
        Rows of unit length. An item that has no part in any of the eigenvectors has the row 0.
        An item without affinity to any other has eigenvalue 0: connected parts, whose leading
        eigenvalue is 1, come first, and it gets a direction of its own only after them.
    n_parts : int
        Connected parts of the graph, where an affinity below rounding counts as none.
    determined : bool
        Whether the last eigenvalue that is taken differs from the first one that is not.
    """

    points: Floats
    n_parts: int
    determined: bool


def spectral_embedding(log_affinity: Floats, n_dimensions: int) -> SpectralEmbedding:
    """Embed items by Ng, Jordan and Weiss's method.

    Parameters
    ----------
    log_affinity : ndarray of shape (n, n)
        Logarithms of the affinities, -inf for none; the diagonal is not used.
    n_dimensions : int
        Number of leading eigenvectors, at most n.

    Returns
    -------
    SpectralEmbedding
    """
    n_items = len(log_affinity)
    off_diagonal = log_affinity.copy()
    np.fill_diagonal(off_diagonal, -np.inf)
    if n_items == 1:
        return SpectralEmbedding(np.ones((1, 1)), 1, True)
    connected = (off_diagonal > -np.inf).any(axis=1)
    log_degrees = np.zeros(n_items)
    log_degrees[connected] = logsumexp_last(off_diagonal[connected])
    scaled = np.exp(off_diagonal - 0.5 * (log_degrees[:, None] + log_degrees))
    n_parts, _ = connected_components(scaled > _EQUAL, directed=False)
    values, vectors = linalg.eigh(scaled)
    values, vectors = values[::-1], _fix_bases(values[::-1], vectors[:, ::-1])[:, :n_dimensions]
    determined = n_dimensions == n_items or values[n_dimensions - 1] - values[n_dimensions] > _EQUAL
    # A component at the level of rounding is a zero, not a direction.
    vectors[np.abs(vectors) < n_items * np.finfo(np.float64).eps] = 0.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    points = vectors / np.where(lengths > 0, lengths, 1.0)
    return SpectralEmbedding(points, int(n_parts), bool(determined))


def _fix_bases(values: Floats, vectors: Floats) -> Floats:
    """Turn the eigenvectors of each set of equal eigenvalues to a basis that the items decide.

    The first vector of a basis is the one in which the first item has its whole part of the space,
    the second is that of the first item with a part in what is left, and so on, all with a positive
    sign. For a single vector this is its sign; for connected parts it is one vector each.
    """
    borders = np.flatnonzero(values[:-1] - values[1:] > _EQUAL) + 1
    fixed = []
    for space in np.split(vectors, borders, axis=1):
        rest, turned = space.copy(), []
        for _ in range(space.shape[1]):
            parts = np.linalg.norm(rest, axis=1)
            first = int((parts >= _LARGE * parts.max()).argmax())
            direction = rest[first] / parts[first]
            turned.append(space @ direction)
            rest -= np.outer(rest @ direction, direction)
        fixed.append(np.column_stack(turned))
    result: Floats = np.hstack(fixed)
    return result


def cluster_points(
    points: Floats, n_clusters: int, n_init: int, rng: np.random.Generator
) -> tuple[Integers, bool]:
    """Run k-means; return labels that number the clusters by their first members, and success."""
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=int(rng.integers(2**32))).fit(points)
    _, firsts, labels = np.unique(kmeans.labels_, return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(firsts))
    return ranks[labels].astype(np.int64), kmeans.n_iter_ < kmeans.max_iter


def cluster_centres(points: Floats, labels: Integers) -> tuple[Floats, Integers, float]:
    """Return the clusters' mean points, their members nearest to them, and the squared spread.

    Of members that are equally near, as both of a pair are, the first one counts.
    """
    n_clusters = labels.max() + 1
    centres = np.array([points[labels == k].mean(axis=0) for k in range(n_clusters)])
    distances = ((points - centres[labels]) ** 2).sum(axis=1)
    nearest = []
    for k in range(n_clusters):
        own = np.where(labels == k, distances, np.inf)
        nearest.append((own <= own.min() + _EQUAL).argmax())
    return centres, np.array(nearest), float(distances.sum())


def cluster_weights(labels: Integers) -> Floats:
    """Return the share of the items that is in each cluster."""
    weights: Floats = np.bincount(labels) / len(labels)
    return weights
