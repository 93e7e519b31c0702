r"""Hierarchical EM for Gaussian mixtures (HEM-GMM): many Gaussians into few.

Vasconcelos and Lippman's algorithm [1]_, and the model of the bag-of-features baseline in music
tagging [2]_. Base Gaussian ``p`` of weight ``w_p`` stands for ``N w_p`` virtual points, all of
them assigned to one reduced Gaussian ``q``:

.. math::

   E_{pq} &= -\tfrac12 \bigl[d \log 2\pi + \log|\Sigma_q| + \operatorname{tr} \Sigma_q^{-1}
             (\Sigma_p + (\mu_p - \mu_q)(\mu_p - \mu_q)^T)\bigr] \\
   z_{pq} &\propto \omega_q \, e^{N w_p E_{pq}}, \qquad
   \omega_q = \operatorname{mean}_p z_{pq},

and each reduced Gaussian takes the mean and the total covariance of the base Gaussians in it,
weighted by :math:`z_{pq} w_p`. This is what the variational hierarchical EM algorithm of
:class:`vhem.VHEM` becomes when sequences have one observation and HMMs one state and one Gaussian;
unlike there, the Gaussians of one song need not stay together here.

References
----------
.. [1] N. Vasconcelos, A. Lippman, "Learning mixture hierarchies", NIPS 1998.
.. [2] D. Turnbull, L. Barrington, D. Torres, G. Lanckriet, "Semantic annotation and retrieval of
   music and sound effects", IEEE Trans. Audio, Speech and Language Processing 16(2), 2008.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import NamedTuple, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans

from .._clustering import assign
from .._em import HierarchicalEstimator, HierarchicalProblem
from .._inputs import Models, as_h3m, check_resolution, checked_weights
from .._moments import (
    gaussian_moments,
    natural_parameters,
    parameters_from_moments,
    point_moments,
)
from .._random import RandomState, draw_base, generator
from .._types import Floats, Integers
from .._update import bounded_covars
from .._validation import LARGEST_SQUARABLE, check_count, check_covariances, frozen_array
from ..likelihood import Densities, check_sequences
from ..models import H3M, HMM

__all__ = ["HEMGMM"]


class _Bag(NamedTuple):
    """Base Gaussians, and what they belong to: models, or each to itself."""

    weights: Floats  # (n_base,)
    means: Floats  # (n_base, d)
    covars: Floats  # (n_base, d) or (n_base, d, d)
    owners: Integers  # (n_base,)
    shares: Floats  # of each Gaussian in its owner, (n_base,)

    def pooled(self, rows: Floats) -> Floats:
        """Return the mean of the Gaussians' rows for each owner, weighted by the shares."""
        result = np.zeros((self.owners[-1] + 1, rows.shape[1]))
        np.add.at(result, self.owners, self.shares[:, None] * rows)
        return result


def _bag_of(h3m: H3M, length: int) -> _Bag:
    """Return the Gaussians that sequences of HMMs come from, whatever their order in time."""
    visits, state = np.zeros_like(h3m.startprob), h3m.startprob
    for _ in range(length):
        visits += state
        state = (state[:, None] @ h3m.transmat)[:, 0]
    shares = (visits / length)[..., None] * h3m.mixture_weights
    per_model = shares[0].size
    return _Bag(
        (h3m.weights[:, None, None] * shares).ravel(),
        h3m.means.reshape(-1, h3m.n_features),
        h3m.covars.reshape(-1, *h3m.covars.shape[3:]),
        np.repeat(np.arange(len(h3m)), per_model),
        shares.ravel(),
    )


def _bag_of_arrays(weights: ArrayLike | None, means: ArrayLike, covars: ArrayLike) -> _Bag:
    base_means = frozen_array("means", means, ("n_base", "d"), LARGEST_SQUARABLE)
    n_base, n_features = base_means.shape
    full = np.ndim(covars) == 3
    shape = (n_base, n_features, n_features) if full else (n_base, n_features)
    base_covars = frozen_array("covars", covars, shape)
    check_covariances("covars", base_covars, full)
    base_weights = checked_weights(weights, n_base)
    return _Bag(base_weights, base_means, base_covars, np.arange(n_base), np.ones(n_base))


