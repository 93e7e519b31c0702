"""The two steps of the variational hierarchical EM, by chunks of base models.

Base models pass through in chunks that fit a processor's cache: bounds, assignments and statistics
of a chunk are computed in one go, and statistics only for pairs whose assignment is not zero. For
the equations see :mod:`vhem.variational`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._clustering import assign
from ._compile import compiled
from ._em import Expectation, HierarchicalProblem
from ._inputs import check_resolution
from ._moments import as_matrices, gaussian_moments, natural_parameters
from ._numerics import mixture_terms
from ._parallel import ordered_map
from ._recursion import pair_bounds, pair_statistics
from ._types import Booleans, Floats
from ._update import Statistics, maximise, regularised, total
from ._variational_starts import resized
from .models import H3M, HMM

__all__ = [
    "Chunk",
    "VariationalProblem",
    "check_moments",
    "gmm_bounds",
    "hmm_bounds",
    "lay_out",
    "mean_of_means",
    "natural_parameters_of",
    "weigh",
]

# Numbers in the table of a chunk (reduced Gaussians x base Gaussians): 1 MiB of float64.
_CHUNK_TERMS = 2**17


@dataclass(frozen=True)
class Chunk:
    """Some base HMMs, laid out with the model along the last axis.

    Attributes
    ----------
    moments : ndarray of shape (F, Sb*Mb*n)
        Expected moments of the Gaussians, ordered (state, Gaussian, model).
    mixture_weights : ndarray of shape (Sb, Mb, n)
        Mixture weights.
    startprob, transmat : ndarrays of shapes (Sb, n), (Sb, Sb, n)
        Chains.
    weights : ndarray of shape (n,)
        Weights of the models.
    """

    moments: Floats
    mixture_weights: Floats
    startprob: Floats
    transmat: Floats
    weights: Floats


def _models_last(array: Floats) -> Floats:
    """Copy with the first axis moved to the end.

    Always a copy: a read-only view would be another type to the kernels and compile them again.
    """
    return np.array(np.moveaxis(array, 0, -1), order="C")


def lay_out(base: H3M, centre: Floats, full: bool, n_reduced_gaussians: int) -> list[Chunk]:
    """Cut the base mixture into chunks."""
    per_model = base.n_states * base.n_mix
    n = max(8, min(64, _CHUNK_TERMS // (per_model * n_reduced_gaussians) // 8 * 8))
    d = base.n_features
    chunks = []
    for first in range(0, len(base), n):
        part = slice(first, first + n)
        means = np.moveaxis(base.means[part], 0, 2).reshape(-1, d) - centre
        covars = np.moveaxis(base.covars[part], 0, 2).reshape(-1, *base.covars.shape[3:])
        chunks.append(
            Chunk(
                gaussian_moments(means, covars, full),
                _models_last(base.mixture_weights[part]),
                _models_last(base.startprob[part]),
                _models_last(base.transmat[part]),
                base.weights[part],
            )
        )
    return chunks


def natural_parameters_of(model: H3M, centre: Floats) -> Floats:
    n_gaussians = model.mixture_weights.size
    return natural_parameters(
        model.mixture_weights.ravel(),
        model.means.reshape(n_gaussians, -1) - centre,
        model.covars.reshape(n_gaussians, *model.covars.shape[3:]),
    )


def gmm_bounds(chunk: Chunk, model: H3M, theta: Floats) -> tuple[Floats, Floats]:
    """Bound between emissions (Equation 9) and the optimal assignments of Gaussians.

    Returns
    -------
    bounds : ndarray of shape (Kr, Sr, Sb, n)
        L_GMM.
    shares : ndarray of shape (Kr, Sr, Mr, Sb, Mb, n)
        eta, the assignment of base Gaussian m to reduced Gaussian l; sums to 1 over l.
    """
    n_states, n_mix, n = chunk.mixture_weights.shape
    components, reduced_states, reduced_mix = model.mixture_weights.shape
    shares = (theta @ chunk.moments).reshape(components * reduced_states, reduced_mix, -1)
    log_sums = np.empty((components * reduced_states, shares.shape[2]))
    mixture_terms(shares, log_sums)
    log_sums = log_sums.reshape(components, reduced_states, n_states, n_mix, n)
    bounds = (log_sums * chunk.mixture_weights).sum(axis=3)
    return bounds, shares.reshape(components, reduced_states, reduced_mix, n_states, n_mix, n)


def hmm_bounds(chunk: Chunk, model: H3M, bounds: Floats, length: int) -> Floats:
    """L_HMM of all pairs, shape (n, Kr)."""
    n, components = chunk.weights.size, len(model)
    result = np.empty(components * n)
    pair_bounds(
        length,
        np.tile(np.arange(n), components),
        np.repeat(np.arange(components), n),
        bounds,
        chunk.startprob,
        chunk.transmat,
        model.startprob,
        model.transmat,
        result,
    )
    return np.ascontiguousarray(result.reshape(components, n).T)


@compiled(error_model="numpy")
def weigh(shares: Any, occupancies: Any, mixture_weights: Any) -> None:
    """Turn eta into the weights of the M-step, ``z_ij omega_i nu_ij c_i eta``, in place.

    Parameters
    ----------
    shares : ndarray of shape (Kr, Sr, Mr, Sb, Mb, n)
        eta; overwritten.
    occupancies : ndarray of shape (Kr, Sr, Sb, n)
        ``z_ij omega_i nu_ij``.
    mixture_weights : ndarray of shape (Sb, Mb, n)
        c of the base.
    """
    components, states, mixtures, base_states, base_mix, n = shares.shape
    for j in range(components):
        for r in range(states):
            for m in range(mixtures):
                for b in range(base_states):
                    for c in range(base_mix):
                        row = shares[j, r, m, b, c]
                        for i in range(n):
                            row[i] *= occupancies[j, r, b, i] * mixture_weights[b, c, i]


def _expect_chunk(
    chunk: Chunk, model: H3M, theta: Floats, virtual_samples: float, length: int
) -> Expectation:
    """E-step and statistics of one chunk."""
    bounds, shares = gmm_bounds(chunk, model, theta)
    log_likelihoods = hmm_bounds(chunk, model, bounds, length)
    counts = virtual_samples * chunk.weights
    responsibilities, evidence = assign(model.weights, log_likelihoods, counts)
    present = chunk.weights > 0

    # Statistics need only the pairs with some assignment; often one per base model.
    gains = (responsibilities * chunk.weights[:, None]).T
    pair_reduced, pair_base = np.divmod(np.flatnonzero(gains > 0), chunk.weights.size)
    occupancies = np.zeros_like(bounds)
    start, transitions = np.zeros_like(model.startprob), np.zeros_like(model.transmat)
    pair_statistics(
        length,
        pair_base,
        pair_reduced,
        bounds,
        chunk.startprob,
        chunk.transmat,
        model.startprob,
        model.transmat,
        gains[pair_reduced, pair_base],
        occupancies,
        start,
        transitions,
    )
    weigh(shares, occupancies, chunk.mixture_weights)
    sums = _moment_sums(chunk, shares, gains > 0)
    return Expectation(
        float(evidence[present].sum()),
        responsibilities,
        log_likelihoods,
        Statistics(responsibilities[present].sum(axis=0), start, transitions, sums),
    )


def _moment_sums(chunk: Chunk, weights: Floats, active: Booleans) -> Floats:
    """Weighted moments of every reduced Gaussian, shape (Kr*Sr*Mr, F).

    Parameters
    ----------
    chunk : Chunk
        The base models.
    weights : ndarray of shape (Kr, Sr, Mr, Sb, Mb, n)
        From :func:`weigh`.
    active : ndarray of shape (Kr, n), bool
        Where they are not zero.
    """
    components, states, mixtures, *_, n = weights.shape
    n_moments = len(chunk.moments)
    if active.all():
        return weights.reshape(components * states * mixtures, -1) @ chunk.moments.T
    sums = np.zeros((components, states * mixtures, n_moments))
    moments = chunk.moments.reshape(n_moments, -1, n)
    for j in np.flatnonzero(active.any(axis=1)):
        members = np.flatnonzero(active[j])
        left = weights[j].reshape(states * mixtures, -1, n)
        right = moments
        if len(members) < n:
            left, right = left[:, :, members], right[:, :, members]
        sums[j] = left.reshape(len(left), -1) @ right.reshape(n_moments, -1).T
    return sums.reshape(-1, n_moments)


class VariationalProblem(HierarchicalProblem[H3M]):
    """Reduce a mixture of HMMs; what stays the same during a fit.

    Parameters
    ----------
    base : H3M
        The base mixture.
    full : bool
        Whether the reduced covariances are matrices.
    n_gaussians : int
        Number of reduced Gaussians.
    virtual_samples, length
        ``N`` and ``tau``.
    floor, reg_covar : float
        The parameters ``covariance_floor`` and ``reg_covar`` of :class:`vhem.VHEM`.
    n_jobs : int or None
        Threads for the chunks.
    """

    def __init__(
        self,
        base: H3M,
        full: bool,
        n_gaussians: int,
        *,
        virtual_samples: float,
        length: int,
        floor: float,
        reg_covar: float,
        n_jobs: int | None,
    ) -> None:
        super().__init__(base.weights, virtual_samples)
        self.base = base
        self.centre = mean_of_means(base)
        self.chunks = lay_out(base, self.centre, full, n_gaussians)
        self.length = length
        self.floor = floor
        # What no reduced variance can undercut serves the M-step against rounding.
        self.smallest = np.maximum(floor, _smallest_variances(base, full))
        self.reg_covar = reg_covar
        self.n_jobs = n_jobs

    def start(self, model: H3M) -> H3M:
        """Give a model the floor and the additive term that every M-step applies."""
        return regularised(model, self.floor, self.reg_covar)

    def expectation(self, model: H3M) -> Expectation:
        """E-step, chunk by chunk."""
        work = functools.partial(
            _expect_chunk,
            model=model,
            theta=natural_parameters_of(model, self.centre),
            virtual_samples=self.virtual_samples,
            length=self.length,
        )
        objective = 0.0
        responsibilities, log_likelihoods = [], []

        def statistics() -> Iterable[Statistics]:
            nonlocal objective
            for part in ordered_map(work, self.chunks, self.n_jobs):
                objective += part.objective
                responsibilities.append(part.responsibilities)
                log_likelihoods.append(part.log_likelihoods)
                yield part.statistics

        # Added as they come: the statistics of a chunk are large.
        summed = functools.reduce(total, statistics())
        return Expectation(
            objective, np.concatenate(responsibilities), np.concatenate(log_likelihoods), summed
        )

    def maximisation(self, model: H3M, expectation: Expectation) -> H3M:
        """M-step (Equations 17 and 18)."""
        return maximise(expectation.statistics, model, self.centre, self.smallest, self.reg_covar)

    def reseeded(self, model: H3M, component: int, item: int) -> H3M:
        """Return ``model`` with ``component`` replaced by a base HMM of the size of the others."""
        hmm = resized(self.base, item, model.n_states, model.n_mix, np.random.default_rng(item))
        covars = hmm.covars
        if model.covariance_type == "diag" and hmm.covariance_type == "full":
            covars = np.diagonal(covars, axis1=-2, axis2=-1)
        elif model.covariance_type == "full" and hmm.covariance_type == "diag":
            covars = as_matrices(covars)
        hmms = list(model)
        hmms[component] = HMM(hmm.startprob, hmm.transmat, hmm.weights, hmm.means, covars)
        return regularised(H3M.from_hmms(hmms, model.weights), self.floor, 0.0)


def _occurring(h3m: H3M) -> Booleans:
    """Which Gaussians have weight, shape (K, S, M)."""
    return (h3m.mixture_weights * h3m.weights[:, None, None]) > 0


def mean_of_means(base: H3M) -> Floats:
    """Mean of the base means that count; subtracted before second moments are taken."""
    return base.means[_occurring(base)].mean(axis=0)


def check_moments(h3m: H3M, centre: Floats) -> None:
    occurring = _occurring(h3m)
    covars = h3m.covars[occurring]
    variances = covars if covars.ndim == 2 else np.linalg.eigvalsh(covars)[:, :1]
    check_resolution(h3m.means[occurring] - centre, variances)


def _smallest_variances(base: H3M, full: bool) -> Floats | float:
    """Variances (diagonal) or eigenvalue (full) that no average of base covariances undercuts.

    By Equation 18 no reduced covariance does either; the M-step uses it against rounding only.
    """
    covars = base.covars[_occurring(base)]
    if not full:
        if covars.ndim == 3:
            covars = np.diagonal(covars, axis1=1, axis2=2)
        return covars.min(axis=0)
    if covars.ndim == 2:
        return float(covars.min())
    return float(np.linalg.eigvalsh(covars)[:, 0].min())
