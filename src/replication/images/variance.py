r"""Cumulative percent variance (CPV) of kernel principal components (CVPR 2016, Figure 3).

With :math:`\lambda_1 \ge \lambda_2 \ge \dots` the eigenvalues of the centred Gram matrix
:math:`HGH`, :math:`H = I - 11^T/n`,

.. math:: \mathrm{CPV}_k = 100 \sum_{i \le k} \lambda_i \Big/ \sum_i \lambda_i .

For :math:`G = XX^T` this is the variance explained by ordinary PCA of the rows of :math:`X`; for
:math:`G = \langle\phi_\sigma(I_i), \phi_\sigma(I_j)\rangle` it is sliced-Wasserstein kernel PCA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from replication.arrays import Floats
from replication.seeds import repetition_seed
from sliced_wasserstein import (
    center_gram,
    gaussian_kernel,
    kernel_scale,
    median_squared_distance,
    polynomial_kernel,
)

__all__ = ["cumulative_percent_variance", "variance_rows"]


#: The two curves of Figure 3 and the Gram matrices they come from.
_PARAMETER_FREE = {"pca": "density_gram", "sw_kpca": "sw_gram"}


def cumulative_percent_variance(gram: Floats) -> Floats:
    """Percent of the total variance that the first k principal components capture.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Gram matrix, not yet centred.

    Returns
    -------
    ndarray of shape (n - 1,)
        CPV of the first 1, 2, ..., n - 1 components; the last value is 100.

    Raises
    ------
    ValueError
        If all points coincide, so that there is no variance to share out, or an eigenvalue is
        below -1e-4 of the largest: no points have such a matrix of inner products.
    """
    eigenvalues, lowest = np.split(np.linalg.eigvalsh(center_gram(gram))[::-1], [len(gram) - 1])
    if not eigenvalues[0] > 1e-12 * np.abs(np.diagonal(gram)).max():
        raise ValueError("gram: all points coincide; there is no variance to explain")
    if (lowest := min(lowest[0], eigenvalues[-1])) < -1e-4 * eigenvalues[0]:
        raise ValueError(
            "gram: not positive semi-definite after centring; its smallest eigenvalue is "
            f"{lowest / eigenvalues[0]:.2g} of the largest"
        )
    # Below this the eigenvalues of a centred Gram matrix are rounding noise around zero.
    eigenvalues = np.where(eigenvalues > 1e-12 * eigenvalues[0], eigenvalues, 0.0)
    cumulative = np.cumsum(eigenvalues)
    return 100.0 * (cumulative / cumulative[-1])


def variance_rows(
    matrices: Mapping[str, Floats],
    *,
    components: Sequence[int],
    gammas: Sequence[float],
    degrees: Sequence[int],
    subsamples: int,
    share: float,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    r"""Compute CPV of all kernels, and its spread over subsets of the images.

    Parameters
    ----------
    matrices : mapping of str to ndarray of shape (n, n)
        ``density_gram``, ``density_distance``, ``sw_gram``, ``sw_distance``.
    components : sequence of int
        Numbers of components at which subsets are scored.
    gammas : sequence of float
        Gaussian kernels: gamma times the median squared distance.
    degrees : sequence of int
        Polynomial kernels :math:`\langle\cdot,\cdot\rangle^d` above 1.
    subsamples : int
        Number of subsets.
    share : float
        Share of the images in a subset. Subsets are drawn without replacement: duplicates, which a
        bootstrap draws, lower the rank and so inflate the CPV. Their spread is not the sampling
        spread, see :func:`replication.report.statistics.subsampling_interval`.
    seed : int
    experiment : str

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table` with the number of components
        as ``item``: ``cumulative_percent_variance``, ``subsampled_cpv`` with the subset as
        ``repeat``, and ``subsampled_cpv_share``, the size of a subset over that of all images. The
        kernels of the sensitivity panel carry their parameter as ``variant``.
    """
    rows = [
        {**names, "item": k, "metric": "cumulative_percent_variance", "value": value}
        for names, gram in _kernels(matrices, gammas, degrees)
        for k, value in enumerate(cumulative_percent_variance(gram), start=1)
    ]
    n = len(matrices["sw_gram"])
    size = round(share * n)
    # A subset of m images has m - 1 components.
    components = [k for k in components if k < size]
    rows += [
        {"method": method, "item": k, "metric": "subsampled_cpv_share", "value": size / n}
        for method in _PARAMETER_FREE
        for k in components
    ]
    for draw in range(subsamples):
        state = repetition_seed(seed, f"{experiment}/variance", draw)
        subset = np.random.default_rng(state).choice(n, size=size, replace=False)
        for method, name in _PARAMETER_FREE.items():
            cpv = cumulative_percent_variance(matrices[name][np.ix_(subset, subset)])
            rows += [
                {
                    "method": method,
                    "item": k,
                    "repeat": draw,
                    "seed": state,
                    "metric": "subsampled_cpv",
                    "value": cpv[k - 1],
                }
                for k in components
            ]
    return rows


def _kernels(
    matrices: Mapping[str, Floats], gammas: Sequence[float], degrees: Sequence[int]
) -> Iterator[tuple[dict[str, str], Floats]]:
    """Yield method, variant and Gram matrix of every kernel."""
    for method, name in _PARAMETER_FREE.items():
        yield {"method": method}, matrices[name]
    for gamma in gammas:
        for method, name in {"rbf": "density_distance", "sw_gaussian": "sw_distance"}.items():
            distance = matrices[name]
            kernel = gaussian_kernel(distance, gamma / median_squared_distance(distance))
            yield {"method": method, "variant": f"gamma={gamma:g}"}, kernel
    for degree in degrees:
        for method, name in {"polynomial": "density_gram", "sw_polynomial": "sw_gram"}.items():
            gram = matrices[name]
            kernel = polynomial_kernel(
                gram / kernel_scale(np.diagonal(gram), "squared_norm"), degree
            )
            yield {"method": method, "variant": f"degree={degree}"}, kernel
