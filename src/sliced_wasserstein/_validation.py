"""What estimators read: images, point clouds, tables. Messages name the image or cloud at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sliced_wasserstein._checks import real_array
from sliced_wasserstein._types import Floats
from sliced_wasserstein.projection import pixel_positions

_CHUNK_BYTES = 64 * 2**20
_CHUNK_IMAGES = 1024


class ImageError(ValueError):
    """One image of a batch is at fault.

    Parameters
    ----------
    index : int
        Place of the image among all that were given, from 0.
    fault : str
        What is wrong with it, as it follows its name in a sentence.
    """

    def __init__(self, index: int, fault: str) -> None:
        # Both arguments reach Exception, so that the error survives the way from a worker process.
        super().__init__(index, fault)
        self.index, self.fault = index, fault

    def __str__(self) -> str:
        return f"image {self.index} {self.fault}"


def check_fitted(estimator: Any) -> None:
    """Raise an error before fit, or if a parameter that fit has used was changed since."""
    check_is_fitted(estimator)
    for name, fitted in estimator._fitted_parameters.items():
        value = getattr(estimator, name)
        if value is not fitted and value != fitted:
            raise ValueError(f"{name} was {fitted!r} in fit and is {value!r} now: fit again")


def table_rows(
    estimator: Any, table: ArrayLike, name: str, *, reset: bool, finite: bool = False
) -> Floats:
    """Return a table of shape (n_samples, n_features), its columns checked as scikit-learn does.

    Parameters
    ----------
    estimator : estimator
        Learns or compares ``n_features_in_`` and, from a data frame, ``feature_names_in_``.
    table : array-like or data frame of shape (n_samples, n_features)
        Rows of real numbers.
    name : str
        What messages call the table.
    reset : bool
        Whether the columns are learned (in fit) or compared.
    finite : bool, default=False
        Whether to refuse NaN and infinite values here, without the caller's words.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    values = check_array(
        real_array(table, name),
        dtype=np.float64,
        ensure_all_finite=finite,
        estimator=estimator,
        input_name=name,
    )
    named = table if hasattr(table, "columns") else values
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    return cast(Floats, values)


def normalized_densities(
    densities: ArrayLike | Sequence[ArrayLike],
    *,
    first_index: int = 0,
    shape: tuple[int, int] | None = None,
) -> Floats:
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
    images = as_images(densities, first_index)
    if shape is not None and images.shape[1:] != shape:
        raise ImageError(first_index, f"has shape {images.shape[1:]}, expected {shape} as in fit")
    # In one layout, for which the loops are compiled, whatever that of the images is.
    rows = images.reshape(len(images), -1).astype(np.float64, order="C")
    # A NaN is its row's smallest and largest value.
    lowest, highest = rows.min(axis=1), rows.max(axis=1)
    for fault, wrong in (
        (
            "contains a value that is NaN or infinite",
            ~(np.isfinite(lowest) & np.isfinite(highest)),
        ),
        # The capital is scikit-learn's, whose contract asks for these words.
        (
            "contains a negative value: Negative values in data are no density "
            "(PointCloudEmbedding reads points)",
            lowest < 0,
        ),
        ("is all zero: a density needs a positive sum", highest == 0),
    ):
        if wrong.any():
            raise ImageError(first_index + int(np.argmax(wrong)), fault)
    # The maximum first, so that the sum of huge finite values cannot overflow.
    rows /= highest[:, np.newaxis]
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


def as_images(densities: Any, first_index: int) -> NDArray[np.generic]:
    """Return a non-empty batch of shape (n, height, width), or say which image is at fault."""
    if isinstance(densities, (list, tuple)):
        densities = [
            real_array(image, f"image {first_index + i}") for i, image in enumerate(densities)
        ]
        for i, image in enumerate(densities):
            if image.shape != densities[0].shape:
                raise ImageError(
                    first_index + i,
                    f"has shape {image.shape}, image {first_index} has shape "
                    f"{densities[0].shape}: all must be equal",
                )
    images = real_array(densities, "images")
    if images.ndim != 3:
        raise ValueError(
            f"expected a batch of images of shape (n, height, width), got shape {images.shape}; "
            "flat rows need image_shape=(height, width)"
        )
    if images.size == 0:
        raise ValueError(f"the batch of images is empty: shape {images.shape}")
    return images


def iter_batches(
    densities: ArrayLike | Iterable[ArrayLike],
    shape: tuple[int, int] | None,
    read: Callable[[Any, int], NDArray[np.generic]] = as_images,
) -> Iterator[tuple[Floats, tuple[int, int]]]:
    """Yield normalised batches of bounded size, with the shape of their images.

    Parameters
    ----------
    densities : array-like of shape (n, height, width), or iterator of such arrays
        An iterator (an object with ``__next__``) is consumed chunk by chunk; anything else is one
        array.
    shape : tuple of int or None
        Shape that every image must have; None takes the first image's.
    read : callable
        Turns a chunk and the index of its first image into an array of images.

    Yields
    ------
    rows : ndarray of shape (m, height * width)
    shape : tuple of int
    """
    chunks = densities if isinstance(densities, Iterator) else iter([densities])
    index = 0
    for chunk in chunks:
        images = read(chunk, index)
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

    positions: Floats
    weights: Floats


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
        measures.append(as_point_cloud(cloud, f"cloud {index}", dimension))
        dimension = measures[-1].positions.shape[1]
    return measures


def as_point_cloud(
    cloud: ArrayLike | tuple[ArrayLike, ArrayLike], name: str, dimension: int | None = None
) -> PointCloud:
    """Return a cloud as a checked measure without points of no mass, or say what is wrong.

    Parameters
    ----------
    cloud : array-like of shape (n_points, d), or tuple (positions, weights)
    name : str
        What the message calls the cloud.
    dimension : int, optional
        Dimension d that the cloud must have.

    Returns
    -------
    PointCloud
    """
    given: Any = cloud
    given_weights: ArrayLike | None = None
    # A tuple may also hold the points themselves.
    if isinstance(cloud, tuple) and len(cloud) == 2 and np.ndim(cloud[0]) == 2:
        given, given_weights = cloud
    try:
        positions = real_array(given, f"the positions of {name}").astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{error}; weights come in a tuple (positions, weights)") from None
    if positions.ndim != 2 or positions.size == 0:
        raise ValueError(
            f"{name} must have positions of shape (n_points, d), got {positions.shape}"
        )
    if dimension is not None and positions.shape[1] != dimension:
        raise ValueError(f"{name} lies in {positions.shape[1]} dimensions, expected {dimension}")
    if given_weights is None:
        weights = np.ones(len(positions))
    else:
        weights = real_array(given_weights, f"the weights of {name}").astype(np.float64)
    if weights.shape != positions.shape[:1]:
        raise ValueError(f"{name} has weights of shape {weights.shape} for {len(positions)} points")
    if not (np.isfinite(positions).all() and np.isfinite(weights).all()):
        raise ValueError(f"{name} contains a value that is NaN or infinite")
    if (weights < 0).any():
        raise ValueError(f"{name} contains a negative weight")
    used = weights > 0
    if not used.any():
        raise ValueError(f"{name} has only zero weights: a measure needs a positive sum")
    weights = weights[used] / weights.max()
    return PointCloud(positions[used], weights / weights.sum())
