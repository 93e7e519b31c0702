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

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._clustering import MixtureClusterer, assign, virtual_counts
from ._inputs import warn_of_duplicates
from ._parallel import single_threaded
from ._update import finite
from ._validation import check_count, check_number, real_array

__all__ = [
    "HEMEstimator",
    "HEMProblem",
    "HEMRun",
    "checked_weights",
    "draw_base",
    "run_hem",
]

Floats = NDArray[np.float64]

Model = TypeVar("Model")
Statistics = TypeVar("Statistics")


class HEMProblem(Protocol[Model, Statistics]):
    """What a family of distributions contributes to hierarchical EM."""

    def expectation(self, model: Model) -> tuple[Floats, Statistics]:
        """Return ``l_ij`` (n_base, n_components) in nats and the statistics behind it."""

    def maximisation(self, model: Model, statistics: Statistics, shares: Floats) -> Model:
        """Return the components that maximise the expectation weighted by ``shares``.

        ``shares`` (n_base, n_components) are ``z_ij w_i``. A component whose shares are all zero
        keeps its parameters.
        """

    def reseed(self, model: Model, component: int, item: int) -> Model:
        """Return ``model`` with ``component`` replaced by base component ``item``."""

    def weights_of(self, model: Model) -> Floats:
        """Return the mixture weights (n_components,)."""

    def with_weights(self, model: Model, weights: Floats) -> Model:
        """Return ``model`` with other mixture weights."""


@dataclass(frozen=True)
class HEMRun(Generic[Model]):
    """The outcome of one run; the arrays belong to ``model``, the final one."""

    model: Model
    responsibilities: Floats
    log_likelihoods: Floats
    history: Floats
    converged: bool


class _Expectation(NamedTuple):
    objective: float
    responsibilities: Floats
    log_likelihoods: Floats
    statistics: Any


def checked_weights(weights: ArrayLike | None, n_items: int) -> Floats:
    """Return base weights scaled to sum 1; ``None`` means equal ones.

    Raises
    ------
    ValueError
        If the shape differs from ``(n_items,)``, a weight is negative or not finite, or all
        are zero.
    """
    if weights is None:
        return np.full(n_items, 1.0 / n_items)
    checked = real_array("weights", weights)
    if checked.shape != (n_items,):
        raise ValueError(f"weights has shape {checked.shape}, expected ({n_items},)")
    bad = np.flatnonzero(checked < 0)
    if bad.size:
        raise ValueError(f"weights[{bad[0]}] is {checked[bad[0]]}, expected a number >= 0")
    if checked.sum() == 0:
        raise ValueError("weights are all zero")
    return checked / checked.sum()


