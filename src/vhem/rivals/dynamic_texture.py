"""Dynamic textures and the hierarchical EM algorithm that clusters them (HEM-DTM).

A dynamic texture is a linear dynamical system whose hidden state is of low dimension ``n`` and
whose observation noise is the same in all ``d`` directions:

    x_1     ~ N(m, S)
    x_{t+1} = A x_t + v_t,           v_t ~ N(0, Q)
    y_t     = C x_t + ybar + w_t,    w_t ~ N(0, r I).

Because the noise is isotropic, an observation matters only through its coordinates in the range
of ``C`` and its squared distance from it. Both are computed once by matrix products; everything
that runs over time is ``n``-dimensional, so that ``d`` never enters a matrix inversion.

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
.. [2] G. Doretto, A. Chiuso, Y. N. Wu, S. Soatto, "Dynamic textures", International Journal of
   Computer Vision 51(2):91-109, 2003.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from .._hem import HEMEstimator, checked_weights, draw_base
from .._inputs import as_items, bytes_of
from .._parallel import single_threaded
from .._random import RandomState, generator
from .._storage import Container
from .._update import bounded_covars
from .._validation import (
    LARGEST_SQUARABLE,
    check_count,
    check_distributions,
    check_number,
    frozen_array,
)
from ..likelihood import check_sequences, mix

__all__ = ["HEMDTM", "DynamicTexture", "DynamicTextureMixture", "fit_dynamic_texture"]

Floats = NDArray[np.float64]

# Relative to the largest entry: what rounding leaves of a symmetric, semi-definite matrix.
_PSD_TOLERANCE = 1e-8


def _check_semidefinite(name: str, covars: Floats) -> None:
    """Every matrix must be symmetric and have no negative eigenvalue, up to rounding."""
    for index in np.ndindex(covars.shape[:-2]):
        matrix = covars[index]
        where = f"{name}[{index[0]}]" if index else name
        scale = np.abs(matrix).max()
        if np.abs(matrix - matrix.T).max() > _PSD_TOLERANCE * scale:
            raise ValueError(f"{where} is not symmetric")
        smallest = np.linalg.eigvalsh(matrix)[0]
        if smallest < -_PSD_TOLERANCE * scale:
            raise ValueError(
                f"{where} is not positive semi-definite (smallest eigenvalue {smallest:.3g})"
            )


@dataclass(frozen=True, eq=False, repr=False)
class DynamicTextureMixture(Container):
    """A mixture of dynamic textures, as validated, read-only arrays.

    ``len(mixture)`` is the number of components, ``mixture[k]`` the component ``k`` as a
    :class:`DynamicTexture`, and a loop goes over the components.

    Parameters
    ----------
    weights : array-like, shape (K,)
        Weights of the components; they sum to 1.
    transition : array-like, shape (K, n, n)
        ``A``: the expected next state is ``A x``.
    transition_covar : array-like, shape (K, n, n)
        ``Q``, covariance of the state's noise.
    observation : array-like, shape (K, d, n)
        ``C``, from state to observation.
    offset : array-like, shape (K, d)
        ``ybar``, in data units.
    observation_variance : array-like, shape (K,)
        ``r``, variance of the observation noise in each direction, in squared data units; > 0.
    initial_mean : array-like, shape (K, n)
        ``m``, mean of the first state.
    initial_covar : array-like, shape (K, n, n)
        ``S``, covariance of the first state.

    Raises
    ------
    ValueError
        If a shape does not fit, a number is not finite, the weights are negative or do not sum to
        1, a covariance is not positive semi-definite or an observation variance is not positive.
        The message names the argument and the index.
    """

    weights: Floats
    transition: Floats
    transition_covar: Floats
    observation: Floats
    offset: Floats
    observation_variance: Floats
    initial_mean: Floats
    initial_covar: Floats

    def __post_init__(self) -> None:
        observation = frozen_array("observation", self.observation, ("K", "d", "n"))
        components, features, states = observation.shape
        square = (components, states, states)
        checked = {
            "weights": frozen_array("weights", self.weights, (components,)),
            "transition": frozen_array("transition", self.transition, square),
            "transition_covar": frozen_array("transition_covar", self.transition_covar, square),
            "observation": observation,
            "offset": frozen_array("offset", self.offset, (components, features)),
            "observation_variance": frozen_array(
                "observation_variance", self.observation_variance, (components,)
            ),
            "initial_mean": frozen_array("initial_mean", self.initial_mean, (components, states)),
            "initial_covar": frozen_array("initial_covar", self.initial_covar, square),
        }
        check_distributions("weights", checked["weights"])
        _check_semidefinite("transition_covar", checked["transition_covar"])
        _check_semidefinite("initial_covar", checked["initial_covar"])
        bad = np.flatnonzero(checked["observation_variance"] <= 0)
        if bad.size:
            value = checked["observation_variance"][bad[0]]
            raise ValueError(f"observation_variance[{bad[0]}] is {value:g}, expected a number > 0")
        for name, array in checked.items():
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return (
            f"DynamicTextureMixture(n_components={len(self)}, n_states={self.n_states}, "
            f"n_features={self.n_features})"
        )

    def __len__(self) -> int:
        return self.observation.shape[0]

    def __getitem__(self, k: int) -> DynamicTexture:
        if not -len(self) <= k < len(self):
            raise IndexError(f"component {k} of a mixture of {len(self)} dynamic textures")
        return DynamicTexture(
            self.transition[k],
            self.transition_covar[k],
            self.observation[k],
            self.offset[k],
            self.observation_variance[k],
            self.initial_mean[k],
            self.initial_covar[k],
        )

    def __iter__(self) -> Iterator[DynamicTexture]:
        return (self[k] for k in range(len(self)))

    @property
    def n_states(self) -> int:
        """Dimension of the hidden state, n."""
        return self.observation.shape[2]

    @property
    def n_features(self) -> int:
        """Dimension of an observation, d."""
        return self.observation.shape[1]

    @classmethod
    def from_systems(
        cls, systems: Sequence[DynamicTexture], weights: ArrayLike | None = None
    ) -> DynamicTextureMixture:
        """Stack dynamic textures into a mixture.

        Parameters
        ----------
        systems : sequence of DynamicTexture
            At least one; all with the same dimensions of state and observation.
        weights : array-like, shape (K,), optional
            Component weights; equal ones by default.

        Raises
        ------
        TypeError, ValueError
            If there is none, one is of another type, or its dimensions differ from those of the
            first. The message gives the index.
        """
        systems = list(systems)
        if not systems:
            raise ValueError("systems is empty, expected at least one DynamicTexture")
        for k, system in enumerate(systems):
            if not isinstance(system, DynamicTexture):
                raise TypeError(
                    f"systems[{k}] is a {type(system).__name__}, expected a DynamicTexture"
                )
            for what in ("n_states", "n_features"):
                found, wanted = getattr(system, what), getattr(systems[0], what)
                if found != wanted:
                    raise ValueError(
                        f"systems[{k}] has {what} {found}, systems[0] has {what} {wanted}"
                    )
        return cls(
            checked_weights(weights, len(systems)),
            np.stack([system.transition for system in systems]),
            np.stack([system.transition_covar for system in systems]),
            np.stack([system.observation for system in systems]),
            np.stack([system.offset for system in systems]),
            np.array([system.observation_variance for system in systems]),
            np.stack([system.initial_mean for system in systems]),
            np.stack([system.initial_covar for system in systems]),
        )

    def component_log_likelihoods(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence under each component, by Kalman filtering.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations; lengths may differ.

        Returns
        -------
        array, shape (n, K)
            ``log p(y_i | component k)`` in nats, without the component's weight.
        """
        frames, lengths = check_sequences(sequences, self.n_features)
        with single_threaded():
            columns = [_kalman_log_likelihoods(self, k, frames, lengths) for k in range(len(self))]
        return np.stack(columns, axis=1)

    def score_samples(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence under the mixture, in nats, shape (n,)."""
        return mix(self.component_log_likelihoods(sequences), self.weights)

    def sample(
        self, n_sequences: int, length: int, random_state: RandomState = None
    ) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Draw sequences.

        Parameters
        ----------
        n_sequences, length : int
            How many, and observations per sequence.
        random_state : int, SeedSequence, Generator, RandomState or None
            Source of randomness.

        Returns
        -------
        observations : array, shape (n_sequences, length, d)
            The observations.
        components : array of int, shape (n_sequences,)
            The component that each sequence was drawn from.
        states : array, shape (n_sequences, length, n)
            The hidden states.
        """
        check_count("n_sequences", n_sequences, 0)
        check_count("length", length)
        rng = generator(random_state)
        components = rng.choice(len(self), size=n_sequences, p=self.weights / self.weights.sum())
        first_noise = _square_roots(self.initial_covar)[components]
        noise = _square_roots(self.transition_covar)[components]
        transition = self.transition[components]
        states = np.empty((n_sequences, length, self.n_states))
        for t in range(length):
            deviate = rng.standard_normal((n_sequences, self.n_states, 1))
            if t == 0:
                states[:, t] = self.initial_mean[components] + (first_noise @ deviate)[..., 0]
            else:
                states[:, t] = (transition @ states[:, t - 1, :, None] + noise @ deviate)[..., 0]
        observations = states @ self.observation[components].transpose(0, 2, 1)
        observations += self.offset[components][:, None]
        scale = np.sqrt(self.observation_variance)[components]
        observations += scale[:, None, None] * rng.standard_normal(observations.shape)
        return observations, components, states


@dataclass(frozen=True, eq=False, repr=False)
class DynamicTexture(Container):
    """A linear dynamical system with isotropic observation noise.

    See the module's header for the equations and :class:`DynamicTextureMixture` for the meaning
    of the arrays, which here have no leading axis.

    Parameters
    ----------
    transition, transition_covar : array-like, shape (n, n)
        ``A`` and ``Q``.
    observation : array-like, shape (d, n)
        ``C``.
    offset : array-like, shape (d,)
        ``ybar``.
    observation_variance : float
        ``r``; kept as an array without axes.
    initial_mean : array-like, shape (n,)
        ``m``.
    initial_covar : array-like, shape (n, n)
        ``S``.

    Raises
    ------
    ValueError
        As for :class:`DynamicTextureMixture`.

    Examples
    --------
    >>> rotation = [[0.0, -0.9], [0.9, 0.0]]
    >>> texture = DynamicTexture(
    ...     rotation,
    ...     [[0.1, 0], [0, 0.1]],
    ...     [[1, 0], [0, 1], [1, 1]],
    ...     [5, 5, 5],
    ...     0.01,
    ...     [0, 0],
    ...     [[1, 0], [0, 1]],
    ... )
    >>> texture
    DynamicTexture(n_states=2, n_features=3)
    >>> observations, states = texture.sample(4, length=10, random_state=0)
    >>> observations.shape, states.shape
    ((4, 10, 3), (4, 10, 2))
    >>> texture.score_samples(observations).shape
    (4,)
    """

    transition: Floats
    transition_covar: Floats
    observation: Floats
    offset: Floats
    observation_variance: Floats
    initial_mean: Floats
    initial_covar: Floats

    def __post_init__(self) -> None:
        observation = frozen_array("observation", self.observation, ("d", "n"))
        features, states = observation.shape
        checked = {
            "transition": frozen_array("transition", self.transition, (states, states)),
            "transition_covar": frozen_array(
                "transition_covar", self.transition_covar, (states, states)
            ),
            "observation": observation,
            "offset": frozen_array("offset", self.offset, (features,)),
            "observation_variance": frozen_array(
                "observation_variance", self.observation_variance, ()
            ),
            "initial_mean": frozen_array("initial_mean", self.initial_mean, (states,)),
            "initial_covar": frozen_array("initial_covar", self.initial_covar, (states, states)),
        }
        _check_semidefinite("transition_covar", checked["transition_covar"])
        _check_semidefinite("initial_covar", checked["initial_covar"])
        if checked["observation_variance"] <= 0:
            value = checked["observation_variance"]
            raise ValueError(f"observation_variance is {value:g}, expected a number > 0")
        for name, array in checked.items():
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"DynamicTexture(n_states={self.n_states}, n_features={self.n_features})"

    @property
    def n_states(self) -> int:
        """Dimension of the hidden state, n."""
        return self.observation.shape[1]

    @property
    def n_features(self) -> int:
        """Dimension of an observation, d."""
        return self.observation.shape[0]

    def score_samples(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence, in nats, shape (n,)."""
        return DynamicTextureMixture.from_systems([self]).component_log_likelihoods(sequences)[:, 0]

    def sample(
        self, n_sequences: int, length: int, random_state: RandomState = None
    ) -> tuple[Floats, Floats]:
        """Draw observations (n_sequences, length, d) and their states (n_sequences, length, n)."""
        mixture = DynamicTextureMixture.from_systems([self])
        observations, _, states = mixture.sample(n_sequences, length, random_state)
        return observations, states


def _square_roots(covars: Floats) -> Floats:
    """Return ``L`` with ``L L' = covars``; unlike Cholesky's, it exists for singular matrices."""
    values, vectors = np.linalg.eigh(covars)
    result: Floats = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return result


def _kalman_log_likelihoods(
    mixture: DynamicTextureMixture, k: int, frames: Floats, lengths: NDArray[np.int64]
) -> Floats:
    """Log-likelihoods (n,) under component ``k`` of sequences that are concatenated in ``frames``.

    In coordinates of the range of ``C`` the innovation's covariance is ``P + r (C'C)^-1``. With
    ``L = (I + P C'C / r)^-1`` the filter needs no other inverse, no subtraction of nearly equal
    numbers, and neither ``P`` nor ``C`` of full rank. The gains do not depend on the data, so all
    sequences advance together.
    """
    observation, variance = mixture.observation[k], mixture.observation_variance[k]
    transition = mixture.transition[k]
    gram = observation.T @ observation
    to_coordinates = np.linalg.pinv(observation)
    centred = frames - mixture.offset[k]
    inside = centred @ to_coordinates.T
    outside = ((centred - inside @ observation.T) ** 2).sum(axis=1)
    # By time, and with the longest sequences first, those still running are the first ones.
    steps = lengths.max()
    longest_first = np.argsort(-lengths, kind="stable")
    coordinates = np.zeros((steps, len(lengths), mixture.n_states))
    distances = np.zeros((steps, len(lengths)))
    starts = np.cumsum(lengths) - lengths
    for place, i in enumerate(longest_first):
        own = slice(starts[i], starts[i] + lengths[i])
        coordinates[: lengths[i], place] = inside[own]
        distances[: lengths[i], place] = outside[own]

    identity = np.eye(mixture.n_states)
    states = np.tile(mixture.initial_mean[k], (len(lengths), 1))
    covar = mixture.initial_covar[k]
    sorted_result = np.zeros(len(lengths))
    for t in range(steps):
        running = int((lengths > t).sum())
        shrink = np.linalg.inv(identity + covar @ gram / variance)
        log_determinant = -np.linalg.slogdet(shrink)[1]
        innovation = coordinates[t, :running] - states[:running]
        remainder = innovation @ shrink.T
        squared = distances[t, :running] + ((innovation @ gram) * remainder).sum(axis=1)
        sorted_result[:running] -= 0.5 * (
            mixture.n_features * np.log(2 * np.pi * variance) + log_determinant + squared / variance
        )
        states = (states[:running] + innovation - remainder) @ transition.T
        filtered = shrink @ covar
        covar = transition @ filtered @ transition.T + mixture.transition_covar[k]
        covar = (covar + covar.T) / 2
    result = np.empty(len(lengths))
    result[longest_first] = sorted_result
    return result


def _limit_spectral_radius(transition: Floats, limit: float) -> Floats:
    """Scale ``transition`` so that no eigenvalue is larger than ``limit`` in modulus."""
    radius = float(np.abs(np.linalg.eigvals(transition)).max())
    return transition * (limit / radius) if radius > limit else transition


def fit_dynamic_texture(
    sequence: ArrayLike,
    n_states: int,
    *,
    covariance_floor: float = 1e-6,
    max_spectral_radius: float = 0.999,
) -> DynamicTexture:
    """Learn a dynamic texture from one sequence by principal components (Doretto et al. 2003).

    With the thin singular value decomposition ``Y - ybar = U D W'`` of the centred data,
    ``C = U_n`` and the states are ``X = D_n W_n'``; ``A`` is the least-squares regression of each
    state on the one before, ``Q`` the covariance of its residuals, ``r`` the mean squared
    residual of the observations. The start is the stationary one: ``m`` is the mean state, which
    is 0, and ``S`` the covariance of the states, so that the texture generates stretches that
    begin anywhere in the sequence.

    Parameters
    ----------
    sequence : array-like, shape (T, d)
        Observations, ``T >= 2``.
    n_states : int
        ``n``, at most ``min(T, d)``.
    covariance_floor : float
        Smallest ``r`` and smallest eigenvalue of ``Q`` and ``S``, in squared data units.
    max_spectral_radius : float
        Largest modulus of an eigenvalue of ``A``; a larger one is scaled down to it, because a
        texture must not grow without bound.

    Returns
    -------
    DynamicTexture
        The texture. Its sign conventions are fixed: the largest entry of each column of ``C``
        is positive.

    References
    ----------
    .. [1] G. Doretto, A. Chiuso, Y. N. Wu, S. Soatto, "Dynamic textures", International Journal
       of Computer Vision 51(2):91-109, 2003, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(200.0)
    >>> wave = np.stack([np.cos(0.3 * t), np.sin(0.3 * t), np.ones(200)], axis=1)
    >>> texture = fit_dynamic_texture(wave, n_states=2)
    >>> np.abs(np.angle(np.linalg.eigvals(texture.transition))).round(2)
    array([0.3, 0.3])
    """
    data = frozen_array("sequence", sequence, ("T", "d"), LARGEST_SQUARABLE)
    n_steps, n_features = data.shape
    if n_steps < 2:
        raise ValueError("sequence has 1 observation; a transition needs at least 2")
    if check_count("n_states", n_states) > min(n_steps, n_features):
        raise ValueError(
            f"n_states is {n_states}, but the sequence has shape {data.shape}; expected at most "
            f"{min(n_steps, n_features)}"
        )
    check_number("covariance_floor", covariance_floor, positive=True)
    check_number("max_spectral_radius", max_spectral_radius, positive=True)
    offset = data.mean(axis=0)
    left, singular, right = linalg.svd((data - offset).T, full_matrices=False)
    observation = left[:, :n_states]
    columns = np.arange(n_states)
    # LAPACK leaves the signs open; fixing them makes the result the same on every machine.
    signs = np.where(observation[np.abs(observation).argmax(axis=0), columns] < 0, -1.0, 1.0)
    observation = observation * signs
    states = (signs * singular[:n_states])[:, None] * right[:n_states]
    transition = states[:, 1:] @ np.linalg.pinv(states[:, :-1])
    transition = _limit_spectral_radius(transition, max_spectral_radius)
    residuals = states[:, 1:] - transition @ states[:, :-1]
    variance = (singular[n_states:] ** 2).sum() / data.size
    return DynamicTexture(
        transition,
        bounded_covars(residuals @ residuals.T / (n_steps - 1), True, covariance_floor),
        observation,
        offset,
        np.array(max(variance, covariance_floor)),
        np.zeros(n_states),
        bounded_covars(states @ states.T / n_steps, True, covariance_floor),
    )


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


class _DynamicTextureProblem:
    """The two steps of HEM-DTM; an ``HEMProblem`` for mixtures of dynamic textures."""

    def __init__(
        self,
        base: DynamicTextureMixture,
        length: int,
        covariance_floor: float,
        max_spectral_radius: float,
    ) -> None:
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

    def expectation(self, model: DynamicTextureMixture) -> tuple[Floats, list[_Posterior]]:
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

    def _moments(self, posterior: _Posterior, members: NDArray[np.int64]) -> _Moments:
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

    def maximisation(
        self,
        model: DynamicTextureMixture,
        statistics: list[_Posterior],
        shares: Floats,
    ) -> DynamicTextureMixture:
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
            transition = _limit_spectral_radius(transition, self.max_spectral_radius)
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

    def reseed(
        self, model: DynamicTextureMixture, component: int, item: int
    ) -> DynamicTextureMixture:
        systems = list(model)
        systems[component] = self.base[item]
        return DynamicTextureMixture.from_systems(systems, model.weights)

    def weights_of(self, model: DynamicTextureMixture) -> Floats:
        return model.weights

    def with_weights(self, model: DynamicTextureMixture, weights: Floats) -> DynamicTextureMixture:
        return replace(model, weights=weights)


def _time_diagonal(blocks: Floats, lag: int) -> Floats:
    """Blocks (t, t - lag) of an array (length, n, length, n), stacked along the first axis."""
    later = np.arange(lag, blocks.shape[0])
    result: Floats = blocks[later, :, later - lag]
    return result


Textures = DynamicTexture | DynamicTextureMixture | Sequence[DynamicTexture | DynamicTextureMixture]


class HEMDTM(HEMEstimator):
    r"""Cluster dynamic textures by hierarchical EM and learn a novel texture for each cluster.

    Maximises

    .. math:: J = \sum_i \log \sum_j \omega_j
              \exp\bigl(N w_i \, E_i[\log p(y_{1:\tau} \mid \Theta_j)]\bigr)

    over the reduced mixture, where the expectation over base texture ``i`` is exact (module
    header). All virtual samples of a base texture share one assignment.

    Parameters
    ----------
    n_components : int
        Number of clusters, at most the number of base textures.
    virtual_samples : float, optional
        ``N``, virtual sequences in all; base texture ``i`` stands for ``N w_i`` of them. Default
        10,000 per base texture, which makes the assignments practically hard.
    virtual_length : int
        ``tau``, length of a virtual sequence.
    init : {"base", "split"} or DynamicTextureMixture
        Start: from ``n_components`` base textures of positive weight drawn at random; by
        component splitting (one component first, then the heaviest ones are doubled and perturbed
        until there are enough; [1]_); or from a given mixture.
    n_init : int
        Number of starts of which the one with the highest objective is kept. A given mixture is
        started from once.
    tol : float or None
        The run has converged when the objective changes by less than ``tol`` relative to its
        size. ``None`` never stops early.
    max_iter : int
        Largest number of M-steps of a run.
    covariance_floor : float
        Smallest observation variance, and smallest eigenvalue of the state covariances.
    max_spectral_radius : float
        Largest modulus of an eigenvalue of a transition matrix.
    random_state : int, SeedSequence, Generator, RandomState or None
        Source of randomness of the starts.

    Attributes
    ----------
    model_ : DynamicTextureMixture
        The reduced mixture.
    responsibilities_ : array, shape (n_base, n_components)
        ``z_ij``, for ``model_``.
    labels_ : array of int, shape (n_base,)
        Most probable component of each base texture.
    log_likelihoods_ : array, shape (n_base, n_components)
        Expected log-likelihood of one virtual sequence, in nats, for ``model_``.
    lower_bound_ : float
        The objective, for ``model_``.
    history_ : array, shape (n_iter_ + 1,)
        ``history_[k]`` is the objective after ``k`` M-steps. It never falls, unless the spectral
        radius is limited.
    converged_ : bool
        Whether ``tol`` was reached.
    n_iter_ : int
        M-steps of the run that was kept.
    restart_objectives_ : array, shape (number of starts,)
        Final objective of every start.
    timings_ : dict of str to float
        Seconds: ``"init"`` (moments of the base, starts, splitting) and ``"em"``.

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
        weights : array-like, shape (n_base,), optional
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
        start = time.perf_counter()
        base = self._as_base(systems, weights)
        self._check_parameters(base.weights, bytes_of(base))
        check_count("virtual_length", self.virtual_length)
        check_number("max_spectral_radius", self.max_spectral_radius, positive=True)
        problem = self._problem(base)
        rng = generator(self.random_state)
        given = isinstance(self.init, DynamicTextureMixture)
        starts = [lambda: self._initial_model(problem, rng)] * (1 if given else self.n_init)
        self._fit_starts(problem, base.weights, starts, time.perf_counter() - start)
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

    def _problem(self, base: DynamicTextureMixture) -> _DynamicTextureProblem:
        return _DynamicTextureProblem(
            base, self.virtual_length, self.covariance_floor, self.max_spectral_radius
        )

    def _initial_model(
        self, problem: _DynamicTextureProblem, rng: np.random.Generator
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
                run = self._run(problem, model, base.weights)
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


# Size of the perturbation that separates the two halves of a split component ([1]_).
_SPLIT_SIZE = 0.01


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
