"""Dynamic textures: linear dynamical systems, mixtures of them, and how one is learned.

A dynamic texture is a linear dynamical system whose hidden state is of low dimension ``n`` and
whose observation noise is the same in all ``d`` directions:

    x_1     ~ N(m, S)
    x_{t+1} = A x_t + v_t,           v_t ~ N(0, Q)
    y_t     = C x_t + ybar + w_t,    w_t ~ N(0, r I).

Because the noise is isotropic, an observation matters only through its coordinates in the range
of ``C`` and its squared distance from it. Both are computed once by matrix products; everything
that runs over time is ``n``-dimensional, so that ``d`` never enters a matrix inversion.

References
----------
.. [1] G. Doretto, A. Chiuso, Y. N. Wu, S. Soatto, "Dynamic textures", International Journal of
   Computer Vision 51(2):91-109, 2003.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from .._inputs import checked_weights
from .._parallel import single_threaded
from .._random import RandomState, generator
from .._storage import Container
from .._types import Floats, Integers
from .._update import bounded_covars
from .._validation import (
    LARGEST_SQUARABLE,
    check_count,
    check_distributions,
    check_number,
    frozen_array,
)
from ..likelihood import check_sequences, mix

__all__ = [
    "DynamicTexture",
    "DynamicTextureMixture",
    "Textures",
    "fit_dynamic_texture",
    "limit_spectral_radius",
]


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


class _Systems(Container):
    """What one dynamic texture and a mixture of them have in common."""

    transition_covar: Floats
    observation: Floats
    observation_variance: Floats
    initial_covar: Floats

    @property
    def n_states(self) -> int:
        """Dimension of the hidden state, n."""
        return self.observation.shape[-1]

    @property
    def n_features(self) -> int:
        """Dimension of an observation, d."""
        return self.observation.shape[-2]

    def _sizes(self) -> str:
        return f"n_states={self.n_states}, n_features={self.n_features}"

    def _check_covariances(self) -> None:
        _check_semidefinite("transition_covar", self.transition_covar)
        _check_semidefinite("initial_covar", self.initial_covar)
        for index, value in np.ndenumerate(self.observation_variance):
            if value <= 0:
                where = f"[{index[0]}]" if index else ""
                raise ValueError(f"observation_variance{where} is {value:g}, expected a number > 0")


@dataclass(frozen=True, eq=False, repr=False)
class DynamicTextureMixture(_Systems):
    """A mixture of dynamic textures, as validated, read-only arrays.

    ``len(mixture)`` is the number of components, ``mixture[k]`` the component ``k`` as a
    :class:`DynamicTexture`, and a loop goes over the components.

    Parameters
    ----------
    weights : array-like of shape (K,)
        Weights of the components; they sum to 1.
    transition : array-like of shape (K, n, n)
        ``A``: the expected next state is ``A x``.
    transition_covar : array-like of shape (K, n, n)
        ``Q``, covariance of the state's noise.
    observation : array-like of shape (K, d, n)
        ``C``, from state to observation.
    offset : array-like of shape (K, d)
        ``ybar``, in data units.
    observation_variance : array-like of shape (K,)
        ``r``, variance of the observation noise in each direction, in squared data units; > 0.
    initial_mean : array-like of shape (K, n)
        ``m``, mean of the first state.
    initial_covar : array-like of shape (K, n, n)
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
        self._freeze(
            "observation",
            weights="K",
            transition="Knn",
            transition_covar="Knn",
            observation="Kdn",
            offset="Kd",
            observation_variance="K",
            initial_mean="Kn",
            initial_covar="Knn",
        )
        check_distributions("weights", self.weights)
        self._check_covariances()

    def __repr__(self) -> str:
        return f"DynamicTextureMixture(n_components={len(self)}, {self._sizes()})"

    def __len__(self) -> int:
        return self.observation.shape[0]

    def __getitem__(self, k: int) -> DynamicTexture:
        if not -len(self) <= k < len(self):
            raise IndexError(f"component {k} of a mixture of {len(self)} dynamic textures")
        return DynamicTexture(*(array[k] for array in self._arrays()[1:]))

    def __iter__(self) -> Iterator[DynamicTexture]:
        return (self[k] for k in range(len(self)))

    @classmethod
    def from_systems(
        cls, systems: Sequence[DynamicTexture], weights: ArrayLike | None = None
    ) -> DynamicTextureMixture:
        """Stack dynamic textures into a mixture.

        Parameters
        ----------
        systems : sequence of DynamicTexture
            At least one; all with the same dimensions of state and observation.
        weights : array-like of shape (K,), optional
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
        columns = zip(*(system._arrays() for system in systems), strict=True)
        return cls(checked_weights(weights, len(systems)), *map(np.stack, columns))

    def component_log_likelihoods(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence under each component, by Kalman filtering.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations; lengths may differ.

        Returns
        -------
        ndarray of shape (n, K)
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
    ) -> tuple[Floats, Integers, Floats]:
        """Draw sequences.

        Parameters
        ----------
        n_sequences, length : int
            How many, and observations per sequence.
        random_state : int, SeedSequence, Generator, RandomState or None, default=None
            Source of randomness.

        Returns
        -------
        observations : ndarray of shape (n_sequences, length, d)
            The observations.
        components : ndarray of shape (n_sequences,), int
            The component that each sequence was drawn from.
        states : ndarray of shape (n_sequences, length, n)
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
class DynamicTexture(_Systems):
    """A linear dynamical system with isotropic observation noise.

    See the module's header for the equations and :class:`DynamicTextureMixture` for the meaning
    of the arrays, which here have no leading axis.

    Parameters
    ----------
    transition, transition_covar : array-like of shape (n, n)
        ``A`` and ``Q``.
    observation : array-like of shape (d, n)
        ``C``.
    offset : array-like of shape (d,)
        ``ybar``.
    observation_variance : float
        ``r``; kept as an array without axes.
    initial_mean : array-like of shape (n,)
        ``m``.
    initial_covar : array-like of shape (n, n)
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
        self._freeze(
            "observation",
            transition="nn",
            transition_covar="nn",
            observation="dn",
            offset="d",
            observation_variance="",
            initial_mean="n",
            initial_covar="nn",
        )
        self._check_covariances()

    def __repr__(self) -> str:
        return f"DynamicTexture({self._sizes()})"

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
    mixture: DynamicTextureMixture, k: int, frames: Floats, lengths: Integers
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


def limit_spectral_radius(transition: Floats, limit: float) -> Floats:
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
    sequence : array-like of shape (T, d)
        Observations, ``T >= 2``.
    n_states : int
        ``n``, at most ``min(T, d)``.
    covariance_floor : float, default=1e-06
        Smallest ``r`` and smallest eigenvalue of ``Q`` and ``S``, in squared data units.
    max_spectral_radius : float, default=0.999
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
    transition = limit_spectral_radius(transition, max_spectral_radius)
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


Textures = DynamicTexture | DynamicTextureMixture | Sequence[DynamicTexture | DynamicTextureMixture]
