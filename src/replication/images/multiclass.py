r"""Multi-class machines made of binary kernel SVMs on precomputed Gram matrices.

Everywhere every pair of classes votes (LIBSVM's rule, :func:`machine`). The paper does not name
votes; what it names is

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

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from replication.arrays import AnyArray, Bools, Floats, Indices

__all__ = ["SCHEMES", "couple", "machine"]


def machine(C: float) -> SVC:
    """Make the SVM that every protocol trains: one-versus-one on a precomputed kernel."""
    return SVC(C=C, kernel="precomputed", cache_size=500)


def couple(r: Floats) -> Floats:
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


def _one_vs_rest(square: Floats, labels: AnyArray, cross: Floats, C: float) -> AnyArray:
    classes = np.unique(labels)
    decisions = [
        machine(C).fit(square, labels == label).decision_function(cross) for label in classes
    ]
    return classes[np.argmax(decisions, axis=0)]


@sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
def _pairwise_coupling(square: Floats, labels: AnyArray, cross: Floats, C: float) -> AnyArray:
    classes, numbers = np.unique(labels, return_inverse=True)
    pairs = list(combinations(range(len(classes)), 2))
    # One fit of all pairs: one of each pair would spend its time on checking arrays.
    decisions = _pair_decisions(square, numbers, cross, C)
    held_out = np.empty((len(labels), len(pairs)))
    for fit, hold in StratifiedKFold(3).split(numbers, numbers):
        held_out[hold] = _pair_decisions(
            square[np.ix_(fit, fit)], numbers[fit], square[np.ix_(hold, fit)], C
        )
    r = np.full((len(cross), len(classes), len(classes)), 0.5)
    for pair, (i, j) in enumerate(pairs):
        rows = (numbers == i) | (numbers == j)
        r[:, i, j] = _platt(held_out[rows, pair], numbers[rows] == i, decisions[:, pair])
        r[:, j, i] = 1 - r[:, i, j]
    return classes[np.argmax(couple(r), axis=1)]


def _pair_decisions(square: Floats, numbers: Indices, cross: Floats, C: float) -> Floats:
    """Decision values of all pairs of classes; their sign is for the sigmoids to learn."""
    fitted = machine(C).set_params(decision_function_shape="ovo").fit(square, numbers)
    decisions: Floats = fitted.decision_function(cross)
    return decisions.reshape(len(cross), -1)


def _platt(held_out: Floats, positive: Bools, decision: Floats) -> Floats:
    """Probability of the positive class by a sigmoid with Platt's smoothed targets."""
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    # A fractional target is a pair of weighted examples.
    sigmoid = LogisticRegression(C=np.inf, solver="newton-cholesky", max_iter=1000)
    sigmoid.fit(
        np.tile(held_out, 2)[:, None],
        np.repeat([1, 0], len(target)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    return sigmoid.predict_proba(decision[:, None])[:, 1]


#: What the paper names, by names of :data:`replication.registry.MULTICLASS_SCHEMES`.
SCHEMES: Mapping[str, Callable[[Floats, AnyArray, Floats, float], AnyArray]] = {
    "one_vs_rest": _one_vs_rest,
    "pairwise_coupling": _pairwise_coupling,
}
