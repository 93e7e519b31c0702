r"""EM for a mixture of hidden Markov models on sequences (Smyth 1997 [1]_).

The sequences of a group :math:`Y_g` belong together to one component. The objective, in nats, is

.. math:: J = \sum_g w_g \log \sum_j \omega_j \prod_{i \in g} p(y_i \mid \mathcal{M}_j).

The E-step computes :math:`l_{ij} = \log p(y_i \mid \mathcal{M}_j)` and the responsibilities
:math:`z_{gj} \propto \omega_j \exp \sum_{i \in g} l_{ij}`; the M-step is Baum-Welch with each
sequence counted :math:`w_g z_{gj}` times. One component is the ordinary HMM.

Sequences pass through the E-step in chunks that fit a processor's cache: likelihoods,
responsibilities and statistics of a chunk are computed in one go.

References
----------
.. [1] P. Smyth, "Clustering sequences with hidden Markov models", NIPS 1996.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.utils import Tags

from ._clustering import assign
from ._em import EMEstimator, Expectation, Problem
from ._inputs import warn_of_duplicates, warn_of_large_floor, warn_of_swapped_axes
from ._moments import n_moments, point_moments
from ._parallel import ordered_map
from ._random import RandomState, generator
from ._starts import START_METHODS, partition, starting_hmm
from ._types import Floats, Integers
from ._update import Statistics, maximise, regularised, total
from ._validation import check_count, check_number, real_array
from .likelihood import (
    Densities,
    check_sequences,
    chunk_borders,
    forward_pass,
    frames_per_chunk,
    run_backward,
)
from .models import H3M

__all__ = ["EMH3M"]


# A variance below this share of its feature's overall variance is lost in the rounding of
# E[y^2] - E[y]^2.
_RELATIVE_FLOOR = {"float64": 1e-10, "float32": 1e-4}
# Sums of squares, and those divided by the smallest variance, stay in the range of float32.
_LARGEST_SINGLE = 1e15


@dataclass(frozen=True)
class _Chunk:
    """Whole groups of sequences.

    Attributes
    ----------
    frames : ndarray of shape (d, T)
        Centred frames, in the dtype of the computation.
    starts : ndarray of shape (n + 1,), int
        Where each sequence begins, and T.
    first_sequence : ndarray of shape (G,), int
        First sequence of each group.
    groups : ndarray of shape (n,), int
        Group of each sequence.
    weights : ndarray of shape (G,)
        What each group counts.
    """

    frames: NDArray[np.floating]
    starts: Integers
    first_sequence: Integers
    groups: Integers
    weights: Floats


class _Data(NamedTuple):
    """The training set, ordered by group."""

    frames: Floats
    lengths: Integers
    groups: Integers
    group_weights: Floats
    order: Integers  # position in the user's list of each ordered sequence


def _expect_chunk(chunk: _Chunk, model: H3M, densities: Densities) -> Expectation:
    moments = point_moments(chunk.frames, densities.full)
    log_emission, shares = densities.emissions(moments)
    x, exponentials, inverse_sums, log_likelihoods = run_backward(model, log_emission, chunk.starts)
    joint = np.add.reduceat(log_likelihoods, chunk.first_sequence, axis=0)
    responsibilities, evidence = assign(model.weights, joint, np.ones(len(joint)))
    components = (chunk.weights[:, None] * responsibilities).sum(axis=0)
    start, transitions = np.zeros_like(model.startprob), np.zeros_like(model.transmat)
    posterior = np.empty_like(log_emission)
    forward_pass(
        model.startprob,
        model.transmat,
        chunk.starts,
        x,
        exponentials,
        inverse_sums,
        log_likelihoods,
        (chunk.weights[:, None] * responsibilities)[chunk.groups],
        posterior,
        start,
        transitions,
    )
    # The shares of the Gaussians become their responsibilities for the frames.
    shares *= posterior.reshape(len(shares), 1, -1).astype(shares.dtype, copy=False)
    sums = shares.reshape(-1, shares.shape[-1]) @ moments.T
    return Expectation(
        float(chunk.weights @ evidence),
        responsibilities,
        log_likelihoods,
        Statistics(components, start, transitions, sums.astype(np.float64, copy=False)),
    )


class _SequenceProblem(Problem[H3M]):
    """EM on sequences; what stays the same during a fit."""

    def __init__(
        self,
        chunks: list[_Chunk],
        centre: Floats,
        floor: Floats | float,
        reg_covar: float,
        dtype: DTypeLike,
        n_jobs: int | None,
    ) -> None:
        self.chunks = chunks
        self.centre = centre
        self.floor = floor
        self.reg_covar = reg_covar
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.frames = sum(
            float(chunk.weights[chunk.groups] @ np.diff(chunk.starts)) for chunk in chunks
        )

    def expectation(self, model: H3M) -> Expectation:
        densities = Densities(model, self.centre, self.dtype)
        work = functools.partial(_expect_chunk, model=model, densities=densities)
        parts = list(ordered_map(work, self.chunks, self.n_jobs))
        return Expectation(
            sum(part.objective for part in parts),
            np.concatenate([part.responsibilities for part in parts]),
            np.concatenate([part.log_likelihoods for part in parts]),
            functools.reduce(total, (part.statistics for part in parts)),
        )

    def maximisation(self, model: H3M, expectation: Expectation) -> H3M:
        return maximise(expectation.statistics, model, self.centre, self.floor, self.reg_covar)

    def settled(self, before: float, now: float, tol: float) -> bool:
        return abs(now - before) / self.frames < tol


class EMH3M(EMEstimator):
    """Mixture of hidden Markov models fitted to sequences by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of HMMs, K. One is an ordinary HMM.
    n_states : int, default=2
        Hidden states of each, S.
    n_mix : int, default=1
        Gaussians of each state's emission, M.
    covariance_type : {"diag", "full"}, default="diag"
        Kind of covariance.
    n_init : int, default=1
        Number of starts; the one with the largest objective is kept.
    tol : float or None, default=1e-4
        Stop when the objective changes by less than this per frame (nats). None runs ``max_iter``
        M-steps.
    max_iter : int, default=100
        Largest number of M-steps.
    covariance_floor : float, default=1e-6
        Smallest variance, or smallest eigenvalue of a covariance matrix, in squared data units. It
        is imposed exactly: the objective does not fall because of it. Variances below 1e-10 (in
        single precision 1e-4) of a feature's overall variance cannot be resolved and are raised
        to that as well.
    reg_covar : float, default=0
        Added to every variance of the start and after every M-step. With it the objective may
        fall.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Precision of the two large matrix products. Recursions, sums and results are float64.
    n_jobs : int or None, default=None
        Threads; -1 for all processors. It changes no number.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    model_ : H3M
        The fitted mixture.
    responsibilities_ : ndarray of shape (n, K)
        Probability of each component given the sequence (and the others of its group).
    labels_ : ndarray of shape (n,), int
        Most probable component.
    log_likelihoods_ : ndarray of shape (n, K)
        ``log p(y_i | component j)`` in nats.
    lower_bound_ : float
        Objective of the fitted mixture: the log-likelihood, in nats.
    history_ : ndarray of shape (n_iter_ + 1,)
        Objective after 0, 1, ... M-steps. It never falls if ``reg_covar`` is 0.
    n_iter_ : int
        Number of M-steps done.
    converged_ : bool
        Whether ``tol`` was reached.
    restart_objectives_ : ndarray of shape (number of starts,)
        Final objective of every start.
    timings_ : dict of str to float
        Seconds, summed over the starts: ``"init"`` (ordering the sequences, making the starts) and
        ``"em"``.

    References
    ----------
    .. [1] P. Smyth, "Clustering sequences with hidden Markov models", NIPS 1996.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> slow = [rng.normal(np.sin(0.1 * np.arange(60)), 0.1)[:, None] for _ in range(5)]
    >>> level = [rng.normal(3.0, 0.1, size=(60, 1)) for _ in range(5)]
    >>> em = EMH3M(n_components=2, n_states=3, random_state=0).fit(slow + level)
    >>> len(set(em.labels_[:5])), len(set(em.labels_[5:])), em.labels_[0] != em.labels_[5]
    (1, 1, np.True_)
    """

    model_: H3M

    def __init__(
        self,
        n_components: int = 1,
        n_states: int = 2,
        n_mix: int = 1,
        covariance_type: str = "diag",
        *,
        n_init: int = 1,
        tol: float | None = 1e-4,
        max_iter: int = 100,
        covariance_floor: float = 1e-6,
        reg_covar: float = 0.0,
        dtype: DTypeLike = np.float64,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.covariance_floor = covariance_floor
        self.reg_covar = reg_covar
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        sequences: Sequence[ArrayLike],
        y: object = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init: H3M | str | None = None,
        monitor: Callable[[H3M], object] | None = None,
    ) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        sequences : list of array-like, each of shape (T_i, d), or array-like of shape (n, T, d)
            Observations. Time is the first axis of a sequence, hence the middle one of an array
            (aeon has it last: ``X.transpose(0, 2, 1)``).
        y : ignored
        groups : array-like of shape (n,), optional
            Label of the group of each sequence; the sequences of a group share one assignment. By
            default every sequence is a group of its own.
        sample_weight : array-like of shape (n,), optional
            What each sequence counts; the same within a group. A group of weight 2 counts like two
            such groups.
        init : H3M or {"kmeans", "random"}, optional
            Start. ``"kmeans"`` (default) groups sequences by their means and deviations and frames
            into states and Gaussians; ``"random"`` deals sequences out at random and places
            Gaussians on random frames. A given H3M is started from once.
        monitor : callable, optional
            Called with the model after 0, 1, ... M-steps of every start, once its objective is
            known; models never change, so it may keep them. What it returns is ignored, and its
            time counts in ``timings_``.

        Returns
        -------
        EMH3M
            The estimator itself.

        Raises
        ------
        ValueError
            If an argument is malformed, there are fewer groups of positive weight than
            components, or one of them has fewer frames than a component has states and no
            ``init`` says where those begin.

        Warns
        -----
        UserWarning
            If there are fewer distinct sequences than components or fewer distinct frames than
            states, so that some of these coincide; if an array looks as if its last axis were
            time; if ``covariance_floor`` is no less than the variance of all frames.
        """
        begun = time.perf_counter()
        self._check_parameters()
        start = _check_init(self, init)
        if monitor is not None and not callable(monitor):
            raise TypeError(f"monitor is {monitor!r}, expected a callable or None")
        data = _ordered(sequences, groups, sample_weight)
        warn_of_swapped_axes(sequences)
        if isinstance(start, H3M) and start.n_features != data.frames.shape[1]:
            raise ValueError(
                f"init has {start.n_features} features, the sequences have {data.frames.shape[1]}"
            )
        _check_amount(data, self.n_components, self.n_states, isinstance(start, H3M))
        problem = self._problem(data)
        starts: list[Callable[[], H3M]]
        if isinstance(start, H3M):
            starts = [lambda: regularised(start, problem.floor, self.reg_covar)]
        else:
            children = generator(self.random_state).spawn(self.n_init)
            starts = [
                functools.partial(self._start, data, start, problem.floor, child)
                for child in children
            ]
        self._fit_starts(problem, starts, begun, monitor)
        # From groups to sequences, in the order in which they were given.
        by_group, ordered = self.responsibilities_, self.log_likelihoods_
        self.responsibilities_ = np.empty((len(data.lengths), self.n_components))
        self.responsibilities_[data.order] = by_group[data.groups]
        self.log_likelihoods_ = np.empty_like(self.responsibilities_)
        self.log_likelihoods_[data.order] = ordered
        self.labels_ = self.responsibilities_.argmax(axis=1)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _is_model(self, item: object) -> bool:
        return False

    def _check_parameters(self) -> None:
        self._check_loop(positive_floor=True)
        for name in ("n_states", "n_mix"):
            check_count(name, getattr(self, name))
        check_number("reg_covar", self.reg_covar)
        if self.covariance_type not in ("diag", "full"):
            raise ValueError(
                f"covariance_type is {self.covariance_type!r}, expected 'diag' or 'full'"
            )
        try:
            known = np.dtype(self.dtype) in (np.dtype(np.float64), np.dtype(np.float32))
        except TypeError:
            known = False
        if not known:
            raise ValueError(f"dtype is {self.dtype!r}, expected float64 or float32")

    def _chunks(self, data: _Data, centre: Floats) -> list[_Chunk]:
        group_starts = np.flatnonzero(np.diff(data.groups, prepend=-1))
        frames_of_group = np.add.reduceat(data.lengths, group_starts)
        full = self.covariance_type == "full"
        limit = frames_per_chunk(
            self.n_components * self.n_states * self.n_mix,
            n_moments(data.frames.shape[1], full),
        )
        sequence_ends = np.concatenate([[0], np.cumsum(data.lengths)])
        group_bounds = np.append(group_starts, len(data.lengths))
        chunks = []
        borders = chunk_borders(frames_of_group, limit)
        for first, last in itertools.pairwise(borders):
            one, end = group_bounds[first], group_bounds[last]
            starts = sequence_ends[one : end + 1]
            frames = (data.frames[starts[0] : starts[-1]] - centre).T
            chunks.append(
                _Chunk(
                    np.ascontiguousarray(frames, dtype=self.dtype),
                    starts - starts[0],
                    group_bounds[first:last] - one,
                    data.groups[one:end] - first,
                    data.group_weights[first:last],
                )
            )
        return chunks

    def _problem(self, data: _Data) -> _SequenceProblem:
        counted = data.frames[np.repeat(data.group_weights[data.groups] > 0, data.lengths)]
        centre = counted.mean(axis=0)
        floor = self._floor(counted - centre)
        chunks = self._chunks(data, centre)
        return _SequenceProblem(chunks, centre, floor, self.reg_covar, self.dtype, self.n_jobs)

    def _floor(self, centred: Floats) -> Floats | float:
        """Return the floor asked for, or what the precision of the sums needs if that is more."""
        largest = np.abs(centred).max()
        if np.dtype(self.dtype) == np.float32 and largest > _LARGEST_SINGLE:
            raise ValueError(
                f"frames lie up to {largest:.3g} from their mean, expected at most "
                f"{_LARGEST_SINGLE:g} for dtype float32: rescale them, or use float64"
            )
        variances = (centred**2).mean(axis=0)
        if largest > 0:
            warn_of_large_floor(self.covariance_floor, variances)
        needed = _RELATIVE_FLOOR[np.dtype(self.dtype).name] * variances
        if self.covariance_type == "diag":
            return np.maximum(self.covariance_floor, needed)
        # Eigenvalues have no feature of their own; the smallest scale must stay possible.
        return max(self.covariance_floor, float(needed.min()))

    def _start(
        self, data: _Data, method: str, floor: Floats | float, rng: np.random.Generator
    ) -> H3M:
        """Split the groups that count into parts and make one HMM of each."""
        counted = data.group_weights > 0
        frames_per_group = np.bincount(data.groups, weights=data.lengths).astype(np.int64)
        in_use = np.repeat(counted, frames_per_group)
        parts = np.full(len(counted), -1)
        parts[counted] = partition(
            method, data.frames[in_use], frames_per_group[counted], self.n_components, rng
        )
        full = self.covariance_type == "full"
        hmms, weights = [], []
        for k in range(self.n_components):
            members = parts[data.groups] == k
            frames = data.frames[np.repeat(members, data.lengths)]
            hmms.append(
                starting_hmm(
                    method,
                    frames,
                    data.lengths[members],
                    self.n_states,
                    self.n_mix,
                    full,
                    self.covariance_floor,
                    rng,
                )
            )
            weights.append(data.group_weights[parts == k].sum())
        model = H3M.from_hmms(hmms, np.array(weights) / np.sum(weights))
        return regularised(model, floor, self.reg_covar)


