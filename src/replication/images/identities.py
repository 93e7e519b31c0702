r"""The theorems and equations of the CVPR 2016 paper, measured on a data set's own densities.

Where it matters that a check is independent, distances come from the exact one-dimensional
transport of point masses and not from the embedding under test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from replication.arrays import Floats, Floats32
from replication.seeds import repetition_seed
from sliced_wasserstein import (
    SlicedWassersteinEmbedding,
    center_gram,
    gaussian_kernel,
    gram_matrix,
    kernel_scale,
    median_squared_distance,
    polynomial_kernel,
    sliced_wasserstein_image_distance,
    squared_distances,
    wasserstein_1d,
)

__all__ = ["check_identities"]


#: gamma times the median squared distance, over the whole useful range
_GAMMAS = tuple(2.0**k for k in range(-6, 7, 2))
_DEGREES = (1, 2, 3, 4, 5)
#: densities on which the slow checks are made: exact transport of divided pixels, inversion
_N_FINE = 8
#: equal masses into which a marginal is cut
_N_MASSES = 200


def check_identities(
    densities: Floats32,
    settings: Mapping[str, Any],
    *,
    n_samples: int,
    n_inverse_angles: int,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    r"""Measure how exactly the paper's statements hold on a sample of densities.

    Parameters
    ----------
    densities : ndarray of shape (n, height, width)
    settings : mapping
        Parameters of :class:`sliced_wasserstein.SlicedWassersteinEmbedding`.
    n_samples : int
        Densities drawn without replacement; all pairs of them are compared exactly.
    n_inverse_angles : int
        Directions of the embedding that is inverted.
    seed : int
    experiment : str

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`:

        ``w2_1d_optimality_gap``
            largest relative difference between the cost of the monotone map of row or column sums
            and that of the best assignment of equal masses (Theorem 1)
        ``metric_axiom_excess``
            largest breach of the axioms of a metric by SW, over the largest distance: asymmetry,
            distance from itself, and excess over the way by a third density
        ``w2_1d_largest_zero_sum_eigenvalue``
            largest eigenvalue of :math:`H D H` over its spectral norm, D the squared
            2-Wasserstein distances of row sums or column sums (Corollary 1: not positive)
        ``sw_gaussian_smallest_eigenvalue``, ``sw_polynomial_smallest_eigenvalue``
            over the largest one, the worst of all gammas, or degrees and constants (Theorems 5, 6);
            both from exact distances of point masses, so that nothing makes the kernels definite
            but the theorem
        ``equation_16_relative_error``, ``equation_17_relative_error``
            largest relative difference between norms in the embedding and exact distances
        ``spectrum_change_with_template``
            largest change of the centred Gram matrix's eigenvalues when the template is another
            density, over the largest eigenvalue
        ``round_trip_relative_l1``
            largest L1 error of inverted embeddings, as a share of the uniform image's
    """
    state = repetition_seed(seed, f"{experiment}/identities", 0)
    rng = np.random.default_rng(state)
    chosen = rng.choice(len(densities), size=min(n_samples, len(densities)), replace=False)
    sample = densities[chosen].astype(np.float64)
    embedding = SlicedWassersteinEmbedding(**settings).fit(densities)
    gram = gram_matrix(embedding.transform(sample))
    squared = _pairwise(sample, _exact_squared_distance)
    template = np.asarray(embedding.template_density_)
    from_template = np.array([_exact_squared_distance(image, template) for image in sample])
    norm_error, distance_error = _equation_errors(sample[:_N_FINE], embedding)
    scores = {
        "w2_1d_optimality_gap": _optimality_gap(sample[:_N_FINE]),
        "metric_axiom_excess": _axiom_excess(sample[:_N_FINE], squared),
        "w2_1d_largest_zero_sum_eigenvalue": _largest_zero_sum_eigenvalue(sample),
        "sw_gaussian_smallest_eigenvalue": _smallest_gaussian_eigenvalue(squared),
        "sw_polynomial_smallest_eigenvalue": _smallest_polynomial_eigenvalue(
            squared, from_template
        ),
        "equation_16_relative_error": norm_error,
        "equation_17_relative_error": distance_error,
        "spectrum_change_with_template": _spectrum_change(densities, gram, sample, settings),
        "round_trip_relative_l1": _round_trip_error(sample[:_N_FINE], settings, n_inverse_angles),
    }
    return [
        {"method": "sliced_wasserstein", "metric": metric, "value": value, "seed": state}
        for metric, value in scores.items()
    ]


def _optimality_gap(sample: Floats) -> float:
    """Compare sorted masses with the assignment that costs least, of equal masses of marginals."""
    levels = (np.arange(_N_MASSES) + 0.5) / _N_MASSES
    worst = 0.0
    for axis in (1, 2):
        cumulative = sample.sum(axis=axis).cumsum(axis=1)
        places = np.array([np.searchsorted(c, levels * c[-1]) for c in cumulative], dtype=float)
        for a, b in combinations(places, 2):
            cost = (a[:, None] - b) ** 2
            best = float(cost[linear_sum_assignment(cost)].sum())
            worst = max(worst, abs(float(((a - b) ** 2).sum()) - best) / max(best, 1.0))
    return worst


def _axiom_excess(sample: Floats, squared: Floats) -> float:
    """Largest breach of symmetry, coincidence and the triangle inequality by exact distances."""
    distance = np.sqrt(squared)
    backwards = np.array([[np.sqrt(_exact_squared_distance(b, a)) for b in sample] for a in sample])
    asymmetry = np.abs(backwards - distance[: len(sample), : len(sample)]).max()
    # Over all ways i -> k -> j; k = i gives the distance itself, hence never negative.
    detour = (distance[:, :, None] + distance[None]).min(axis=1)
    return float(max(asymmetry, (distance - detour).max()) / distance.max())


def _largest_zero_sum_eigenvalue(sample: Floats) -> float:
    """Find the largest eigenvalue of H D H over its norm, D = W2^2 of row or column sums."""
    worst = -np.inf
    for axis in (0, 1):
        marginals = sample.sum(axis=axis + 1)
        positions = np.arange(marginals.shape[1], dtype=np.float64)

        def squared_distance(a: Floats, b: Floats, t: Floats = positions) -> float:
            return wasserstein_1d(t, t, a, b, p=2) ** 2

        squared = _pairwise(marginals, squared_distance)
        eigenvalues = np.linalg.eigvalsh(center_gram(squared))
        worst = max(worst, eigenvalues[-1] / np.abs(eigenvalues).max())
    return float(worst)


def _exact_squared_distance(a: Floats, b: Floats) -> float:
    """SW^2 of the densities as point masses, by merging the sorted masses of each slice."""
    return sliced_wasserstein_image_distance(a, b, footprint="point", method="exact") ** 2


def _smallest_gaussian_eigenvalue(squared: Floats) -> float:
    """Compute smallest over largest eigenvalue of exp(-gamma SW^2), the worst of all gammas."""
    median = median_squared_distance(squared)
    spectra = [np.linalg.eigvalsh(gaussian_kernel(squared, g / median)) for g in _GAMMAS]
    return float(min(spectrum[0] / spectrum[-1] for spectrum in spectra))


def _smallest_polynomial_eigenvalue(squared: Floats, from_template: Floats) -> float:
    r"""Smallest over largest eigenvalue of the polynomial kernels of all degrees.

    The inner products come from distances alone,

    .. math:: \langle\phi_i, \phi_j\rangle
              = \tfrac12\big(SW^2(I_i, I_0) + SW^2(I_j, I_0) - SW^2(I_i, I_j)\big) ,

    because a product of embedded points, :math:`E E^\top`, has no negative eigenvalue whatever the
    embedding is.
    """
    gram = (from_template[:, None] + from_template - squared) / 2
    scaled = gram / kernel_scale(np.diagonal(gram), "squared_norm")
    spectra = [
        np.linalg.eigvalsh(polynomial_kernel(scaled, degree, coef0))
        for degree in _DEGREES
        for coef0 in (0.0, 1.0)
    ]
    return float(min(spectrum[0] / spectrum[-1] for spectrum in spectra))


def _equation_errors(sample: Floats, embedding: SlicedWassersteinEmbedding) -> tuple[float, float]:
    """Measure Equations 16 and 17 against exact transport of finely divided pixels."""
    refinement = 4 if embedding.footprint == "box" else 1
    unit = np.sqrt(2 * np.pi) if embedding.measure == "surface" else 1.0

    def exact(a: Floats, b: Floats) -> float:
        fine = [np.kron(image, np.ones((refinement, refinement))) for image in (a, b)]
        distance = sliced_wasserstein_image_distance(
            *fine, n_angles=embedding.n_angles, footprint="point", method="exact"
        )
        return float(unit * distance / refinement)

    features = embedding.transform(sample).astype(np.float64)
    norms = np.linalg.norm(features, axis=1)
    template = np.asarray(embedding.template_density_)
    from_template = np.array([exact(image, template) for image in sample])
    between = np.sqrt(squared_distances(features))
    expected = _pairwise(sample, exact)
    pairs = np.triu_indices(len(sample), 1)
    return (
        _largest_relative_error(norms, from_template),
        _largest_relative_error(between[pairs], expected[pairs]),
    )


def _largest_relative_error(found: Floats, expected: Floats) -> float:
    """Compare distances; of copies, which are 0 apart, there is no relative error."""
    apart = expected > 0
    return float(np.abs(found[apart] / expected[apart] - 1).max(initial=0.0))


def _spectrum_change(
    densities: Floats32, gram: Floats, sample: Floats, settings: Mapping[str, Any]
) -> float:
    """Largest change of the centred spectrum when another template is taken."""
    other = SlicedWassersteinEmbedding(**{**settings, "template": densities[0]}).fit(densities)
    spectra = [
        np.linalg.eigvalsh(center_gram(matrix))
        for matrix in (gram, gram_matrix(other.transform(sample)))
    ]
    return float(np.abs(spectra[0] - spectra[1]).max() / spectra[0].max())


def _round_trip_error(sample: Floats, settings: Mapping[str, Any], n_angles: int) -> float:
    """Largest L1 error of transform and inverse transform, over the uniform image's error."""
    embedding = SlicedWassersteinEmbedding(**{**settings, "n_angles": n_angles}).fit(sample)
    recovered = embedding.inverse_transform(embedding.transform(sample))
    error = np.abs(recovered - sample).sum(axis=(1, 2))
    uniform = np.abs(1 / sample[0].size - sample).sum(axis=(1, 2))
    return float((error / uniform).max())


def _pairwise(items: Floats, distance: Callable[[Floats, Floats], float]) -> Floats:
    """Fill the symmetric matrix of a function of two items, zero on the diagonal."""
    result = np.zeros((len(items), len(items)))
    for i, j in combinations(range(len(items)), 2):
        result[i, j] = result[j, i] = distance(items[i], items[j])
    return result
