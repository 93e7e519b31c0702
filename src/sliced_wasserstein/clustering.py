r"""Kernel k-means on a precomputed Gram matrix (Section 4.1 of the paper).

With :math:`G_{ij} = \langle\phi_i, \phi_j\rangle` this is k-means in the space of the kernel, and
because :math:`\|\phi_i - \phi_j\| = SW(I_i, I_j)`, k-means with the sliced Wasserstein distance,
its centres being barycentres. Centres never need to be formed: for a cluster C of m members

.. math:: \|\phi_i - \mu_C\|^2 = G_{ii} - \frac2m \sum_{j \in C} G_{ij}
          + \frac1{m^2} \sum_{j, j' \in C} G_{jj'} .

References
----------
S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
CVPR 2016, Section 4.1.
D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["KernelKMeans"]


class _Run(NamedTuple):
    partitions: list[NDArray[np.intp]]
    history: list[float]


class KernelKMeans(ClusterMixin, BaseEstimator):
    r"""K-means in the space of a kernel.

    Each run starts from k-means++ seeds (chosen among the data with probability proportional to
    the squared distance from the seeds so far, the best of a few candidates each time) and
    alternates assignment and centres until no label changes. A cluster that becomes empty takes
    the point that is farthest from its centre, which lowers the inertia. The run with the lowest
    inertia is kept.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Number of runs.
    max_iter : int, default=300
        Largest number of assignments in a run.
    random_state : int, RandomState instance or None, default=None
        Source of the seeds.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each member.
    inertia_ : float
        Sum over members of the squared distance to the centre of their cluster.
    history_ : list of float
        Inertia of the partition before each assignment and, last, of the final one; never
        increasing.
    labels_history_ : ndarray of shape (n_iter_ + 1, n)
        The partitions that `history_` scores; the last row is `labels_`.
    n_iter_ : int
        Number of assignments in the best run.
    n_features_in_ : int
        Number of members seen in :meth:`fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from sliced_wasserstein import KernelKMeans, gram_matrix
    >>> points = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = KernelKMeans(n_clusters=2, random_state=0).fit(gram_matrix(points))
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> round(model.inertia_, 6)
    0.01
    >>> new = model.predict(gram_matrix([[4.0]], points))
    >>> bool(new[0] == model.labels_[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        n_init: int = 10,
        max_iter: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, G: ArrayLike, y: object = None) -> Self:
        """Cluster the members of a Gram matrix.

        Parameters
        ----------
        G : array-like of shape (n, n)
            Symmetric positive semi-definite kernel matrix.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `G` is not a finite symmetric matrix, a parameter is not a positive integer, or
            there are more clusters than members.
        """
        for name in ("n_clusters", "n_init", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}")
        gram: NDArray[np.float64] = validate_data(self, G, dtype=np.float64)
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(f"G must be a square Gram matrix, got shape {gram.shape}")
        if not np.allclose(gram, gram.T, rtol=1e-6, atol=1e-9 * np.abs(gram).max()):
            raise ValueError("G must be symmetric")
        if self.n_clusters > len(gram):
            raise ValueError(f"{self.n_clusters} clusters for n_samples={len(gram)} members")
        rng = check_random_state(self.random_state)
        runs = [self._run(gram, rng) for _ in range(self.n_init)]
        best = min(runs, key=lambda run: run.history[-1])
        self.labels_ = best.partitions[-1]
        self.labels_history_ = np.array(best.partitions)
        self.history_ = best.history
        self.inertia_ = best.history[-1]
        self.n_iter_ = len(best.history) - 1
        members = _members(self.labels_, self.n_clusters)
        self._members = members
        self._centre_norms = np.einsum("ic,ij,jc->c", members, gram, members, optimize=True)
        return self

    def predict(self, K: ArrayLike) -> NDArray[np.intp]:
        """Assign new members to the nearest centres.

        Parameters
        ----------
        K : array-like of shape (m, n)
            Kernel between the new members and those seen in :meth:`fit`.

        Returns
        -------
        ndarray of shape (m,)
            Clusters.

        Raises
        ------
        ValueError
            If `K` has not one column for each member seen in :meth:`fit`.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        check_is_fitted(self)
        cross: NDArray[np.float64] = validate_data(self, K, dtype=np.float64, reset=False)
        # The norm of the new member is the same for all centres.
        nearest: NDArray[np.intp] = np.argmin(
            self._centre_norms - 2 * cross @ self._members, axis=1
        )
        return nearest

    def _run(self, gram: NDArray[np.float64], rng: np.random.RandomState) -> _Run:
        seeds = _plus_plus_seeds(gram, self.n_clusters, rng)
        labels = np.argmin(np.diag(gram)[seeds] - 2 * gram[:, seeds], axis=1)
        history: list[float] = []
        partitions: list[NDArray[np.intp]] = []
        everyone = np.arange(len(gram))
        while True:
            labels = _fill_empty_clusters(gram, labels, self.n_clusters)
            squared = _squared_distances_to_centres(gram, labels, self.n_clusters)
            own = squared[everyone, labels]
            history.append(max(0.0, float(own.sum())))
            partitions.append(labels)
            nearest = np.argmin(squared, axis=1)
            # A member moves only if it gains: ties and rounding must not make it wander.
            moved = own - squared[everyone, nearest] > 1e-12 * np.diag(gram)
            if len(history) > self.max_iter or not moved.any():
                return _Run(partitions, history)
            labels = np.where(moved, nearest, labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


def _members(labels: NDArray[np.intp], n_clusters: int) -> NDArray[np.float64]:
    """One column a cluster: 1/m for its m members, else 0, so that ``G @ members`` averages."""
    members = np.zeros((len(labels), n_clusters))
    members[np.arange(len(labels)), labels] = 1.0
    averages: NDArray[np.float64] = members / np.maximum(members.sum(axis=0), 1.0)
    return averages


def _squared_distances_to_centres(
    gram: NDArray[np.float64], labels: NDArray[np.intp], n_clusters: int
) -> NDArray[np.float64]:
    members = _members(labels, n_clusters)
    products = gram @ members
    norms = np.einsum("ic,ic->c", members, products)
    squared: NDArray[np.float64] = np.diag(gram)[:, None] - 2 * products + norms
    return squared


def _fill_empty_clusters(
    gram: NDArray[np.float64], labels: NDArray[np.intp], n_clusters: int
) -> NDArray[np.intp]:
    """Give every empty cluster the point farthest from its own centre."""
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        squared = _squared_distances_to_centres(gram, labels, n_clusters)
        own = squared[np.arange(len(labels)), labels]
        # The only member of a cluster stays, or the gap would just move.
        alone = np.bincount(labels, minlength=n_clusters)[labels] == 1
        labels[np.argmax(np.where(alone, -np.inf, own))] = empty
    return labels


def _plus_plus_seeds(
    gram: NDArray[np.float64], n_clusters: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Choose seeds by greedy k-means++ in the space of the kernel."""
    n = len(gram)
    n_candidates = 2 + int(math.log(n_clusters))
    norms = np.diag(gram)

    def squared_to(members: NDArray[np.intp]) -> NDArray[np.float64]:
        squared: NDArray[np.float64] = np.maximum(
            norms[members, None] + norms - 2 * gram[members], 0.0
        )
        return squared

    seeds = [int(rng.randint(n))]
    nearest = squared_to(np.array(seeds))[0]
    while len(seeds) < n_clusters:
        total = nearest.sum()
        if total == 0:
            # All points coincide with seeds: any further seed is as good.
            seeds.append(int(rng.randint(n)))
            continue
        candidates = np.searchsorted(np.cumsum(nearest), rng.uniform(size=n_candidates) * total)
        candidates = np.minimum(candidates, n - 1)
        reached = np.minimum(nearest, squared_to(candidates))
        best = int(np.argmin(reached.sum(axis=1)))
        seeds.append(int(candidates[best]))
        nearest = reached[best]
    return np.array(seeds)