def _ordered(
    sequences: Sequence[ArrayLike], groups: ArrayLike | None, sample_weight: ArrayLike | None
) -> _Data:
    """Check the training set and bring the sequences of each group together."""
    frames, lengths = check_sequences(sequences)
    n = len(lengths)
    if groups is None:
        codes = np.arange(n)
    else:
        labels = np.asarray(groups)
        if labels.shape != (n,):
            raise ValueError(f"groups has shape {labels.shape}, expected ({n},)")
        missing = [i for i, label in enumerate(labels) if label is None or label != label]
        if missing:
            raise ValueError(f"groups[{missing[0]}] is {labels[missing[0]]}, expected a label")
        codes = np.unique(labels, return_inverse=True)[1]
    weights = np.ones(n) if sample_weight is None else real_array("sample_weight", sample_weight)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n},)")
    bad = weights < 0
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(f"sample_weight[{i}] is {weights[i]}, expected a number >= 0")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero everywhere")
    order = np.argsort(codes, kind="stable")
    codes, sorted_weights = codes[order], weights[order]
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    group_weights = sorted_weights[first]
    unequal = sorted_weights != group_weights[codes]
    if unequal.any():
        i = int(order[unequal.argmax()])
        raise ValueError(
            f"sample_weight[{i}] is {weights[i]}, but another sequence of its group has "
            f"{group_weights[codes[unequal.argmax()]]}: a group has one weight"
        )
    ends = np.cumsum(lengths)
    rows = np.concatenate([np.arange(ends[i] - lengths[i], ends[i]) for i in order])
    return _Data(frames[rows], lengths[order], codes, group_weights, order)


