"""Readings of an image as a probability density.

The CVPR 2016 paper says only that its HOGgles images were normalised. An inverted image has no
grey level of its own, so what mass a pixel gets is a choice:

``minmax``
    (z - min z), divided by its sum. The literal reading, and the default.
``deviation``
    |z - median z|, divided by its sum: contrast is mass, uniform grey is none. A min-max density
    is mostly a uniform background; this reading shows how much depends on that.
``above``, ``below``
    What of the deviation is brighter, or darker, than the median.
``power_8``
    (z - min z)^8: only the brightest strokes have mass. So sparse is no density that the paper
    shows; it tells what sparseness does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from replication.arrays import Floats, Floats32
from sliced_wasserstein import ImageError

__all__ = ["READINGS", "image_densities"]


def _minmax(images: Floats) -> Floats:
    lowest: Floats = images.min(axis=(1, 2), keepdims=True)
    return images - lowest


def _deviation(images: Floats) -> Floats:
    middle: Floats = np.median(images, axis=(1, 2), keepdims=True)
    return np.abs(images - middle)


def _above(images: Floats) -> Floats:
    middle: Floats = np.median(images, axis=(1, 2), keepdims=True)
    return np.maximum(images - middle, 0)


def _below(images: Floats) -> Floats:
    return _above(-images)


def _power_8(images: Floats) -> Floats:
    mass = _minmax(images)
    # In units of the largest, so that no power overflows or vanishes.
    return (mass / mass.max(axis=(1, 2), keepdims=True)) ** 8


READINGS: dict[str, Callable[[Floats], Floats]] = {
    "minmax": _minmax,
    "deviation": _deviation,
    "above": _above,
    "below": _below,
    "power_8": _power_8,
}
"""Non-negative mass of every pixel, before it is divided by the image's sum."""


def image_densities(images: npt.ArrayLike, reading: str = "minmax") -> Floats32:
    """Turn grey images into probability densities.

    All readings give the same density for an image and for any brighter, darker or stronger copy
    a * z + b with a > 0.

    Parameters
    ----------
    images : array-like of float, shape (n_images, height, width)
        Grey images of any range.
    reading : {"minmax", "deviation", "above", "below", "power_8"}, default "minmax"
        See the module's text.

    Returns
    -------
    ndarray of float32, shape (n_images, height, width)
        Non-negative; each image sums to 1.

    Raises
    ------
    ValueError
        If ``reading`` is unknown or the shape is another one.
    sliced_wasserstein.ImageError
        If an image is constant, holds values that are not finite, or has no mass in a reading.

    Examples
    --------
    >>> image_densities([[[2.0, 3.0], [4.0, 5.0]]])[0].round(3)
    array([[0.   , 0.167],
           [0.333, 0.5  ]], dtype=float32)
    """
    if reading not in READINGS:
        raise ValueError(f"reading must be one of {', '.join(READINGS)}, got {reading!r}")
    values = np.asarray(images, dtype=np.float64)
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(f"images must have the shape (n, height, width), got {values.shape}")
    lowest, highest = values.min(axis=(1, 2)), values.max(axis=(1, 2))
    for fault, where in (
        ("holds values that are not finite", ~(np.isfinite(lowest) & np.isfinite(highest))),
        ("is constant: there is no mass to distribute", highest == lowest),
    ):
        if where.any():
            raise ImageError(int(np.argmax(where)), fault)
    mass = READINGS[reading](values)
    total = mass.sum(axis=(1, 2), keepdims=True)
    if not total.all():
        # Half of it or more is of one grey, and nothing is brighter, or darker.
        raise ImageError(int(np.argmin(total)), f"has no mass in the reading {reading!r}")
    return (mass / total).astype(np.float32)