def draw_base(base_weights: Floats, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return indices of different base components of positive weight, for a start."""
    return rng.choice(np.flatnonzero(base_weights > 0), number, replace=False)


def run_hem(
    problem: HEMProblem[Model, Statistics],
    model: Model,
    base_weights: Floats,
    virtual_samples: float,
    tol: float | None,
    max_iter: int,
) -> HEMRun[Model]:
    """Alternate the two steps from ``model`` until ``J`` changes by less than ``tol * |J|``.

    A component whose weight falls below half a base component's share, ``1 / (2 n_base)``, is
    empty. It is moved once to the base component that is explained worst, if that raises the
    objective; convergence is not judged in that step.

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
        Relative change of ``J`` below which the run has converged; ``None`` never stops early.
    max_iter : int
        Largest number of M-steps.
    """
    present = base_weights > 0
    counts = virtual_samples * base_weights

    def expect(model: Model) -> _Expectation:
        log_likelihoods, statistics = problem.expectation(model)
        responsibilities, evidence = assign(problem.weights_of(model), log_likelihoods, counts)
        return _Expectation(
            float(evidence[present].sum()), responsibilities, log_likelihoods, statistics
        )

    expectation = expect(model)
    history = [finite(expectation.objective)]
    moved: set[int] = set()
    converged = False
    while not converged and len(history) <= max_iter:
        shares = expectation.responsibilities * base_weights[:, np.newaxis]
        model = problem.maximisation(model, expectation.statistics, shares)
        weights = expectation.responsibilities[present].mean(axis=0)
        model = problem.with_weights(model, weights)
        expectation = expect(model)
        empty = [j for j in np.flatnonzero(weights < 0.5 / present.sum()) if j not in moved]
        if empty:
            component = int(empty[0])
            moved.add(component)
            explained = base_weights * expectation.log_likelihoods.max(axis=1)
            worst = int(np.where(present, explained, np.inf).argmin())
            trial = problem.reseed(model, component, worst)
            share = 1.0 / present.sum()
            moved_weights = (1.0 - share) * weights
            moved_weights[component] += share
            trial = problem.with_weights(trial, moved_weights)
            trial_expectation = expect(trial)
            if trial_expectation.objective > expectation.objective:
                model, expectation = trial, trial_expectation
        change = abs(expectation.objective - history[-1])
        history.append(finite(expectation.objective))
        converged = tol is not None and not empty and change < tol * abs(history[-2])
    return HEMRun(
        model,
        expectation.responsibilities,
        expectation.log_likelihoods,
        np.array(history),
        converged,
    )


class HEMEstimator(MixtureClusterer):
    """What the estimators built on :func:`run_hem` share: parameters, restarts, results."""

    n_components: int
    virtual_samples: float | None
    n_init: int
    tol: float | None
    max_iter: int
    covariance_floor: float

    model_: Any
    responsibilities_: Floats
    labels_: NDArray[np.int64]
    log_likelihoods_: Floats
    lower_bound_: float
    history_: Floats
    n_iter_: int
    converged_: bool
    restart_objectives_: Floats
    timings_: dict[str, float]

    def _check_parameters(self, base_weights: Floats, parameters: list[bytes]) -> None:
        check_count("n_components", self.n_components)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter, 0)
        check_number("covariance_floor", self.covariance_floor, positive=True)
        if self.tol is not None:
            check_number("tol", self.tol)
        available = int((base_weights > 0).sum())
        if self.n_components > available:
            raise ValueError(
                f"n_components is {self.n_components}, but there are only {available} base "
                "components of positive weight"
            )
        self._total_samples(self.virtual_samples, base_weights)
        warn_of_duplicates("n_components", self.n_components, parameters, "base components")

    def _run(
        self, problem: HEMProblem[Model, Any], initial: Model, base_weights: Floats
    ) -> HEMRun[Model]:
        samples = self._total_samples(self.virtual_samples, base_weights)
        return run_hem(problem, initial, base_weights, samples, self.tol, self.max_iter)

    def _problem(self, base: Any) -> HEMProblem[Any, Any]:
        raise NotImplementedError

    def _expectations(self, base: Any) -> tuple[Floats, Floats]:
        log_likelihoods, _ = self._problem(base).expectation(self.model_)
        return log_likelihoods, virtual_counts(base.weights, self._samples_per_model)

    def _fit_starts(
        self,
        problem: HEMProblem[Model, Any],
        base_weights: Floats,
        starts: list[Callable[[], Model]],
        preparation: float,
    ) -> None:
        """Run from every start, keep the run with the highest objective, set the results.

        ``preparation`` is the time, in seconds, that was spent on the base before.
        """
        seconds = {"init": preparation, "em": 0.0}
        runs = []
        with single_threaded():
            for make_initial in starts:
                begun = time.perf_counter()
                initial = make_initial()
                ready = time.perf_counter()
                runs.append(self._run(problem, initial, base_weights))
                seconds["init"] += ready - begun
                seconds["em"] += time.perf_counter() - ready
        objectives = np.array([run.history[-1] for run in runs])
        best = runs[int(objectives.argmax())]
        self.model_ = best.model
        self.responsibilities_ = best.responsibilities
        self.labels_ = best.responsibilities.argmax(axis=1)
        self.log_likelihoods_ = best.log_likelihoods
        self.lower_bound_ = float(best.history[-1])
        self.history_ = best.history
        self.n_iter_ = len(best.history) - 1
        self.converged_ = best.converged
        self.restart_objectives_ = objectives
        self.timings_ = seconds
