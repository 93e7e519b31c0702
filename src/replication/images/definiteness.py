r"""Why slices: the Gaussian kernel of plain optimal transport is not positive definite.

In the plane the 2-Wasserstein space is curved, so that :math:`W_2^2` is not conditionally negative
definite, and by Schoenberg's theorem (Theorem 2) :math:`\exp(-\gamma W_2^2)` has negative
eigenvalues for some set of densities and some :math:`\gamma`. The sliced distance is the norm of
a difference of embedded points, and its kernel has none (Theorem 5). This module computes both
for densities on which plain transport is solved exactly.

References
----------
S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
CVPR 2016, Theorems 2, 3 and 5.
"""

from __future__ import annotations

from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from sliced_wasserstein.embedding import SlicedWassersteinEmbedding
from sliced_wasserstein.kernels import (
    center_gram,
    gaussian_kernel,
    median_squared_distance,
    squared_distances,
)

__all__ = [
    "Spectra",
    "definiteness_rows",
    "definiteness_spectra",
    "score_definiteness",
    "time_transport",
    "two_square_densities",
    "uniform_transport_distances",
]


class Spectra(NamedTuple):
    """Eigenvalues of what a set of squared distances is turned into.

    ``relative_gammas`` are in units of 1 / median squared distance. ``least`` holds the least
    eigenvalue of the Gaussian kernel at each of them, divided by the largest. ``centred`` holds
    the eigenvalues of :math:`-HD^2H/2`, decreasing, divided by the largest: all are non-negative
    exactly if the distances are those of points in a Euclidean space (Theorem 3).
    """

    relative_gammas: NDArray[np.float64]
    least: NDArray[np.float64]
    centred: NDArray[np.float64]


def two_square_densities(
    n_densities: int,
    side: int = 12,
    square: int = 2,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.float64]:
    """Draw densities that are uniform on two separate squares at random places.

    Parameters
    ----------
    n_densities : int
        Number of densities.
    side : int, default=12
        Height and width of the images (px).
    square : int, default=2
        Side of the squares (px), at most half of `side`.
    random_state : int, RandomState instance or None, default=None
        Source of the places.

    Returns
    -------
    ndarray of shape (n_densities, side, side)
        Images with sum 1.

    Raises
    ------
    ValueError
        If two squares do not fit side by side.

    Examples
    --------
    >>> two_square_densities(3, random_state=0).sum(axis=(1, 2))
    array([1., 1., 1.])
    """
    if not 1 <= square <= side // 2:
        raise ValueError(f"square must be between 1 and side // 2 = {side // 2}, got {square}")
    rng = check_random_state(random_state)
    densities = np.zeros((n_densities, side, side))
    for density in densities:
        corners = np.zeros((2, 2), dtype=np.int64)
        while (np.abs(corners[0] - corners[1]) < square).all():
            corners = rng.randint(0, side - square + 1, size=(2, 2))
        for row, col in corners:
            density[row : row + square, col : col + square] = 1 / (2 * square**2)
    return densities


def uniform_transport_distances(densities: ArrayLike) -> NDArray[np.float64]:
    """Squared 2-Wasserstein distances in the plane between uniform densities, exactly.

    Between two sets of equally many equal masses some optimal plan is a matching (Birkhoff's
    theorem), found by an assignment solver.

    Parameters
    ----------
    densities : array-like of shape (n, height, width)
        Images whose non-zero pixels are equally many and of one value each.

    Returns
    -------
    ndarray of shape (n, n)
        Squared distances between the pixel centres' measures (px²).

    Raises
    ------
    ValueError
        If the images are not uniform on equally many pixels.
    """
    images = np.asarray(densities, dtype=np.float64)
    supports = [np.argwhere(image > 0).astype(np.float64) for image in images]
    for index, (image, support) in enumerate(zip(images, supports, strict=True)):
        if len(support) != len(supports[0]) or np.ptp(image[image > 0]) > 1e-9 * image.max():
            raise ValueError(f"image {index} is not uniform on {len(supports[0])} pixels")
    squared = np.zeros((len(images), len(images)))
    for i, x in enumerate(supports):
        for j, y in enumerate(supports[:i]):
            cost = ((x[:, None] - y[None]) ** 2).sum(axis=2)
            rows, columns = linear_sum_assignment(cost)
            squared[i, j] = squared[j, i] = cost[rows, columns].mean()
    return squared


def spectra(squared: ArrayLike, relative_gammas: ArrayLike) -> Spectra:
    """Return the eigenvalues that tell whether squared distances give positive definite kernels.

    Parameters
    ----------
    squared : array-like of shape (n, n)
        Squared distances.
    relative_gammas : array-like of shape (n_gammas,)
        Parameters of the Gaussian kernel in units of 1 / median squared distance.

    Returns
    -------
    Spectra
    """
    distances = np.asarray(squared, dtype=np.float64)
    gammas = np.asarray(relative_gammas, dtype=np.float64)
    unit = 1 / median_squared_distance(distances)
    least = np.empty(len(gammas))
    for k, gamma in enumerate(gammas):
        values = np.linalg.eigvalsh(gaussian_kernel(distances, gamma * unit))
        least[k] = values[0] / values[-1]
    centred = np.linalg.eigvalsh(center_gram(-distances / 2))[::-1]
    return Spectra(gammas, least, centred / centred[0])


