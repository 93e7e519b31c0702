"""Grey-level co-occurrence matrices: a texture as a distribution over pairs of grey levels.

For an offset (dr, dc) the matrix counts, over all pixels (r, c) whose partner lies in the image,

    P[i, j] = #{(r, c) : q[r, c] = i  and  q[r + dr, c + dc] = j},

where q is the image quantised to L levels, q = floor(grey * L / 256). Several offsets are summed,
then P + P^T makes the matrix symmetric, then it is divided by its sum (Haralick, Shanmugam,
Dinstein, 1973).

Offsets are integer (rows, columns). Distances and angles are not used on purpose: the sense of
rotation differs between programs (rows grow downwards, so 45 degrees may mean (1, 1) or (-1, 1)),
and rounding lets distances 1 and 2 at 45 degrees name the same pair of pixels.

The grey range is the type's, 0 to 255, never the image's own: stretching each image would remove
its brightness, which is a large part of what distinguishes these matrices.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence

import joblib
import numpy as np

from replication.arrays import Floats, Floats32, Pixels
from replication.data.images import load_grey

__all__ = ["UNIT_OFFSETS", "cooccurrence_matrices", "cooccurrence_matrix"]

UNIT_OFFSETS = ((0, 1), (1, 1), (1, 0), (1, -1))
"""The four neighbours at distance one, up to sign."""


def cooccurrence_matrix(
    image: Pixels,
    levels: int = 64,
    offsets: Sequence[tuple[int, int]] = UNIT_OFFSETS,
    *,
    symmetric: bool = True,
    normalize: bool = True,
) -> Floats:
    """Count how often two grey levels stand at given offsets from each other.

    Parameters
    ----------
    image : ndarray of uint8, shape (height, width)
        Grey image.
    levels : int, default 64
        Number of grey levels after quantisation, 2 to 256.
    offsets : sequence of (int, int), default the four unit offsets
        Steps (rows, columns) from the first pixel of a pair to the second. The counts of all
        offsets are added up.
    symmetric : bool, default True
        Count each pair in both orders.
    normalize : bool, default True
        Divide by the sum, so that the matrix is a probability distribution.

    Returns
    -------
    ndarray of float64, shape (levels, levels)
        Row: level of the first pixel; column: level of the second.

    Raises
    ------
    ValueError
        If ``image`` is not two-dimensional uint8, ``levels`` is out of range, or an offset is no
        pair of integers, is (0, 0) or does not fit into the image (its counts would all be zero).

    Examples
    --------
    >>> image = np.array([[0, 0], [255, 0]], dtype=np.uint8)
    >>> cooccurrence_matrix(image, levels=2, offsets=[(0, 1)], symmetric=False, normalize=False)
    array([[1., 0.],
           [1., 0.]])
    """
    levels, steps = _check_settings(levels, offsets)
    image = np.asarray(image)
    if image.ndim != 2 or image.dtype != np.uint8:
        raise ValueError(
            "image must be a two-dimensional array of uint8, "
            f"got shape {image.shape} of {image.dtype}"
        )
    height, width = image.shape
    for dr, dc in steps:
        if abs(dr) >= height or abs(dc) >= width:
            raise ValueError(
                f"offsets: ({dr}, {dc}) reaches beyond an image of {height} x {width} pixels "
                "(rows x columns), its matrix would be all zero"
            )
    # Integer arithmetic: uint8 * levels would wrap around, floats would round at the bin edges.
    quantised = (np.arange(256) * levels // 256)[image]
    counts = np.zeros(levels * levels, dtype=np.int64)
    for dr, dc in steps:
        first = quantised[max(0, -dr) : height - max(0, dr), max(0, -dc) : width - max(0, dc)]
        second = quantised[max(0, dr) : height - max(0, -dr), max(0, dc) : width - max(0, -dc)]
        counts += np.bincount((first * levels + second).ravel(), minlength=counts.size)
    matrix = counts.reshape(levels, levels).astype(np.float64)
    if symmetric:
        matrix = matrix + matrix.T
    if normalize:
        matrix /= matrix.sum()
    return matrix


def cooccurrence_matrices(
    paths: Sequence[str | os.PathLike[str]],
    levels: int = 64,
    offsets: Sequence[tuple[int, int]] = UNIT_OFFSETS,
    *,
    symmetric: bool = True,
    n_jobs: int | None = None,
) -> Floats32:
    """Normalised co-occurrence matrices of image files.

    Parameters
    ----------
    paths : sequence of path-like
        Image files, read by :func:`replication.data.images.load_grey`.
    levels, offsets, symmetric
        As in :func:`cooccurrence_matrix`.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it.

    Returns
    -------
    ndarray of float32, shape (n_paths, levels, levels)
        One matrix a file, in the order of ``paths``.

    Raises
    ------
    ValueError
        If ``paths`` is empty, a setting is wrong, or a file is no usable image or too small for an
        offset; the message then names the file.
    """
    if len(paths) == 0:
        raise ValueError("paths is empty: there is no image to compute a matrix of")
    levels, steps = _check_settings(levels, offsets)
    matrices = np.empty((len(paths), levels, levels), dtype=np.float32)
    results = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_matrix_of_file)(path, levels, steps, symmetric) for path in paths
    )
    for index, matrix in enumerate(results):
        matrices[index] = matrix
    return matrices


def _matrix_of_file(
    path: str | os.PathLike[str],
    levels: int,
    offsets: Sequence[tuple[int, int]],
    symmetric: bool,
) -> Floats:
    image = load_grey(path)
    try:
        return cooccurrence_matrix(image, levels, offsets, symmetric=symmetric)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def _check_settings(
    levels: int, offsets: Sequence[tuple[int, int]]
) -> tuple[int, list[tuple[int, int]]]:
    try:
        levels = operator.index(levels)
    except TypeError:
        raise ValueError(f"levels must be an integer, got {levels!r}") from None
    if not 2 <= levels <= 256:
        raise ValueError(f"levels must lie between 2 and 256, got {levels}")
    steps = []
    for offset in offsets:
        try:
            dr, dc = (operator.index(step) for step in offset)
        except (TypeError, ValueError):
            raise ValueError(
                f"offsets must be pairs of integers (rows, columns), got {offset!r}"
            ) from None
        if dr == dc == 0:
            raise ValueError("offsets: (0, 0) pairs every pixel with itself")
        steps.append((dr, dc))
    if not steps:
        raise ValueError("offsets is empty: no pair of pixels would be counted")
    return levels, steps