class _GaussianProblem(HierarchicalProblem[HMM]):
    """The two steps of HEM-GMM, whose models are one-state HMMs."""

    def __init__(self, bag: _Bag, virtual_samples: float, covariance_floor: float) -> None:
        super().__init__(bag.weights, virtual_samples)
        means, covars = bag.means, bag.covars
        self.means = means
        self.covars = covars
        self.full = covars.ndim == 3
        self.covariance_floor = covariance_floor
        self.centre = means.mean(axis=0)
        variances = np.linalg.eigvalsh(covars)[:, :1] if self.full else covars
        check_resolution(means - self.centre, variances)
        self.moments = gaussian_moments(means - self.centre, covars, self.full)

    def judge(self, model: HMM) -> tuple[Floats, None]:
        means, covars = model.means[0], model.covars[0]
        theta = natural_parameters(np.ones(len(means)), means - self.centre, covars)
        return self.moments.T @ theta.T, None

    def maximised(self, model: HMM, statistics: None, shares: Floats) -> HMM:
        means, covars = model.means[0].copy(), model.covars[0].copy()
        occupied = shares.sum(axis=0) > 0
        sums = shares[:, occupied].T @ self.moments.T
        new_means, new_covars = parameters_from_moments(sums, self.full)
        means[occupied] = new_means + self.centre
        covars[occupied] = bounded_covars(new_covars, self.full, self.covariance_floor)
        return one_state_model(model.weights[0], means, covars)

    def reseeded(self, model: HMM, component: int, item: int) -> HMM:
        means, covars = model.means[0].copy(), model.covars[0].copy()
        means[component], covars[component] = self.means[item], self.covars[item]
        return one_state_model(model.weights[0], means, covars)

    def weights_of(self, model: HMM) -> Floats:
        return model.weights[0]

    def with_weights(self, model: HMM, weights: Floats) -> HMM:
        return one_state_model(weights, model.means[0], model.covars[0])


def one_state_model(weights: Floats, means: Floats, covars: Floats) -> HMM:
    """Return a Gaussian mixture as the hidden Markov model that never changes state."""
    return HMM(np.ones(1), np.ones((1, 1)), weights[None], means[None], covars[None])


