r"""From HOG back to an image by a paired dictionary.

The features are padded with five empty cells on each side. Every window of the dictionary's size
(5 x 5 cells, one cell apart) is reduced to its contrast w and coded on the HOG atoms,

    a = argmin_{a >= 0}  1/2 |w - D_hog a|^2 + lambda |a|_1,

and D_grey a is its grey patch. Patches, each weighted by a Gaussian, are added up; every pixel is
divided by the number of patches that cover it, the padding is cut off, and the picture is stretched
to the range from 0 to 1. The mean grey level of a patch is lost: atoms have mean zero.
"""

from __future__ import annotations

from collections.abc import Iterable

import joblib
import numpy as np
import numpy.typing as npt
import scipy.sparse
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from replication.arrays import Floats, Floats32
from replication.images.hoggles.dictionary import PairedDictionary, unit_contrast
from replication.images.hoggles.hog import N_CHANNELS, hog_features
from sliced_wasserstein import ImageError

__all__ = ["encode_windows", "hoggles", "invert_hog"]

_PADDING = 5
_SIGMA = 9.0
# Of the duality gap. The optimality conditions then hold to about 5e-6, with lambda at 0.02.
_TOLERANCE = 1e-5
# Windows were seen to need 160; a lasso that stops early would warn.
_MAX_ITERATIONS = 20_000


def encode_windows(windows: npt.NDArray[np.floating], dictionary: PairedDictionary) -> Floats:
    """Code HOG windows as non-negative combinations of HOG atoms.

    Parameters
    ----------
    windows : ndarray of float, shape (n, ny * nx * 32)
        HOG windows of the dictionary's size, flattened in C order.
    dictionary : PairedDictionary

    Returns
    -------
    ndarray of float64, shape (n, n_atoms)
        Solutions of the positive lasso for the contrasts of the windows. A window without contrast
        has the code 0.
    """
    atoms = dictionary.hog.reshape(dictionary.n_atoms, -1).astype(np.float64)
    contrasts = unit_contrast(windows)
    codes = np.zeros((len(windows), dictionary.n_atoms))
    # Windows of the padding are all zero; their codes are known.
    filled = np.flatnonzero(np.abs(contrasts).max(axis=1) > 0)
    if filled.size:
        # scikit-learn divides the squared error by the number of features. Its sparse_encode does
        # the same with a tolerance of 1e-8 that cannot be changed and takes half as long again.
        lasso = Lasso(
            alpha=dictionary.penalty / atoms.shape[1],
            fit_intercept=False,
            precompute=atoms @ atoms.T,
            positive=True,
            tol=_TOLERANCE,
            max_iter=_MAX_ITERATIONS,
        )
        lasso.fit(atoms.T, contrasts[filled].T)
        codes[filled] = lasso.coef_
    return codes


def invert_hog(features: npt.NDArray[np.floating], dictionary: PairedDictionary) -> Floats:
    """Reconstruct the grey image that HOG features may have come from.

    Parameters
    ----------
    features : ndarray of float, shape (rows, columns, 32)
        HOG features, at least one cell.
    dictionary : PairedDictionary
        Learned on HOG features of the same kind and cell size.

    Returns
    -------
    ndarray of float64, shape (cell * (rows + 2), cell * (columns + 2))
        Values from 0 to 1; pixel (y, x) lies where it lay in the image of the features. All zeros
        if the features have no contrast at all, as those of a constant image.

    Raises
    ------
    ValueError
        If ``features`` has another shape or holds values that are not finite.
    """
    features = np.asarray(features)
    if features.ndim != 3 or features.shape[2] != N_CHANNELS or 0 in features.shape:
        raise ValueError(
            f"features must have the shape (rows, columns, {N_CHANNELS}), got {features.shape}"
        )
    if not np.isfinite(features).all():
        raise ValueError("features holds values that are not finite")
    _, ny, nx, _ = dictionary.hog.shape
    padded = np.pad(features, ((_PADDING, _PADDING), (_PADDING, _PADDING), (0, 0)))
    windows = sliding_window_view(padded, (ny, nx), axis=(0, 1)).transpose(0, 1, 3, 4, 2)
    grid = windows.shape[:2]
    # One thread, so that no sum depends on the number of cores.
    with threadpool_limits(limits=1):
        codes = encode_windows(windows.reshape(grid[0] * grid[1], -1), dictionary)
    blended = _blend(codes, grid, dictionary)
    cut = dictionary.cell * _PADDING
    picture = blended[cut:-cut, cut:-cut]
    low, high = picture.min(), picture.max()
    stretched: Floats = (picture - low) / (high - low if high > low else 1.0)
    return stretched


