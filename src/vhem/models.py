r"""Hidden Markov models and mixtures of them, as validated, immutable arrays.

A hidden Markov model (HMM) with ``S`` states whose emissions are mixtures of ``M`` Gaussians, and a
mixture of ``K`` such models (H3M, Section 2 of [1]_) with density

.. math:: p(y_{1:T}) = \sum_{k=1}^K \omega_k \, p(y_{1:T} \mid \mathcal{M}_k).

All arrays are float64, C-contiguous and read-only, so a model can be shared between threads and
never changes under an estimator that holds it. Log-likelihoods are in nats; being logarithms of
densities they may be positive.

References
----------
.. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm for
   clustering hidden Markov models", NIPS 2012.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _hmmlearn, likelihood
from ._random import RandomState, generator
from ._storage import Container
from ._types import Floats, Integers
from ._validation import (
    check_count,
    check_covariances,
    check_distributions,
)

if TYPE_CHECKING:
    from hmmlearn.hmm import GMMHMM, GaussianHMM

__all__ = ["H3M", "HMM"]


class _Chains(Container):
    """What one HMM and a mixture of them have in common."""

    means: Floats
    covars: Floats

    @property
    def n_states(self) -> int:
        """Number of hidden states (of each component, padding included), S."""
        return self.means.shape[-3]

    @property
    def n_mix(self) -> int:
        """Number of Gaussians of each state's emission (padding included), M."""
        return self.means.shape[-2]

    @property
    def n_features(self) -> int:
        """Dimension of an observation, d."""
        return self.means.shape[-1]

    @property
    def covariance_type(self) -> str:
        """Either ``"diag"`` or ``"full"``."""
        return "full" if self.covars.ndim > self.means.ndim else "diag"

    def score_samples(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence, in nats, shape (n,)."""
        raise NotImplementedError

    def score(self, sequences: Sequence[ArrayLike]) -> float:
        """Sum of the log-likelihoods of the sequences, in nats."""
        return float(self.score_samples(sequences).sum())

    def _sizes(self) -> str:
        return (
            f"n_states={self.n_states}, n_mix={self.n_mix}, n_features={self.n_features}, "
            f"covariance_type={self.covariance_type!r}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class HMM(_Chains):
    """A hidden Markov model whose emissions are mixtures of Gaussians.

    Parameters
    ----------
    startprob : array-like of shape (S,)
        Probabilities of the first state, π of [1]_.
    transmat : array-like of shape (S, S)
        ``transmat[a, b]`` is the probability of state ``b`` after state ``a``; rows sum to 1.
    weights : array-like of shape (S, M)
        Mixture weights of each state's emission, c of [1]_; rows sum to 1.
    means : array-like of shape (S, M, d)
        Means, in data units.
    covars : array-like of shape (S, M, d) or (S, M, d, d)
        Variances (diagonal covariances) or covariance matrices, in squared data units.

    Raises
    ------
    ValueError
        If a shape does not fit, a number is not finite, a probability vector is negative or does
        not sum to 1 (within 1e-6), or a covariance is not positive definite. The message names the
        argument and the index.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm
       for clustering hidden Markov models", NIPS 2012, Section 2.

    Examples
    --------
    >>> import numpy as np
    >>> hmm = HMM(
    ...     [1.0, 0.0],
    ...     [[0.9, 0.1], [0.0, 1.0]],
    ...     [[1.0], [1.0]],
    ...     [[[0.0]], [[5.0]]],
    ...     [[[1.0]], [[1.0]]],
    ... )
    >>> hmm
    HMM(n_states=2, n_mix=1, n_features=1, covariance_type='diag')
    >>> observations, states = hmm.sample(3, length=8, random_state=0)
    >>> observations.shape, states.shape
    ((3, 8, 1), (3, 8))
    >>> hmm.score_samples(observations).shape
    (3,)
    """

    startprob: Floats
    transmat: Floats
    weights: Floats
    means: Floats
    covars: Floats

    def __post_init__(self) -> None:
        full = np.ndim(self.covars) == 4
        covars = "SMdd" if full else "SMd"
        self._freeze(
            "means", startprob="S", transmat="SS", weights="SM", means="SMd", covars=covars
        )
        for name in ("startprob", "transmat", "weights"):
            check_distributions(name, getattr(self, name))
        check_covariances("covars", self.covars, full)

    def __repr__(self) -> str:
        return f"HMM({self._sizes()})"

    def score_samples(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations; an array of shape (n, T, d) will do as well.

        Returns
        -------
        ndarray of shape (n,)
            ``log p(y_i)`` in nats.
        """
        return self._as_mixture().component_log_likelihoods(sequences)[:, 0]

    def sample(
        self, n_sequences: int, length: int, random_state: RandomState = None
    ) -> tuple[Floats, Integers]:
        """Draw sequences.

        Parameters
        ----------
        n_sequences : int
            How many.
        length : int
            Observations per sequence.
        random_state : int, SeedSequence, Generator, RandomState or None, default=None
            Source of randomness.

        Returns
        -------
        observations : ndarray of shape (n_sequences, length, d)
            The observations.
        states : ndarray of shape (n_sequences, length), int
            The hidden states.
        """
        observations, _, states = self._as_mixture().sample(n_sequences, length, random_state)
        return observations, states

    def posterior(self, sequence: ArrayLike) -> Floats:
        """Probabilities of the hidden states given the whole sequence.

        Parameters
        ----------
        sequence : array-like of shape (T, d)
            One sequence.

        Returns
        -------
        ndarray of shape (T, S)
            ``P(x_t = s | y_{1:T})``; rows sum to 1.
        """
        return likelihood.state_posterior(self._as_mixture(), sequence)

    def decode(self, sequence: ArrayLike) -> tuple[float, Integers]:
        """Most probable path of hidden states (Viterbi).

        Parameters
        ----------
        sequence : array-like of shape (T, d)
            One sequence.

        Returns
        -------
        log_probability : float
            ``log p(y_{1:T}, x_{1:T})`` of the path, in nats.
        path : ndarray of shape (T,), int
            The states.
        """
        return likelihood.viterbi(self._as_mixture(), sequence)

    def trim(self) -> HMM:
        """Drop what can never occur: unreachable states and Gaussians of weight zero.

        The distribution over observations stays the same. Of the Gaussians as many are kept as the
        richest state has with positive weight. Undoes the padding of :meth:`H3M.from_hmms`.
        """
        reached = self.startprob > 0
        for _ in range(self.n_states):
            reached = reached | (reached @ self.transmat > 0)
        states = np.flatnonzero(reached)
        n_mix = int((self.weights[states] > 0).sum(axis=1).max())
        # A stable sort brings positive weights to the front and keeps their order.
        order = np.argsort(self.weights[states] <= 0, axis=1, kind="stable")[:, :n_mix]
        rows = states[:, None]
        return HMM(
            self.startprob[states],
            self.transmat[np.ix_(states, states)],
            self.weights[rows, order],
            self.means[rows, order],
            self.covars[rows, order],
        )

    @classmethod
    def from_hmmlearn(cls, model: GaussianHMM | GMMHMM) -> HMM:
        """Take the parameters of a fitted hmmlearn model.

        Parameters
        ----------
        model : hmmlearn.hmm.GaussianHMM or hmmlearn.hmm.GMMHMM
            Any covariance type; ``"spherical"`` becomes diagonal, ``"tied"`` full.

        Returns
        -------
        HMM
            The same distribution.

        Raises
        ------
        TypeError
            If it is a model of another kind.
        ValueError
            If it is not fitted, or its arrays do not fit its parameters, as after a change of
            ``covariance_type``.
        ImportError
            If hmmlearn, an optional dependency, is not installed.
        """
        return cls(*_hmmlearn.parameters(model))

    def to_hmmlearn(self) -> GaussianHMM | GMMHMM:
        """Return an hmmlearn model with the same distribution.

        Returns
        -------
        hmmlearn.hmm.GaussianHMM or hmmlearn.hmm.GMMHMM
            The former if ``n_mix`` is 1.
        """
        return _hmmlearn.model_from(*self._arrays())

    def _as_mixture(self) -> H3M:
        return H3M(np.ones(1), *(array[None] for array in self._arrays()))


@dataclass(frozen=True, eq=False, repr=False)
class H3M(_Chains):
    """A mixture of hidden Markov models (hidden Markov mixture model).

    ``len(h3m)`` is the number of components, ``h3m[k]`` the component ``k`` as an :class:`HMM`,
    and a loop goes over the components. A slice, a list of integers or a mask gives a mixture of
    the chosen components, whose weights are scaled to sum to 1.

    Parameters
    ----------
    weights : array-like of shape (K,)
        Weights of the components, ω of [1]_; they sum to 1.
    startprob : array-like of shape (K, S)
        Probabilities of the first state.
    transmat : array-like of shape (K, S, S)
        Transition probabilities, ``transmat[k, a, b] = P(x_t = b | x_{t-1} = a)``.
    mixture_weights : array-like of shape (K, S, M)
        Weights of the Gaussians of each state.
    means : array-like of shape (K, S, M, d)
        Means, in data units.
    covars : array-like of shape (K, S, M, d) or (K, S, M, d, d)
        Variances or covariance matrices, in squared data units.

    Raises
    ------
    ValueError
        As for :class:`HMM`.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm
       for clustering hidden Markov models", NIPS 2012, Equation 1.
    """

    weights: Floats
    startprob: Floats
    transmat: Floats
    mixture_weights: Floats
    means: Floats
    covars: Floats

    def __post_init__(self) -> None:
        full = np.ndim(self.covars) == 5
        self._freeze(
            "means",
            weights="K",
            startprob="KS",
            transmat="KSS",
            mixture_weights="KSM",
            means="KSMd",
            covars="KSMdd" if full else "KSMd",
        )
        for name in ("weights", "startprob", "transmat", "mixture_weights"):
            check_distributions(name, getattr(self, name))
        check_covariances("covars", self.covars, full)

    def __repr__(self) -> str:
        return f"H3M(n_components={len(self)}, {self._sizes()})"

    def __len__(self) -> int:
        return self.means.shape[0]

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> HMM: ...

    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[Any]) -> H3M: ...

    def __getitem__(
        self, key: int | np.integer[Any] | slice | Sequence[int] | NDArray[Any]
    ) -> HMM | H3M:
        weights, *arrays = self._arrays()
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            if not -len(self) <= key < len(self):
                raise IndexError(f"component {key} of a mixture of {len(self)} HMMs")
            return HMM(*(array[key] for array in arrays))
        chosen = self._chosen(key)
        weights = weights[chosen]
        if not weights.sum() > 0:
            raise ValueError(f"the components {chosen.tolist()} have no weight")
        # The ratio is exactly 1 where every component is chosen.
        weights = weights / (weights.sum() / self.weights.sum())
        return H3M(weights, *(array[chosen] for array in arrays))

    def _chosen(self, key: Any) -> Integers:
        """Return the indices that a slice, integers or a mask stand for."""
        indices = np.arange(len(self))
        if not isinstance(key, slice):
            key = np.asarray(key)
            if key.ndim != 1 or (key.size and key.dtype.kind not in "biu"):
                raise TypeError(
                    f"component index is {key!r}, expected an integer, a slice, a list of integers "
                    "or a mask"
                )
            key = key if key.size else key.astype(np.int64)
        try:
            chosen = indices[key]
        except IndexError as error:
            raise IndexError(f"{error}, in a mixture of {len(self)} HMMs") from None
        if not chosen.size:
            raise ValueError("no component is chosen; a mixture needs at least one")
        return chosen

    def __iter__(self) -> Iterator[HMM]:
        return (self[k] for k in range(len(self)))

    @classmethod
    def from_hmms(cls, hmms: Sequence[HMM], weights: ArrayLike | None = None) -> H3M:
        """Stack hidden Markov models into a mixture.

        Models with fewer states or Gaussians than the largest are padded with states that are
        never reached and Gaussians of weight zero, which changes no distribution and no result of
        this library (:meth:`HMM.trim` takes the padding off again). If any model has full
        covariances, the diagonal ones are written as matrices.

        Parameters
        ----------
        hmms : sequence of HMM
            At least one; all of the same dimension.
        weights : array-like of shape (K,), optional
            Component weights; equal ones by default.

        Returns
        -------
        H3M
            Component ``k`` has the distribution of ``hmms[k]``.
        """
        hmms = list(hmms)
        if not hmms:
            raise ValueError("hmms is empty, expected at least one HMM")
        for k, hmm in enumerate(hmms):
            if not isinstance(hmm, HMM):
                raise TypeError(f"hmms[{k}] is a {type(hmm).__name__}, expected an HMM")
            if hmm.n_features != hmms[0].n_features:
                raise ValueError(
                    f"hmms[{k}] has {hmm.n_features} features, hmms[0] has {hmms[0].n_features}"
                )
        full = any(hmm.covariance_type == "full" for hmm in hmms)
        states = max(hmm.n_states for hmm in hmms)
        mixtures = max(hmm.n_mix for hmm in hmms)
        padded = [_padded(hmm, states, mixtures, full) for hmm in hmms]
        columns = [np.stack(column) for column in zip(*padded, strict=True)]
        equal = np.full(len(hmms), 1.0 / len(hmms))
        return cls(equal if weights is None else np.asarray(weights), *columns)

    def score_samples(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihoods under the mixture (Equation 1); see :meth:`HMM.score_samples`."""
        return likelihood.mix(self.component_log_likelihoods(sequences), self.weights)

    def component_log_likelihoods(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence under each component.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations.

        Returns
        -------
        ndarray of shape (n, K)
            ``log p(y_i | component k)`` in nats, without the component's weight.
        """
        return likelihood.component_log_likelihoods(self, sequences)

    def sample(
        self, n_sequences: int, length: int, random_state: RandomState = None
    ) -> tuple[Floats, Integers, Integers]:
        """Draw sequences.

        Parameters
        ----------
        n_sequences : int
            How many.
        length : int
            Observations per sequence.
        random_state : int, SeedSequence, Generator, RandomState or None, default=None
            Source of randomness.

        Returns
        -------
        observations : ndarray of shape (n_sequences, length, d)
            The observations.
        components : ndarray of shape (n_sequences,), int
            The component that each sequence was drawn from.
        states : ndarray of shape (n_sequences, length), int
            The hidden states.
        """
        n_sequences = check_count("n_sequences", n_sequences, 0)
        length = check_count("length", length)
        rng = generator(random_state)
        components = _draw(rng, np.broadcast_to(self.weights, (n_sequences, len(self))))
        states = np.empty((n_sequences, length), dtype=np.int64)
        states[:, 0] = _draw(rng, self.startprob[components])
        for t in range(1, length):
            states[:, t] = _draw(rng, self.transmat[components, states[:, t - 1]])
        owners = np.repeat(components, length)
        visited = states.ravel()
        mixtures = _draw(rng, self.mixture_weights[owners, visited])
        means = self.means[owners, visited, mixtures]
        noise = rng.standard_normal(means.shape)
        if self.covariance_type == "diag":
            noise *= np.sqrt(self.covars)[owners, visited, mixtures]
        else:
            factors = np.linalg.cholesky(self.covars)
            noise = np.einsum("nab,nb->na", factors[owners, visited, mixtures], noise)
        observations = (means + noise).reshape(n_sequences, length, self.n_features)
        return observations, components, states

    @classmethod
    def from_hmmlearn(
        cls, models: Sequence[GaussianHMM | GMMHMM], weights: ArrayLike | None = None
    ) -> H3M:
        """Stack fitted hmmlearn models; see :meth:`HMM.from_hmmlearn` and :meth:`from_hmms`."""
        hmms = []
        for k, model in enumerate(models):
            try:
                hmms.append(HMM.from_hmmlearn(model))
            except (TypeError, ValueError) as error:
                raise type(error)(f"models[{k}]: {error}") from error
        return cls.from_hmms(hmms, weights)

    def to_hmmlearn(self) -> list[GaussianHMM | GMMHMM]:
        """Return the components as hmmlearn models; see :meth:`HMM.to_hmmlearn`."""
        return [hmm.to_hmmlearn() for hmm in self]


def _draw(rng: np.random.Generator, probabilities: Floats) -> Integers:
    """One index per row, drawn with the row's probabilities."""
    cumulative = np.cumsum(probabilities, axis=1)
    # Rows sum to 1 only up to rounding: scale the draw so that it never passes the end.
    threshold = rng.random(len(probabilities)) * cumulative[:, -1]
    return (cumulative <= threshold[:, None]).sum(axis=1)


def _padded(hmm: HMM, states: int, mixtures: int, full: bool) -> tuple[Floats, ...]:
    """Return the parameters of ``hmm`` in the shapes of a larger model.

    An added state has no way in and stays in itself; an added Gaussian has weight zero. Both copy
    the first mean and covariance, so that every number stays finite and in range.
    """
    more_states, more_mixtures = states - hmm.n_states, mixtures - hmm.n_mix
    covars = hmm.covars
    if full and hmm.covariance_type == "diag":
        covars = covars[..., :, None] * np.eye(hmm.n_features)
    startprob = np.pad(hmm.startprob, (0, more_states))
    transmat = np.eye(states)
    transmat[: hmm.n_states] = np.pad(hmm.transmat, ((0, 0), (0, more_states)))
    weights = np.zeros((states, mixtures))
    weights[hmm.n_states :, 0] = 1.0
    weights[: hmm.n_states, : hmm.n_mix] = hmm.weights
    state = np.r_[np.arange(hmm.n_states), np.zeros(more_states, dtype=int)][:, None]
    mixture = np.r_[np.arange(hmm.n_mix), np.zeros(more_mixtures, dtype=int)][None, :]
    return startprob, transmat, weights, hmm.means[state, mixture], covars[state, mixture]
