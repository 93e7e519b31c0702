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

import numpy as np
from scipy import linalg
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from ._numerics import logsumexp_last
from ._types import Floats, Integers

__all__ = ["cluster_centres", "cluster_points", "cluster_weights", "spectral_embedding"]


def spectral_embedding(log_affinity: Floats, n_dimensions: int) -> tuple[Floats, int]:
    """Embed items by Ng, Jordan and Weiss's method.

    Parameters
    ----------
    log_affinity : ndarray of shape (n, n)
        Logarithms of the affinities, -inf for none; the diagonal is not used.
    n_dimensions : int
        Number of leading eigenvectors, at most n.

    Returns
    -------
    embedding : ndarray of shape (n, n_dimensions)
        Rows of unit length. An item that has no part in any of the eigenvectors has the row 0.
        An item without affinity to any other has eigenvalue 0: connected parts, whose leading
        eigenvalue is 1, come first, and it gets a direction of its own only after them.
    n_parts : int
        Connected parts of the graph, where an affinity below rounding counts as none.
    """
    n_items = len(log_affinity)
    off_diagonal = log_affinity.copy()
    np.fill_diagonal(off_diagonal, -np.inf)
    if n_items == 1:
        return np.ones((1, 1)), 1
    connected = (off_diagonal > -np.inf).any(axis=1)
    log_degrees = np.zeros(n_items)
    log_degrees[connected] = logsumexp_last(off_diagonal[connected])
    scaled = np.exp(off_diagonal - 0.5 * (log_degrees[:, None] + log_degrees))
    n_parts, _ = connected_components(scaled > n_items * np.finfo(np.float64).eps, directed=False)
    _, vectors = linalg.eigh(scaled, subset_by_index=[n_items - n_dimensions, n_items - 1])
    # A component at the level of rounding is a zero, not a direction.
    vectors[np.abs(vectors) < n_items * np.finfo(np.float64).eps] = 0.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0), int(n_parts)


def cluster_points(
    points: Floats, n_clusters: int, n_init: int, rng: np.random.Generator
) -> tuple[Integers, bool]:
    """Run k-means; return labels that number the clusters by their first members, and success."""
    kmeans = KMeans(n_clusters, n_init=n_init, random_state=int(rng.integers(2**32))).fit(points)
    _, firsts, labels = np.unique(kmeans.labels_, return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(firsts))
    return ranks[labels].astype(np.int64), kmeans.n_iter_ < kmeans.max_iter


def cluster_centres(points: Floats, labels: Integers) -> tuple[Floats, Integers, float]:
    """Return the clusters' mean points, their members nearest to them, and the squared spread."""
    n_clusters = labels.max() + 1
    centres = np.array([points[labels == k].mean(axis=0) for k in range(n_clusters)])
    distances = ((points - centres[labels]) ** 2).sum(axis=1)
    nearest = [np.where(labels == k, distances, np.inf).argmin() for k in range(n_clusters)]
    return centres, np.array(nearest), float(distances.sum())


def cluster_weights(labels: Integers) -> Floats:
    """Return the share of the items that is in each cluster."""
    weights: Floats = np.bincount(labels) / len(labels)
    return weights