class HEMGMM(HierarchicalEstimator):
    r"""Reduce a mixture of many Gaussians to one of few by hierarchical EM.

    Maximises

    .. math:: J = \sum_p \log \sum_q \omega_q e^{N w_p E_{pq}};

    the symbols are those of the module's header.

    From HMMs it takes all Gaussians as one bag. The Gaussian :math:`m` of state :math:`\beta` of
    HMM :math:`i` weighs :math:`\omega_i \, \bar p_{i \beta} \, c_{i \beta m}`, where
    :math:`\bar p_{i \beta}` is the mean probability of the state over a virtual sequence: the
    order in time plays no part. An HMM's row of ``responsibilities_`` is the mean of those of its
    Gaussians, weighted by :math:`\bar p_{i \beta} c_{i \beta m}`.

    Parameters
    ----------
    n_components : int, default=16
        Number of Gaussians in the reduced mixture, at most the number of base Gaussians.
    virtual_samples : float, optional
        ``N``, virtual points in all; base Gaussian ``p`` stands for ``N w_p`` of them. Default
        10,000 per base Gaussian, which makes the assignments practically hard.
    virtual_length : int, default=10
        ``tau``, length of the virtual sequences of an HMM; of no account for other bases.
    init : {"kmeans", "base"} or HMM, default="kmeans"
        Start: from a k-means clustering of the base means; from ``n_components`` base Gaussians
        of positive weight drawn at random; or from a given mixture (an HMM with one state).
    n_init : int, default=10
        Number of starts of which the one with the highest objective is kept. A given mixture is
        started from once.
    tol : float or None, default=1e-06
        The run has converged when the objective changes by less than ``tol`` relative to its
        size. ``None`` never stops early.
    max_iter : int, default=100
        Largest number of M-steps of a run.
    covariance_floor : float, default=1e-06
        Smallest variance (diagonal) or eigenvalue (full) of a reduced covariance.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness of the starts.

    Attributes
    ----------
    model_ : HMM
        The reduced mixture, as an HMM with one state: ``model_.weights[0]``, ``model_.means[0]``,
        ``model_.covars[0]``; its ``score_samples`` is the log-density of a bag of observations.
    responsibilities_ : ndarray of shape (n_base, n_components)
        ``z_pq``, for ``model_``; of each HMM if the base are HMMs, otherwise of each Gaussian.
    labels_ : ndarray of shape (n_base,), int
        Most probable component of each HMM or base Gaussian.
    log_likelihoods_ : ndarray of shape (n_base, n_components)
        ``E_pq`` in nats, for ``model_``; of an HMM the mean of those of its Gaussians.
    lower_bound_, history_, n_iter_, converged_, restart_objectives_, timings_
        As of :class:`vhem.VHEM`.

    Notes
    -----
    ``predict`` gives an HMM, or a sequence, to the component that takes the largest part of its
    Gaussians, or frames. ``score`` of HMMs is the objective for one virtual point.

    Examples
    --------
    >>> import numpy as np
    >>> means = np.array([[0.0], [0.2], [9.0], [9.2]])
    >>> hem = HEMGMM(2, random_state=0).fit(np.ones(4), means, np.ones((4, 1)))
    >>> bool(hem.labels_[0] == hem.labels_[1] != hem.labels_[2] == hem.labels_[3])
    True
    >>> np.sort(hem.model_.means[0].ravel()).round(2)
    array([0.1, 9.1])
    """

    model_: HMM

    def __init__(
        self,
        n_components: int = 16,
        *,
        virtual_samples: float | None = None,
        virtual_length: int = 10,
        init: str | HMM = "kmeans",
        n_init: int = 10,
        tol: float | None = 1e-6,
        max_iter: int = 100,
        covariance_floor: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.virtual_samples = virtual_samples
        self.virtual_length = virtual_length
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.covariance_floor = covariance_floor
        self.random_state = random_state

    @overload
    def fit(self, X: Models, y: object = None, covars: None = None) -> Self: ...

    @overload
    def fit(self, X: ArrayLike | None, y: ArrayLike, covars: ArrayLike) -> Self: ...

    def fit(
        self, X: Models | ArrayLike | None, y: object = None, covars: ArrayLike | None = None
    ) -> Self:
        """Reduce the base mixture: ``fit(models)`` or ``fit(weights, means, covars)``.

        Parameters
        ----------
        X : H3M, HMM, fitted hmmlearn model, or list of these
            Models whose Gaussians are the base. If ``covars`` is given, instead the base weights,
            array-like of shape (n_base,), normalised here; None for equal ones. A Gaussian of
            weight zero has no influence.
        y : ignored
            If ``covars`` is given, the base means, array-like of shape (n_base, d).
        covars : array-like of shape (n_base, d) or (n_base, d, d), optional
            Base variances or covariance matrices; the reduced mixture has the same kind.

        Returns
        -------
        HEMGMM
            This estimator.

        Raises
        ------
        ValueError
            If a shape does not fit, a covariance is not positive definite, there are fewer base
            Gaussians of positive weight than components, or a parameter is out of its range.
        """
        begun = time.perf_counter()
        if covars is None:
            bag = self._bag(as_h3m(cast(Models, X), "X"))
        else:
            bag = _bag_of_arrays(cast("ArrayLike", X), cast("ArrayLike", y), covars)
        self._check_loop(positive_floor=True)
        present = np.flatnonzero(bag.weights > 0)
        rows = [bag.means[p].tobytes() + bag.covars[p].tobytes() for p in present]
        problem = self._problem(bag, self._check_base(bag.weights, rows, "base components"))
        start = functools.partial(self._start, problem, generator(self.random_state))
        n_starts = 1 if isinstance(self.init, HMM) else self.n_init
        self._fit_starts(problem, [start] * n_starts, begun)
        self.responsibilities_ = bag.pooled(self.responsibilities_)
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.log_likelihoods_ = bag.pooled(self.log_likelihoods_)
        return self

    def _bag(self, base: H3M) -> _Bag:
        bag = _bag_of(base, check_count("virtual_length", self.virtual_length))
        return bag._replace(weights=checked_weights(bag.weights, len(bag.weights)))

    def _problem(self, bag: _Bag, virtual_samples: float) -> _GaussianProblem:
        return _GaussianProblem(bag, virtual_samples, self.covariance_floor)

    def _weights(self) -> Floats:
        return self.model_.weights[0]

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        return super()._expectations(self._bag(base))

    def _nearest(self, base: H3M) -> Integers:
        responsibilities, _ = assign(self._weights(), *self._expectations(base))
        return self._bag(base).pooled(responsibilities).argmax(axis=1)

    def _sequence_terms(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Return the expected number of each sequence's frames from each Gaussian."""
        frames, lengths = check_sequences(sequences, self.model_.n_features)
        centre = frames.mean(axis=0)
        densities = Densities(H3M.from_hmms([self.model_]), centre)
        moments = point_moments(np.ascontiguousarray((frames - centre).T), densities.full)
        _, shares = densities.emissions(moments)
        return np.add.reduceat(shares[0], np.cumsum(lengths) - lengths, axis=1).T

    def _start(self, problem: _GaussianProblem, rng: np.random.Generator) -> HMM:
        if isinstance(self.init, HMM):
            self._check_given(self.init, problem)
            return self.init
        if self.init not in ("base", "kmeans"):
            raise ValueError(f'init is {self.init!r}, expected "base", "kmeans" or an HMM')
        base_weights, present = problem.base_weights, problem.present
        drawn = draw_base(base_weights, self.n_components, rng)
        equal = np.full(self.n_components, 1.0 / self.n_components)
        model = one_state_model(equal, problem.means[drawn], problem.covars[drawn])
        if self.init == "base":
            return model
        # k-means cannot make more clusters than there are points; the others stay as drawn.
        distinct = len(np.unique(problem.means[present], axis=0))
        kmeans = KMeans(
            min(self.n_components, distinct), n_init=1, random_state=int(rng.integers(2**32))
        ).fit(problem.means[present], sample_weight=base_weights[present])
        shares = np.zeros((len(present), self.n_components))
        shares[np.flatnonzero(present), kmeans.labels_] = base_weights[present]
        return problem.maximised(model, None, shares)

    def _check_given(self, init: HMM, problem: _GaussianProblem) -> None:
        expected = (1, self.n_components, problem.means.shape[1])
        if init.means.shape != expected:
            raise ValueError(
                f"init has {init.n_states} states, {init.n_mix} Gaussians and {init.n_features} "
                f"features, expected 1, {expected[1]} and {expected[2]}"
            )
        kind = "full" if problem.full else "diag"
        if init.covariance_type != kind:
            raise ValueError(
                f"init has {init.covariance_type} covariances, the base Gaussians {kind} ones"
            )
