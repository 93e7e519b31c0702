r"""Kernel k-means (Section 4.1 of the paper).

With :math:`G_{ij} = \langle\phi_i, \phi_j\rangle` this is k-means in the space of the kernel, and
because :math:`\|\phi_i - \phi_j\| = SW(I_i, I_j)`, k-means with the sliced Wasserstein distance,
its centres being barycentres. Centres never need to be formed: for a cluster C of m members

.. math:: \|\phi_i - \mu_C\|^2 = G_{ii} - \frac2m \sum_{j \in C} G_{ij}
          + \frac1{m^2} \sum_{j, j' \in C} G_{jj'} .

References
----------
D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy.linalg
import sklearn
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from sliced_wasserstein._checks import (
    check_choice,
    check_positive_integer,
    float_array,
    symmetric_matrix,
)
from sliced_wasserstein._types import Floats, Labels
from sliced_wasserstein._validation import check_fitted, table_rows
from sliced_wasserstein.kernels import gram_matrix

__all__ = ["KernelKMeans"]

Kernel = Callable[[Floats, Floats], ArrayLike]

_EQUAL = 1e-13
"""Squared distance relative to the squared norms up to which two members are the same point."""

_FARTHEST = 1e150
"""Coordinate of a new point, relative to the points of the fit, whose square can be summed."""


class _Run(NamedTuple):
    partitions: list[Labels]
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
    kernel : {"precomputed", "linear"} or callable, default="precomputed"
        ``"precomputed"`` takes Gram matrices; ``"linear"`` takes points, for instance embedded
        distributions, and clusters them by their Euclidean distances. A callable takes two arrays
        of points, (n, d) and (m, d), and returns their kernel matrix (n, m).
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
        Number of columns seen in :meth:`fit`: members of a Gram matrix, features of points.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if :meth:`fit` was given a data frame.

    Notes
    -----
    Within ``sklearn.config_context(assume_finite=True)`` a kernel matrix is not tested for being
    positive semi-definite, which takes longer than a run: for many fits of a matrix that is known.

    Equal members always share a cluster. Where there are fewer distinct members than clusters,
    each gets its own, some clusters stay empty, and a warning says so.

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

    After an embedding:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sliced_wasserstein import SlicedWassersteinEmbedding
    >>> images = np.eye(16)[[0, 1, 1, 15]].reshape(4, 4, 4)
    >>> kmeans = KernelKMeans(2, kernel="linear", random_state=0)
    >>> labels = make_pipeline(SlicedWassersteinEmbedding(), kmeans).fit_predict(images)
    >>> bool(labels[0] == labels[1] == labels[2] != labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["precomputed", "linear"] | Kernel = "precomputed",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster the members of a Gram matrix, or points.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, d)
            Symmetric positive semi-definite kernel matrix, or points, as `kernel` says.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `X` is not finite; if the kernel matrix is not symmetric or, beyond rounding, not
            positive semi-definite (up to a constant added to its rows and columns, which no
            distance sees); if a parameter is not a positive integer, or there are more clusters
            than members.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If fewer members than clusters are distinct.
        """
        for name in ("n_clusters", "n_init", "max_iter"):
            check_positive_integer(name, getattr(self, name))
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, ("precomputed", "linear"))
        rows = table_rows(self, X, "X", reset=True, finite=True)
        self._fitted_parameters = {"kernel": self.kernel}
        self._exponent = 0
        if self.kernel != "precomputed":
            if self.kernel == "linear":
                self._origin, self._exponent = _frame(rows)
                rows = np.ldexp(rows - self._origin, -self._exponent)
            self._points = rows
        gram, exponent = _scaled_gram(self._kernel_with(rows, rows), self.kernel)
        if self.n_clusters > len(gram):
            raise ValueError(f"{self.n_clusters} clusters for n_samples={len(gram)} members")
        distinct = _distinct_members(gram)
        n_distinct = int(distinct.max()) + 1
        rng = check_random_state(self.random_state)
        if n_distinct < self.n_clusters:
            warnings.warn(
                f"fewer distinct members than clusters: {n_distinct} < {self.n_clusters}; equal "
                f"members share a cluster, {self.n_clusters - n_distinct} stay empty",
                ConvergenceWarning,
                stacklevel=2,
            )
            best = _Run([distinct], [0.0])
        else:
            runs = [self._run(gram, distinct, rng) for _ in range(self.n_init)]
            best = min(runs, key=lambda run: run.history[-1])
        self.labels_ = best.partitions[-1]
        self.labels_history_ = np.array(best.partitions)
        unit = exponent + 2 * self._exponent
        self.history_ = [_unscaled(inertia, unit) for inertia in best.history]
        self.inertia_ = self.history_[-1]
        self.n_iter_ = len(best.history) - 1
        members = _members(self.labels_, self.n_clusters)
        self._members = members
        norms = np.einsum("ic,ij,jc->c", members, gram, members, optimize=True)
        # A cluster without members is nobody's nearest.
        self._centre_norms = np.where(members.any(axis=0), np.ldexp(norms, exponent), np.inf)
        return self

    def fit_predict(self, X: ArrayLike, y: object = None) -> Labels:
        """Cluster, see :meth:`fit`, and return the clusters.

        Parameters
        ----------
        X : array-like of shape (n, n) or (n, d)
            Kernel matrix, or points.
        y : ignored

        Returns
        -------
        ndarray of shape (n,)
            Clusters, as in :attr:`labels_`.
        """
        return self.fit(X).labels_

    def predict(self, X: ArrayLike) -> Labels:
        """Assign new members to the nearest centres.

        Parameters
        ----------
        X : array-like of shape (m, n) or (m, d)
            Kernel between the new members and those seen in :meth:`fit`, or new points.

        Returns
        -------
        ndarray of shape (m,)
            Clusters.

        Raises
        ------
        ValueError
            If `X` has not as many columns as in :meth:`fit`, or is not finite.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        # The norm of the new member is the same for all centres.
        nearest: Labels = np.argmin(self._relative_squares(self._new_rows(X)), axis=1)
        return nearest

    @available_if(lambda self: self.kernel != "precomputed")
    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the inertia of new points, as k-means of scikit-learn does.

        There is no score of rows of a precomputed kernel, which lack the norms of new members.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Points.
        y : ignored

        Returns
        -------
        float
            Minus the sum of squared distances to the nearest centres.

        Raises
        ------
        ValueError
            As :meth:`predict`.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        rows = self._new_rows(X)
        norms = np.diag(self._kernel_with(rows, rows))
        squared = norms + self._relative_squares(rows).min(axis=1)
        return -_unscaled(float(np.maximum(squared, 0.0).sum()), 2 * self._exponent)

    def _new_rows(self, X: ArrayLike) -> Floats:
        check_fitted(self)
        rows = table_rows(self, X, "X", reset=False, finite=True)
        if self.kernel != "linear":
            return rows
        with np.errstate(over="ignore"):
            scaled = np.ldexp(rows - self._origin, -self._exponent)
        if np.abs(scaled).max() > _FARTHEST:
            raise ValueError("X is too large: its distances from the points of fit overflow")
        return scaled

    def _kernel_with(self, rows: Floats, points: Floats) -> Floats:
        """Return the kernel matrix of rows and points; of a precomputed kernel, the rows."""
        if self.kernel == "precomputed":
            return rows
        if self.kernel == "linear":
            return gram_matrix(rows, None if points is rows else points)
        values = float_array(self.kernel(rows, points), "kernel(X, Y)", 2)
        if values.shape != (len(rows), len(points)):
            raise ValueError(
                f"kernel(X, Y) must return shape {(len(rows), len(points))}, got {values.shape}"
            )
        return values.astype(np.float64)

    def _relative_squares(self, rows: Floats) -> Floats:
        """Return squared distances to the centres less the squared norms of the rows."""
        cross = rows if self.kernel == "precomputed" else self._kernel_with(rows, self._points)
        relative: Floats = self._centre_norms - 2 * cross @ self._members
        return relative

    def _run(
        self,
        gram: Floats,
        distinct: Labels,
        rng: np.random.RandomState,
    ) -> _Run:
        seeds = _plus_plus_seeds(gram, self.n_clusters, rng)
        labels = np.argmin(np.diag(gram)[seeds] - 2 * gram[:, seeds], axis=1)
        history: list[float] = []
        partitions: list[Labels] = []
        everyone = np.arange(len(gram))
        first = np.unique(distinct, return_index=True)[1][distinct]
        while True:
            # Rounding and ties must not part equal members: the first decides for all.
            labels = _fill_empty_clusters(gram, labels[first], distinct, self.n_clusters)
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
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _frame(points: Floats) -> tuple[Floats, int]:
    """Return an origin and the exponent of a power of two to read points by.

    No distance changes but by that power, points far from 0 keep their digits, and no square over-
    or underflows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        origin: Floats = points.mean(axis=0)
        largest = float(np.abs(points - origin).max())
    if not math.isfinite(largest):
        raise ValueError("X is too large: its differences overflow, divide X by a number")
    return origin, int(np.frexp(largest)[1])


