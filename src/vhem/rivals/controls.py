r"""Two cheap ways of clustering HMMs that the NIPS paper argues against.

:class:`ParameterKMeans` is k-means on vectors of parameters. The paper's introduction [1]_ expects
it to fail, because the parameters do not live in a Euclidean space and because the numbering of the
states is arbitrary; the numbering at least is dealt with here, by matching states.

:class:`SampledKLClustering` is spectral clustering with a sampled Kullback-Leibler divergence [2]_,
which the paper names as the alternative to the probability product kernel.

References
----------
.. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm for
   clustering hidden Markov models", NIPS 2012.
.. [2] B. H. Juang, L. R. Rabiner, "A probabilistic distance measure for hidden Markov models",
   AT&T Technical Journal 64(2):391-408, 1985.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from .._clustering import SAMPLES_PER_MODEL, MixtureClusterer, virtual_counts
from .._inputs import Models, as_h3m, bytes_of, warn_of_duplicates
from .._parallel import single_threaded
from .._random import RandomState, generator
from .._spectral import cluster_centres, cluster_points, cluster_weights, spectral_embedding
from .._types import Floats, Integers
from .._validation import check_count
from ..models import H3M
from ..variational import expected_log_likelihood

__all__ = ["ParameterKMeans", "SampledKLClustering", "sampled_divergence"]


# The neighbour whose divergence is the unit; the value of the paper on local scaling.
_SCALING_NEIGHBOUR = 7
# Smallest squared scale, relative to the largest divergence.
_SMALLEST_SCALE = 1e-6
# Standard deviation below which a parameter is constant, relative to its largest value.
_CONSTANT = np.finfo(np.float64).eps ** 0.5
# Rounds of matching to the mean and averaging; it settles in two or three.
_MATCHING_ROUNDS = 10
# Observations of the sequences by which a score judges a clustering of parameters.
_SCORING_LENGTH = 10


def _check_clusters(h3m: H3M, n_clusters: int) -> Integers | None:
    """Check ``n_clusters``; return numbers of the distinct HMMs if there are fewer of them."""
    if check_count("n_clusters", n_clusters) > len(h3m):
        raise ValueError(f"n_clusters is {n_clusters}, but there are only {len(h3m)} HMMs")
    rows = bytes_of(h3m, weighted=False)
    if warn_of_duplicates("n_clusters", n_clusters, rows, "HMMs") == n_clusters:
        return None
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows])


def _match(points: Floats, reference: Floats) -> Integers:
    """Order of ``points`` (n, p) that brings them closest to ``reference`` (n, p) row by row."""
    costs = ((reference[:, None, :] - points) ** 2).sum(axis=2)
    return linear_sum_assignment(costs)[1].astype(np.int64)


def _reordered(h3m: H3M, states: Integers, gaussians: Integers) -> H3M:
    """Renumber states (K, S) and the Gaussians of the renumbered states (K, S, M)."""
    model = np.arange(len(h3m))[:, None]
    chain = h3m.transmat[model[:, :, None], states[:, :, None], states[:, None, :]]
    emission = model[:, :, None], states[:, :, None], gaussians
    return H3M(
        h3m.weights,
        h3m.startprob[model, states],
        chain,
        h3m.mixture_weights[emission],
        h3m.means[emission],
        h3m.covars[emission],
    )


@dataclass(frozen=True)
class _Alignment:
    """Average states and the Gaussians in them, to which models are matched.

    Attributes
    ----------
    scale : ndarray of shape (d,)
        Unit of each feature.
    states : ndarray of shape (S, d)
        Mean observation of each state.
    gaussians : ndarray of shape (S, M, d)
        Means of its Gaussians.
    settled : bool
        Whether matching and averaging came to an end.
    """

    scale: Floats
    states: Floats
    gaussians: Floats
    settled: bool

    def apply(self, h3m: H3M) -> H3M:
        """Renumber the states and Gaussians of all HMMs, which changes no distribution."""
        means = h3m.means / self.scale
        state_means = (h3m.mixture_weights[..., None] * means).sum(axis=2)
        states = np.array([_match(points, self.states) for points in state_means])
        means = means[np.arange(len(h3m))[:, None], states]
        gaussians = np.zeros(h3m.mixture_weights.shape, dtype=np.int64)
        for s, reference in enumerate(self.gaussians):
            gaussians[:, s] = [_match(points, reference) for points in means[:, s]]
        return _reordered(h3m, states, gaussians)


def alignment(h3m: H3M) -> _Alignment:
    """Find a common numbering of the states and Gaussians of all HMMs.

    States are matched to average states by the Hungarian algorithm on their mean observations,
    Gaussians within matched states likewise; averages and matches alternate from the first HMM's
    numbering on.
    """
    # Distances in units of each feature's deviation over all Gaussians.
    scale = h3m.means.std(axis=(0, 1, 2))
    scale = np.where(scale > 0, scale, 1.0)
    means = h3m.means / scale
    state_means = (h3m.mixture_weights[..., None] * means).sum(axis=2)
    reference = state_means[0]
    states = np.zeros(state_means.shape[:2], dtype=np.int64)
    settled = False
    for rounds in range(1, _MATCHING_ROUNDS + 1):
        matched = np.array([_match(points, reference) for points in state_means])
        settled = np.array_equal(matched, states)
        states = matched
        if settled or rounds == _MATCHING_ROUNDS:
            break
        reference = np.take_along_axis(state_means, states[:, :, None], axis=1).mean(axis=0)
    return _Alignment(scale, reference, means[0, states[0]], settled)


class ParameterKMeans(MixtureClusterer):
    """Cluster HMMs by k-means on their aligned and standardised parameters: a control.

    A cluster's centre is the average of its members' parameters: a valid HMM, but in general not
    one that resembles them.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters, at most the number of HMMs.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness of k-means.

    Attributes
    ----------
    model_ : H3M
        The clusters' centres, weighted by the clusters' sizes.
    labels_ : ndarray of shape (n,), int
        Cluster of each HMM.
    parameters_ : ndarray of shape (n, p)
        The standardised vectors that were clustered.
    history_ : ndarray of shape (1,)
        Within-cluster sum of squares; k-means keeps no longer record.
    converged_ : bool
        Whether the alignment and k-means converged.
    timings_ : dict of str to float
        Seconds: ``"alignment"`` and ``"kmeans"``.

    Notes
    -----
    ``predict`` gives a new HMM, of the same size, to the nearest mean of vectors. ``score`` of
    models is the bound of :class:`vhem.VHEM` per virtual sequence of 10 observations, with the
    centres as its reduced mixture.
    """

    model_: H3M
    labels_: Integers
    parameters_: Floats
    history_: Floats
    converged_: bool
    timings_: dict[str, float]

    def __init__(
        self, n_clusters: int = 2, *, n_init: int = 10, random_state: RandomState = None
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, h3m: Models, y: object = None) -> Self:
        """Cluster the components of ``h3m``; their weights play no part.

        Parameters
        ----------
        h3m : H3M, HMM, fitted hmmlearn model, or list of these
            The HMMs.
        y : ignored

        Raises
        ------
        ValueError
            If there are more clusters than HMMs or a parameter is out of its range.
        """
        h3m = as_h3m(h3m, "h3m")
        distinct = _check_clusters(h3m, self.n_clusters)
        check_count("n_init", self.n_init)
        begun = time.perf_counter()
        self._alignment = alignment(h3m)
        arrays, vectors = _vectors(self._alignment.apply(h3m))
        self._scaler = StandardScaler().fit(vectors)
        # A parameter whose last digits alone differ is constant: it must not be blown up.
        constant = self._scaler.scale_ < _CONSTANT * np.abs(vectors).max(axis=0)
        self._scaler.scale_[constant] = 1.0
        self.parameters_ = self._scaler.transform(vectors)
        ready = time.perf_counter()
        with single_threaded():
            if distinct is None:
                self.labels_, converged = cluster_points(
                    self.parameters_, self.n_clusters, self.n_init, generator(self.random_state)
                )
            else:
                self.labels_, converged = distinct, True
        self._means, _, spread = cluster_centres(self.parameters_, self.labels_)
        centres = [
            np.array([array[self.labels_ == k].mean(axis=0) for k in range(self.labels_.max() + 1)])
            for array in arrays
        ]
        self.model_ = H3M(cluster_weights(self.labels_), *centres)
        self.history_ = np.array([spread])
        self.converged_ = self._alignment.settled and converged
        self.timings_ = {"alignment": ready - begun, "kmeans": time.perf_counter() - ready}
        return self

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        bounds = expected_log_likelihood(base, self.model_, _SCORING_LENGTH)
        return bounds, virtual_counts(base.weights, SAMPLES_PER_MODEL)

    def _nearest(self, base: H3M) -> Integers:
        if base.covars.shape[1:] != self.model_.covars.shape[1:]:
            raise ValueError(f"models are {base!r}, those of the fit {self.model_!r}")
        _, vectors = _vectors(self._alignment.apply(base))
        return cdist(self._scaler.transform(vectors), self._means).argmin(axis=1)


def _vectors(h3m: H3M) -> tuple[list[Floats], Floats]:
    """Return all parameters, and a row of them for each HMM."""
    names = ("startprob", "transmat", "mixture_weights", "means", "covars")
    arrays = [getattr(h3m, name) for name in names]
    return arrays, np.concatenate([array.reshape(len(h3m), -1) for array in arrays], axis=1)


def sampled_divergence(
    h3m: Models, n_sequences: int = 50, length: int = 10, random_state: RandomState = None
) -> Floats:
    r"""Kullback-Leibler divergence rates between the HMMs of a mixture, by sampling.

    .. math:: D_{ab} = \frac1T \, \mathbb{E}_{y_{1:T} \sim a}
              [\log p_a(y_{1:T}) - \log p_b(y_{1:T})],

    where the mean over sampled sequences replaces the expectation.

    Parameters
    ----------
    h3m : H3M, HMM, fitted hmmlearn model, or list of these
        The HMMs; their weights play no part.
    n_sequences, length : int
        Sequences drawn from each HMM, and their length T.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    ndarray of shape (K, K)
        ``D[a, b]`` in nats per observation. As an estimate it can be slightly negative; the
        diagonal is 0.

    References
    ----------
    .. [1] B. H. Juang, L. R. Rabiner, "A probabilistic distance measure for hidden Markov models",
       AT&T Technical Journal 64(2):391-408, 1985, Equation 22.
    """
    h3m = as_h3m(h3m, "h3m")
    log_likelihoods = _sampled_log_likelihoods(h3m, h3m, n_sequences, length, random_state)
    return (np.diagonal(log_likelihoods)[:, None] - log_likelihoods) / length


def _sampled_log_likelihoods(
    base: H3M, model: H3M, n_sequences: int, length: int, random_state: RandomState
) -> Floats:
    """Mean log-likelihoods of sequences of each HMM under each component, shape (K_b, K)."""
    check_count("n_sequences", n_sequences)
    check_count("length", length)
    rows = []
    for k, child in enumerate(generator(random_state).spawn(len(base))):
        sequences, _ = base[k].sample(n_sequences, length, child)
        rows.append(model.component_log_likelihoods(list(sequences)).mean(axis=0))
    return np.array(rows)


class SampledKLClustering(MixtureClusterer):
    r"""Spectral clustering of HMMs with sampled Kullback-Leibler divergences: a control.

    The affinity is :math:`e^{-D^+_{ab} / (\sigma_a \sigma_b)}` with the symmetrised divergence
    :math:`D^+_{ab} = D_{ab} + D_{ba}`, and :math:`\sigma_a^2` that of the seventh neighbour of
    :math:`a` (Zelnik-Manor and Perona's local scaling [1]_): divergences inside clusters and
    between them differ by orders of magnitude, so one scale for all would blur one of the two.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters, at most the number of HMMs.
    n_sequences, length : int
        Sequences drawn from each HMM, and their length.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness of the samples and of k-means.

    Attributes
    ----------
    model_ : H3M
        The HMM nearest to each cluster's centre in the embedding, weighted by the clusters' sizes.
    labels_ : ndarray of shape (n,), int
        Cluster of each HMM.
    divergences_ : ndarray of shape (n, n)
        What :func:`sampled_divergence` estimated, in nats per observation.
    embedding_ : ndarray of shape (n, n_clusters)
        Items in the space of the leading eigenvectors, on the unit sphere.
    exemplars_ : ndarray of shape (K,), int
        The HMMs in ``model_``.
    history_ : ndarray of shape (1,)
        Within-cluster sum of squares in the embedding.
    converged_ : bool
        Whether k-means converged.
    timings_ : dict of str to float
        Seconds: ``"divergence"`` and ``"spectral"``.

    Notes
    -----
    ``predict`` samples a new HMM and gives it to the centre under which its sequences are most
    probable, weights included; apart from these it is the centre of smallest sampled divergence.
    Models of the fit, whose ``labels_`` come from the embedding, can change the cluster.

    References
    ----------
    .. [1] L. Zelnik-Manor, P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """

    model_: H3M
    labels_: Integers
    divergences_: Floats
    embedding_: Floats
    exemplars_: Integers
    history_: Floats
    converged_: bool
    timings_: dict[str, float]

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_sequences: int = 50,
        length: int = 10,
        n_init: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_sequences = n_sequences
        self.length = length
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, h3m: Models, y: object = None) -> Self:
        """Cluster the components of ``h3m``; their weights play no part.

        Parameters
        ----------
        h3m : H3M, HMM, fitted hmmlearn model, or list of these
            The HMMs.
        y : ignored

        Raises
        ------
        ValueError
            If there are more clusters than HMMs or a parameter is out of its range.
        """
        h3m = as_h3m(h3m, "h3m")
        distinct = _check_clusters(h3m, self.n_clusters)
        check_count("n_init", self.n_init)
        rng = generator(self.random_state)
        begun = time.perf_counter()
        self.divergences_ = sampled_divergence(h3m, self.n_sequences, self.length, rng)
        ready = time.perf_counter()
        log_affinity = _locally_scaled(self.divergences_ + self.divergences_.T)
        with single_threaded():
            self.embedding_ = spectral_embedding(log_affinity, self.n_clusters).points
            if distinct is None:
                self.labels_, self.converged_ = cluster_points(
                    self.embedding_, self.n_clusters, self.n_init, rng
                )
            else:
                self.labels_, self.converged_ = distinct, True
        _, self.exemplars_, spread = cluster_centres(self.embedding_, self.labels_)
        hmms = [h3m[int(i)] for i in self.exemplars_]
        self.model_ = H3M.from_hmms(hmms, cluster_weights(self.labels_))
        self.history_ = np.array([spread])
        self.timings_ = {"divergence": ready - begun, "spectral": time.perf_counter() - ready}
        return self

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        means = _sampled_log_likelihoods(
            base, self.model_, self.n_sequences, self.length, generator(self.random_state)
        )
        return means, virtual_counts(base.weights, self.n_sequences)


def _locally_scaled(divergences: Floats) -> Floats:
    """Return ``-D_ab / (sigma_a sigma_b)`` of symmetric divergences, estimates that may be < 0."""
    divergences = np.maximum(divergences, 0.0)
    neighbour = min(_SCALING_NEIGHBOUR, len(divergences) - 1)
    # Sorted, the first entry of a row is the divergence from itself.
    squares = np.sort(divergences, axis=1)[:, neighbour]
    # Equal HMMs have no scale of their own.
    smallest = _SMALLEST_SCALE * divergences.max()
    scales = np.sqrt(np.maximum(squares, smallest if smallest > 0 else 1.0))
    result: Floats = -divergences / np.outer(scales, scales)
    return result
