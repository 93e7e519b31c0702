r"""Histograms of oriented gradients in the 31-channel form of Felzenszwalb et al. (PAMI 2010).

Cells of s x s pixels hold weighted histograms of the gradient's orientation. With h_o the 18 signed
orientations of a cell (o * 20 degrees), its energy is

    e = sum_{o=0}^{8} (h_o + h_{o+9})^2,

and each of the four 2 x 2 blocks of cells that contain the cell gives a normaliser
n_k = (sum of e over block k + 1e-4)^(-1/2). The features are

    signed    (18)   1/2 sum_k min(n_k h_o, 0.2)
    unsigned   (9)   1/2 sum_k min(n_k (h_o + h_{o+9}), 0.2)
    texture    (4)   0.2357 sum_o min(n_k h_o, 0.2)              one for each block k
    truncation (1)   0

The last channel is 1 only where a detector pads an image; it is kept, always 0, because published
dictionaries of HOGgles were learned on 32 channels.

The normaliser's constant makes the features depend slightly on the scale of the grey values.
They are in [0, 1] here, as in the program that introduced HOGgles.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from replication.arrays import Floats, Floats32, Integers

__all__ = ["N_CHANNELS", "hog_features", "hog_vectors"]

N_CHANNELS = 32
"""18 signed and 9 unsigned orientations, 4 texture channels and the empty truncation channel."""

_N_SIGNED = 18
_N_UNSIGNED = 9
_CLIP = 0.2
_TEXTURE_WEIGHT = 0.2357
_ENERGY_FLOOR = 1e-4


def _unit_vectors() -> tuple[Floats, Floats]:
    """Cosines and sines of 0, 20, ..., 160 degrees, mirrored exactly about 90 degrees.

    A vertical gradient lies half-way between 80 and 100 degrees. Exact mirroring makes that a tie,
    which the first orientation wins, rather than a matter of the last bit of a sine.
    """
    angles = np.deg2rad(20.0 * np.arange(5))
    cosines, sines = np.cos(angles), np.sin(angles)
    return np.append(cosines, -cosines[:0:-1]), np.append(sines, sines[:0:-1])


_COSINES, _SINES = _unit_vectors()


def _checked_values(image: npt.ArrayLike) -> tuple[Floats, float]:
    """Return the image with an axis for its channels, and the factor to the scale from 0 to 1."""
    array = np.asarray(image)
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(
            "image must have the shape (height, width) or (height, width, channels), "
            f"got {array.shape}"
        )
    if array.dtype == np.uint8:
        scale = 1 / 255
    elif not np.issubdtype(array.dtype, np.floating):
        raise ValueError(f"image must hold uint8 or floating-point values, got {array.dtype}")
    # NaN fails this comparison too.
    elif not (array.min() >= 0 and array.max() <= 1):
        raise ValueError(
            f"image must lie between 0 and 1, got values from {array.min()} to {array.max()}"
        )
    else:
        scale = 1.0
    return np.atleast_3d(array.astype(np.float64)), scale


def hog_features(image: npt.ArrayLike, cell: int = 8) -> Floats:
    """Compute the HOG features of an image.

    Parameters
    ----------
    image : array-like, shape (height, width) or (height, width, channels)
        uint8, or floating-point values in [0, 1]. In a colour image every pixel takes its gradient
        from the channel in which it is steepest.
    cell : int, default 8
        Side of a cell in pixels.

    Returns
    -------
    ndarray of float64, shape (round(height / cell) - 2, round(width / cell) - 2, 32)
        Cells at the border only serve to normalise their neighbours. See the module's text for
        the channels.

    Raises
    ------
    ValueError
        If ``image`` has another shape, is less than three cells high or wide, holds values that
        are not finite, outside [0, 1] or of another integer type than uint8 (whose range would be
        a guess), or if ``cell`` is below 2.

    References
    ----------
    Felzenszwalb, Girshick, McAllester, Ramanan: Object detection with discriminatively trained
    part-based models. IEEE PAMI 32 (2010), section 6.

    Examples
    --------
    >>> hog_features(np.eye(40)).shape
    (3, 3, 32)
    """
    if cell < 2:
        raise ValueError(f"cell must be at least 2 pixels, got {cell}")
    values, scale = _checked_values(image)
    height, width = values.shape[:2]
    rows, columns = (int(side / cell + 0.5) for side in (height, width))
    if min(rows, columns) < 3:
        raise ValueError(
            f"image must be at least three cells of {cell} pixels high and wide, "
            f"got {height} x {width} pixels"
        )
    # Scaled only now: differences of integers are exact, so that channels which are equally steep
    # are a tie (the first one wins) and not a matter of rounding.
    return _normalise(_orientation_histograms(values, rows, columns, cell) * scale)


def hog_vectors(images: Iterable[npt.ArrayLike], cell: int = 8) -> Floats32:
    """Write the HOG features of images of one size as vectors.

    Parameters
    ----------
    images : iterable of array-like
        As :func:`hog_features` takes them.
    cell : int, default 8
        Side of a cell in pixels.

    Returns
    -------
    ndarray of float32, shape (n_images, rows * columns * 32)
    """
    return np.stack([hog_features(image, cell).astype(np.float32).ravel() for image in images])


def _orientation_histograms(values: Floats, rows: int, columns: int, cell: int) -> Floats:
    """Gradient magnitudes, spread bilinearly over the nearest four cells: (rows, columns, 18)."""
    # Where the cells reach beyond the image, its last gradients are repeated.
    y = np.arange(1, rows * cell - 1)
    x = np.arange(1, columns * cell - 1)
    inner_y = np.minimum(y, values.shape[0] - 2)
    inner_x = np.minimum(x, values.shape[1] - 2)
    dy = values[np.ix_(inner_y + 1, inner_x)] - values[np.ix_(inner_y - 1, inner_x)]
    dx = values[np.ix_(inner_y, inner_x + 1)] - values[np.ix_(inner_y, inner_x - 1)]
    steepest = np.argmax(dx**2 + dy**2, axis=2)[:, :, np.newaxis]
    dx = np.take_along_axis(dx, steepest, axis=2)[:, :, 0]
    dy = np.take_along_axis(dy, steepest, axis=2)[:, :, 0]
    along = dx[:, :, np.newaxis] * _COSINES + dy[:, :, np.newaxis] * _SINES
    orientation = np.argmax(np.concatenate([along, -along], axis=2), axis=2)
    magnitude = np.hypot(dx, dy)

    histograms = np.zeros(rows * columns * _N_SIGNED)
    for cell_y, weight_y in _bilinear(y, cell, rows):
        for cell_x, weight_x in _bilinear(x, cell, columns):
            index = (cell_y[:, np.newaxis] * columns + cell_x) * _N_SIGNED + orientation
            weight = magnitude * weight_y[:, np.newaxis] * weight_x
            histograms += np.bincount(index.ravel(), weight.ravel(), histograms.size)
    return histograms.reshape(rows, columns, _N_SIGNED)


def _bilinear(position: Integers, cell: int, n_cells: int) -> list[tuple[Integers, Floats]]:
    """Both neighbouring cells of each pixel on one axis, with weights; 0 outside the image."""
    centre = (position + 0.5) / cell - 0.5
    before = np.floor(centre).astype(np.int_)
    share = centre - before
    neighbours = []
    for index, weight in ((before, 1 - share), (before + 1, share)):
        inside = (index >= 0) & (index < n_cells)
        neighbours.append((np.where(inside, index, 0), np.where(inside, weight, 0.0)))
    return neighbours


def _normalise(histograms: Floats) -> Floats:
    """Turn histograms of all cells into the 32 channels of the inner cells."""
    unsigned = histograms[:, :, :_N_UNSIGNED] + histograms[:, :, _N_UNSIGNED:]
    energy = (unsigned**2).sum(axis=2)
    blocks = energy[:-1, :-1] + energy[1:, :-1] + energy[:-1, 1:] + energy[1:, 1:]
    normaliser = 1 / np.sqrt(blocks + _ENERGY_FLOOR)
    inner = histograms[1:-1, 1:-1]
    inner_unsigned = unsigned[1:-1, 1:-1]
    features = np.zeros((*inner.shape[:2], N_CHANNELS))
    # The blocks that begin at the cell itself, one row up, one column left, and both.
    corners = (
        normaliser[1:, 1:],
        normaliser[:-1, 1:],
        normaliser[1:, :-1],
        normaliser[:-1, :-1],
    )
    for k, corner in enumerate(corners):
        scale = corner[:, :, np.newaxis]
        clipped = np.minimum(inner * scale, _CLIP)
        features[:, :, :_N_SIGNED] += clipped / 2
        features[:, :, _N_SIGNED : _N_SIGNED + _N_UNSIGNED] += (
            np.minimum(inner_unsigned * scale, _CLIP) / 2
        )
        texture = _N_SIGNED + _N_UNSIGNED + k
        features[:, :, texture] = _TEXTURE_WEIGHT * clipped.sum(axis=2)
    return features
