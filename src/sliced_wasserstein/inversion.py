r"""From embedded points back to density images (the inverse of Eq. 15).

An embedded point, plus the template's, is a quantile function for every angle. The way back is

1. *repair*: make each quantile function non-decreasing (isotonic regression, weighted by the
   widths of the bins). An embedded image needs none; a point on a principal axis or a mean of
   embedded points may.
2. *slice*: interpolate u against Q monotonically (PCHIP), which gives the distribution function
   and, by differences at bins one pixel wide, the slice. Each slice has mass 1 by construction.
3. *inverse Radon transform* of the slices: maximum-likelihood expectation maximisation (ML-EM)
   with the exact projector of the box footprint. It multiplies by ratios, so the image stays
   non-negative and keeps its mass. Filtered back-projection is offered for comparison; it rings
   and goes negative at sharp edges, which co-occurrence matrices are full of.

The step from slices to pixels has a unique answer only if there are at least as many slice values
as pixels; and a point that is not an embedded image need not be the transform of any density.
The inverse is then a fit, so every inverse comes with its residual.

References
----------
L. A. Shepp, Y. Vardi, "Maximum likelihood reconstruction for emission tomography", IEEE
Transactions on Medical Imaging 1, 1982 (ML-EM).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array

from sliced_wasserstein._types import Floats
from sliced_wasserstein.projection import footprint_cdf, pixel_positions

__all__ = [
    "expectation_maximization",
    "filtered_back_projection",
    "projection_matrix",
    "slice_residuals",
    "slices_from_quantiles",
]

_LEAST_GAP = 1e-9
"""Gap (px) put between equal quantiles, so that they can be abscissas of an interpolation."""


def slice_edges(shape: tuple[int, int]) -> Floats:
    """Return edges of bins one pixel wide, symmetric about 0, that hold any slice of an image."""
    half = math.ceil(math.hypot(*shape) / 2)
    return np.arange(-half, half + 1, dtype=np.float64)


def projection_matrix(shape: tuple[int, int], directions: Floats) -> csr_array:
    """Return the matrix that maps the masses of pixels to the masses of slices.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    directions : ndarray of shape (n_directions, 2)
        Unit vectors.

    Returns
    -------
    csr_array of shape (n_directions * n_bins, height * width)
        Share of each pixel (a unit square) in each bin of :func:`slice_edges`; every column sums
        to the number of directions.
    """
    edges = slice_edges(shape)
    n_bins = len(edges) - 1
    positions = pixel_positions(shape)
    n_pixels = len(positions)
    values, rows = [], []
    for k, direction in enumerate(directions):
        t = positions @ direction
        reach = np.abs(direction).sum() / 2
        lowest = np.floor(t - reach - edges[0]).astype(np.int64)
        # A shadow is at most sqrt(2) px long: it touches three bins, or four by rounding.
        bins = lowest[:, None] + np.arange(5)
        cdf = footprint_cdf(bins - bins[:, :1] + edges[0] + lowest[:, None] - t[:, None], direction)
        values.append(np.maximum(np.diff(cdf, axis=1), 0.0))
        rows.append(k * n_bins + np.minimum(bins[:, :-1], n_bins - 1))
    columns = np.broadcast_to(np.arange(n_pixels)[:, None], rows[0].shape)
    matrix = csr_array(
        (
            np.concatenate([v.ravel() for v in values]),
            (np.concatenate([r.ravel() for r in rows]), np.tile(columns.ravel(), len(directions))),
        ),
        shape=(len(directions) * n_bins, n_pixels),
    )
    matrix.eliminate_zeros()
    return matrix


def slices_from_quantiles(
    quantiles: Floats,
    quantile_edges: Floats,
    shape: tuple[int, int],
    directions: Floats,
) -> Floats:
    """Turn bin-averaged quantile functions into slices.

    Parameters
    ----------
    quantiles : ndarray of shape (n_directions, n_quantiles)
        Means over the bins of u (px), not necessarily increasing.
    quantile_edges : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.
    shape : (int, int)
        Height and width of the image that is sought.
    directions : ndarray of shape (n_directions, 2)
        Unit vectors.

    Returns
    -------
    ndarray of shape (n_directions, n_bins)
        Masses in the bins of :func:`slice_edges`; each row is non-negative with sum 1.
    """
    edges = slice_edges(shape)
    centres = (quantile_edges[1:] + quantile_edges[:-1]) / 2
    u = np.concatenate([[0.0], centres, [1.0]])
    slices = np.empty((len(directions), len(edges) - 1))
    for k, (row, direction) in enumerate(zip(quantiles, directions, strict=True)):
        q = isotonic_regression(row, weights=np.diff(quantile_edges)).x
        # No mass can lie outside the shadow of the image.
        reach = (np.abs(direction) @ (shape[1], shape[0])) / 2
        # Three quarters of the last gap: the ends of a distribution that thins out.
        first, last = (q[0] - 0.75 * (q[1] - q[0]), q[-1] + 0.75 * (q[-1] - q[-2]))
        q = np.clip(np.concatenate([[first], q, [last]]), -reach, reach)
        q += _LEAST_GAP * np.arange(len(q))
        inside = np.clip(edges, q[0], q[-1])
        slices[k] = np.diff(PchipInterpolator(q, u)(inside))
    np.maximum(slices, 0.0, out=slices)
    slices /= slices.sum(axis=1, keepdims=True)
    return slices


def expectation_maximization(slices: Floats, matrix: csr_array, n_iter: int) -> Floats:
    r"""Find non-negative images with given slices by ML-EM.

    .. math:: z \leftarrow z \odot A^\top\big(p \oslash A z\big) \oslash A^\top 1

    from the uniform image. Each step keeps the mass and does not decrease the likelihood of the
    slices p.

    Parameters
    ----------
    slices : ndarray of shape (n_images, n_directions, n_bins)
        Slices, each of mass 1.
    matrix : csr_array of shape (n_directions * n_bins, n_pixels)
        From :func:`projection_matrix`.
    n_iter : int
        Number of steps.

    Returns
    -------
    ndarray of shape (n_images, n_pixels)
        Densities, each with sum 1.
    """
    target = slices.reshape(len(slices), -1).T
    transposed = matrix.T.tocsr()
    images = np.full((matrix.shape[1], len(slices)), 1 / matrix.shape[1])
    for _ in range(n_iter):
        projected = matrix @ images
        ratio = np.divide(target, projected, out=np.zeros_like(target), where=projected > 0)
        images *= transposed @ ratio
        images /= images.sum(axis=0)
    return images.T


def slice_residuals(images: Floats, slices: Floats, matrix: csr_array) -> Floats:
    r"""Return :math:`\|Az - p\|_1 / n`, the mean L1 distance between two sets of slices.

    Parameters
    ----------
    images : ndarray of shape (n_images, n_pixels)
        Images z.
    slices : ndarray of shape (n_images, n_directions, n_bins)
        Slices p.
    matrix : csr_array of shape (n_directions * n_bins, n_pixels)
        Projector A.

    Returns
    -------
    ndarray of shape (n_images,)
        Between 0 and 2.
    """
    projected = (matrix @ images.T).T.reshape(slices.shape)
    return np.abs(projected - slices).sum(axis=(1, 2)) / slices.shape[1]


def filtered_back_projection(slices: Floats, shape: tuple[int, int], directions: Floats) -> Floats:
    r"""Invert slices by filtered back-projection with the ramp filter, for comparison.

    Negative values, which the filter produces at edges, are set to 0 and the rest normalised.

    Parameters
    ----------
    slices : ndarray of shape (n_images, n_directions, n_bins)
        Slices in bins one pixel wide.
    shape : (int, int)
        Height and width.
    directions : ndarray of shape (n_directions, 2)
        Unit vectors of equispaced angles of a half-circle.

    Returns
    -------
    ndarray of shape (n_images, height * width)
        Densities, each with sum 1.
    """
    n_bins = slices.shape[2]
    centres = slice_edges(shape)[:-1] + 0.5
    # The ramp |frequency| of a band-limited slice, sampled in t, so that its mean is exactly 0;
    # twice the length keeps the convolution from wrapping around.
    lag = np.arange(-n_bins, n_bins)
    odd = lag % 2 != 0
    ramp = np.zeros(2 * n_bins)
    ramp[odd] = -1 / (np.pi * lag[odd]) ** 2
    ramp[lag == 0] = 0.25
    spectrum = np.fft.rfft(np.fft.ifftshift(ramp))
    filtered = np.fft.irfft(spectrum * np.fft.rfft(slices, 2 * n_bins), 2 * n_bins)[..., :n_bins]
    positions = pixel_positions(shape)
    images = np.zeros((len(slices), len(positions)))
    for k, direction in enumerate(directions):
        t = positions @ direction
        for image, rows in zip(images, filtered, strict=True):
            image += np.interp(t, centres, rows[k])
    np.maximum(images, 0.0, out=images)
    images /= images.sum(axis=1, keepdims=True)
    return images
