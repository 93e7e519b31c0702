r"""The variational hierarchical EM algorithm for mixtures of hidden Markov models (VHEM-H3M).

A base mixture of :math:`K_b` HMMs is reduced to :math:`K_r` by maximising a lower bound on the
expected log-likelihood of virtual samples: :math:`N_i = N \omega_i^{(b)}` sequences of length
:math:`\tau` from base component :math:`i`, all :math:`N_i` assigned to the same reduced component
(Equation 2 of [1]_). Three nested bounds, each maximised in closed form, inside out:

.. math::
    \mathcal{L}_{GMM} &= \sum_m c^{(b)}_m \log \sum_\ell c^{(r)}_\ell
        \exp \mathbb{E}_{m}[\log \mathcal{N}(y; \mu_\ell, \Sigma_\ell)]
        && \text{(Equation 9)} \\
    \mathcal{L}_{HMM} &= \text{the recursion of } \texttt{vhem.\_recursion}
        && \text{(Equations 13-15)} \\
    J &= \sum_i \log \sum_j \omega^{(r)}_j \exp(N_i \mathcal{L}^{ij}_{HMM})
        && \text{(Equation 10)}

The M-step (Equations 17 and 18) takes the covariances about the new means. Base models pass
through in chunks that fit a processor's cache: bounds, assignments and statistics of a chunk are
computed in one go, and statistics only for pairs whose assignment is not zero.

References
----------
.. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm for
   clustering hidden Markov models", NIPS 2012.
.. [2] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "Clustering hidden Markov models with
   variational HEM", JMLR 15:697-747, 2014.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ._clustering import MixtureClusterer, virtual_counts
from ._compile import compiled
from ._inputs import as_h3m, bytes_of, check_resolution, warn_of_duplicates
from ._moments import gaussian_moments, natural_parameters
from ._numerics import log_or_floor, logsumexp_last, mixture_terms
from ._parallel import ordered_map, single_threaded
from ._random import RandomState, generator
from ._recursion import pair_bounds, pair_statistics
from ._update import Statistics, finite, maximise, regularised, total
from ._validation import check_count, check_number
from ._variational_starts import base_start, resized, split
from .models import H3M

if TYPE_CHECKING:
    from ._inputs import Models

__all__ = ["VHEM", "expected_log_likelihood"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Numbers in the table of a chunk (reduced Gaussians x base Gaussians): 1 MiB of float64.
_CHUNK_TERMS = 2**17
# M-steps between two splits of the "split" start.
_STEPS_PER_SPLIT = 10


@dataclass(frozen=True)
class _Chunk:
    """Some base HMMs, laid out with the model along the last axis.

    Attributes
    ----------
    moments : array, shape (F, Sb*Mb*n)
        Expected moments of the Gaussians, ordered (state, Gaussian, model).
    mixture_weights : array, shape (Sb, Mb, n)
        Mixture weights.
    startprob, transmat : arrays, shapes (Sb, n), (Sb, Sb, n)
        Chains.
    weights : array, shape (n,)
        Weights of the models.
    """

    moments: Floats
    mixture_weights: Floats
    startprob: Floats
    transmat: Floats
    weights: Floats


class _Expectation(NamedTuple):
    objective: float
    responsibilities: Floats  # (Kb, Kr)
    log_likelihoods: Floats  # (Kb, Kr)
    statistics: Statistics


class _Run(NamedTuple):
    model: H3M
    expectation: _Expectation
    history: list[float]
    converged: bool
    timings: dict[str, float]


class _Problem(NamedTuple):
    """What stays the same during a fit."""

    base: H3M
    chunks: list[_Chunk]
    centre: Floats
    virtual_samples: float
    length: int
    floor: float  # asked for
    inherited: Floats | float  # no reduced variance can be smaller
    reg_covar: float


def _models_last(array: Floats) -> Floats:
    """Copy with the first axis moved to the end.

    Always a copy: a read-only view would be another type to the kernels and compile them again.
    """
    return np.array(np.moveaxis(array, 0, -1), order="C")


def _lay_out(base: H3M, centre: Floats, full: bool, n_reduced_gaussians: int) -> list[_Chunk]:
    """Cut the base mixture into chunks."""
    per_model = base.n_states * base.n_mix
    n = max(8, min(64, _CHUNK_TERMS // (per_model * n_reduced_gaussians) // 8 * 8))
    d = base.n_features
    chunks = []
    for first in range(0, len(base), n):
        part = slice(first, first + n)
        means = np.moveaxis(base.means[part], 0, 2).reshape(-1, d) - centre
        covars = np.moveaxis(base.covars[part], 0, 2).reshape(-1, *base.covars.shape[3:])
        chunks.append(
            _Chunk(
                gaussian_moments(means, covars, full),
                _models_last(base.mixture_weights[part]),
                _models_last(base.startprob[part]),
                _models_last(base.transmat[part]),
                base.weights[part],
            )
        )
    return chunks


def _theta(model: H3M, centre: Floats) -> Floats:
    n_gaussians = model.mixture_weights.size
    return natural_parameters(
        model.mixture_weights.ravel(),
        model.means.reshape(n_gaussians, -1) - centre,
        model.covars.reshape(n_gaussians, *model.covars.shape[3:]),
    )


def _gmm_bounds(chunk: _Chunk, model: H3M, theta: Floats) -> tuple[Floats, Floats]:
    """Bound between emissions (Equation 9) and the optimal assignments of Gaussians.

    Returns
    -------
    bounds : array, shape (Kr, Sr, Sb, n)
        L_GMM.
    shares : array, shape (Kr, Sr, Mr, Sb, Mb, n)
        eta, the assignment of base Gaussian m to reduced Gaussian l; sums to 1 over l.
    """
    n_states, n_mix, n = chunk.mixture_weights.shape
    components, reduced_states, reduced_mix = model.mixture_weights.shape
    shares = (theta @ chunk.moments).reshape(components * reduced_states, reduced_mix, -1)
    log_sums = np.empty((components * reduced_states, shares.shape[2]))
    mixture_terms(shares, log_sums)
    log_sums = log_sums.reshape(components, reduced_states, n_states, n_mix, n)
    bounds = (log_sums * chunk.mixture_weights).sum(axis=3)
    return bounds, shares.reshape(components, reduced_states, reduced_mix, n_states, n_mix, n)


def _hmm_bounds(chunk: _Chunk, model: H3M, bounds: Floats, length: int) -> Floats:
    """L_HMM of all pairs, shape (n, Kr)."""
    n, components = chunk.weights.size, len(model)
    result = np.empty(components * n)
    pair_bounds(
        length,
        np.tile(np.arange(n), components),
        np.repeat(np.arange(components), n),
        bounds,
        chunk.startprob,
        chunk.transmat,
        model.startprob,
        model.transmat,
        result,
    )
    return np.ascontiguousarray(result.reshape(components, n).T)


@compiled(error_model="numpy")
def _weigh(shares: Any, occupancies: Any, mixture_weights: Any) -> None:
    """Turn eta into the weights of the M-step, ``z_ij omega_i nu_ij c_i eta``, in place.

    Parameters
    ----------
    shares : array, shape (Kr, Sr, Mr, Sb, Mb, n)
        eta; overwritten.
    occupancies : array, shape (Kr, Sr, Sb, n)
        ``z_ij omega_i nu_ij``.
    mixture_weights : array, shape (Sb, Mb, n)
        c of the base.
    """
    components, states, mixtures, base_states, base_mix, n = shares.shape
    for j in range(components):
        for r in range(states):
            for m in range(mixtures):
                for b in range(base_states):
                    for c in range(base_mix):
                        row = shares[j, r, m, b, c]
                        for i in range(n):
                            row[i] *= occupancies[j, r, b, i] * mixture_weights[b, c, i]


def _expect_chunk(
    chunk: _Chunk, model: H3M, theta: Floats, virtual_samples: float, length: int
) -> _Expectation:
    """E-step and statistics of one chunk."""
    bounds, shares = _gmm_bounds(chunk, model, theta)
    log_likelihoods = _hmm_bounds(chunk, model, bounds, length)
    counts = virtual_samples * chunk.weights
    joint = log_or_floor(model.weights) + counts[:, None] * log_likelihoods
    evidence = logsumexp_last(joint)
    responsibilities = np.exp(joint - evidence[:, None])
    present = chunk.weights > 0

    # Statistics need only the pairs with some assignment; often one per base model.
    gains = (responsibilities * chunk.weights[:, None]).T
    pair_reduced, pair_base = np.divmod(np.flatnonzero(gains > 0), chunk.weights.size)
    occupancies = np.zeros_like(bounds)
    start, transitions = np.zeros_like(model.startprob), np.zeros_like(model.transmat)
    pair_statistics(
        length,
        pair_base,
        pair_reduced,
        bounds,
        chunk.startprob,
        chunk.transmat,
        model.startprob,
        model.transmat,
        gains[pair_reduced, pair_base],
        occupancies,
        start,
        transitions,
    )
    _weigh(shares, occupancies, chunk.mixture_weights)
    sums = _moment_sums(chunk, shares, gains > 0)
    return _Expectation(
        float(evidence[present].sum()),
        responsibilities,
        log_likelihoods,
        Statistics(responsibilities[present].sum(axis=0), start, transitions, sums),
    )


def _moment_sums(chunk: _Chunk, weights: Floats, active: NDArray[np.bool_]) -> Floats:
    """Weighted moments of every reduced Gaussian, shape (Kr*Sr*Mr, F).

    Parameters
    ----------
    chunk : _Chunk
        The base models.
    weights : array, shape (Kr, Sr, Mr, Sb, Mb, n)
        From :func:`_weigh`.
    active : array of bool, shape (Kr, n)
        Where they are not zero.
    """
    components, states, mixtures, *_, n = weights.shape
    n_moments = len(chunk.moments)
    if active.all():
        return weights.reshape(components * states * mixtures, -1) @ chunk.moments.T
    sums = np.zeros((components, states * mixtures, n_moments))
    moments = chunk.moments.reshape(n_moments, -1, n)
    for j in np.flatnonzero(active.any(axis=1)):
        members = np.flatnonzero(active[j])
        left = weights[j].reshape(states * mixtures, -1, n)
        right = moments
        if len(members) < n:
            left, right = left[:, :, members], right[:, :, members]
        sums[j] = left.reshape(len(left), -1) @ right.reshape(n_moments, -1).T
    return sums.reshape(-1, n_moments)


def _expect(problem: _Problem, model: H3M, n_jobs: int | None) -> _Expectation:
    work = functools.partial(
        _expect_chunk,
        model=model,
        theta=_theta(model, problem.centre),
        virtual_samples=problem.virtual_samples,
        length=problem.length,
    )
    objective = 0.0
    responsibilities, log_likelihoods = [], []

    def statistics() -> Iterable[Statistics]:
        nonlocal objective
        for part in ordered_map(work, problem.chunks, n_jobs):
            objective += part.objective
            responsibilities.append(part.responsibilities)
            log_likelihoods.append(part.log_likelihoods)
            yield part.statistics

    summed = functools.reduce(total, statistics())
    return _Expectation(
        objective, np.concatenate(responsibilities), np.concatenate(log_likelihoods), summed
    )


def expected_log_likelihood(base: Models, reduced: Models, length: int) -> Floats:
    r"""Lower bound on the expected log-likelihood of sequences of one HMM under another.

    Parameters
    ----------
    base : H3M, HMM, fitted hmmlearn model, or list of these
        Where the sequences come from.
    reduced : likewise
        Which models judge them.
    length : int
        Length of the sequences, tau.

    Returns
    -------
    array, shape (K_b, K_r)
        :math:`\mathcal{L}_{HMM}^{ij} \le \mathbb{E}_{y_{1:\tau} \sim i} [\log p(y_{1:\tau} \mid
        j)]` in nats, Equation 13 of the NIPS paper.

    Notes
    -----
    The bound is exact if the reduced HMM has a single state with a single Gaussian. Otherwise it
    can lie below the expectation, also for a model with itself, and the bound of a model with
    itself need not be the largest of its row.

    Examples
    --------
    >>> import numpy as np
    >>> from vhem import HMM
    >>> point = HMM([1.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1.0]]])
    >>> entropy = 0.5 * np.log(2 * np.pi * np.e)
    >>> bool(np.isclose(expected_log_likelihood([point], [point], length=7), -7 * entropy)[0, 0])
    True
    """
    base, reduced = as_h3m(base, "base"), as_h3m(reduced, "reduced")
    check_count("length", length)
    if base.n_features != reduced.n_features:
        raise ValueError(f"base has {base.n_features} features, reduced has {reduced.n_features}")
    centre = _centre(base)
    _check_resolution(reduced, centre)
    theta = _theta(reduced, centre)
    chunks = _lay_out(base, centre, reduced.covariance_type == "full", len(theta))
    with single_threaded():
        rows = [
            _hmm_bounds(chunk, reduced, _gmm_bounds(chunk, reduced, theta)[0], length)
            for chunk in chunks
        ]
    return np.concatenate(rows)


class VHEM(MixtureClusterer):
    r"""Reduce a mixture of HMMs to a smaller one: clusters of HMMs and a new HMM for each.

    Parameters
    ----------
    n_components : int, default 2
        Number of reduced HMMs, K_r.
    n_states : int, optional
        Hidden states of each; that of the base by default.
    n_mix : int, optional
        Gaussians of each state; that of the base by default.
    virtual_samples : float, optional
        The paper's N: base component i stands for ``N * base.weights[i]`` virtual sequences. It
        sets how hard the assignments are and nothing else. Default 10,000 per base component of
        positive weight (the extended paper's choice for motion), which makes them practically hard.
    virtual_length : int, default 10
        Length of the virtual sequences, tau.
    init : {"base", "split"} or H3M, default "base"
        Start. ``"base"``: random base components of positive weight. ``"split"``: one component,
        the heaviest split in two until there are enough. An H3M: exactly this model, once.
    n_init : int, default 10
        Number of starts; the one with the largest objective is kept.
    tol : float or None, default 1e-5
        Stop when the objective changes by less than this relative to its size. None runs
        ``max_iter`` M-steps.
    max_iter : int, default 100
        Largest number of M-steps.
    covariance_floor : float, default 0
        Smallest variance, or smallest eigenvalue of a covariance matrix, in squared data units.
        The reduced covariances are never smaller than the average of the base's (Equation 18), so
        none is needed unless the base itself is nearly singular.
    reg_covar : float, default 0
        Added to every variance of the start and after every M-step, as the authors' toolbox does
        (there 1e-3). With it the objective may fall, and levels of a hierarchy inflate.
    n_jobs : int or None, default None
        Threads; -1 for all processors. It changes no number.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed of the starts.

    Attributes
    ----------
    model_ : H3M
        The reduced mixture.
    responsibilities_ : array, shape (K_b, K_r)
        Assignments, z of Equation 10.
    labels_ : array of int, shape (K_b,)
        Component of largest assignment.
    log_likelihoods_ : array, shape (K_b, K_r)
        L_HMM of every pair, nats per virtual sequence.
    lower_bound_ : float
        Objective of the final model, nats.
    history_ : array, shape (n_iter_ + 1,)
        Objective after 0, 1, ... M-steps. It never falls if ``reg_covar`` is 0.
    n_iter_ : int
        Number of M-steps done.
    converged_ : bool
        Whether ``tol`` was reached.
    restart_objectives_ : array, shape (number of starts,)
        Final objective of every start.
    timings_ : dict of str to float
        Seconds, summed over the starts: ``"init"`` (laying out the base, making the starts) and
        ``"em"``.

    Notes
    -----
    A base component of weight zero changes nothing; it gets the assignments ``model_.weights``.

    ``predict`` assigns a new HMM as Equation 10 does, by ``log omega_j + N_i L_HMM^ij`` with the
    :math:`N_i` of an average base component, and a sequence by its log-likelihoods and the
    weights. ``score`` of models is the objective for one virtual sequence:
    ``score(base)`` is ``lower_bound_ / N``.

    A component that is left with less than half a base HMM (weight below 1 / (2 K_b)) is placed
    once on the base HMM that is explained worst, if that raises the objective.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm
       for clustering hidden Markov models", NIPS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from vhem import HMM, VHEM
    >>> rng = np.random.default_rng(0)
    >>> def hmm(level):
    ...     means = np.array([[[level]], [[level + 1.0]]]) + 0.1 * rng.normal(size=(2, 1, 1))
    ...     return HMM(
    ...         [0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], np.ones((2, 1)), means, np.ones((2, 1, 1))
    ...     )
    >>> base = [hmm(level) for level in [0.0, 0.0, 0.0, 20.0, 20.0]]
    >>> vhem = VHEM(n_components=2, random_state=0).fit(base)
    >>> vhem.labels_ == vhem.labels_[0]
    array([ True,  True,  True, False, False])
    >>> bool(vhem.predict(hmm(21.0)) == vhem.labels_[-1])
    True
    >>> vhem.model_
    H3M(n_components=2, n_states=2, n_mix=1, n_features=1, covariance_type='diag')
    """

    model_: H3M
    responsibilities_: Floats
    labels_: Integers
    log_likelihoods_: Floats
    lower_bound_: float
    history_: Floats
    n_iter_: int
    converged_: bool
    restart_objectives_: Floats
    timings_: dict[str, float]

    def __init__(
        self,
        n_components: int = 2,
        n_states: int | None = None,
        n_mix: int | None = None,
        *,
        virtual_samples: float | None = None,
        virtual_length: int = 10,
        init: str | H3M = "base",
        n_init: int = 10,
        tol: float | None = 1e-5,
        max_iter: int = 100,
        covariance_floor: float = 0.0,
        reg_covar: float = 0.0,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_states = n_states
        self.n_mix = n_mix
        self.virtual_samples = virtual_samples
        self.virtual_length = virtual_length
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.covariance_floor = covariance_floor
        self.reg_covar = reg_covar
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        base: Models,
        y: object = None,
        *,
        monitor: Callable[[H3M], object] | None = None,
    ) -> Self:
        """Reduce a mixture.

        Parameters
        ----------
        base : H3M, HMM, fitted hmmlearn model, or list of these
            The base mixture. The items of a list weigh the same.
        y : ignored
        monitor : callable, optional
            Called with the model after 0, 1, ... M-steps of every start, once its objective is
            known; models never change, so it may keep them. What it returns is ignored, and its
            time counts in ``timings_``. With several starts and ``n_jobs`` the calls of different
            starts alternate.

        Returns
        -------
        VHEM
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter is malformed or there are fewer base components of positive weight than
            ``n_components``.
        """
        begun = time.perf_counter()
        base = as_h3m(base, "base")
        self._check_parameters(base)
        states = base.n_states if self.n_states is None else self.n_states
        mixtures = base.n_mix if self.n_mix is None else self.n_mix
        problem = self._problem(base, self.n_components * states * mixtures)
        rng = generator(self.random_state)

        def run(child: np.random.Generator) -> _Run:
            at = time.perf_counter()
            model = self._start(problem, states, mixtures, child)
            started = time.perf_counter()
            ascended = self._ascend(problem, model, self.max_iter, self.tol, inner_jobs, monitor)
            seconds = {"init": started - at, "em": time.perf_counter() - started}
            return ascended._replace(timings=seconds)

        n_starts = 1 if isinstance(self.init, H3M) else self.n_init
        # Threads go to the starts if there are several, otherwise to the chunks of the only one.
        outer_jobs, inner_jobs = (self.n_jobs, None) if n_starts > 1 else (None, self.n_jobs)
        ready = time.perf_counter()
        with single_threaded():
            runs = list(ordered_map(run, rng.spawn(n_starts), outer_jobs))
        objectives = np.array([run.history[-1] for run in runs])
        best = runs[int(np.argmax(objectives))]

        self.model_ = best.model
        self.responsibilities_ = best.expectation.responsibilities
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.log_likelihoods_ = best.expectation.log_likelihoods
        self.lower_bound_ = best.history[-1]
        self.history_ = np.array(best.history)
        self.n_iter_ = len(best.history) - 1
        self.converged_ = best.converged
        self.restart_objectives_ = objectives
        self.timings_ = {
            "init": ready - begun + sum(run.timings["init"] for run in runs),
            "em": sum(run.timings["em"] for run in runs),
        }
        return self

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        bounds = expected_log_likelihood(base, self.model_, self.virtual_length)
        return bounds, virtual_counts(base.weights, self._samples_per_model)

    def _check_parameters(self, base: H3M) -> None:
        for name in ("n_components", "virtual_length", "n_init"):
            check_count(name, getattr(self, name))
        for name in ("n_states", "n_mix"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_count("max_iter", self.max_iter, 0)
        if self.tol is not None:
            check_number("tol", self.tol)
        check_number("covariance_floor", self.covariance_floor)
        check_number("reg_covar", self.reg_covar)
        present = int((base.weights > 0).sum())
        if self.n_components > present:
            raise ValueError(
                f"n_components is {self.n_components}, but base has only {present} components of "
                "positive weight"
            )
        self._total_samples(self.virtual_samples, base.weights)
        warn_of_duplicates("n_components", self.n_components, bytes_of(base), "base models")
        if isinstance(self.init, H3M):
            for name, found, wanted in (
                ("components", len(self.init), self.n_components),
                ("states", self.init.n_states, self.n_states or base.n_states),
                ("Gaussians per state", self.init.n_mix, self.n_mix or base.n_mix),
                ("features", self.init.n_features, base.n_features),
            ):
                if found != wanted:
                    raise ValueError(f"init has {found} {name}, expected {wanted}")
        elif self.init not in ("base", "split"):
            raise ValueError(f"init is {self.init!r}, expected 'base', 'split' or an H3M")

    def _problem(self, base: H3M, n_reduced_gaussians: int) -> _Problem:
        kind = self.init.covariance_type if isinstance(self.init, H3M) else base.covariance_type
        centre = _centre(base)
        _check_resolution(base, centre)
        return _Problem(
            base,
            _lay_out(base, centre, kind == "full", n_reduced_gaussians),
            centre,
            self._total_samples(self.virtual_samples, base.weights),
            self.virtual_length,
            float(self.covariance_floor),
            _smallest_variances(base, kind == "full"),
            float(self.reg_covar),
        )

    def _start(
        self, problem: _Problem, states: int, mixtures: int, rng: np.random.Generator
    ) -> H3M:
        if isinstance(self.init, H3M):
            return self.init
        if self.init == "base":
            return base_start(problem.base, self.n_components, states, mixtures, rng)
        model = base_start(problem.base, 1, states, mixtures, rng)
        while len(model) < self.n_components:
            model = self._ascend(problem, model, _STEPS_PER_SPLIT, None, None).model
            model = split(model, rng)
        return model

    def _ascend(
        self,
        problem: _Problem,
        model: H3M,
        max_iter: int,
        tol: float | None,
        n_jobs: int | None,
        monitor: Callable[[H3M], object] | None = None,
    ) -> _Run:
        """EM from a start."""
        model = regularised(model, problem.floor, problem.reg_covar)
        expectation = _expect(problem, model, n_jobs)
        history = [finite(expectation.objective)]
        if monitor is not None:
            monitor(model)
        converged = False
        replaced: set[int] = set()
        floor = np.maximum(problem.floor, problem.inherited)
        while len(history) <= max_iter and not converged:
            model = maximise(
                expectation.statistics, model, problem.centre, floor, problem.reg_covar
            )
            expectation = _expect(problem, model, n_jobs)
            empty = _first_empty(model, problem, replaced)
            if empty is not None:
                replaced.add(empty)
                trial = _refilled(model, empty, expectation, problem)
                trial_expectation = _expect(problem, trial, n_jobs)
                if trial_expectation.objective > expectation.objective:
                    model, expectation = trial, trial_expectation
            change = abs(expectation.objective - history[-1])
            history.append(finite(expectation.objective))
            converged = tol is not None and empty is None and change < tol * abs(history[-2])
            if monitor is not None:
                monitor(model)
        return _Run(model, expectation, history, converged, {})


def _first_empty(model: H3M, problem: _Problem, replaced: set[int]) -> int | None:
    """Component with less than half a base HMM that has not been dealt with yet."""
    present = int((problem.base.weights > 0).sum())
    for j in np.flatnonzero(model.weights < 0.5 / present):
        if int(j) not in replaced:
            return int(j)
    return None


def _refilled(model: H3M, j: int, expectation: _Expectation, problem: _Problem) -> H3M:
    """Place component ``j`` on the base HMM of positive weight that is explained worst."""
    base = problem.base
    explained = np.where(
        base.weights > 0, base.weights * expectation.log_likelihoods.max(axis=1), np.inf
    )
    i = int(explained.argmin())
    hmm = resized(base, i, model.n_states, model.n_mix, np.random.default_rng(i))
    arrays = {
        name: getattr(model, name).copy()
        for name in ("weights", "startprob", "transmat", "mixture_weights", "means", "covars")
    }
    share = 1.0 / (base.weights > 0).sum()
    arrays["weights"] *= 1.0 - share
    arrays["weights"][j] += share
    covars = hmm.covars
    if model.covariance_type == "diag" and hmm.covariance_type == "full":
        covars = np.diagonal(covars, axis1=-2, axis2=-1)
    elif model.covariance_type == "full" and hmm.covariance_type == "diag":
        covars = covars[..., None] * np.eye(base.n_features)
    for name, value in (
        ("startprob", hmm.startprob),
        ("transmat", hmm.transmat),
        ("mixture_weights", hmm.weights),
        ("means", hmm.means),
        ("covars", covars),
    ):
        arrays[name][j] = value
    trial = H3M(**arrays)
    return regularised(trial, problem.floor, 0.0)


def _occurring(h3m: H3M) -> NDArray[np.bool_]:
    """Which Gaussians have weight, shape (K, S, M)."""
    return (h3m.mixture_weights * h3m.weights[:, None, None]) > 0


def _centre(base: H3M) -> Floats:
    """Mean of the base means that count; subtracted before second moments are taken."""
    return base.means[_occurring(base)].mean(axis=0)


def _check_resolution(h3m: H3M, centre: Floats) -> None:
    occurring = _occurring(h3m)
    covars = h3m.covars[occurring]
    variances = covars if covars.ndim == 2 else np.linalg.eigvalsh(covars)[:, :1]
    check_resolution(h3m.means[occurring] - centre, variances)


def _smallest_variances(base: H3M, full: bool) -> Floats | float:
    """Variances (diagonal) or eigenvalue (full) that no average of base covariances undercuts.

    By Equation 18 no reduced covariance does either; the M-step uses it against rounding only.
    """
    covars = base.covars[_occurring(base)]
    if not full:
        if covars.ndim == 3:
            covars = np.diagonal(covars, axis1=1, axis2=2)
        return covars.min(axis=0)
    if covars.ndim == 2:
        return float(covars.min())
    return float(np.linalg.eigvalsh(covars)[:, 0].min())
