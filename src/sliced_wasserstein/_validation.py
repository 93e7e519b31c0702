"""Input checks: every message names the image and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sliced_wasserstein.projection import pixel_positions

_CHUNK_BYTES = 64 * 2**20
_CHUNK_IMAGES = 1024


def normalized_densities(
    densities: ArrayLike | Sequence[ArrayLike],
    *,
    first_index: int = 0,
    shape: tuple[int, int] | None = None,
) -> NDArray[np.float64]:
    """Return a batch of images as float64 rows with sum 1, or say which image is at fault.

    Parameters
    ----------
    densities : array-like of shape (n, height, width)
        Non-negative images.
    first_index : int, default=0
        Index of the batch's first image among all images, for the messages.
    shape : tuple of int, optional
        Shape that every image must have.

    Returns
    -------
    ndarray of shape (n, height * width)
    """
    images = _as_batch(densities, first_index)
    if shape is not None and images.shape[1:] != shape:
        raise ValueError(
            f"image {first_index} has shape {images.shape[1:]}, expected {shape} as in fit"
        )
    rows = images.reshape(len(images), -1).astype(np.float64)
    # A NaN is its row's smallest and largest value.
    lowest, highest = rows.min(axis=1), rows.max(axis=1)
    for fault, wrong in (
        (
            "contains a value that is NaN or infinite",
            ~(np.isfinite(lowest) & np.isfinite(highest)),
        ),
        ("contains a negative value", lowest < 0),
        ("is all zero: a density needs a positive sum", highest == 0),
    ):
        if wrong.any():
            raise ValueError(f"image {first_index + int(np.argmax(wrong))} {fault}")
    # The maximum first, so that the sum of huge finite values cannot overflow.
    rows /= highest[:, np.newaxis]
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def _as_batch(
    densities: ArrayLike | Sequence[ArrayLike] | Iterable[ArrayLike], first_index: int
) -> NDArray[np.generic]:
    if isinstance(densities, (list, tuple)):
        shapes = [np.shape(image) for image in densities]
        for i, image_shape in enumerate(shapes):
            if image_shape != shapes[0]:
                raise ValueError(
                    f"image {first_index + i} has shape {image_shape}, "
                    f"image {first_index} has shape {shapes[0]}: all must be equal"
                )
    images = np.asarray(densities)
    if images.ndim != 3:
        raise ValueError(
            f"expected a batch of images of shape (n, height, width), got shape {images.shape}"
        )
    if images.size == 0:
        raise ValueError(f"the batch of images is empty: shape {images.shape}")
    if images.dtype.kind not in "fiub":
        raise ValueError(f"images must hold real numbers, got dtype {images.dtype}")
    return images


def iter_batches(
    densities: ArrayLike | Iterable[ArrayLike], shape: tuple[int, int] | None
) -> Iterator[tuple[NDArray[np.float64], tuple[int, int]]]:
    """Yield normalised batches of bounded size, with the shape of their images.

    Parameters
    ----------
    densities : array-like of shape (n, height, width), or iterator of such arrays
        An iterator (an object with ``__next__``) is consumed chunk by chunk; anything else is one
        array.
    shape : tuple of int or None
        Shape that every image must have; None takes the first image's.

    Yields
    ------
    rows : ndarray of shape (m, height * width)
    shape : tuple of int
    """
    chunks = densities if isinstance(densities, Iterator) else iter([densities])
    index = 0
    for chunk in chunks:
        images = _as_batch(chunk, index)
        if shape is None:
            shape = (images.shape[1], images.shape[2])
        step = max(1, min(_CHUNK_IMAGES, _CHUNK_BYTES // (8 * images[0].size)))
        for start in range(0, len(images), step):
            part = images[start : start + step]
            yield normalized_densities(part, first_index=index + start, shape=shape), shape
        index += len(images)
    if index == 0:
        raise ValueError("no images: the iterator of chunks is empty")


class PointCloud(NamedTuple):
    """A discrete measure: positions of shape (n, d) and masses of shape (n,) with sum 1."""

    positions: NDArray[np.float64]
    weights: NDArray[np.float64]


def as_point_clouds(
    clouds: Sequence[ArrayLike | tuple[ArrayLike, ArrayLike]] | NDArray[np.generic],
    dimension: int | None = None,
) -> list[PointCloud]:
    """Return clouds as checked measures, or say which cloud is at fault.

    Parameters
    ----------
    clouds : list of position arrays or of (positions, weights), or array
        An array of three axes holds clouds of equally many points of equal mass, one of four and
        more axes volumes.
    dimension : int, optional
        Dimension of the space; that of the first cloud by default.

    Returns
    -------
    list of PointCloud
        Points without mass are left out.
    """
    if isinstance(clouds, np.ndarray) and clouds.ndim > 3:
        positions = pixel_positions(clouds.shape[1:])
        clouds = [(positions, volume.ravel()) for volume in clouds]
    if len(clouds) == 0:
        raise ValueError("no clouds were given")
    measures = []
    for index, cloud in enumerate(clouds):
        measures.append(_as_point_cloud(cloud, index, dimension))
        dimension = measures[-1].positions.shape[1]
    return measures


def _as_point_cloud(
    cloud: ArrayLike | tuple[ArrayLike, ArrayLike], index: int, dimension: int | None
) -> PointCloud:
    given_positions, given_weights = cloud if isinstance(cloud, tuple) else (cloud, None)
    positions = np.asarray(given_positions, dtype=np.float64)
    if positions.ndim != 2 or positions.size == 0:
        raise ValueError(
            f"cloud {index} must have positions of shape (n_points, d), got {positions.shape}"
        )
    if dimension is not None and positions.shape[1] != dimension:
        raise ValueError(
            f"cloud {index} lies in {positions.shape[1]} dimensions, expected {dimension}"
        )
    if given_weights is None:
        weights = np.ones(len(positions))
    else:
        weights = np.asarray(given_weights, dtype=np.float64)
    if weights.shape != positions.shape[:1]:
        raise ValueError(
            f"cloud {index} has weights of shape {weights.shape} for {len(positions)} points"
        )
    if not (np.isfinite(positions).all() and np.isfinite(weights).all()):
        raise ValueError(f"cloud {index} contains a value that is NaN or infinite")
    if (weights < 0).any():
        raise ValueError(f"cloud {index} contains a negative weight")
    used = weights > 0
    if not used.any():
        raise ValueError(f"cloud {index} has only zero weights: a measure needs a positive sum")
    weights = weights[used] / weights.max()
    return PointCloud(positions[used], weights / weights.sum())


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise an error that names the parameter unless its value is among those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}")
