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
        && \text{(Equations 13 and 14)} \\
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
from collections.abc import Callable
from typing import Self

import numpy as np

from ._clustering import virtual_counts
from ._em import HierarchicalEstimator, ascend
from ._inputs import Models, as_h3m, bytes_of
from ._parallel import single_threaded
from ._random import RandomState, generator
from ._types import Floats
from ._validation import check_count, check_number
from ._variational import (
    VariationalProblem,
    check_moments,
    gmm_bounds,
    hmm_bounds,
    lay_out,
    mean_of_means,
    natural_parameters_of,
)
from ._variational_starts import base_start, split
from .models import H3M

__all__ = ["VHEM", "expected_log_likelihood"]

# M-steps between two splits of the "split" start.
_STEPS_PER_SPLIT = 10


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
    ndarray of shape (K_b, K_r)
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
    centre = mean_of_means(base)
    check_moments(reduced, centre)
    theta = natural_parameters_of(reduced, centre)
    chunks = lay_out(base, centre, reduced.covariance_type == "full", len(theta))
    with single_threaded():
        rows = [
            hmm_bounds(chunk, reduced, gmm_bounds(chunk, reduced, theta)[0], length)
            for chunk in chunks
        ]
    return np.concatenate(rows)


class VHEM(HierarchicalEstimator):
    r"""Reduce a mixture of HMMs to a smaller one: clusters of HMMs and a new HMM for each.

    Parameters
    ----------
    n_components : int, default=2
        Number of reduced HMMs, K_r.
    n_states : int, optional
        Hidden states of each; that of the base by default.
    n_mix : int, optional
        Gaussians of each state; that of the base by default.
    virtual_samples : float, optional
        The paper's N: base component i stands for ``N * base.weights[i]`` virtual sequences. It
        sets how hard the assignments are and nothing else. Default 10,000 per base component of
        positive weight (the extended paper's choice for motion), which makes them practically hard.
    virtual_length : int, default=10
        Length of the virtual sequences, tau.
    init : {"base", "split"} or H3M, default="base"
        Start. ``"base"``: random base components of positive weight. ``"split"``: one component,
        the heaviest split in two until there are enough. An H3M: exactly this model, once.
    n_init : int, default=10
        Number of starts; the one with the largest objective is kept.
    tol : float or None, default=1e-5
        Stop when the objective changes by less than this relative to its size. None runs
        ``max_iter`` M-steps.
    max_iter : int, default=100
        Largest number of M-steps.
    covariance_floor : float, default=0
        Smallest variance, or smallest eigenvalue of a covariance matrix, in squared data units.
        The reduced covariances are never smaller than the average of the base's (Equation 18), so
        none is needed unless the base itself is nearly singular.
    reg_covar : float, default=0
        Added to every variance of the start and after every M-step, as the authors' toolbox does
        (there 1e-3). With it the objective may fall, and levels of a hierarchy inflate.
    n_jobs : int or None, default=None
        Threads; -1 for all processors. It changes no number.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    model_ : H3M
        The reduced mixture.
    responsibilities_ : ndarray of shape (K_b, K_r)
        Assignments, z of Equation 10.
    labels_ : ndarray of shape (K_b,), int
        Component of largest assignment.
    log_likelihoods_ : ndarray of shape (K_b, K_r)
        L_HMM of every pair, nats per virtual sequence.
    lower_bound_ : float
        Objective of the final model, nats.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective after 0, 1, ... M-steps. It never falls if ``reg_covar`` is 0.
    n_iter_ : int
        Number of M-steps done.
    converged_ : bool
        Whether ``tol`` was reached.
    restart_objectives_ : ndarray of shape (number of starts,)
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
        samples = self._check_base(base.weights, bytes_of(base), "base models")
        # Threads go to the starts if there are several, otherwise to the chunks of the only one.
        n_starts = 1 if isinstance(self.init, H3M) else self.n_init
        starts_jobs, chunks_jobs = (self.n_jobs, None) if n_starts > 1 else (None, self.n_jobs)
        problem = self._problem(base, samples, chunks_jobs)
        children = generator(self.random_state).spawn(n_starts)
        starts = [functools.partial(self._start, problem, child) for child in children]
        self._fit_starts(problem, starts, begun, monitor, starts_jobs)
        return self

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        bounds = expected_log_likelihood(base, self.model_, self.virtual_length)
        return bounds, virtual_counts(base.weights, self._samples_per_model)

    def _check_parameters(self, base: H3M) -> None:
        self._check_loop(positive_floor=False)
        check_number("reg_covar", self.reg_covar)
        check_count("virtual_length", self.virtual_length)
        for name in ("n_states", "n_mix"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
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

    def _problem(
        self, base: H3M, virtual_samples: float, n_jobs: int | None = None
    ) -> VariationalProblem:
        kind = self.init.covariance_type if isinstance(self.init, H3M) else base.covariance_type
        states, mixtures = self._sizes(base)
        check_moments(base, mean_of_means(base))
        return VariationalProblem(
            base,
            kind == "full",
            self.n_components * states * mixtures,
            virtual_samples=virtual_samples,
            length=self.virtual_length,
            floor=float(self.covariance_floor),
            reg_covar=float(self.reg_covar),
            n_jobs=n_jobs,
        )

    def _sizes(self, base: H3M) -> tuple[int, int]:
        """Return the states of a reduced HMM, and the Gaussians of a state."""
        states = base.n_states if self.n_states is None else self.n_states
        return states, base.n_mix if self.n_mix is None else self.n_mix

    def _start(self, problem: VariationalProblem, rng: np.random.Generator) -> H3M:
        if isinstance(self.init, H3M):
            return problem.start(self.init)
        sizes = self._sizes(problem.base)
        if self.init == "base":
            return problem.start(base_start(problem.base, self.n_components, *sizes, rng))
        model = problem.start(base_start(problem.base, 1, *sizes, rng))
        while len(model) < self.n_components:
            model = split(ascend(problem, model, None, _STEPS_PER_SPLIT).model, rng)
            model = problem.start(model)
        return model
