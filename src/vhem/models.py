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

import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import likelihood
from ._random import RandomState, generator

if TYPE_CHECKING:
    from hmmlearn.hmm import GMMHMM, GaussianHMM

__all__ = ["H3M", "HMM"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FORMAT_VERSION = 1
_SUM_TOLERANCE = 1e-6
_SYMMETRY_TOLERANCE = 1e-8


def _where(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first true element."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _frozen(name: str, value: ArrayLike, shape: tuple[int | str, ...]) -> Floats:
    """Return a read-only float64 copy of ``value`` after a check of its shape and finiteness."""
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a rectangular array of real numbers: {error}") from None
    wanted = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    if array.ndim != len(shape) or any(
        isinstance(n, int) and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {array.shape}, expected ({wanted})")
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}, expected ({wanted})")
    if not np.isfinite(array).all():
        index = _first(~np.isfinite(array))
        raise ValueError(f"{_where(name, index)} is {array[index]}, expected a finite number")
    array.flags.writeable = False
    return array


def _check_distributions(name: str, array: Floats) -> None:
    """Every row along the last axis must be a probability vector."""
    if (array < 0).any():
        index = _first(array < 0)
        raise ValueError(f"{_where(name, index)} is {array[index]:g}, expected a number >= 0")
    sums = array.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > _SUM_TOLERANCE
    if wrong.any():
        index = _first(np.atleast_1d(wrong))[: sums.ndim]
        raise ValueError(f"{_where(name, index)} sums to {sums[index]:.9g}, expected 1")


def _check_covariances(name: str, covars: Floats, n_features: int, full: bool) -> None:
    if not full:
        if (covars <= 0).any():
            index = _first(covars <= 0)
            raise ValueError(f"{_where(name, index)} is {covars[index]:g}, expected a variance > 0")
        return
    transposed = np.swapaxes(covars, -1, -2)
    scale = np.abs(covars).max(axis=(-1, -2), keepdims=True)
    skewed = (np.abs(covars - transposed) > _SYMMETRY_TOLERANCE * scale).any(axis=(-1, -2))
    if skewed.any():
        raise ValueError(f"{_where(name, _first(skewed))} is not symmetric")
    try:
        np.linalg.cholesky(covars)
    except np.linalg.LinAlgError:
        # The batch does not say which matrix failed.
        for index in np.ndindex(covars.shape[:-2]):
            smallest = np.linalg.eigvalsh(covars[index])[0]
            try:
                np.linalg.cholesky(covars[index])
            except np.linalg.LinAlgError:
                raise ValueError(
                    f"{_where(name, index)} is not positive definite "
                    f"(smallest eigenvalue {smallest:.3g})"
                ) from None
        raise


class _Container:
    """What the two containers share: immutable pickling and a file format without pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays are writeable; going through the constructor freezes them again.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an ``.npz`` file.

        The file holds plain arrays (no pickle) and a format version. It is written beside its
        place and moved there when it is whole. Equal models give equal bytes.

        Parameters
        ----------
        path : path-like
            Name of the file, used as it is: no suffix is added.
        """
        path = Path(path)
        arrays: dict[str, NDArray[Any]] = {
            "format": np.array(f"vhem.{type(self).__name__}"),
            "format_version": np.array(_FORMAT_VERSION),
        }
        arrays.update({f.name: getattr(self, f.name) for f in fields(self)})  # type: ignore[arg-type]
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
                for name, array in arrays.items():
                    # A ZipInfo of our own carries no time stamp, unlike numpy.savez.
                    with archive.open(
                        zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True
                    ) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            umask = os.umask(0)
            os.umask(umask)
            Path(temporary).chmod(0o666 & ~umask)
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by :meth:`save`.

        Parameters
        ----------
        path : path-like
            Name of the file.

        Returns
        -------
        HMM or H3M
            The class it is called on.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is truncated, was not written by :meth:`save` of this class, was written by
            a newer version of the library, or holds arrays that are no valid model.
        """
        kind = f"vhem.{cls.__name__}"
        try:
            # Opened here because numpy.load leaves a damaged file open.
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (zipfile.BadZipFile, EOFError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: not a whole {kind} file ({error})") from error
        if "format" not in arrays or "format_version" not in arrays:
            raise ValueError(f"{path}: not a {kind} file (it has no format mark)")
        found = str(arrays["format"])
        if found != kind:
            raise ValueError(f"{path}: holds {found}, expected {kind}")
        version = int(arrays["format_version"])
        if version > _FORMAT_VERSION:
            raise ValueError(
                f"{path}: format version {version} is newer than this library reads "
                f"({_FORMAT_VERSION}); update the library"
            )
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        missing = [name for name in names if name not in arrays]
        if missing:
            raise ValueError(f"{path}: lacks the array(s) {', '.join(missing)}")
        try:
            return cls(*(arrays[name] for name in names))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


@dataclass(frozen=True, eq=False, repr=False)
class HMM(_Container):
    """A hidden Markov model whose emissions are mixtures of Gaussians.

    Parameters
    ----------
    startprob : array-like, shape (S,)
        Probabilities of the first state, π of [1]_.
    transmat : array-like, shape (S, S)
        ``transmat[a, b]`` is the probability of state ``b`` after state ``a``; rows sum to 1.
    weights : array-like, shape (S, M)
        Mixture weights of each state's emission, c of [1]_; rows sum to 1.
    means : array-like, shape (S, M, d)
        Means, in data units.
    covars : array-like, shape (S, M, d) or (S, M, d, d)
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
        means = _frozen("means", self.means, ("S", "M", "d"))
        states, mixtures, features = means.shape
        full = np.ndim(self.covars) == 4
        shape = (states, mixtures, features, features) if full else (states, mixtures, features)
        checked = {
            "startprob": _frozen("startprob", self.startprob, (states,)),
            "transmat": _frozen("transmat", self.transmat, (states, states)),
            "weights": _frozen("weights", self.weights, (states, mixtures)),
            "means": means,
            "covars": _frozen("covars", self.covars, shape),
        }
        for name in ("startprob", "transmat", "weights"):
            _check_distributions(name, checked[name])
        _check_covariances("covars", checked["covars"], features, full)
        for name, array in checked.items():
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return (
            f"HMM(n_states={self.n_states}, n_mix={self.n_mix}, n_features={self.n_features}, "
            f"covariance_type={self.covariance_type!r})"
        )

    @property
    def n_states(self) -> int:
        """Number of hidden states, S."""
        return self.means.shape[0]

    @property
    def n_mix(self) -> int:
        """Number of Gaussians of each state's emission, M."""
        return self.means.shape[1]

    @property
    def n_features(self) -> int:
        """Dimension of an observation, d."""
        return self.means.shape[2]

    @property
    def covariance_type(self) -> str:
        """Either ``"diag"`` or ``"full"``."""
        return "full" if self.covars.ndim == 4 else "diag"

    def score_samples(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations; an array of shape (n, T, d) will do as well.

        Returns
        -------
        array, shape (n,)
            ``log p(y_i)`` in nats.
        """
        return self._as_mixture().component_log_likelihoods(sequences)[:, 0]

    def score(self, sequences: Sequence[ArrayLike]) -> float:
        """Sum of the log-likelihoods of the sequences, in nats."""
        return float(self.score_samples(sequences).sum())

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
        random_state : int, SeedSequence, Generator, RandomState or None
            Source of randomness.

        Returns
        -------
        observations : array, shape (n_sequences, length, d)
            The observations.
        states : array of int, shape (n_sequences, length)
            The hidden states.
        """
        observations, _, states = self._as_mixture().sample(n_sequences, length, random_state)
        return observations, states

    def posterior(self, sequence: ArrayLike) -> Floats:
        """Probabilities of the hidden states given the whole sequence.

        Parameters
        ----------
        sequence : array-like, shape (T, d)
            One sequence.

        Returns
        -------
        array, shape (T, S)
            ``P(x_t = s | y_{1:T})``; rows sum to 1.
        """
        return likelihood.state_posterior(self._as_mixture(), sequence)

    def decode(self, sequence: ArrayLike) -> tuple[float, Integers]:
        """Most probable path of hidden states (Viterbi).

        Parameters
        ----------
        sequence : array-like, shape (T, d)
            One sequence.

        Returns
        -------
        log_probability : float
            ``log p(y_{1:T}, x_{1:T})`` of the path, in nats.
        path : array of int, shape (T,)
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
        """
        from hmmlearn.hmm import GMMHMM, GaussianHMM

        if not isinstance(model, GaussianHMM | GMMHMM):
            raise TypeError(f"expected a GaussianHMM or GMMHMM, got {type(model).__name__}")
        missing = [
            name
            for name in ("startprob_", "transmat_", "means_", "covars_")
            if not hasattr(model, name)
        ]
        if missing:
            raise ValueError(f"the hmmlearn model is not fitted: it has no {missing[0]}")
        if isinstance(model, GaussianHMM):
            means = np.asarray(model.means_)[:, None, :]
            weights = np.ones(means.shape[:2])
            # hmmlearn fills its property covars_ to full matrices whatever the type.
            covars = np.asarray(model.covars_)[:, None]
            if model.covariance_type in ("spherical", "diag"):
                covars = np.diagonal(covars, axis1=-2, axis2=-1)
        else:
            means, weights = np.asarray(model.means_), np.asarray(model.weights_)
            covars = np.asarray(model.covars_)
            if model.covariance_type == "spherical":
                covars = np.broadcast_to(covars[..., None], means.shape)
            elif model.covariance_type == "tied":
                covars = np.broadcast_to(covars[:, None], (*means.shape, means.shape[-1]))
        return cls(model.startprob_, model.transmat_, weights, means, covars)

    def to_hmmlearn(self) -> GaussianHMM | GMMHMM:
        """Return an hmmlearn model with the same distribution.

        Returns
        -------
        hmmlearn.hmm.GaussianHMM or hmmlearn.hmm.GMMHMM
            The former if ``n_mix`` is 1.
        """
        from hmmlearn.hmm import GMMHMM, GaussianHMM

        model: GaussianHMM | GMMHMM
        if self.n_mix == 1:
            model = GaussianHMM(self.n_states, covariance_type=self.covariance_type)
            model.means_ = self.means[:, 0].copy()
            model.n_features = self.n_features
            model.covars_ = self.covars[:, 0].copy()
        else:
            model = GMMHMM(self.n_states, self.n_mix, covariance_type=self.covariance_type)
            # hmmlearn takes logarithms without care for zeros; this one vanishes in any sum.
            model.weights_ = np.maximum(self.weights, np.finfo(float).tiny)
            model.means_ = self.means.copy()
            model.n_features = self.n_features
            model.covars_ = self.covars.copy()
        model.startprob_ = self.startprob.copy()
        model.transmat_ = self.transmat.copy()
        return model

    def _as_mixture(self) -> H3M:
        return H3M(
            np.ones(1),
            self.startprob[None],
            self.transmat[None],
            self.weights[None],
            self.means[None],
            self.covars[None],
        )


@dataclass(frozen=True, eq=False, repr=False)
class H3M(_Container):
    """A mixture of hidden Markov models (hidden Markov mixture model).

    ``len(h3m)`` is the number of components, ``h3m[k]`` the component ``k`` as an :class:`HMM`,
    and a loop goes over the components.

    Parameters
    ----------
    weights : array-like, shape (K,)
        Weights of the components, ω of [1]_; they sum to 1.
    startprob : array-like, shape (K, S)
        Probabilities of the first state.
    transmat : array-like, shape (K, S, S)
        Transition probabilities, ``transmat[k, a, b] = P(x_t = b | x_{t-1} = a)``.
    mixture_weights : array-like, shape (K, S, M)
        Weights of the Gaussians of each state.
    means : array-like, shape (K, S, M, d)
        Means, in data units.
    covars : array-like, shape (K, S, M, d) or (K, S, M, d, d)
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
        means = _frozen("means", self.means, ("K", "S", "M", "d"))
        components, states, mixtures, features = means.shape
        full = np.ndim(self.covars) == 5
        shape = (*means.shape, features) if full else means.shape
        checked = {
            "weights": _frozen("weights", self.weights, (components,)),
            "startprob": _frozen("startprob", self.startprob, (components, states)),
            "transmat": _frozen("transmat", self.transmat, (components, states, states)),
            "mixture_weights": _frozen(
                "mixture_weights", self.mixture_weights, (components, states, mixtures)
            ),
            "means": means,
            "covars": _frozen("covars", self.covars, shape),
        }
        for name in ("weights", "startprob", "transmat", "mixture_weights"):
            _check_distributions(name, checked[name])
        _check_covariances("covars", checked["covars"], features, full)
        for name, array in checked.items():
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return (
            f"H3M(n_components={len(self)}, n_states={self.n_states}, n_mix={self.n_mix}, "
            f"n_features={self.n_features}, covariance_type={self.covariance_type!r})"
        )

    def __len__(self) -> int:
        return self.means.shape[0]

    def __getitem__(self, k: int) -> HMM:
        if not -len(self) <= k < len(self):
            raise IndexError(f"component {k} of a mixture of {len(self)} HMMs")
        return HMM(
            self.startprob[k],
            self.transmat[k],
            self.mixture_weights[k],
            self.means[k],
            self.covars[k],
        )

    def __iter__(self) -> Iterator[HMM]:
        return (self[k] for k in range(len(self)))

    @property
    def n_states(self) -> int:
        """Number of hidden states of each component, S (padding included)."""
        return self.means.shape[1]

    @property
    def n_mix(self) -> int:
        """Number of Gaussians of each state's emission, M (padding included)."""
        return self.means.shape[2]

    @property
    def n_features(self) -> int:
        """Dimension of an observation, d."""
        return self.means.shape[3]

    @property
    def covariance_type(self) -> str:
        """Either ``"diag"`` or ``"full"``."""
        return "full" if self.covars.ndim == 5 else "diag"

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
        weights : array-like, shape (K,), optional
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
        """Log-likelihood of each sequence under the mixture (Equation 1 of the NIPS paper).

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations.

        Returns
        -------
        array, shape (n,)
            ``log p(y_i)`` in nats.
        """
        return likelihood.mix(self.component_log_likelihoods(sequences), self.weights)

    def score(self, sequences: Sequence[ArrayLike]) -> float:
        """Sum of the log-likelihoods of the sequences, in nats."""
        return float(self.score_samples(sequences).sum())

    def component_log_likelihoods(self, sequences: Sequence[ArrayLike]) -> Floats:
        """Log-likelihood of each sequence under each component.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d)
            Observations.

        Returns
        -------
        array, shape (n, K)
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
        random_state : int, SeedSequence, Generator, RandomState or None
            Source of randomness.

        Returns
        -------
        observations : array, shape (n_sequences, length, d)
            The observations.
        components : array of int, shape (n_sequences,)
            The component that each sequence was drawn from.
        states : array of int, shape (n_sequences, length)
            The hidden states.
        """
        if n_sequences < 0:
            raise ValueError(f"n_sequences is {n_sequences}, expected a number >= 0")
        if length < 1:
            raise ValueError(f"length is {length}, expected a number >= 1")
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
        return cls.from_hmms([HMM.from_hmmlearn(model) for model in models], weights)

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
