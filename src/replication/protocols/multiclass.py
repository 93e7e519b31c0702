r"""Multi-class machines made of binary kernel SVMs on precomputed Gram matrices.

``one_vs_one``
    every pair of classes votes (LIBSVM's rule);
``one_vs_rest``
    the class whose machine against all others gives the largest decision value;
``pairwise_coupling``
    class probabilities from the probabilities :math:`r_{ij} = P(i \mid i \text{ or } j)` of all
    pairs by the second method of Wu, Lin and Weng, which the paper cites:

    .. math:: \min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2,
              \quad \sum_i p_i = 1 ,

    with :math:`r_{ij}` from Platt's sigmoid on decision values of a three-fold cross-validation.

References
----------
T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability estimates for multi-class classification by pairwise
coupling", JMLR 5, 2004.
J. C. Platt, "Probabilistic outputs for support vector machines", 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

__all__ = ["SCHEMES", "couple", "machine"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]


def machine(C: float) -> SVC:
    """Make the SVM that every protocol trains: one-versus-one on a precomputed kernel."""
    return SVC(C=C, kernel="precomputed", cache_size=500)


def couple(r: Array) -> Array:
    """Combine pairwise probabilities into class probabilities.

    Parameters
    ----------
    r : ndarray of shape (..., k, k)
        ``r[..., i, j]`` is the probability of class i given that it is i or j;
        ``r[..., i, j] + r[..., j, i] == 1``. The diagonal does not count.

    Returns
    -------
    ndarray of shape (..., k)
        Probabilities; each row sums to 1.
    """
    k = r.shape[-1]
    off = r * (1 - np.eye(k))
    # The stationarity conditions Q p + b 1 = 0, 1'p = 1 of the quadratic problem.
    quadratic = -np.swapaxes(off, -1, -2) * off
    quadratic[..., np.arange(k), np.arange(k)] = (off**2).sum(axis=-2)
    system = np.ones((*r.shape[:-2], k + 1, k + 1))
    system[..., :k, :k] = quadratic
    system[..., k, k] = 0
    right = np.zeros((*r.shape[:-2], k + 1, 1))
    right[..., k, 0] = 1
    return np.linalg.solve(system, right)[..., :k, 0]


def _one_vs_one(square: Array, labels: Labels, cross: Array, C: float) -> Labels:
    return machine(C).fit(square, labels).predict(cross)


def _one_vs_rest(square: Array, labels: Labels, cross: Array, C: float) -> Labels:
    classes = np.unique(labels)
    decisions = [
        machine(C).fit(square, labels == label).decision_function(cross) for label in classes
    ]
    return classes[np.argmax(decisions, axis=0)]


# Hundreds of machines on parts of one kernel, whose input was checked where it was made.
@sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
def _pairwise_coupling(square: Array, labels: Labels, cross: Array, C: float) -> Labels:
    classes = np.unique(labels)
    r = np.full((len(cross), len(classes), len(classes)), 0.5)
    for i, j in combinations(range(len(classes)), 2):
        rows = np.flatnonzero((labels == classes[i]) | (labels == classes[j]))
        is_first = labels[rows] == classes[i]
        kernel = square[np.ix_(rows, rows)]
        held_out = cross_val_predict(
            machine(C), kernel, is_first, cv=StratifiedKFold(3), method="decision_function"
        )
        decision = machine(C).fit(kernel, is_first).decision_function(cross[:, rows])
        r[:, i, j] = _platt(held_out, is_first, decision)
        r[:, j, i] = 1 - r[:, i, j]
    return classes[np.argmax(couple(r), axis=1)]


def _platt(held_out: Array, positive: npt.NDArray[np.bool_], decision: Array) -> Array:
    """Probability of the positive class by a sigmoid with Platt's smoothed targets."""
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    # A fractional target is a pair of weighted examples.
    sigmoid = LogisticRegression(C=np.inf, max_iter=1000)
    sigmoid.fit(
        np.tile(held_out, 2)[:, None],
        np.repeat([1, 0], len(target)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    return sigmoid.predict_proba(decision[:, None])[:, 1]


SCHEMES: Mapping[str, Callable[[Array, Labels, Array, float], Labels]] = {
    "one_vs_one": _one_vs_one,
    "one_vs_rest": _one_vs_rest,
    "pairwise_coupling": _pairwise_coupling,
}
