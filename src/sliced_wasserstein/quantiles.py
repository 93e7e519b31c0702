r"""One-dimensional transport: quantile functions, and the Wasserstein distance on the line.

On the line the optimal map between two measures is the monotone one (Theorem 1, Eq. 6), so with
the quantile functions :math:`Q = F^{-1}`

.. math:: W_p^p(\mu, \nu) = \int_0^1 |Q_\mu(u) - Q_\nu(u)|^p \, du .

For p = 2 this is a distance between functions in :math:`L^2(0, 1)`. A quantile function is stored
by its means over K bins of u. Taking bin means is an orthogonal projection of
:math:`L^2(0, 1)`, hence a stored distance is never larger than the true one, it grows to it as the
bins are split, it keeps the difference of the means exactly, and inner products stay positive
semi-definite. (Values at bin centres have none of these properties.) The bins are narrower in the
tails, where quantile functions are steep.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sliced_wasserstein._checks import check_number, float_array
from sliced_wasserstein._compile import compiled
from sliced_wasserstein._types import Floats

__all__ = [
    "bin_means",
    "cloud_quantiles",
    "invert_cdf",
    "quantile_edges",
    "squared_w2_sorted",
    "wasserstein_1d",
]

_SORTED_VALUES = 2**17
"""Projections of a cloud sorted at a time."""


def quantile_edges(n_quantiles: int) -> Floats:
    r"""Return the edges :math:`u_j = (1 - \cos(\pi j / K)) / 2` of K bins of (0, 1).

    The edges of K bins are among those of 2 K bins.

    Parameters
    ----------
    n_quantiles : int
        Number of bins K, at least 1.

    Returns
    -------
    ndarray of shape (n_quantiles + 1,)
        Increasing from exactly 0 to exactly 1.

    Examples
    --------
    >>> quantile_edges(4).round(3)
    array([0.   , 0.146, 0.5  , 0.854, 1.   ])
    """
    if n_quantiles < 1:
        raise ValueError(f"n_quantiles must be at least 1, got {n_quantiles}")
    # sin^2 of the half angle is the same number without the cancellation near 0.
    return np.sin(np.arange(n_quantiles + 1) * (np.pi / 2 / n_quantiles)) ** 2


@compiled()
def bin_means(lefts, width, masses, edges, out):  # type: ignore[no-untyped-def]
    """Average the quantile function of a distribution over bins of u, exactly.

    The distribution consists of segments of equal width in increasing order, each with its mass
    spread evenly; points are segments of width 0. The masses need not sum to 1.

    Parameters
    ----------
    lefts : array of shape (n,)
        Left ends of the segments, increasing.
    width : float
        Their width.
    masses : array of shape (n,)
        Their masses, non-negative, not all zero.
    edges : array of shape (n_quantiles + 1,)
        Edges of the u-bins, from 0 to 1.
    out : array of shape (n_quantiles,)
        Receives the means.
    """
    n_quantiles = out.shape[0]
    total = 0.0
    for r in range(masses.shape[0]):
        total += masses[r]
    j = 0
    moment = 0.0
    reached = 0.0
    limit = edges[1] * total
    for r in range(masses.shape[0]):
        mass = masses[r]
        if mass == 0.0:
            continue
        if reached + mass < limit or j == n_quantiles - 1:
            # The whole segment lies in the bin, as most do: its mean is its centre.
            moment += mass * (lefts[r] + width / 2)
            reached += mass
            continue
        used = 0.0
        while j < n_quantiles - 1 and reached + (mass - used) >= limit:
            part = limit - reached
            moment += part * (lefts[r] + width * (used + part / 2) / mass)
            out[j] = moment / ((edges[j + 1] - edges[j]) * total)
            moment = 0.0
            used += part
            reached = limit
            j += 1
            limit = edges[j + 1] * total
        part = mass - used
        moment += part * (lefts[r] + width * (used + part / 2) / mass)
        reached += part
    out[j] = moment / ((edges[j + 1] - edges[j]) * total)


def cloud_quantiles(
    positions: Floats,
    weights: Floats,
    directions: Floats,
    edges: Floats,
) -> Floats:
    """Return the bin-averaged quantile functions of a cloud's slices.

    Parameters
    ----------
    positions : ndarray of shape (n_points, d)
        Points.
    weights : ndarray of shape (n_points,)
        Their masses.
    directions : ndarray of shape (n_directions, d)
        Unit vectors.
    edges : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.

    Returns
    -------
    ndarray of shape (n_directions, n_quantiles)
        Means, in the unit of the positions.
    """
    quantiles = np.empty((len(directions), len(edges) - 1))
    edges = np.array(edges)  # those of an estimator loaded as a memory map are read-only
    # As many directions at a time as keep the sorting in the cache.
    step = max(1, _SORTED_VALUES // len(weights))
    for start in range(0, len(directions), step):
        t = directions[start : start + step] @ positions.T
        order = np.argsort(t, axis=1, kind="stable")
        _fill_quantiles(t, order, weights, edges, quantiles[start : start + step])
    return quantiles


@compiled()
def _fill_quantiles(t, order, weights, edges, out):  # type: ignore[no-untyped-def]
    sorted_t = np.empty(weights.shape[0])
    masses = np.empty(weights.shape[0])
    for k in range(t.shape[0]):
        for p in range(weights.shape[0]):
            sorted_t[p] = t[k, order[k, p]]
            masses[p] = weights[order[k, p]]
        bin_means(sorted_t, 0.0, masses, edges, out[k])


@compiled()
def squared_w2_sorted(x, x_masses, y, y_masses):  # type: ignore[no-untyped-def]
    """Squared 2-Wasserstein distance between sorted points whose masses sum to 1.

    Both lists are merged once: the mass on top of each is matched until either is used up.

    Parameters
    ----------
    x, x_masses : arrays of shape (n,)
        Increasing positions and their masses.
    y, y_masses : arrays of shape (m,)
        Likewise.

    Returns
    -------
    float
    """
    cost = 0.0
    i = j = 0
    x_left = x_masses[0]
    y_left = y_masses[0]
    while True:
        moved = min(x_left, y_left)
        cost += moved * (x[i] - y[j]) ** 2
        # The list that ran out moves on; the other keeps what is left of its mass.
        if x_left <= y_left:
            y_left -= x_left
            i += 1
            if i == x.shape[0]:
                return cost
            x_left = x_masses[i]
        else:
            x_left -= y_left
            j += 1
            if j == y.shape[0]:
                return cost
            y_left = y_masses[j]


def invert_cdf(edges: Floats, masses: Floats, u: Floats) -> Floats:
    r"""Evaluate :math:`F^{-1}(u) = \min\{t : F(t) \ge u\}` of a piecewise-constant density (Eq. 6).

    Parameters
    ----------
    edges : ndarray of shape (n + 1,)
        Edges of the bins of t.
    masses : ndarray of shape (n,)
        Mass in each bin, not all zero; normalised here.
    u : ndarray
        Values in [0, 1].

    Returns
    -------
    ndarray of the shape of `u`
        Quantiles, in the unit of `edges`. For u = 0 the left end of the support.
    """
    filled = np.flatnonzero(masses)
    cdf = np.cumsum(masses[filled])
    cdf /= cdf[-1]
    position = np.searchsorted(cdf[:-1], u, side="left")
    below = np.concatenate([[0.0], cdf])[position]
    fraction = (u - below) / (cdf[position] - below)
    left, right = edges[filled[position]], edges[filled[position] + 1]
    quantiles: Floats = left + fraction * (right - left)
    return quantiles


def wasserstein_1d(
    x: ArrayLike,
    y: ArrayLike,
    x_weights: ArrayLike | None = None,
    y_weights: ArrayLike | None = None,
    p: float = 2,
) -> float:
    r"""Wasserstein distance between two discrete measures on the line, exactly.

    .. math:: W_p(\mu, \nu) = \Big(\int_0^1 |Q_\mu(u) - Q_\nu(u)|^p \, du\Big)^{1/p}

    which is the infimum of Eq. 1 because the monotone map is optimal (Theorem 1, Eqs. 6 and 7).
    Both quantile functions are steps, and the integral is summed over their common refinement:
    no grid, no binning, independent of the order of the input.

    Parameters
    ----------
    x, y : array-like of shape (n,), (m,)
        Positions.
    x_weights, y_weights : array-like of shape (n,), (m,), optional
        Masses; normalised to sum 1. Equal masses by default.
    p : float, default=2
        Order, at least 1. For infinity the distance is the largest difference of the quantile
        functions, :math:`\sup_u |Q_\mu(u) - Q_\nu(u)|`.

    Returns
    -------
    float
        :math:`W_p`, in the unit of the positions (not its p-th power).

    Raises
    ------
    ValueError
        If positions or weights are empty, no finite real numbers or of different lengths, if a
        weight is negative or all are zero, if p is no number of at least 1, or if the distance
        exceeds the largest float.

    Notes
    -----
    A share of the mass that the rounding of cumulative sums cannot resolve, about 1e-16 a point,
    does not count.

    References
    ----------
    S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
    CVPR 2016, Theorem 1.

    Examples
    --------
    >>> wasserstein_1d([0.0, 1.0], [5.0, 6.0])
    5.0
    >>> wasserstein_1d([0.0, 3.0], [0.0, 3.0], [0.5, 0.5], [0.75, 0.25], p=1)
    0.75
    """
    order = check_number("p", p, 1, infinite=True)
    x_sorted, x_cdf = _sorted_cdf(x, x_weights, "x")
    y_sorted, y_cdf = _sorted_cdf(y, y_weights, "y")
    levels = np.union1d(x_cdf, y_cdf)
    gaps = np.diff(levels, prepend=0.0)
    # Q is constant on each gap (levels[k-1], levels[k]], with the value at its right end.
    x_quantile = x_sorted[np.searchsorted(x_cdf, levels)]
    y_quantile = y_sorted[np.searchsorted(y_cdf, levels)]
    # Cumulative sums of equal masses may differ in their last bits. Such a gap holds no mass, but
    # would decide the largest difference, and with it any large order.
    real = gaps > np.finfo(np.float64).eps * len(levels)
    gaps = gaps[real]
    with np.errstate(over="ignore"):
        lengths = np.abs(x_quantile - y_quantile)[real]
    longest = float(lengths.max())
    if longest == math.inf:
        raise ValueError("x and y are too far apart: their distance is no finite number")
    if order == math.inf or longest == 0:
        return longest
    # Relative to the longest, so that no power over- or underflows.
    return float(longest * np.sum(gaps * (lengths / longest) ** order) ** (1 / order))


def _sorted_cdf(
    positions: ArrayLike, weights: ArrayLike | None, name: str
) -> tuple[Floats, Floats]:
    """Return positions in increasing order and their cumulative masses, ending at exactly 1."""
    t = float_array(positions, name, 1).astype(np.float64)
    w = np.ones_like(t)
    if weights is not None:
        w = float_array(weights, f"{name}_weights", 1).astype(np.float64)
    if w.shape != t.shape:
        raise ValueError(f"{name}_weights has shape {w.shape}, {name} has shape {t.shape}")
    if (w < 0).any() or not w.any():
        raise ValueError(f"{name}_weights must be non-negative and not all zero")
    # By a power of two, which costs no bit: the sum of huge weights must not overflow.
    w = np.ldexp(w, -np.frexp(w.max())[1])
    order = np.argsort(t, kind="stable")
    cdf = np.cumsum(w[order])
    return t[order], cdf / cdf[-1]
