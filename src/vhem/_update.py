"""The M-step that EM and the variational hierarchical EM have in common.

Both arrive at expected counts and summed moments; the maximiser is the same (Equations 17 and 18
of the NIPS paper). What no data speaks about keeps its value: an unvisited state its transitions
and emission, a Gaussian without weight its mean and covariance. So no step divides by zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._moments import parameters_from_moments
from ._types import Floats
from .models import H3M

__all__ = ["Statistics", "bounded_covars", "finite", "maximise", "regularised", "total"]


# Below this a count cannot be divided by without leaving the range of normal numbers.
_SMALLEST_COUNT = 1e-200
# In units of the largest eigenvalue: less makes a matrix numerically indefinite.
_SMALLEST_EIGENVALUE = 1e-12


class Statistics(NamedTuple):
    """Expected counts and moments of one E-step.

    Attributes
    ----------
    components : ndarray of shape (K,)
        Sums of responsibilities.
    start : ndarray of shape (K, S)
        Expected first states.
    transitions : ndarray of shape (K, S, S)
        Expected transitions.
    moments : ndarray of shape (K*S*M, F)
        Responsibility-weighted moments of each Gaussian (:mod:`vhem._moments`), the first column
        being the weight.
    """

    components: Floats
    start: Floats
    transitions: Floats
    moments: Floats


def finite(objective: float) -> float:
    """Return an objective of EM, unless the numbers left their range on the way to it."""
    if not np.isfinite(objective):
        raise ValueError(
            f"the objective is {objective}: squares of the data, ratios of variances or the number "
            "of virtual samples are out of range; rescale"
        )
    return objective


def total(first: Statistics, second: Statistics) -> Statistics:
    """Add two sets of statistics."""
    return Statistics(*(a + b for a, b in zip(first, second, strict=True)))


def _normalised(counts: Floats, previous: Floats) -> Floats:
    """Rows of ``counts`` scaled to sum 1; the previous row where nothing was counted."""
    sums = counts.sum(axis=-1, keepdims=True)
    counted = sums > _SMALLEST_COUNT
    return np.where(counted, counts / np.where(counted, sums, 1.0), previous)


def bounded_covars(covars: Floats, full: bool, floor: Floats | float) -> Floats:
    """Nearest covariances that are not below the floor.

    Variances, or the eigenvalues of matrices, are raised to ``floor``. Both are the exact
    maximiser of the M-step under that constraint, so the objective still cannot fall.
    """
    if not full:
        return np.maximum(covars, floor)
    values, vectors = np.linalg.eigh(covars)
    floor = np.maximum(floor, _SMALLEST_EIGENVALUE * values[..., -1])
    low = values[..., 0] < floor
    if not low.any():
        return covars
    bounded = covars.copy()
    vectors = vectors[low]
    raised = np.maximum(values[low], floor[low, None])
    bounded[low] = (vectors * raised[:, None, :]) @ np.swapaxes(vectors, -1, -2)
    return 0.5 * (bounded + np.swapaxes(bounded, -1, -2))


def _plus(covars: Floats, full: bool, reg_covar: float) -> Floats:
    return covars + reg_covar * (np.eye(covars.shape[-1]) if full else 1.0)


def regularised(model: H3M, floor: Floats | float, reg_covar: float) -> H3M:
    """Give a starting model the floor and the additive term that every M-step applies."""
    full = model.covariance_type == "full"
    covars = _plus(bounded_covars(model.covars, full, floor), full, reg_covar)
    return H3M(
        model.weights, model.startprob, model.transmat, model.mixture_weights, model.means, covars
    )


def maximise(
    statistics: Statistics,
    previous: H3M,
    centre: Floats,
    floor: Floats | float,
    reg_covar: float,
) -> H3M:
    """Parameters that maximise the bound for given statistics (Equations 17 and 18).

    Parameters
    ----------
    statistics : Statistics
        From the E-step at ``previous``.
    previous : H3M
        Supplies what was not counted, and the kind of covariance.
    centre : ndarray of shape (d,)
        What was subtracted from the data before moments were taken.
    floor : float or ndarray of shape (d,)
        Smallest variance, or smallest eigenvalue of a covariance matrix.
    reg_covar : float
        Added to the diagonal afterwards.

    Returns
    -------
    H3M
        The new model.
    """
    full = previous.covariance_type == "full"
    shape = previous.mixture_weights.shape
    occupancy = statistics.moments[:, 0].reshape(shape)
    counted = statistics.moments[:, 0] > _SMALLEST_COUNT
    means, covars = parameters_from_moments(statistics.moments[counted], full)
    new_means = previous.means.reshape(counted.size, -1).copy()
    new_covars = previous.covars.reshape(counted.size, *previous.covars.shape[3:]).copy()
    new_means[counted] = means + centre
    new_covars[counted] = _plus(bounded_covars(covars, full, floor), full, reg_covar)
    return H3M(
        statistics.components / statistics.components.sum(),
        _normalised(statistics.start, previous.startprob),
        _normalised(statistics.transitions, previous.transmat),
        _normalised(occupancy, previous.mixture_weights),
        new_means.reshape(previous.means.shape),
        new_covars.reshape(previous.covars.shape),
    )
