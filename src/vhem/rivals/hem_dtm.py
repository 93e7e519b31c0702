"""Clustering of dynamic textures by hierarchical EM (HEM-DTM).

**Expected log-likelihood.** Hierarchical EM needs ``E_b[log p_r(y_{1:tau})]``, where ``y`` comes
from a base system ``b`` and is scored by a reduced system ``r``. With the hidden states stacked to
one vector of ``n tau`` numbers, prior ``N(M, P)`` under either system, and ``G = C_r' C_r / r_r``,
``B = C_r' C_b / r_r``, the posterior covariance under ``r`` does not depend on the data,

    V = (P_r^-1 + I (x) G)^-1 = (I + P_r (I (x) G))^-1 P_r,

and the posterior mean is ``M_r + V u`` with ``u_t = C_r' (y_t - ybar_r - C_r M_rt) / r_r``. Under
the base system ``u`` has mean ``m_u`` and covariance

    Sigma_u = (I (x) B) P_b (I (x) B)' + (r_b / r_r) I (x) G,

and with ``delta_t = E_b y_t - E_r y_t``

    E log p = -1/2 [ tau d log(2 pi r_r) + log|I + P_r (I (x) G)|
                     + sum_t (tr C_b P_b,tt C_b' + d r_b + |delta_t|^2) / r_r
                     - tr V (Sigma_u + m_u m_u') ].

The expectation is exact: unlike hidden Markov models, linear systems need no variational bound.
The original derivation [1]_ obtains the same numbers from a recursion over time; at the usual
``n tau`` of a hundred or two the stacked form is cheaper and simpler.

References
----------
.. [1] A. B. Chan, E. Coviello, G. R. G. Lanckriet, "Clustering dynamic textures with the
   hierarchical EM algorithm", CVPR 2010.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from .._em import HierarchicalEstimator, HierarchicalProblem, ascend
from .._inputs import as_items, bytes_of
from .._random import RandomState, draw_base, generator
from .._types import Floats, Integers
from .._update import bounded_covars
from .._validation import check_count, check_number
from .dynamic_texture import (
    DynamicTexture,
    DynamicTextureMixture,
    Textures,
    limit_spectral_radius,
)

__all__ = ["HEMDTM", "DynamicTextureProblem"]

# Size of the perturbation that separates the two halves of a split component ([1]_).
_SPLIT_SIZE = 0.01


def _prior_moments(mixture: DynamicTextureMixture, length: int) -> tuple[Floats, Floats]:
    """Means (K, length, n) and covariances (K, length, n, length, n) of the stacked states."""
    components, states = len(mixture), mixture.n_states
    transition, transposed = mixture.transition, mixture.transition.transpose(0, 2, 1)
    means = np.empty((components, length, states))
    covars = np.empty((components, length, states, length, states))
    means[:, 0] = mixture.initial_mean
    covars[:, 0, :, 0] = mixture.initial_covar
    for t in range(1, length):
        means[:, t] = (transition @ means[:, t - 1, :, None])[..., 0]
        for s in range(t):
            covars[:, t, :, s] = transition @ covars[:, t - 1, :, s]
            covars[:, s, :, t] = covars[:, t, :, s].transpose(0, 2, 1)
        covars[:, t, :, t] = covars[:, t, :, t - 1] @ transposed + mixture.transition_covar
    return means, covars


@dataclass(frozen=True)
class _Posterior:
    """What one reduced component says of the states, for every base system."""

    means: Floats  # E x_t                        (n_base, length, n)
    covar: Floats  # V, the same for all          (length, n, length, n)
    gram: Floats  # G                             (n, n)
    mapping: Floats  # B                          (n_base, n, n_b)
    noise_ratio: Floats  # r_b / r_r              (n_base,)
    # Cov(y_t, x_t) averaged over t is C_b @ base_cross + (r_b / r_r) C_r @ mean_t V_tt.
    base_cross: Floats  # (n_base, n_b, n)


@dataclass(frozen=True)
class _Moments:
    """Expected second moments of the states, for the base systems that count.

    Averages over time: over all ``length`` steps for ``second``, over the ``length - 1``
    transitions for ``before``, ``after`` and ``across``.
    """

    second: Floats  # mean_t E x_t x_t'           (n_members, n, n)
    first: Floats  # E x_1 x_1'                   (n_members, n, n)
    before: Floats  # mean_{t<tau} E x_t x_t'     (n_members, n, n)
    after: Floats  # mean_{t>1} E x_t x_t'        (n_members, n, n)
    across: Floats  # mean_{t>1} E x_t x_{t-1}'   (n_members, n, n)


def _gains(covar: Floats, mapping: Floats) -> Floats:
    """``V (I (x) B)`` for each B of ``mapping`` (k, n, n_b), shape (k, length, n, length n_b)."""
    length, states = covar.shape[:2]
    blocks = covar.reshape(1, length * states * length, states)
    return (blocks @ mapping).reshape(len(mapping), length, states, -1)


class DynamicTextureProblem(HierarchicalProblem[DynamicTextureMixture]):
    """The two steps of HEM-DTM."""

    def __init__(
        self,
        base: DynamicTextureMixture,
        virtual_samples: float,
        length: int,
        covariance_floor: float,
        max_spectral_radius: float,
    ) -> None:
        super().__init__(base.weights, virtual_samples)
        self.base = base
        self.length = length
        self.covariance_floor = covariance_floor
        self.max_spectral_radius = max_spectral_radius
        means, covars = _prior_moments(base, length)
        stacked = length * base.n_states
        self.base_covars = covars.reshape(len(base), stacked, stacked)
        observed = base.observation
        # E y_t, (n_base, length, d)
        self.output_means = means @ observed.transpose(0, 2, 1) + base.offset[:, None]
        # The regression of y on the state subtracts this to keep its sums small.
        self.centre = self.output_means.mean(axis=(0, 1))
        # tr Cov y_t averaged over t, (n_base,)
        marginal = np.einsum("itatb->iab", covars) / length
        grams = observed.transpose(0, 2, 1) @ observed
        self.output_spread = (
            np.einsum("iab,iab->i", grams, marginal) + base.n_features * base.observation_variance
        )

    def judge(self, model: DynamicTextureMixture) -> tuple[Floats, list[_Posterior]]:
        """Return expected log-likelihoods, and what each component says of the states."""
        means, covars = _prior_moments(model, self.length)
        columns, statistics = [], []
        for j in range(len(model)):
            log_likelihoods, component = self._component_expectation(model, j, means[j], covars[j])
            columns.append(log_likelihoods)
            statistics.append(component)
        return np.stack(columns, axis=1), statistics

    def _component_expectation(
        self, model: DynamicTextureMixture, j: int, prior_mean: Floats, prior_covar: Floats
    ) -> tuple[Floats, _Posterior]:
        """Return expected log-likelihoods (n_base,) under component ``j``, and the posterior."""
        base, length, states = self.base, self.length, model.n_states
        stacked = length * states
        n_base = len(base)
        observation, variance = model.observation[j], model.observation_variance[j]
        noise_ratio = base.observation_variance / variance
        gram = observation.T @ observation / variance

        prior = prior_covar.reshape(stacked, stacked)
        # P (I (x) G), without forming the Kronecker product.
        system = np.eye(stacked) + (prior_covar @ gram).reshape(stacked, stacked)
        posterior = np.linalg.solve(system, prior)
        posterior = (posterior + posterior.T) / 2
        log_determinant = np.linalg.slogdet(system)[1]

        difference = self.output_means - (prior_mean @ observation.T + model.offset[j])
        scaled = difference @ observation / variance
        means = prior_mean + (scaled.reshape(n_base, stacked) @ posterior).reshape(
            n_base, length, states
        )

        mapping = observation.T @ base.observation / variance
        by_time = posterior.reshape(length, states, length, states)
        # Blocks (t, t) of V (I (x) B) P_b, summed: all that the likelihood needs of that product.
        columns = self.base_covars.reshape(n_base, -1, length, base.n_states).swapaxes(1, 2)
        own = (_gains(by_time, mapping) @ columns).sum(axis=1)
        explained = np.einsum("iab,iab->i", own, mapping)
        explained += noise_ratio * np.einsum("tatb,ab->", by_time, gram)
        explained += np.einsum("ita,ita->i", scaled, means - prior_mean)
        squared = length * self.output_spread + (difference**2).sum(axis=(1, 2))
        log_likelihoods = -0.5 * (
            length * model.n_features * np.log(2 * np.pi * variance)
            + log_determinant
            + squared / variance
            - explained
        )
        return log_likelihoods, _Posterior(
            means, by_time, gram, mapping, noise_ratio, own.transpose(0, 2, 1) / length
        )

    def _moments(self, posterior: _Posterior, members: Integers) -> _Moments:
        """Return the moments of the states under the base systems ``members``."""
        length, states = posterior.covar.shape[:2]
        stacked = length * states
        gains = _gains(posterior.covar, posterior.mapping[members])
        spread = gains.reshape(len(members), stacked, -1) @ self.base_covars[members]
        spread = spread.reshape(gains.shape)
        # V (I (x) G) V, the part of the posterior mean's variance that is observation noise.
        weighted = (posterior.covar @ posterior.gram).reshape(stacked, stacked)
        noise = (weighted @ posterior.covar.reshape(stacked, stacked)).reshape(
            posterior.covar.shape
        )
        # Blocks (t, t) and (t, t-1) of Cov(E[x|y]) + V, the covariance of the states.
        noise_ratio, means = posterior.noise_ratio[members], posterior.means[members]
        same = spread @ gains.transpose(0, 1, 3, 2)
        same += np.multiply.outer(noise_ratio, _time_diagonal(noise, 0))
        same += _time_diagonal(posterior.covar, 0)
        lagged = spread[:, 1:] @ gains[:, :-1].transpose(0, 1, 3, 2)
        lagged += np.multiply.outer(noise_ratio, _time_diagonal(noise, 1))
        lagged += _time_diagonal(posterior.covar, 1)
        second = same + means[..., :, None] * means[..., None, :]
        cross = lagged + means[:, 1:, :, None] * means[:, :-1, None, :]
        transitions = max(length - 1, 1)
        return _Moments(
            second=second.mean(axis=1),
            first=second[:, 0],
            before=second[:, :-1].sum(axis=1) / transitions,
            after=second[:, 1:].sum(axis=1) / transitions,
            across=cross.sum(axis=1) / transitions,
        )

    def maximised(
        self, model: DynamicTextureMixture, statistics: list[_Posterior], shares: Floats
    ) -> DynamicTextureMixture:
        """Maximise component by component."""
        totals = shares.sum(axis=0)
        return DynamicTextureMixture.from_systems(
            [
                self._maximise_component(model, j, statistics[j], shares[:, j] / totals[j])
                if totals[j] > 0
                else model[j]
                for j in range(len(model))
            ],
            model.weights,
        )

    def _maximise_component(
        self, model: DynamicTextureMixture, j: int, posterior: _Posterior, shares: Floats
    ) -> DynamicTexture:
        """Maximise the expected complete-data log-likelihood of one component in closed form."""
        states, features = model.n_states, model.n_features
        # Assignments are mostly hard: what has no share takes no time.
        members = np.flatnonzero(shares)
        shares = shares[members]
        moments = self._moments(posterior, members)
        means = posterior.means[members]

        def pooled(expectations: Floats) -> Floats:
            return np.tensordot(shares, expectations, axes=1)

        # [C ybar] is the regression of y on [x; 1].
        outputs = self.output_means[members] - self.centre
        design = np.empty((states + 1, states + 1))
        design[:states, :states] = pooled(moments.second)
        design[:states, states] = design[states, :states] = pooled(means.mean(axis=1))
        design[states, states] = 1.0
        response = np.empty((features, states + 1))
        weighted = (shares / self.length)[:, None, None] * means
        response[:, :states] = np.tensordot(outputs, weighted, axes=((0, 1), (0, 1)))
        response[:, :states] += np.einsum(
            "i,idb,iba->da", shares, self.base.observation[members], posterior.base_cross[members]
        )
        noise = (shares @ posterior.noise_ratio[members]) * model.observation[j]
        response[:, :states] += noise @ _time_diagonal(posterior.covar, 0).mean(axis=0)
        response[:, states] = pooled(outputs.mean(axis=1))
        coefficients = linalg.solve(design, response.T, assume_a="pos").T
        total = pooled(self.output_spread[members] + (outputs**2).sum(axis=2).mean(axis=1))
        variance = float(total - (coefficients * response).sum()) / features

        transition, transition_covar = model.transition[j], model.transition_covar[j]
        if self.length > 1:
            before, across = pooled(moments.before), pooled(moments.across)
            transition = linalg.solve(before, across.T, assume_a="pos").T
            transition = limit_spectral_radius(transition, self.max_spectral_radius)
            explained = transition @ across.T
            # The general form: it also holds where the spectral radius was limited.
            transition_covar = (
                pooled(moments.after) - explained - explained.T + transition @ before @ transition.T
            )
        initial_mean = pooled(means[:, 0])
        initial_covar = pooled(moments.first) - np.outer(initial_mean, initial_mean)
        return DynamicTexture(
            transition,
            self._bounded(transition_covar),
            coefficients[:, :states],
            coefficients[:, states] + self.centre,
            np.array(max(variance, self.covariance_floor)),
            initial_mean,
            self._bounded(initial_covar),
        )

    def _bounded(self, covar: Floats) -> Floats:
        return bounded_covars((covar + covar.T) / 2, True, self.covariance_floor)

    def reseeded(
        self, model: DynamicTextureMixture, component: int, item: int
    ) -> DynamicTextureMixture:
        """Return ``model`` with ``component`` replaced by base texture ``item``."""
        systems = list(model)
        systems[component] = self.base[item]
        return DynamicTextureMixture.from_systems(systems, model.weights)


def _time_diagonal(blocks: Floats, lag: int) -> Floats:
    """Blocks (t, t - lag) of an array (length, n, length, n), stacked along the first axis."""
    later = np.arange(lag, blocks.shape[0])
    result: Floats = blocks[later, :, later - lag]
    return result


class HEMDTM(HierarchicalEstimator):
    r"""Cluster dynamic textures by hierarchical EM and learn a novel texture for each cluster.

    Maximises

    .. math:: J = \sum_i \log \sum_j \omega_j
              \exp\bigl(N w_i \, E_i[\log p(y_{1:\tau} \mid \Theta_j)]\bigr)

    over the reduced mixture, where the expectation over base texture ``i`` is exact (module
    header). All virtual samples of a base texture share one assignment.

    Parameters
    ----------
    n_components : int, default=2
        Number of clusters, at most the number of base textures.
    virtual_samples : float, optional
        ``N``, virtual sequences in all; base texture ``i`` stands for ``N w_i`` of them. Default
        10,000 per base texture, which makes the assignments practically hard.
    virtual_length : int, default=10
        ``tau``, length of a virtual sequence.
    init : {"base", "split"} or DynamicTextureMixture, default="base"
        Start: from ``n_components`` base textures of positive weight drawn at random; by
        component splitting (one component first, then the heaviest ones are doubled and perturbed
        until there are enough; [1]_); or from a given mixture.
    n_init : int, default=10
        Number of starts of which the one with the highest objective is kept. A given mixture is
        started from once.
    tol : float or None, default=1e-05
        The run has converged when the objective changes by less than ``tol`` relative to its
        size. ``None`` never stops early.
    max_iter : int, default=100
        Largest number of M-steps of a run.
    covariance_floor : float, default=1e-06
        Smallest observation variance, and smallest eigenvalue of the state covariances.
    max_spectral_radius : float, default=0.999
        Largest modulus of an eigenvalue of a transition matrix.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness of the starts.

    Attributes
    ----------
    model_ : DynamicTextureMixture
        The reduced mixture.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective after 0, 1, ... M-steps. It never falls, unless the spectral radius is limited.
    responsibilities_, labels_, log_likelihoods_, lower_bound_
        As of :class:`vhem.VHEM`, with textures for HMMs; the likelihoods are exact.
    n_iter_, converged_, restart_objectives_, timings_
        As of :class:`vhem.VHEM`.

    References
    ----------
    .. [1] A. B. Chan, E. Coviello, G. R. G. Lanckriet, "Clustering dynamic textures with the
       hierarchical EM algorithm", CVPR 2010.
    """

    model_: DynamicTextureMixture

    def __init__(
        self,
        n_components: int = 2,
        *,
        virtual_samples: float | None = None,
        virtual_length: int = 10,
        init: str | DynamicTextureMixture = "base",
        n_init: int = 10,
        tol: float | None = 1e-5,
        max_iter: int = 100,
        covariance_floor: float = 1e-6,
        max_spectral_radius: float = 0.999,
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
        self.max_spectral_radius = max_spectral_radius
        self.random_state = random_state

    def fit(self, systems: Textures, y: object = None, *, weights: ArrayLike | None = None) -> Self:
        """Reduce the base textures.

        Parameters
        ----------
        systems : DynamicTexture, DynamicTextureMixture, or list of these
            The base; all of the same dimensions. The items of a list weigh the same, and the
            components of a mixture in it share its weight.
        y : ignored
        weights : array-like of shape (n_base,), optional
            Base weights, normalised here; the mixture's own or equal ones by default. A texture
            of weight zero has no influence.

        Returns
        -------
        HEMDTM
            This estimator.

        Raises
        ------
        ValueError
            If there are fewer base textures (of positive weight) than clusters, dimensions
            differ, or a parameter is out of its range.
        """
        begun = time.perf_counter()
        base = self._as_base(systems, weights)
        self._check_loop(positive_floor=True)
        check_count("virtual_length", self.virtual_length)
        check_number("max_spectral_radius", self.max_spectral_radius, positive=True)
        samples = self._check_base(base.weights, bytes_of(base), "base components")
        problem = self._problem(base, samples)
        start = functools.partial(self._start, problem, generator(self.random_state))
        n_starts = 1 if isinstance(self.init, DynamicTextureMixture) else self.n_init
        self._fit_starts(problem, [start] * n_starts, begun)
        return self

    def _is_model(self, item: object) -> bool:
        return isinstance(item, DynamicTexture | DynamicTextureMixture)

    def _as_base(
        self, systems: Textures, weights: ArrayLike | None = None
    ) -> DynamicTextureMixture:
        kinds = "a DynamicTexture, a DynamicTextureMixture, or a list of these"
        items = [systems] if self._is_model(systems) else as_items(systems, "systems", kinds)
        textures: list[DynamicTexture] = []
        own: list[float] = []
        for i, item in enumerate(items):
            if not self._is_model(item):
                raise TypeError(f"systems[{i}] is a {type(item).__name__}, expected {kinds}")
            mixed = isinstance(item, DynamicTextureMixture)
            textures.extend(item if mixed else [item])
            own.extend(item.weights if mixed else [1.0])
        return DynamicTextureMixture.from_systems(textures, own if weights is None else weights)

    def _problem(
        self, base: DynamicTextureMixture, virtual_samples: float
    ) -> DynamicTextureProblem:
        return DynamicTextureProblem(
            base,
            virtual_samples,
            self.virtual_length,
            self.covariance_floor,
            self.max_spectral_radius,
        )

    def _start(
        self, problem: DynamicTextureProblem, rng: np.random.Generator
    ) -> DynamicTextureMixture:
        base = problem.base
        if isinstance(self.init, DynamicTextureMixture):
            for what in ("n_features", "n_states"):
                if getattr(self.init, what) != getattr(base, what):
                    raise ValueError(
                        f"init has {what} {getattr(self.init, what)}, the base textures have "
                        f"{getattr(base, what)}"
                    )
            if len(self.init) != self.n_components:
                raise ValueError(
                    f"init has {len(self.init)} components, n_components is {self.n_components}"
                )
            return self.init
        if self.init == "base":
            return self._draw(base, self.n_components, rng)
        if self.init == "split":
            model = self._draw(base, 1, rng)
            while len(model) < self.n_components:
                run = ascend(problem, model, self.tol, self.max_iter)
                model = _split(run.model, base, self.n_components, rng)
            return model
        raise ValueError(
            f'init is {self.init!r}, expected "base", "split" or a DynamicTextureMixture'
        )

    @staticmethod
    def _draw(
        base: DynamicTextureMixture, number: int, rng: np.random.Generator
    ) -> DynamicTextureMixture:
        chosen = draw_base(base.weights, number, rng)
        return DynamicTextureMixture.from_systems([base[int(i)] for i in chosen])


def _split(
    model: DynamicTextureMixture,
    base: DynamicTextureMixture,
    at_most: int,
    rng: np.random.Generator,
) -> DynamicTextureMixture:
    """Double the heaviest components, up to ``at_most`` in all.

    A half differs from its original in ``C`` by one per cent and in the offset by one per cent of
    the spread of the base textures' offsets.
    """
    systems, weights = list(model), model.weights.copy()
    spread = base.offset.std(axis=0)
    heaviest = np.argsort(-weights, kind="stable")[: at_most - len(model)]
    for k in heaviest:
        original = systems[k]
        weights[k] /= 2
        weights = np.append(weights, weights[k])
        change = 1.0 + _SPLIT_SIZE * rng.standard_normal(original.observation.shape)
        shift = _SPLIT_SIZE * spread * rng.standard_normal(original.n_features)
        systems.append(
            DynamicTexture(
                original.transition,
                original.transition_covar,
                original.observation * change,
                original.offset + shift,
                original.observation_variance,
                original.initial_mean,
                original.initial_covar,
            )
        )
    return DynamicTextureMixture.from_systems(systems, weights)
