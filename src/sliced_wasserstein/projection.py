r"""Radon slices: from pixels to one-dimensional distributions along a direction.

A density image is read as a measure in the plane. Pixel ``(row, col)`` of a height x width image
has its centre at ``x = col - (width - 1) / 2``, ``y = row - (height - 1) / 2`` (px; y points down,
as rows do), and the slice at angle :math:`\theta` is the distribution of
:math:`t = x\cos\theta + y\sin\theta` (px), the paper's :math:`\mathscr{R}I(t, \theta)` (Eq. 8).

Two readings of a pixel are offered. ``"point"`` puts its mass at the centre. ``"box"`` spreads it
evenly over the unit square, so that the image is the piecewise-constant density whose Radon
transform the paper takes; the slice of one pixel is then a trapezoid, the convolution of two boxes
of widths :math:`a = \max(|\cos\theta|, |\sin\theta|)` and :math:`b = \min(\ldots)`.

How the box slices are made exact at a low cost
-----------------------------------------------
The slice is wanted as masses of t-bins, i.e. as differences of its distribution function at the
grid edges :math:`e_r = rh`. With :math:`\psi_b(z) = \int_{-\infty}^z` (CDF of the narrow box), the
CDF of the trapezoid is :math:`[\psi_b(z + a/2) - \psi_b(z - a/2)] / a`. If the grid step divides
the wide box, :math:`h = a / L` with even L, then both arguments fall on grid edges, so it suffices
to know the sum over pixels of :math:`\psi_b(e_r - t_p)` at the edges. Its second difference has
short support (about b/h + 2 edges; two when b = 0), is non-negative and sums to 1: every pixel
deposits these few weights, and a sliding sum over L edges then gives the exact bin masses. No mass
is lost, none is negative, and an empty bin is exactly empty.

The same choice of h puts the pixels of a line (a row where the wide box comes from the cosine, else
a column) exactly L edges apart, so that all of them have the same weights. With the edges sorted by
their remainder modulo L, a line enters the slice as a few scaled copies of itself: long vector
operations, and only over the part of the line that carries mass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from sliced_wasserstein._checks import check_positive_integer, real_array
from sliced_wasserstein._compile import compiled
from sliced_wasserstein._types import Floats

__all__ = [
    "LinePlan",
    "SliceGrid",
    "deposit_space",
    "directions_from_angles",
    "footprint_cdf",
    "half_circle_angles",
    "line_extents",
    "line_plan",
    "pixel_positions",
    "project",
    "slice_grid",
    "slice_masses",
    "sliced_directions",
    "unit_vectors",
]

_AXIS_PARALLEL = 1e-9
"""Below this width the narrow box of the footprint is a point: cos(pi/2) is not exactly 0."""


class SliceGrid(NamedTuple):
    """The t-grid of one direction: ``n_bins`` bins of width ``step`` px, symmetric about t = 0."""

    step: float
    n_bins: int

    @property
    def edges(self) -> Floats:
        """The ``n_bins + 1`` edges of the bins (px)."""
        places = np.arange(self.n_bins + 1, dtype=np.float64)
        return (places - self.n_bins // 2) * self.step


def half_circle_angles(n_angles: int) -> Floats:
    r"""Return equispaced angles of a half-circle, :math:`\theta_k = (k + 1/2)\pi / n`.

    Directions :math:`\theta` and :math:`\theta + \pi` give mirrored slices and so the same
    Wasserstein distance: a half-circle carries the whole integral over the circle. The rule has no
    repeated end point, and for even n it is closed under quarter turns and transposition.

    Parameters
    ----------
    n_angles : int
        Number of angles, at least 1.

    Returns
    -------
    ndarray of shape (n_angles,)
        Angles in radians, increasing, inside (0, pi).

    Examples
    --------
    >>> half_circle_angles(2) / np.pi
    array([0.25, 0.75])
    """
    if n_angles < 1:
        raise ValueError(f"n_angles must be at least 1, got {n_angles}")
    return (np.arange(n_angles, dtype=np.float64) + 0.5) * (np.pi / n_angles)


def directions_from_angles(angles: Floats) -> Floats:
    """Return the unit vectors ``(cos, sin)`` of angles in radians, shape (n_angles, 2)."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def sliced_directions(
    n_directions: int,
    dimension: int,
    random_state: int | np.random.RandomState | None = None,
) -> Floats:
    r"""Return directions with :math:`\frac1n\sum_k\theta_k\theta_k^\top = I/d` to rounding.

    On the line there is one direction, in the plane they are the equispaced angles of a
    half-circle (neither is random), and above they are random orthonormal frames, uniform in the
    orthogonal group.

    Parameters
    ----------
    n_directions : int
        Least number of directions, at least 1; above the plane rounded up to whole frames of
        `dimension` directions, in the plane at least 2.
    dimension : int
        Dimension d of the space.
    random_state : int, RandomState instance or None, default=None
        Source of the frames.

    Returns
    -------
    ndarray of shape (n, dimension)
        Unit vectors.

    Raises
    ------
    ValueError
        If an argument is not positive.

    Examples
    --------
    >>> theta = sliced_directions(50, 3, random_state=0)
    >>> theta.shape
    (51, 3)
    >>> bool(np.allclose(theta.T @ theta / 51, np.eye(3) / 3, rtol=0, atol=1e-15))
    True
    """
    check_positive_integer("n_directions", n_directions)
    check_positive_integer("dimension", dimension)
    if dimension == 1:
        return np.ones((1, 1))
    if dimension == 2:
        return directions_from_angles(half_circle_angles(max(2, n_directions)))
    rng = check_random_state(random_state)
    n_frames = -(-n_directions // dimension)
    gaussian = rng.standard_normal((n_frames, dimension, dimension))
    frames, triangles = np.linalg.qr(gaussian)
    # Without the signs of the diagonal the QR factorisation's frames are not uniform.
    signs = np.sign(np.diagonal(triangles, axis1=1, axis2=2))
    directions: Floats = (frames * signs[:, None, :]).transpose(0, 2, 1)
    return directions.reshape(-1, dimension)


def unit_vectors(directions: ArrayLike, dimension: int) -> Floats:
    """Return directions as a float64 array of shape (n, dimension), or say what is wrong."""
    vectors = real_array(directions, "directions").astype(np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != dimension or len(vectors) == 0:
        raise ValueError(
            f"directions must have shape (n_directions, {dimension}), got {vectors.shape}"
        )
    # Clipped, so that no square overflows; NaN is no unit length.
    lengths = np.linalg.norm(np.clip(vectors, -2, 2), axis=1)
    if not np.allclose(lengths, 1.0, rtol=0, atol=1e-6):
        raise ValueError("directions must be unit vectors")
    return vectors


def pixel_positions(shape: tuple[int, ...]) -> Floats:
    """Return the centred coordinates (px) of all pixels or voxels in row-major order.

    Parameters
    ----------
    shape : tuple of int
        Height and width of an image; depth, height and width of a volume.

    Returns
    -------
    ndarray of shape (n_pixels, len(shape))
        Coordinates in the order x (columns), y (rows), z.

    Examples
    --------
    >>> pixel_positions((1, 2))
    array([[-0.5,  0. ],
           [ 0.5,  0. ]])
    """
    axes = [np.arange(length) - (length - 1) / 2 for length in shape]
    coordinates = np.meshgrid(*axes, indexing="ij")
    return np.stack([c.ravel() for c in reversed(coordinates)], axis=1)


def slice_grid(shape: tuple[int, int], direction: Floats, oversampling: int) -> SliceGrid:
    """Return the t-grid on which box slices of a direction are exact.

    The step depends on the direction alone, and t = 0 (the image centre) is always an edge, so
    that images of different sizes share grid points and an equal border of zeros changes nothing.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    direction : ndarray of shape (2,)
        Unit vector ``(cos, sin)``.
    oversampling : int
        Bins per shadow of a pixel's side, even.

    Returns
    -------
    SliceGrid
        Grid that contains the shadow of the whole image.
    """
    height, width = shape
    across, along = abs(float(direction[0])), abs(float(direction[1]))
    step = max(across, along) / oversampling
    reach = (width * across + height * along) / 2
    return SliceGrid(step, 2 * (math.ceil(reach / step) + 1))


def footprint_cdf(z: Floats, direction: Floats) -> Floats:
    """Evaluate the distribution function of the shadow of a unit square.

    Parameters
    ----------
    z : ndarray
        Signed distances from the centre's shadow (px).
    direction : ndarray of shape (2,)
        Unit vector.

    Returns
    -------
    ndarray of the shape of `z`
        Values between 0 and 1.
    """
    wide, narrow = float(np.abs(direction).max()), float(np.abs(direction).min())
    if narrow < _AXIS_PARALLEL:
        return np.clip(z / wide + 0.5, 0.0, 1.0)

    def integrated(x: Floats) -> Floats:
        inside: Floats = np.clip(x + narrow / 2, 0.0, narrow)
        return inside**2 / (2 * narrow) + np.maximum(x - narrow / 2, 0.0)

    return np.clip((integrated(z + wide / 2) - integrated(z - wide / 2)) / wide, 0.0, 1.0)


@compiled()
def _integrated_box_cdf(z: float, width: float) -> float:
    """Integral from minus infinity to z of the CDF of a centred box; of a step if width is 0."""
    if z <= -width / 2:
        return 0.0
    if z >= width / 2:
        return z
    return (z + width / 2) ** 2 / (2 * width)


@compiled()
def _deposit_weights(t, narrow, step, origin, first, weights):  # type: ignore[no-untyped-def]
    """Fill, for every t, the first edge it reaches and the weights on this and the next ones.

    Edge r lies at (r - origin) * step; the support is abs(edge - t) < narrow / 2 + step.
    """
    for p in range(t.shape[0]):
        lowest = int(np.floor((t[p] - narrow / 2) / step))
        first[p] = lowest + origin
        before = 0.0
        here = _integrated_box_cdf(lowest * step - t[p], narrow)
        for k in range(weights.shape[1]):
            after = _integrated_box_cdf((lowest + k + 1) * step - t[p], narrow)
            # A second difference of a convex function; rounding may leave -1e-17.
            weights[p, k] = max(0.0, (after - 2 * here + before) / step)
            before = here
            here = after


class LinePlan(NamedTuple):
    """How the lines of an image enter its slice along one direction.

    ``by_rows`` tells whether lines are rows or columns, ``reverse`` whether t decreases along
    them. The first pixel of line l deposits ``weights[l]`` on the edges from ``first[l]`` on, the
    next pixel ``oversampling`` edges further, and so on.
    """

    grid: SliceGrid
    by_rows: bool
    reverse: bool
    first: NDArray[np.int64]
    weights: Floats


def line_plan(shape: tuple[int, int], direction: Floats, oversampling: int) -> LinePlan:
    r"""Prepare the projection of images along a direction.

    The weights are second differences of :math:`\psi_b(e_r - t)` divided by the step (see the
    module's text): non-negative, with sum 1.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    direction : ndarray of shape (2,)
        Unit vector.
    oversampling : int
        Bins per shadow of a pixel's side, even.

    Returns
    -------
    LinePlan
    """
    grid = slice_grid(shape, direction, oversampling)
    cos, sin = float(direction[0]), float(direction[1])
    by_rows = abs(cos) >= abs(sin)
    along, across = (cos, sin) if by_rows else (sin, cos)
    n_lines, length = shape if by_rows else shape[::-1]
    if reverse := along < 0:
        # The slice along the opposite direction, read backwards, since the grid is symmetric.
        along, across = -along, -across
    narrow = abs(across) if abs(across) >= _AXIS_PARALLEL else 0.0
    t = (np.arange(n_lines) - (n_lines - 1) / 2) * across - along * (length - 1) / 2
    first = np.empty(n_lines, dtype=np.int64)
    weights = np.empty((n_lines, math.ceil(narrow / grid.step) + 3))
    # The sliding sum reads up to oversampling edges before the grid.
    _deposit_weights(t, narrow, grid.step, grid.n_bins // 2 + oversampling, first, weights)
    return LinePlan(grid, by_rows, reverse, first, weights)


@compiled()
def slice_masses(lines, starts, stops, first, weights, oversampling, reverse, deposits, out):  # type: ignore[no-untyped-def]
    """Project one image on one direction (the hot loop).

    Parameters
    ----------
    lines : array of shape (n_lines, length)
        Rows or columns of the image.
    starts, stops : int arrays of shape (n_lines,)
        Part of each line outside which it is zero.
    first, weights, reverse
        From :func:`line_plan`.
    oversampling : int
        Bins covered by the wide box.
    deposits : array of shape (oversampling, n)
        Work space; edge r is kept at ``[r % oversampling, r // oversampling]``.
    out : array of shape (n_bins,)
        Receives the mass of every t-bin.
    """
    deposits[:] = 0.0
    for line in range(lines.shape[0]):
        start = starts[line]
        stop = stops[line]
        if start >= stop:
            continue
        source = lines[line, start:stop]
        for k in range(weights.shape[1]):
            weight = weights[line, k]
            if weight == 0.0:
                continue
            edge = first[line] + k
            place = edge // oversampling + start
            target = deposits[edge % oversampling, place : place + stop - start]
            for p in range(stop - start):
                target[p] += weight * source[p]
    # Bin r lies under the wide boxes centred on the edges r - oversampling/2 + 1 ... r +
    # oversampling/2. Fresh sums instead of a running difference: nothing cancels, so no mass
    # turns negative and empty bins stay exactly empty.
    n_bins = out.shape[0]
    share = 1.0 / oversampling
    total = np.empty(n_bins // oversampling + 1)
    for phase in range(oversampling):
        count = (n_bins - phase + oversampling - 1) // oversampling
        total[:count] = 0.0
        for k in range(oversampling):
            edge = phase + oversampling // 2 + 1 + k
            place = edge // oversampling
            source = deposits[edge % oversampling, place : place + count]
            for q in range(count):
                total[q] += source[q]
        for q in range(count):
            r = q * oversampling + phase
            out[n_bins - 1 - r if reverse else r] = total[q] * share


def line_extents(lines: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the mass of each line of images starts and stops.

    Parameters
    ----------
    lines : ndarray of shape (n_images, n_lines, length)
        Masses.

    Returns
    -------
    starts, stops : ndarrays of shape (n_images, n_lines)
        Half-open ranges; both 0 for a line without mass.
    """
    used = lines > 0
    length = lines.shape[2]
    stops = np.where(used.any(axis=2), length - np.argmax(used[:, :, ::-1], axis=2), 0)
    return np.argmax(used, axis=2), stops


def deposit_space(grid: SliceGrid, oversampling: int) -> tuple[int, int]:
    """Return the shape of the work space that :func:`slice_masses` needs on a grid."""
    return oversampling, grid.n_bins // oversampling + 5


def project(images: Floats, direction: Floats, oversampling: int) -> tuple[SliceGrid, Floats]:
    """Return the box slices of images along one direction.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
        Masses of the pixels.
    direction : ndarray of shape (2,)
        Unit vector.
    oversampling : int
        Bins per shadow of a pixel's side, even.

    Returns
    -------
    grid : SliceGrid
    masses : ndarray of shape (n_images, grid.n_bins)
        Exact mass of each image in each t-bin.
    """
    plan = line_plan((images.shape[1], images.shape[2]), direction, oversampling)
    lines = np.ascontiguousarray(images if plan.by_rows else images.transpose(0, 2, 1))
    starts, stops = line_extents(lines)
    deposits = np.empty(deposit_space(plan.grid, oversampling))
    masses = np.empty((len(images), plan.grid.n_bins))
    for i in range(len(images)):
        slice_masses(
            lines[i],
            starts[i],
            stops[i],
            plan.first,
            plan.weights,
            oversampling,
            plan.reverse,
            deposits,
            masses[i],
        )
    return plan.grid, masses
