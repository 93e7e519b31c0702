r"""The one loop of expectation and maximisation, its restarts, and what hierarchical EM adds.

:func:`ascend` alternates the two steps of a :class:`Problem`: EM on sequences, the variational
hierarchical EM, and its rivals differ in their problems only.

Hierarchical EM [1]_ reduces a mixture of :math:`K_b` base components to :math:`K_r`. Base component
:math:`i` stands for :math:`N_i = N w_i` virtual samples which all share one assignment variable, so
that with :math:`l_{ij}` the expected log-likelihood of one virtual sample of component :math:`i`
under component :math:`j`

.. math::
    J = \sum_i \log \sum_j \omega_j e^{N_i l_{ij}}, \qquad
    z_{ij} \propto \omega_j e^{N_i l_{ij}}, \qquad
    \omega_j = \operatorname{mean}_i z_{ij}.

What is specific to a family of distributions stands in a subclass of :class:`HierarchicalProblem`.

References
----------
.. [1] N. Vasconcelos, A. Lippman, "Learning mixture hierarchies", NIPS 1998.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ._clustering import SAMPLES_PER_MODEL, MixtureClusterer, assign, virtual_counts
from ._inputs import check_available, warn_of_duplicates
from ._parallel import ordered_map, single_threaded
from ._types import Floats, Integers
from ._update import finite
from ._validation import check_count, check_number

__all__ = [
    "EMEstimator",
    "Expectation",
    "HierarchicalEstimator",
    "HierarchicalProblem",
    "Problem",
    "Run",
    "ascend",
]

# Assignments are hard long before; more would overflow.
_MOST_SAMPLES = 1e100

Model = TypeVar("Model")


class Expectation(NamedTuple):
    """An E-step: the objective, z and log-likelihoods (n, K), and what the M-step reads."""

    objective: float
    responsibilities: Floats
    log_likelihoods: Floats
    statistics: Any


class Problem(ABC, Generic[Model]):
    """What is fitted, to what, and by which two steps."""

    @abstractmethod
    def expectation(self, model: Model) -> Expectation:
        """E-step at ``model``."""

    @abstractmethod
    def maximisation(self, model: Model, expectation: Expectation) -> Model:
        """M-step; ``expectation`` is the E-step at ``model``."""

    @abstractmethod
    def settled(self, before: float, now: float, tol: float) -> bool:
        """Whether two successive objectives count as the same."""

    def emptied(self, model: Model) -> Sequence[int] | Integers:
        """Components that no data are left to, and that may be moved elsewhere."""
        return ()

    def moved(self, model: Model, component: int, expectation: Expectation) -> Model:
        """``model`` with an emptied component where the model explains the data worst."""
        raise NotImplementedError


@dataclass(frozen=True)
class Run(Generic[Model]):
    """The outcome of one start; ``expectation`` belongs to ``model``, the final one."""

    model: Model
    expectation: Expectation
    history: Floats
    converged: bool


def ascend(
    problem: Problem[Model],
    model: Model,
    tol: float | None,
    max_iter: int,
    monitor: Callable[[Model], object] | None = None,
) -> Run[Model]:
    """Alternate the two steps from ``model`` on until the objective settles.

    An emptied component is moved once, if that raises the objective; convergence is not judged in
    that step.

    Parameters
    ----------
    problem : Problem
        The two steps.
    model : Model
        Where to start.
    tol : float or None
        Tolerance of :meth:`Problem.settled`; None never stops early.
    max_iter : int
        Largest number of M-steps.
    monitor : callable, optional
        Called with the model after 0, 1, ... M-steps.
    """
    expectation = problem.expectation(model)
    history = [finite(expectation.objective)]
    if monitor is not None:
        monitor(model)
    converged, tried = False, set[int]()
    while len(history) <= max_iter and not converged:
        model = problem.maximisation(model, expectation)
        expectation = problem.expectation(model)
        empty = next((int(j) for j in problem.emptied(model) if j not in tried), None)
        if empty is not None:
            tried.add(empty)
            trial = problem.moved(model, empty, expectation)
            trial_expectation = problem.expectation(trial)
            if trial_expectation.objective > expectation.objective:
                model, expectation = trial, trial_expectation
        history.append(finite(expectation.objective))
        before, now = history[-2:]
        converged = tol is not None and empty is None and problem.settled(before, now, tol)
        if monitor is not None:
            monitor(model)
    return Run(model, expectation, np.array(history), converged)


class EMEstimator(MixtureClusterer):
    """What the estimators built on :func:`ascend` share: parameters, restarts, results."""

    n_components: int
    n_init: int
    tol: float | None
    max_iter: int
    covariance_floor: float

    model_: Any
    responsibilities_: Floats
    labels_: Integers
    log_likelihoods_: Floats
    lower_bound_: float
    history_: Floats
    n_iter_: int
    converged_: bool
    restart_objectives_: Floats
    timings_: dict[str, float]

    def _check_loop(self, *, positive_floor: bool) -> None:
        """Check the parameters that all have."""
        check_count("n_components", self.n_components)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter, 0)
        if self.tol is not None:
            check_number("tol", self.tol)
        check_number("covariance_floor", self.covariance_floor, positive=positive_floor)

    def _fit_starts(
        self,
        problem: Problem[Model],
        starts: Sequence[Callable[[], Model]],
        begun: float,
        monitor: Callable[[Model], object] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """Run from every start, keep the run with the highest objective, set the results.

        What was done since the time ``begun`` counts as a part of the starts.
        """

        def run(start: Callable[[], Model]) -> tuple[Run[Model], float, float]:
            at = time.perf_counter()
            model = start()
            started = time.perf_counter()
            ascended = ascend(problem, model, self.tol, self.max_iter, monitor)
            return ascended, started - at, time.perf_counter() - started

        prepared = time.perf_counter() - begun
        with single_threaded():
            runs, initial, rising = zip(*ordered_map(run, starts, n_jobs), strict=True)
        self.restart_objectives_ = np.array([run.history[-1] for run in runs])
        best = runs[int(self.restart_objectives_.argmax())]
        self.model_ = best.model
        self.responsibilities_ = best.expectation.responsibilities
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.log_likelihoods_ = best.expectation.log_likelihoods
        self.lower_bound_ = float(best.history[-1])
        self.history_ = best.history
        self.n_iter_ = len(best.history) - 1
        self.converged_ = best.converged
        self.timings_ = {"init": prepared + sum(initial), "em": sum(rising)}


class HierarchicalProblem(Problem[Model]):
    """Hierarchical EM; a subclass says what a family of distributions contributes.

    Parameters
    ----------
    base_weights : ndarray of shape (n_base,)
        Weights of the base components, sum 1. A base component of weight zero has no influence.
    virtual_samples : float
        ``N``.
    """

    def __init__(self, base_weights: Floats, virtual_samples: float) -> None:
        self.base_weights = base_weights
        self.present = base_weights > 0
        self.virtual_samples = virtual_samples

    def judge(self, model: Model) -> tuple[Floats, Any]:
        """Return ``l_ij`` (n_base, n_components) in nats and the statistics behind it."""
        raise NotImplementedError

    def maximised(self, model: Model, statistics: Any, shares: Floats) -> Model:
        """Return the components that maximise the expectation weighted by ``shares``.

        ``shares`` (n_base, n_components) are ``z_ij w_i``. A component whose shares are all zero
        keeps its parameters.
        """
        raise NotImplementedError

    def reseeded(self, model: Model, component: int, item: int) -> Model:
        """Return ``model`` with ``component`` replaced by base component ``item``."""
        raise NotImplementedError

    def weights_of(self, model: Any) -> Floats:
        """Return the mixture weights (n_components,)."""
        weights: Floats = model.weights
        return weights

    def with_weights(self, model: Any, weights: Floats) -> Model:
        """Return ``model`` with other mixture weights."""
        changed: Model = replace(model, weights=weights)
        return changed

    def expectation(self, model: Model) -> Expectation:
        """E-step: ``J``, ``z``, ``l``."""
        log_likelihoods, statistics = self.judge(model)
        counts = self.virtual_samples * self.base_weights
        responsibilities, evidence = assign(self.weights_of(model), log_likelihoods, counts)
        objective = float(evidence[self.present].sum())
        return Expectation(objective, responsibilities, log_likelihoods, statistics)

    def maximisation(self, model: Model, expectation: Expectation) -> Model:
        """M-step of the components, and the mean assignments as their weights."""
        responsibilities = expectation.responsibilities
        shares = responsibilities * self.base_weights[:, None]
        model = self.maximised(model, expectation.statistics, shares)
        return self.with_weights(model, responsibilities[self.present].mean(axis=0))

    def settled(self, before: float, now: float, tol: float) -> bool:
        """Whether the objective changed by less than ``tol`` relative to its size."""
        return abs(now - before) < tol * abs(before)

    def emptied(self, model: Model) -> Integers:
        """Components with less than half a base component's share."""
        return np.flatnonzero(self.weights_of(model) < 0.5 / self.present.sum())

    def moved(self, model: Model, component: int, expectation: Expectation) -> Model:
        """Place ``component`` on the base component of positive weight that is explained worst."""
        explained = self.base_weights * expectation.log_likelihoods.max(axis=1)
        worst = int(np.where(self.present, explained, np.inf).argmin())
        share = 1.0 / self.present.sum()
        weights = (1.0 - share) * self.weights_of(model)
        weights[component] += share
        return self.with_weights(self.reseeded(model, component, worst), weights)


class HierarchicalEstimator(EMEstimator):
    """What the estimators that reduce a mixture by hierarchical EM share."""

    virtual_samples: float | None

    def _check_base(self, weights: Floats, parameters: Sequence[bytes], what: str) -> float:
        """Check a base; return ``N``, and keep the virtual samples of a model for new ones."""
        check_available(self.n_components, weights)
        present = int((weights > 0).sum())
        total = SAMPLES_PER_MODEL * present
        if self.virtual_samples is not None:
            total = check_number("virtual_samples", self.virtual_samples, positive=True)
            if total > _MOST_SAMPLES:
                raise ValueError(
                    f"virtual_samples is {total:g}, expected at most {_MOST_SAMPLES:g}"
                )
        self._samples_per_model = total / present
        warn_of_duplicates("n_components", self.n_components, parameters, what)
        return total

    def _problem(self, base: Any, virtual_samples: float) -> HierarchicalProblem[Any]:
        raise NotImplementedError

    def _expectations(self, base: Any) -> tuple[Floats, Floats]:
        log_likelihoods, _ = self._problem(base, 1.0).judge(self.model_)
        return log_likelihoods, virtual_counts(base.weights, self._samples_per_model)