def _check_amount(data: _Data, n_components: int, n_states: int, started: bool) -> None:
    """Refuse groups too short to make states of; warn if components or states must coincide."""
    frames = np.bincount(data.groups, weights=data.lengths).astype(np.int64)
    counted = np.flatnonzero(data.group_weights > 0)
    if len(counted) < n_components:
        raise ValueError(
            f"n_components is {n_components}, but there are only {len(counted)} "
            "sequences (or groups of them) of positive weight"
        )
    short = counted[frames[counted] < n_states]
    if short.size and not started:
        group = short[0]
        members = data.order[data.groups == group]
        others = f" and the {len(members) - 1} others of its group" if len(members) > 1 else ""
        n_features = data.frames.shape[1]
        hint = f" of {n_features} features (time is its first axis)" if n_features > 1 else ""
        raise ValueError(
            f"sequences[{members[0]}]{others}: {frames[group]} frames{hint}, but n_states is "
            f"{n_states}; expected at least as many frames as states, or an H3M as init"
        )
    ends = np.cumsum(frames)
    parts = [data.frames[ends[group] - frames[group] : ends[group]] for group in counted]
    sequences = (part.tobytes() for part in parts)
    warn_of_duplicates("n_components", n_components, sequences, "sequences")
    rows = (frame.tobytes() for part in parts for frame in part)
    warn_of_duplicates("n_states", n_states, rows, "frames")


def _check_init(estimator: EMH3M, init: H3M | str | None) -> H3M | str:
    """Return a starting model or the name of a way to make one."""
    if isinstance(init, H3M):
        for name, found in (
            ("n_components", len(init)),
            ("n_states", init.n_states),
            ("n_mix", init.n_mix),
            ("covariance_type", init.covariance_type),
        ):
            wanted = getattr(estimator, name)
            if found != wanted:
                raise ValueError(f"init has {name}={found!r}, the estimator {wanted!r}")
        return init
    method = "kmeans" if init is None else init
    if method not in START_METHODS:
        raise ValueError(f"init is {init!r}, expected an H3M, 'kmeans' or 'random'")
    return method
