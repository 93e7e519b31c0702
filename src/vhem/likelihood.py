r"""Exact inference in hidden Markov models with Gaussian-mixture emissions.

Log-densities of all frames under all Gaussians are one matrix product (see :mod:`vhem._moments`).
The recursion over time runs backwards in the log domain,

.. math:: \beta_{t-1}(a) = \log \sum_b A_{ab} \, e^{x_t(b)}, \qquad
          x_t(b) = \log p(y_t \mid b) + \beta_t(b),

and is computed as ``m + log(A @ exp(x - m))`` with ``m = max x``: S exponentials and S logarithms
per frame instead of S^2. Only where a row of A meets nothing but underflowed terms (a model with
forbidden transitions) is that row redone term by term, so no input underflows. Then

.. math:: P(x_t = b \mid x_{t-1} = a, y) = A_{ab} \, e^{x_t(b)} / \sum_{b'} A_{ab'} e^{x_t(b')}

lets the posterior run forwards from the first frame without any logarithm.
The total is the usual log-likelihood (Rabiner 1989), in nats.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import linalg

from ._compile import compiled
from ._moments import LOG_2PI, natural_parameters, point_moments
from ._numerics import (
    SMALLEST_SUM,
    fast_exp,
    fast_log,
    log_or_floor,
    log_weighted_sum,
    logsumexp_last,
    mixture_terms,
)
from ._parallel import single_threaded
from ._types import Floats, Integers, MixtureArrays
from ._validation import real_array

__all__ = [
    "check_sequences",
    "component_log_likelihoods",
    "mix",
    "state_posterior",
    "viterbi",
]


# Numbers in the table of a chunk (Gaussians x frames): 1 MiB of float64.
_CHUNK_TERMS = 2**17
_CHUNK_MOMENTS = 2**20
# Nats that rounding may cost a log-density, by the bits of its numbers.
_TOLERABLE_LOSS = {64: 1e-6, 32: 1e-2}


def check_sequences(
    sequences: Sequence[ArrayLike], n_features: int | None = None
) -> tuple[Floats, Integers]:
    """Concatenate sequences after checking them.

    Parameters
    ----------
    sequences : list of array-like, each of shape (T_i, d)
        At least one; none empty. An array of shape (n, T, d) will do.
    n_features : int, optional
        The d expected; that of the first sequence by default.

    Returns
    -------
    frames : ndarray of shape (sum T_i, d)
        All observations.
    lengths : ndarray of shape (n,), int
        The T_i.

    Raises
    ------
    ValueError
        Naming the sequence that is not two-dimensional, empty, of another dimension, masked, or
        that holds what is no finite real number or too large to be squared.
    """
    if not isinstance(sequences, Iterable):
        raise TypeError(f"sequences is {sequences!r}, expected a list of (T, d) arrays")
    arrays = [real_array(f"sequences[{i}]", sequence) for i, sequence in enumerate(sequences)]
    if not arrays:
        raise ValueError("sequences is empty, expected a list of (T, d) arrays")
    for i, array in enumerate(arrays):
        if array.ndim != 2:
            raise ValueError(
                f"sequences[{i}] has shape {array.shape}, expected (T, d); "
                "sequences must be a list of two-dimensional arrays, a single one is [sequence]"
            )
        if n_features is None:
            n_features = array.shape[1]
        if array.shape[1] != n_features or n_features == 0:
            if n_features == 0:
                raise ValueError(f"sequences[{i}] has shape {array.shape}: no feature")
            swapped = len(array) == n_features or (i > 0 and len(array) == len(arrays[0]))
            hint = f"; time is the first axis, this one has {len(array)} frames" * swapped
            raise ValueError(
                f"sequences[{i}] has {array.shape[1]} features, expected {n_features}{hint}"
            )
        if len(array) == 0:
            raise ValueError(f"sequences[{i}] has no frame")
    return np.concatenate(arrays), np.array([len(array) for array in arrays])


@compiled(fastmath={"contract"}, error_model="numpy")
def backward_pass(
    log_emission: Any,
    startprob: Any,
    transmat: Any,
    starts: Any,
    x: Any,
    shares: Any,
    inverse_sums: Any,
    log_likelihoods: Any,
) -> None:
    """Backward recursion for all sequences and models of a chunk.

    Parameters
    ----------
    log_emission : ndarray of shape (K, S, T)
        ``log p(y_t | s)``, T frames of all sequences one after the other.
    startprob, transmat : ndarrays of shapes (K, S), (K, S, S)
        The chains.
    starts : ndarray of shape (n + 1,), int
        Where each sequence begins, and T.
    x : ndarray of shape (K, T, S)
        Out: ``log_emission + beta``.
    shares : ndarray of shape (K, T, S)
        Out: ``exp(x - max x)``.
    inverse_sums : ndarray of shape (K, T, S)
        Out: ``1 / (A @ shares_t)``, or 0 where that sum has underflowed.
    log_likelihoods : ndarray of shape (n, K)
        Out: ``log p(sequence | model)``.
    """
    n_models, n_states, _ = log_emission.shape
    beta = np.empty(n_states)
    for k in range(n_models):
        for i in range(starts.size - 1):
            beta[:] = 0.0
            for t in range(starts[i + 1] - 1, starts[i], -1):
                top = -np.inf
                for s in range(n_states):
                    value = log_emission[k, s, t] + beta[s]
                    x[k, t, s] = value
                    top = max(top, value)
                for s in range(n_states):
                    shares[k, t, s] = fast_exp(x[k, t, s] - top)
                for a in range(n_states):
                    total = 0.0
                    for s in range(n_states):
                        total += transmat[k, a, s] * shares[k, t, s]
                    if total > SMALLEST_SUM:
                        inverse_sums[k, t, a] = 1.0 / total
                        beta[a] = top + fast_log(total)
                    else:
                        inverse_sums[k, t, a] = 0.0
                        beta[a] = log_weighted_sum(transmat[k, a], x[k, t])
            for s in range(n_states):
                x[k, starts[i], s] = log_emission[k, s, starts[i]] + beta[s]
            log_likelihoods[i, k] = log_weighted_sum(startprob[k], x[k, starts[i]])


@compiled(fastmath={"contract"}, error_model="numpy")
def forward_pass(
    startprob: Any,
    transmat: Any,
    starts: Any,
    x: Any,
    shares: Any,
    inverse_sums: Any,
    log_likelihoods: Any,
    weights: Any,
    posterior: Any,
    start_counts: Any,
    transition_counts: Any,
) -> None:
    """Posterior of the states from the results of :func:`backward_pass`.

    Parameters
    ----------
    startprob, transmat, starts, x, shares, inverse_sums, log_likelihoods : arrays
        As there.
    weights : ndarray of shape (n, K)
        What each sequence counts in each model.
    posterior : ndarray of shape (K, S, T)
        Out: ``weight * P(x_t = s | y)``.
    start_counts, transition_counts : ndarrays of shapes (K, S), (K, S, S)
        Weighted expected counts are added to them.
    """
    n_models, n_states, _ = posterior.shape
    now = np.empty(n_states)
    after = np.empty(n_states)
    for k in range(n_models):
        for i in range(starts.size - 1):
            weight = weights[i, k]
            first = starts[i]
            if weight == 0.0:
                posterior[k, :, first : starts[i + 1]] = 0.0
                continue
            for s in range(n_states):
                now[s] = 0.0
                if startprob[k, s] > 0.0:
                    log_share = np.log(startprob[k, s]) + x[k, first, s] - log_likelihoods[i, k]
                    now[s] = weight * np.exp(log_share)
                start_counts[k, s] += now[s]
                posterior[k, s, first] = now[s]
            for t in range(first + 1, starts[i + 1]):
                after[:] = 0.0
                for a in range(n_states):
                    if inverse_sums[k, t, a] > 0.0:
                        scaled = now[a] * inverse_sums[k, t, a]
                        for s in range(n_states):
                            count = scaled * transmat[k, a, s] * shares[k, t, s]
                            transition_counts[k, a, s] += count
                            after[s] += count
                    elif now[a] > 0.0:
                        log_total = log_weighted_sum(transmat[k, a], x[k, t])
                        for s in range(n_states):
                            if transmat[k, a, s] > 0.0:
                                log_share = np.log(transmat[k, a, s]) + x[k, t, s] - log_total
                                count = now[a] * np.exp(log_share)
                                transition_counts[k, a, s] += count
                                after[s] += count
                for s in range(n_states):
                    now[s] = after[s]
                    posterior[k, s, t] = now[s]


@compiled(error_model="numpy")
def _viterbi_path(log_emission: Any, log_startprob: Any, log_transmat: Any, path: Any) -> float:
    n_states, n_frames = log_emission.shape
    best = log_startprob + log_emission[:, 0]
    following = np.empty(n_states)
    came_from = np.empty((n_frames, n_states), dtype=np.int64)
    for t in range(1, n_frames):
        for s in range(n_states):
            origin = np.argmax(best + log_transmat[:, s])
            came_from[t, s] = origin
            following[s] = best[origin] + log_transmat[origin, s] + log_emission[s, t]
        best[:] = following
    path[n_frames - 1] = np.argmax(best)
    for t in range(n_frames - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return best[path[n_frames - 1]]


class Densities:
    """Natural parameters of the Gaussians of a mixture of HMMs, for one model and many chunks.

    The expansion of ``(y - mu)^2 / v`` into moments loses ``eps mu^2 / v`` nats. Gaussians that
    would lose more than is tolerable, because they are many standard deviations from the centre,
    are evaluated by the difference itself.

    Parameters
    ----------
    h3m : H3M
        The model.
    centre : ndarray of shape (d,)
        What is subtracted from every frame.
    dtype : float64 or float32, default=np.float64
        Of the matrix product and its result.
    """

    def __init__(self, h3m: MixtureArrays, centre: Floats, dtype: DTypeLike = np.float64) -> None:
        self.full = h3m.covariance_type == "full"
        self.shape = h3m.mixture_weights.shape
        self.centre = centre
        n_gaussians = h3m.mixture_weights.size
        weights = h3m.mixture_weights.ravel()
        means = h3m.means.reshape(n_gaussians, -1)
        covars = h3m.covars.reshape(n_gaussians, *h3m.covars.shape[3:])
        with np.errstate(over="ignore", invalid="ignore"):
            theta = natural_parameters(weights, means - centre, covars)
            squares = (theta[:, 1 : len(centre) + 1] * (means - centre)).sum(axis=1)
            self.theta = theta.astype(dtype, copy=False)
        info = np.finfo(self.theta.dtype)
        self.differing = np.flatnonzero(~(info.eps * squares <= _TOLERABLE_LOSS[info.bits]))
        self.weights, self.means, self.covars = (
            array[self.differing] for array in (weights, means, covars)
        )

    def emissions(
        self, moments: NDArray[np.floating], frames: Floats | None = None
    ) -> tuple[Floats, NDArray[np.floating]]:
        """Log-densities of frames in every state, and each Gaussian's share in them.

        Parameters
        ----------
        moments : ndarray of shape (F, T)
            See :func:`vhem._moments.point_moments`.
        frames : ndarray of shape (T, d), optional
            The frames as they were before the centre was subtracted, which costs digits.

        Returns
        -------
        log_emission : ndarray of shape (K, S, T)
            ``log p(y_t | s)``; -inf if it is below the range of double precision.
        shares : ndarray of shape (K*S, M, T)
            Posterior of the Gaussian given state and frame.
        """
        components, states, mixtures = self.shape
        n_frames = moments.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            terms = self.theta @ moments
        if self.differing.size:
            points = moments[1 : len(self.centre) + 1].T + self.centre if frames is None else frames
            terms[self.differing] = self._by_differences(points)
        shares = terms.reshape(components * states, mixtures, n_frames)
        log_emission = np.empty((components * states, n_frames))
        mixture_terms(shares, log_emission)
        return log_emission.reshape(components, states, n_frames), shares

    def _by_differences(self, points: Floats) -> Floats:
        """``log c + log N(y)`` of the Gaussians far from the centre, shape (Q, T)."""
        result = np.empty((len(self.differing), len(points)))
        for q, (mean, covar) in enumerate(zip(self.means, self.covars, strict=True)):
            differences = (points - mean).T
            with np.errstate(over="ignore", invalid="ignore"):
                if self.full:
                    factor = np.linalg.cholesky(covar)
                    scale = np.diagonal(factor)
                    scaled = linalg.solve_triangular(
                        factor, differences, lower=True, check_finite=False
                    )
                else:
                    scale = np.sqrt(covar)
                    scaled = differences / scale[:, None]
                squares = (scaled * scaled).sum(axis=0)
            result[q] = -0.5 * (len(mean) * LOG_2PI + 2.0 * np.log(scale).sum() + squares)
        return result + log_or_floor(self.weights)[:, None]


def chunk_borders(sizes: Integers, limit: int) -> Integers:
    """Cut consecutive items into runs of total size at most ``limit`` (one item at least).

    Returns the index of the first item of each run, and the number of items.
    """
    borders = [0]
    total = 0
    for i, size in enumerate(sizes):
        if total and total + size > limit:
            borders.append(i)
            total = 0
        total += int(size)
    borders.append(len(sizes))
    return np.array(borders)


def frames_per_chunk(n_gaussians: int, moments_per_frame: int) -> int:
    """Frames whose tables fit a processor's cache."""
    return max(256, min(_CHUNK_TERMS // n_gaussians, _CHUNK_MOMENTS // moments_per_frame))


def run_backward(
    h3m: MixtureArrays, log_emission: Floats, starts: Integers
) -> tuple[Floats, Floats, Floats, Floats]:
    """Allocate and run :func:`backward_pass`; return x, shares, inverse sums, log-likelihoods."""
    components, states, n_frames = log_emission.shape
    x, shares, inverse_sums = np.empty((3, components, n_frames, states))
    log_likelihoods = np.empty((len(starts) - 1, components))
    backward_pass(
        log_emission, h3m.startprob, h3m.transmat, starts, x, shares, inverse_sums, log_likelihoods
    )
    return x, shares, inverse_sums, log_likelihoods


def _chunks(
    frames: Floats, lengths: Integers, limit: int
) -> Iterator[tuple[slice, Floats, Integers]]:
    """Yield runs of whole sequences: their indices, their frames, and where each begins."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    borders = chunk_borders(lengths, limit)
    for first, last in itertools.pairwise(borders):
        starts = ends[first : last + 1]
        yield slice(first, last), frames[starts[0] : starts[-1]], starts - starts[0]


def component_log_likelihoods(h3m: MixtureArrays, sequences: Sequence[ArrayLike]) -> Floats:
    """Log-likelihood of each sequence under each component, shape (n, K), in nats."""
    frames, lengths = check_sequences(sequences, h3m.n_features)
    result = np.empty((len(lengths), len(h3m)))
    with single_threaded(), np.errstate(over="ignore", invalid="ignore"):
        centre = h3m.means.mean(axis=(0, 1, 2))
        densities = Densities(h3m, centre)
        limit = frames_per_chunk(*densities.theta.shape)
        for items, part, starts in _chunks(frames, lengths, limit):
            moments = point_moments(np.ascontiguousarray((part - centre).T), densities.full)
            log_emission, _ = densities.emissions(moments, part)
            result[items] = run_backward(h3m, log_emission, starts)[-1]
    outside = ~np.isfinite(result)
    if outside.any():
        i, k = np.argwhere(outside)[0]
        raise ValueError(_too_improbable(f"sequences[{i}]", f"component {k}"))
    return result


def _too_improbable(sequence: str, model: str) -> str:
    return (
        f"the likelihood of {sequence} under {model} is below the range of double precision: its "
        "frames are more than 1e150 standard deviations away"
    )


def mix(log_likelihoods: Floats, weights: Floats) -> Floats:
    """``logsumexp_k(log weights_k + log_likelihoods[:, k])``, shape (n,)."""
    return logsumexp_last(log_likelihoods + log_or_floor(weights))


def _one_sequence(h3m: MixtureArrays, sequence: ArrayLike) -> Floats:
    """Log-densities of one sequence under a one-component mixture, shape (1, S, T)."""
    array = real_array("sequence", sequence)
    if array.ndim != 2:
        raise ValueError(f"sequence has shape {array.shape}, expected (T, {h3m.n_features})")
    frames, _ = check_sequences([array], h3m.n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = h3m.means.mean(axis=(0, 1, 2))
        densities = Densities(h3m, centre)
        moments = point_moments(np.ascontiguousarray((frames - centre).T), densities.full)
        return densities.emissions(moments, frames)[0]


def state_posterior(h3m: MixtureArrays, sequence: ArrayLike) -> Floats:
    """``P(x_t = s | y)`` under the only component of ``h3m``, shape (T, S)."""
    log_emission = _one_sequence(h3m, sequence)
    starts = np.array([0, log_emission.shape[2]])
    x, shares, inverse_sums, log_likelihoods = run_backward(h3m, log_emission, starts)
    if not np.isfinite(log_likelihoods).all():
        raise ValueError(_too_improbable("sequence", "the model"))
    posterior = np.empty_like(log_emission)
    forward_pass(
        h3m.startprob,
        h3m.transmat,
        starts,
        x,
        shares,
        inverse_sums,
        log_likelihoods,
        np.ones((1, 1)),
        posterior,
        np.zeros_like(h3m.startprob),
        np.zeros_like(h3m.transmat),
    )
    return np.ascontiguousarray(posterior[0].T)


def viterbi(h3m: MixtureArrays, sequence: ArrayLike) -> tuple[float, Integers]:
    """Most probable path under the only component of ``h3m`` and its log-probability."""
    log_emission = _one_sequence(h3m, sequence)[0]
    path = np.empty(log_emission.shape[1], dtype=np.int64)
    with np.errstate(divide="ignore"):
        log_startprob, log_transmat = np.log(h3m.startprob[0]), np.log(h3m.transmat[0])
    log_probability = float(_viterbi_path(log_emission, log_startprob, log_transmat, path))
    if not np.isfinite(log_probability):
        raise ValueError(_too_improbable("sequence", "the model"))
    return log_probability, path