def _unscaled(inertia: float, exponent: int) -> float:
    """Return an inertia in the unit of the data."""
    try:
        return math.ldexp(inertia, exponent)
    except OverflowError:
        raise ValueError("X is too large: the inertia overflows, divide X by a number") from None


def _scaled_gram(values: Floats, kernel: object) -> tuple[Floats, int]:
    """Return a kernel matrix over a power of two, and its exponent; or say what is wrong.

    With entries of at most 1 no sum over- or underflows, and no digit changes.
    """
    name = "X" if kernel == "precomputed" else "kernel(X, X)"
    try:
        gram = symmetric_matrix(values, name)
    except ValueError as error:
        hint = 'with kernel="precomputed" X is a Gram matrix; for points write kernel="linear"'
        raise ValueError(f"{error}; {hint}" if kernel == "precomputed" else str(error)) from None
    exponent = int(np.frexp(np.abs(gram).max())[1])
    if exponent + math.ceil(math.log2(len(gram))) + 2 > 1023:
        raise ValueError(f"{name} is too large: the inertia overflows, divide {name} by a number")
    gram = np.ldexp(gram, -exponent)
    if kernel == "linear" or sklearn.get_config()["assume_finite"]:
        return gram, exponent
    rounding = 1e-13 * len(gram) * np.abs(gram).max()
    if not _is_semidefinite(gram, rounding):
        # A constant added to rows and columns, which no distance sees, may be all that is wrong;
        # and single precision may. Another kernel shows far more.
        centred = gram - gram.mean(axis=0) - gram.mean(axis=1, keepdims=True) + gram.mean()
        if not _is_semidefinite(centred, rounding + 1e-6 * np.trace(centred)):
            raise ValueError(
                f"{name} is not positive semi-definite: no points have these inner products"
            )
    return gram, exponent