def definiteness_spectra(
    n_densities: int = 30,
    relative_gammas: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> dict[str, Spectra]:
    """Compare plain and sliced transport on one set of planar densities.

    Parameters
    ----------
    n_densities : int, default=30
        Number of densities from :func:`two_square_densities`.
    relative_gammas : array-like, optional
        Parameters of the Gaussian kernel in units of 1 / median squared distance; 25 values from
        0.01 to 10 by default.
    random_state : int, RandomState instance or None, default=0
        Source of the densities.

    Returns
    -------
    dict
        ``"wasserstein"`` and ``"sliced"``, each :class:`Spectra`. Both read pixels as points.
    """
    gammas = np.geomspace(0.01, 10, 25) if relative_gammas is None else relative_gammas
    densities = two_square_densities(n_densities, random_state=random_state)
    embedding = SlicedWassersteinEmbedding(footprint="point", n_quantiles=256)
    return {
        "wasserstein": spectra(uniform_transport_distances(densities), gammas),
        "sliced": spectra(squared_distances(embedding.fit_transform(densities)), gammas),
    }


def definiteness_rows(results: dict[str, Spectra]) -> list[dict[str, str | float]]:
    """Lay spectra out as the rows of a tidy table.

    Parameters
    ----------
    results : dict
        From :func:`definiteness_spectra`.

    Returns
    -------
    list of dict
        Keys ``distance``, ``quantity`` (``least_eigenvalue`` or ``centred_eigenvalue``), ``x``
        (relative gamma, or index from 1) and ``value``.

    Examples
    --------
    >>> definiteness_rows({"sliced": Spectra(np.array([0.1]), np.array([0.2]), np.array([1.0]))})
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'distance': 'sliced', 'quantity': 'least_eigenvalue', 'x': 0.1, 'value': 0.2},
     {'distance': 'sliced', 'quantity': 'centred_eigenvalue', 'x': 1.0, 'value': 1.0}]
    """
    rows: list[dict[str, str | float]] = []
    for distance, result in results.items():
        for quantity, x, values in (
            ("least_eigenvalue", result.relative_gammas, result.least),
            ("centred_eigenvalue", np.arange(1, len(result.centred) + 1), result.centred),
        ):
            rows += [
                {"distance": distance, "quantity": quantity, "x": float(a), "value": float(b)}
                for a, b in zip(x, values, strict=True)
            ]
    return rows


def score_definiteness(results: dict[str, Spectra]) -> list[dict[str, Any]]:
    """Return the least eigenvalues over all gammas as scores.

    Parameters
    ----------
    results : dict
        From :func:`definiteness_spectra`.

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`, a method a distance:
        ``<distance>_least_eigenvalue`` of the Gaussian kernel and
        ``<distance>_least_centred_eigenvalue``, each over the largest one.
    """
    return [
        {"method": distance, "metric": f"{distance}_{name}", "value": float(values.min())}
        for distance, result in results.items()
        for name, values in (
            ("least_eigenvalue", result.least),
            ("least_centred_eigenvalue", result.centred),
        )
    ]


def time_transport(
    side: int = 64,
    square: int = 16,
    repeats: int = 5,
    random_state: int | np.random.RandomState | None = 0,
) -> list[dict[str, Any]]:
    """Measure the seconds of a pair: planar transport, an optimisation, and sliced transport.

    Parameters
    ----------
    side, square : int
        As for :func:`two_square_densities`; a density has ``2 * square**2`` equal masses.
    repeats : int
        Pairs.
    random_state : int, RandomState instance or None, default=0
        Source of the densities.

    Returns
    -------
    list of dict
        Rows with the metric ``seconds`` (of the processor), the methods ``wasserstein`` and
        ``sliced`` and the pair as ``repeat``.
    """
    pairs = two_square_densities(2 * repeats, side, square, random_state).reshape(
        repeats, 2, side, side
    )
    embedding = SlicedWassersteinEmbedding(footprint="point").fit(pairs[0])

    def sliced(pair: NDArray[np.float64]) -> NDArray[np.float64]:
        return squared_distances(embedding.transform(pair))

    sliced(pairs[0])  # compiles
    rows = []
    for method, distances in (("wasserstein", uniform_transport_distances), ("sliced", sliced)):
        for repeat, pair in enumerate(pairs):
            start = process_time()
            distances(pair)
            shared = {"method": method, "metric": "seconds", "repeat": repeat}
            rows.append({**shared, "value": process_time() - start})
    return rows
