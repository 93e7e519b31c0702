"""The outer loop that every hierarchical EM algorithm shares.

Hierarchical EM (Vasconcelos & Lippman 1998) reduces a mixture of ``K_b`` base components to
``K_r`` components. Base component ``i`` stands for ``N_i = N * w_i`` virtual samples which all
share one assignment variable, so that with ``l_ij`` the expected log-likelihood of one virtual
sample of component ``i`` under component ``j``

    J      = sum_i log sum_j omega_j exp(N_i l_ij)
    z_ij   = omega_j exp(N_i l_ij) / sum_j' omega_j' exp(N_i l_ij')
    omega_j = mean_i z_ij.

Only the expectation and the maximisation inside a component depend on the family; a family
gives them through :class:`HEMProblem`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

__all__ = ["HEMProblem", "HEMRun", "assign", "check_count", "check_weights", "run_hem"]

FloatArray = npt.NDArray[np.float64]
Model = TypeVar("Model")
Statistics = TypeVar("Statistics")


class HEMProblem(Protocol[Model, Statistics]):
    """What a family of distributions contributes to hierarchical EM."""

    def expectation(self, model: Model) -> tuple[FloatArray, Statistics]:
        """Return ``l_ij`` (n_base, n_components) in nats and the statistics behind it."""

    def maximisation(self, model: Model, statistics: Statistics, shares: FloatArray) -> Model:
        """Return the components that maximise the expectation weighted by ``shares``.

        ``shares`` (n_base, n_components) are ``z_ij w_i``. A component whose shares are all zero
        keeps its parameters.
        """

    def reseed(self, model: Model, component: int, item: int) -> Model:
        """Return ``model`` with ``component`` replaced by base component ``item``."""

    def weights_of(self, model: Model) -> FloatArray:
        """Return the mixture weights (n_components,)."""

    def with_weights(self, model: Model, weights: FloatArray) -> Model:
        """Return ``model`` with other mixture weights."""


@dataclass(frozen=True)
class HEMRun(Generic[Model]):
    """The outcome of one run; the arrays belong to ``model``, the final one."""

    model: Model
    responsibilities: FloatArray
    log_likelihoods: FloatArray
    history: FloatArray
    converged: bool


def check_weights(weights: npt.ArrayLike | None, n_items: int) -> FloatArray:
    """Return normalised base weights; ``None`` means uniform.

    Raises
    ------
    ValueError
        If the shape differs from ``(n_items,)``, a weight is negative or not finite, or all
        are zero.
    """
    if weights is None:
        return np.full(n_items, 1.0 / n_items)
    checked = np.array(weights, dtype=np.float64)
    if checked.shape != (n_items,):
        raise ValueError(f"weights has shape {checked.shape}, expected ({n_items},)")
    bad = np.flatnonzero(~np.isfinite(checked) | (checked < 0))
    if bad.size:
        raise ValueError(f"weights[{bad[0]}] is {checked[bad[0]]}; must be finite and >= 0")
    if checked.sum() == 0:
        raise ValueError("weights are all zero")
    return checked / checked.sum()


def check_count(name: str, value: int, at_most: int | None = None, of: str = "") -> None:
    """Raise a ``ValueError`` naming the argument unless ``1 <= value <= at_most``."""
    if value != int(value) or value < 1:
        raise ValueError(f"{name} is {value}; expected an integer >= 1")
    if at_most is not None and value > at_most:
        raise ValueError(f"{name} is {value}, but there are only {at_most} {of}")


def assign(
    weights: FloatArray, log_likelihoods: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ``z`` (n_base, n_components) and the terms (n_base,) whose sum is ``J``.

    Parameters
    ----------
    weights : (n_components,) array
        Mixture weights; zeros are allowed.
    log_likelihoods : (n_base, n_components) array
        Expected log-likelihoods of one virtual sample, in nats.
    counts : (n_base,) array
        Virtual samples of each base component, ``N * w_i``.
    """
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    joint = log_weights + counts[:, np.newaxis] * log_likelihoods
    evidence: FloatArray = logsumexp(joint, axis=1)
    return np.exp(joint - evidence[:, np.newaxis]), evidence


def run_hem(
    problem: HEMProblem[Model, Statistics],
    model: Model,
    base_weights: FloatArray,
    virtual_samples: float,
    tol: float | None,
    max_iter: int,
) -> HEMRun[Model]:
    """Alternate the two steps from ``model`` until ``J`` rises by less than ``tol * |J|``.

    A component whose weight falls below half a base component's share, ``1 / (2 n_base)``, is
    empty. It is restarted once from the base component that the mixture explains worst; the
    objective may fall in that step, and convergence is not judged there.

    Parameters
    ----------
    problem : HEMProblem
        The family's two steps.
    model : Model
        Where to start.
    base_weights : (n_base,) array
        Weights of the base components, sum 1. A base component of weight zero has no influence.
    virtual_samples : float
        ``N``.
    tol : float or None
        Relative rise of ``J`` below which the run has converged; ``None`` never stops early.
    max_iter : int
        Largest number of M-steps.
    """
    counts = virtual_samples * base_weights
    present = base_weights > 0
    log_likelihoods, statistics = problem.expectation(model)
    responsibilities, evidence = assign(problem.weights_of(model), log_likelihoods, counts)
    history = [float(evidence.sum())]
    reseeded: set[int] = set()
    converged = False
    while not converged and len(history) <= max_iter:
        shares = responsibilities * base_weights[:, np.newaxis]
        weights = responsibilities[present].mean(axis=0)
        model = problem.maximisation(model, statistics, shares)
        empty = {int(j) for j in np.flatnonzero(weights < 0.5 / present.sum())} - reseeded
        if empty:
            worst_first = np.argsort(evidence, kind="stable")
            for component, item in zip(sorted(empty), worst_first, strict=False):
                model = problem.reseed(model, component, int(item))
                weights[component] = 1.0 / present.sum()
            weights /= weights.sum()
            reseeded |= empty
        model = problem.with_weights(model, weights)
        log_likelihoods, statistics = problem.expectation(model)
        responsibilities, evidence = assign(weights, log_likelihoods, counts)
        history.append(float(evidence.sum()))
        if tol is not None and not empty:
            converged = history[-1] - history[-2] < tol * abs(history[-2])
    return HEMRun(model, responsibilities, log_likelihoods, np.array(history), converged)
