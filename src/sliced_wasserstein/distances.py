r"""The sliced Wasserstein distance of one pair: of point clouds, or of images and volumes.

.. math:: SW(a, b) = \Big(\frac1n \sum_{k=1}^n W_2^2\big(\mathscr{R}a(\cdot, \theta_k),
          \mathscr{R}b(\cdot, \theta_k)\big)\Big)^{1/2}

is the mean over directions of Definition 3. (The paper integrates over the circle instead: its
value is :math:`\sqrt{2\pi}` times this one.)

An array of two axes may list points or hold the masses of pixels, and no look at the numbers can
tell which. Hence two functions, each with one reading.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sliced_wasserstein._checks import check_choice, check_positive_integer, real_array
from sliced_wasserstein._types import Floats
from sliced_wasserstein._validation import PointCloud, as_point_cloud, normalized_densities
from sliced_wasserstein.projection import (
    directions_from_angles,
    half_circle_angles,
    pixel_positions,
    unit_vectors,
)
from sliced_wasserstein.quantiles import cloud_quantiles, quantile_edges, squared_w2_sorted
from sliced_wasserstein.slices import (
    DEFAULT_N_QUANTILES,
    DEFAULT_OVERSAMPLING,
    Footprint,
    slice_quantiles,
)

__all__ = ["sliced_wasserstein_distance", "sliced_wasserstein_image_distance"]

Method = Literal["binned", "exact"]
Cloud = ArrayLike | tuple[ArrayLike, ArrayLike]


def sliced_wasserstein_distance(
    a: Cloud,
    b: Cloud,
    *,
    n_angles: int = 60,
    directions: ArrayLike | None = None,
    method: Method = "exact",
) -> float:
    r"""Sliced Wasserstein distance between two point clouds.

    At equal directions this is what POT's function of the same name returns. Images and volumes
    have a function of their own, :func:`sliced_wasserstein_image_distance`.

    Parameters
    ----------
    a, b : array-like of shape (n_points, d), or tuple of arrays
        Points of equal mass, or a tuple ``(positions, weights)`` of shapes (n_points, d) and
        (n_points,), whose weights are divided by their sum.
    n_angles : int, default=60
        Number of equispaced angles of the half-circle, in the plane. On the line there is one
        direction.
    directions : array-like of shape (n, d), optional
        Unit vectors instead. Necessary above two dimensions, see :func:`sliced_directions`.
    method : {"exact", "binned"}, default="exact"
        ``"exact"`` merges the sorted masses: exact at the given directions. ``"binned"`` is what
        :class:`PointCloudEmbedding` with its default bins gives, before rounding.

    Returns
    -------
    float
        Distance in the unit of the positions.

    Raises
    ------
    ValueError
        If a cloud is not a measure (see :class:`PointCloudEmbedding`), the dimensions differ, or
        the directions are missing or not unit vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from sliced_wasserstein import sliced_wasserstein_distance
    >>> points = np.random.default_rng(0).random((100, 2))
    >>> round(sliced_wasserstein_distance(points, points + [3.0, 4.0]) ** 2, 9)  # |v|² / 2
    12.5
    """
    check_choice("method", method, ("exact", "binned"))
    first = as_point_cloud(a, "cloud 0")
    second = as_point_cloud(b, "cloud 1", first.positions.shape[1])
    vectors = _directions(directions, n_angles, first.positions.shape[1])
    first, second, exponent = _common_frame(first, second)
    with np.errstate(over="ignore"):
        distance = float(np.ldexp(_cloud_distance(first, second, vectors, method), exponent))
    if not math.isfinite(distance):
        raise ValueError("the clouds are too far apart: their distance is no finite number")
    return distance


def sliced_wasserstein_image_distance(
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_angles: int = 60,
    footprint: Footprint = "box",
    method: Method = "binned",
    directions: ArrayLike | None = None,
) -> float:
    r"""Sliced Wasserstein distance between two density images or volumes.

    Point clouds have a function of their own, :func:`sliced_wasserstein_distance`.

    Parameters
    ----------
    a, b : array-like of shape (height, width) or (depth, height, width)
        Non-negative masses of pixels or voxels, of one shape; each is divided by its sum.
    n_angles : int, default=60
        Number of equispaced angles of the half-circle, for images.
    footprint : {"box", "point"}, default="box"
        Whether a pixel of an image is a unit square or a point at its centre. Voxels are points.
    method : {"binned", "exact"}, default="binned"
        ``"binned"`` is what :class:`SlicedWassersteinEmbedding` with its default grids gives,
        before rounding to single precision. ``"exact"`` merges the sorted masses: exact at the
        given directions, for points only.
    directions : array-like of shape (n, d), optional
        Unit vectors instead of the equispaced angles; coordinates x (columns), y (rows), z.
        Necessary for volumes, see :func:`sliced_directions`.

    Returns
    -------
    float
        Distance in px.

    Raises
    ------
    ValueError
        If an image is not a density (see :meth:`SlicedWassersteinEmbedding.fit`), the shapes
        differ, the directions are missing or not unit vectors, or ``"exact"`` is asked for boxes.

    Examples
    --------
    >>> import numpy as np
    >>> from sliced_wasserstein import sliced_wasserstein_image_distance
    >>> a, b = np.zeros((2, 8, 8))
    >>> a[2, 3] = b[6, 3] = 1.0
    >>> round(sliced_wasserstein_image_distance(a, b) ** 2, 4)  # |v|² / 2
    8.0
    """
    check_choice("footprint", footprint, ("box", "point"))
    check_choice("method", method, ("binned", "exact"))
    rows, shape = _pair_of_images(a, b)
    vectors = _directions(directions, n_angles, len(shape))
    if len(shape) == 2 and method == "binned":
        edges = quantile_edges(DEFAULT_N_QUANTILES)
        height, width = shape
        first, second = slice_quantiles(
            rows, (height, width), vectors, edges, footprint, DEFAULT_OVERSAMPLING, None
        ).transpose(1, 0, 2)
        return _distance_of_quantiles(first, second, edges)
    if len(shape) == 2 and footprint == "box":
        raise ValueError('method="exact" merges point masses: use it with footprint="point"')
    positions = pixel_positions(shape)
    return _cloud_distance(
        PointCloud(positions, rows[0]), PointCloud(positions, rows[1]), vectors, method
    )


def _directions(directions: ArrayLike | None, n_angles: int, dimension: int) -> Floats:
    if directions is not None:
        return unit_vectors(directions, dimension)
    n = check_positive_integer("n_angles", n_angles)
    if dimension == 1:
        return np.ones((1, 1))
    if dimension == 2:
        return directions_from_angles(half_circle_angles(n))
    raise ValueError(
        f"{dimension} dimensions need directions: give directions="
        f"sliced_directions({n}, {dimension}, random_state=0); an image is no list of points, "
        "it is for sliced_wasserstein_image_distance"
    )


def _pair_of_images(a: ArrayLike, b: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
    """Return the densities of two images or volumes as rows, and their shape."""
    elsewhere = "point clouds are for sliced_wasserstein_distance"
    images = [real_array(image, f"image {i}") for i, image in enumerate((a, b))]
    shape = images[0].shape
    if len(shape) not in (2, 3) or images[0].size == 0:
        raise ValueError(
            f"expected an image (height, width) or a volume, got shape {shape}; {elsewhere}"
        )
    if images[1].shape != shape:
        raise ValueError(
            f"image 1 has shape {images[1].shape}, image 0 has {shape}: they must be equal; "
            f"{elsewhere}"
        )
    try:
        return normalized_densities([image.reshape(1, -1) for image in images]), shape
    except ValueError as error:
        raise ValueError(f"{error}; {elsewhere}") from None


def _common_frame(a: PointCloud, b: PointCloud) -> tuple[PointCloud, PointCloud, int]:
    """Centre two clouds at one point and scale them so that no square over- or underflows.

    The scale is a power of two, whose exponent is returned: it costs no bit.
    """
    exponent = int(np.frexp(max(np.abs(a.positions).max(), np.abs(b.positions).max()))[1])
    first, second = np.ldexp(a.positions, -exponent), np.ldexp(b.positions, -exponent)
    centre = first.mean(axis=0)
    return (
        PointCloud(first - centre, a.weights),
        PointCloud(second - centre, b.weights),
        exponent,
    )


def _cloud_distance(a: PointCloud, b: PointCloud, directions: Floats, method: Method) -> float:
    if method == "binned":
        edges = quantile_edges(DEFAULT_N_QUANTILES)
        return _distance_of_quantiles(
            cloud_quantiles(*a, directions, edges), cloud_quantiles(*b, directions, edges), edges
        )
    squared = np.empty(len(directions))
    for k, direction in enumerate(directions):
        s, t = a.positions @ direction, b.positions @ direction
        i, j = np.argsort(s, kind="stable"), np.argsort(t, kind="stable")
        squared[k] = squared_w2_sorted(s[i], a.weights[i], t[j], b.weights[j])
    return float(np.sqrt(squared.mean()))


def _distance_of_quantiles(a: Floats, b: Floats, edges: Floats) -> float:
    return float(np.sqrt(((a - b) ** 2 @ np.diff(edges)).mean()))