def _blend(codes: Floats, grid: tuple[int, int], dictionary: PairedDictionary) -> Floats:
    """Mean over the patches that cover a pixel of patch times Gaussian."""
    cell = dictionary.cell
    _, height, width = dictionary.grey.shape
    cells_y, cells_x = height // cell, width // cell
    weighted = (dictionary.grey * _gaussian(height, width)).reshape(dictionary.n_atoms, -1)
    # Some twenty atoms of a thousand are active in a window.
    patches = (scipy.sparse.csr_array(codes) @ weighted.astype(np.float64)).reshape(
        *grid, cells_y, cell, cells_x, cell
    )
    total = np.zeros((grid[0] + cells_y - 1, cell, grid[1] + cells_x - 1, cell))
    count = np.zeros((total.shape[0], 1, total.shape[2], 1))
    for i in range(cells_y):
        for j in range(cells_x):
            here = np.s_[i : i + grid[0], :, j : j + grid[1], :]
            total[here] += patches[:, :, i, :, j, :].transpose(0, 2, 1, 3)
            count[here] += 1
    mean: Floats = (total / count).reshape(total.shape[0] * cell, -1)
    return mean


def _gaussian(height: int, width: int) -> Floats:
    y = np.arange(height)[:, np.newaxis] - (height - 1) / 2
    x = np.arange(width) - (width - 1) / 2
    weights = np.exp(-(y**2 + x**2) / (2 * _SIGMA**2))
    normalised: Floats = weights / weights.sum()
    return normalised


def hoggles(
    images: Iterable[npt.ArrayLike],
    dictionary: PairedDictionary,
    *,
    side: int | None = None,
    n_jobs: int | None = None,
) -> Floats32:
    """HOGgles images: the inverses of the HOG features of images.

    Parameters
    ----------
    images : iterable of array-like, shape (height, width) or (height, width, channels)
        Images as :func:`replication.images.hoggles.hog.hog_features` takes them.
    dictionary : PairedDictionary
    side : int, optional
        Height and width in pixels to which the inverses are brought, by bicubic interpolation over
        an area that grows with the reduction; the images may then have sizes of their own.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it, nor on which
        images share a call: a data set can be worked through in blocks.

    Returns
    -------
    ndarray of float32, shape (n_images, height', width')
        Values from 0 to 1, which interpolation may exceed a little. Without ``side`` the sides are
        those of the images, rounded to whole cells.

    Raises
    ------
    sliced_wasserstein.ImageError
        If an image is unusable.
    ValueError
        If ``images`` is empty or the sizes of the inverses differ.
    """
    inverses = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_hoggles_of_image)(index, image, dictionary, side)
        for index, image in enumerate(tqdm(images, "HOGgles", unit="image"))
    )
    if not inverses:
        raise ValueError("images is empty: there is nothing to invert")
    shapes = sorted({inverse.shape for inverse in inverses})
    if len(shapes) > 1:
        raise ValueError(f"images must all have one size, their inverses have the sizes {shapes}")
    return np.stack(inverses)


def _hoggles_of_image(
    index: int, image: npt.ArrayLike, dictionary: PairedDictionary, side: int | None
) -> Floats32:
    try:
        inverse = invert_hog(hog_features(image, dictionary.cell), dictionary).astype(np.float32)
    except ValueError as error:
        raise ImageError(index, f"cannot be inverted: {error}") from error
    if side is None:
        return inverse
    resized = Image.fromarray(inverse).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(resized)