def _is_semidefinite(matrix: Floats, slack: float) -> bool:
    shifted = matrix.copy()
    shifted[np.diag_indices(len(matrix))] += slack
    try:
        scipy.linalg.cholesky(shifted, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return not matrix.any()
    return True


def _distinct_members(gram: Floats) -> Labels:
    """Return the number of each member among the distinct ones; equal members share theirs."""
    norms = np.diag(gram)
    sums = norms[:, None] + norms
    equal = sums - 2 * gram <= _EQUAL * np.abs(sums)
    if np.count_nonzero(equal) == len(gram):
        return np.arange(len(gram))
    numbers: Labels = connected_components(csr_array(equal), directed=False)[1]
    return numbers.astype(np.intp)


def _members(labels: Labels, n_clusters: int) -> Floats:
    """One column a cluster: 1/m for its m members, else 0, so that ``G @ members`` averages."""
    members = np.zeros((len(labels), n_clusters))
    members[np.arange(len(labels)), labels] = 1.0
    averages: Floats = members / np.maximum(members.sum(axis=0), 1.0)
    return averages


def _squared_distances_to_centres(gram: Floats, labels: Labels, n_clusters: int) -> Floats:
    members = _members(labels, n_clusters)
    products = gram @ members
    norms = np.einsum("ic,ic->c", members, products)
    squared: Floats = np.diag(gram)[:, None] - 2 * products + norms
    return squared


def _fill_empty_clusters(
    gram: Floats,
    labels: Labels,
    distinct: Labels,
    n_clusters: int,
) -> Labels:
    """Give every empty cluster the point farthest from its own centre, and those equal to it."""
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        squared = _squared_distances_to_centres(gram, labels, n_clusters)
        own = squared[np.arange(len(labels)), labels]
        # The only place of a cluster stays, or the gap would just move.
        places = np.unique(np.column_stack([distinct, labels]), axis=0)
        alone = np.bincount(places[:, 1], minlength=n_clusters)[labels] == 1
        farthest = np.argmax(np.where(alone, -np.inf, own))
        labels[distinct == distinct[farthest]] = empty
    return labels


def _plus_plus_seeds(gram: Floats, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """Choose seeds by greedy k-means++ in the space of the kernel."""
    n = len(gram)
    n_candidates = 2 + int(math.log(n_clusters))
    norms = np.diag(gram)

    def squared_to(members: Labels) -> Floats:
        squared: Floats = np.maximum(norms[members, None] + norms - 2 * gram[members], 0.0)
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
