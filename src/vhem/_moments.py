r"""Gaussians as an exponential family: every expected log-density is one matrix product.

With the moments ``f(y) = [1, y, y y^T]`` (the last block only its diagonal if covariances are
diagonal, otherwise its upper triangle) and the natural parameters ``theta`` of a Gaussian,

.. math:: \log \mathcal{N}(y; \mu, \Sigma) = \langle \theta(\mu, \Sigma), f(y) \rangle,

and the expectation over another Gaussian only replaces ``f`` by its mean,
``[1, m, V + m m^T]``. So the log-densities of points and the expected log-densities of Gaussians
under Gaussians are both ``theta @ f``, and the statistics of the M-step are both
``responsibilities @ f^T``. Moments run along the first axis and items along the last, which is
the direction that the kernels go.

Data must be centred by the caller: the expansion of ``(y - mu)^2`` cancels digits in proportion to
``mu^2 / variance``.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ._numerics import log_or_floor
from ._types import Floats

__all__ = [
    "LOG_2PI",
    "as_matrices",
    "gaussian_moments",
    "n_moments",
    "natural_parameters",
    "parameters_from_moments",
    "point_moments",
]

Real = TypeVar("Real", np.float32, np.float64)
LOG_2PI = float(np.log(2.0 * np.pi))


def as_matrices(variances: Floats) -> Floats:
    """Write variances (..., d) as covariance matrices (..., d, d)."""
    return variances[..., None] * np.eye(variances.shape[-1])


def n_moments(n_features: int, full: bool) -> int:
    """Length of the moment vector of one item."""
    return 1 + n_features + (n_features * (n_features + 1) // 2 if full else n_features)


def point_moments(points: NDArray[Real], full: bool) -> NDArray[Real]:
    """Moments of points.

    Parameters
    ----------
    points : ndarray of shape (d, P)
        Centred points, one per column.
    full : bool
        All second moments or only squares.

    Returns
    -------
    ndarray of shape (F, P)
        Rows 1, y, then squares or products; the dtype of ``points``.
    """
    d, n = points.shape
    moments = np.empty((n_moments(d, full), n), dtype=points.dtype)
    moments[0] = 1.0
    moments[1 : d + 1] = points
    if full:
        rows, columns = np.triu_indices(d)
        np.multiply(points[rows], points[columns], out=moments[d + 1 :])
    else:
        np.multiply(points, points, out=moments[d + 1 :])
    return moments


def gaussian_moments(means: Floats, covars: Floats, full: bool) -> Floats:
    """Return the expected moments under Gaussians.

    Parameters
    ----------
    means : ndarray of shape (P, d)
        Centred means.
    covars : ndarray of shape (P, d) or (P, d, d)
        Variances or covariance matrices.
    full : bool
        The moments wanted. Off-diagonals of ``covars`` are left out if False, and taken as zero if
        True and ``covars`` has none.

    Returns
    -------
    ndarray of shape (F, P)
        Moments per column.
    """
    d = means.shape[1]
    moments = point_moments(np.ascontiguousarray(means.T), full)
    if full:
        rows, columns = np.triu_indices(d)
        if covars.ndim == 3:
            moments[d + 1 :] += covars[:, rows, columns].T
        else:
            moments[d + 1 :][rows == columns] += covars.T
    else:
        variances = covars if covars.ndim == 2 else np.diagonal(covars, axis1=1, axis2=2)
        moments[d + 1 :] += variances.T
    return moments


def natural_parameters(weights: Floats, means: Floats, covars: Floats) -> Floats:
    """Coefficients of the moments in ``log c + log N(y; mu, Sigma)``.

    Parameters
    ----------
    weights : ndarray of shape (Q,)
        Mixture weights c; a zero becomes a hugely negative constant.
    means : ndarray of shape (Q, d)
        Centred means.
    covars : ndarray of shape (Q, d) or (Q, d, d)
        Variances or covariance matrices.

    Returns
    -------
    ndarray of shape (Q, F)
        One row per Gaussian.
    """
    d = means.shape[1]
    full = covars.ndim == 3
    theta = np.empty((len(means), n_moments(d, full)))
    if full:
        log_det = 2.0 * np.log(np.diagonal(np.linalg.cholesky(covars), axis1=1, axis2=2)).sum(1)
        precision = np.linalg.inv(covars)
        precision = 0.5 * (precision + np.swapaxes(precision, 1, 2))
        linear = np.einsum("qab,qb->qa", precision, means)
        rows, columns = np.triu_indices(d)
        # An off-diagonal product stands for two equal terms of the quadratic form.
        theta[:, d + 1 :] = precision[:, rows, columns] * np.where(rows == columns, -0.5, -1.0)
    else:
        log_det = np.log(covars).sum(axis=1)
        linear = means / covars
        theta[:, d + 1 :] = -0.5 / covars
    theta[:, 1 : d + 1] = linear
    theta[:, 0] = log_or_floor(weights) - 0.5 * (
        d * LOG_2PI + log_det + np.einsum("qa,qa->q", linear, means)
    )
    return theta


def parameters_from_moments(sums: Floats, full: bool) -> tuple[Floats, Floats]:
    """Maximum-likelihood mean and covariance from summed moments (Equation 18).

    The covariance is taken about the new mean, the exact maximiser.

    Parameters
    ----------
    sums : ndarray of shape (Q, F)
        Weighted sums of moments; the first column, the total weight, is positive.
    full : bool
        Kind of covariance.

    Returns
    -------
    means : ndarray of shape (Q, d)
        Centred means.
    covars : ndarray of shape (Q, d) or (Q, d, d)
        Covariances; rounding may leave them slightly indefinite.
    """
    n, n_columns = sums.shape
    averages = sums[:, 1:] / sums[:, :1]
    if not full:
        d = (n_columns - 1) // 2
        means = averages[:, :d]
        return means, averages[:, d:] - means * means
    # d + d (d + 1) / 2 = n_columns - 1.
    d = (round(np.sqrt(9 + 8 * (n_columns - 1))) - 3) // 2
    means = averages[:, :d]
    rows, columns = np.triu_indices(d)
    covars = np.empty((n, d, d))
    covars[:, rows, columns] = averages[:, d:] - means[:, rows] * means[:, columns]
    covars[:, columns, rows] = covars[:, rows, columns]
    return means, covars
