r"""The matrices of inner products and squared distances on which all kernels of a data set rest.

======================== =====================================================================
name                     entries
======================== =====================================================================
``density_gram``         :math:`\langle I_i, I_j\rangle`
``density_distance``     :math:`\lVert I_i - I_j\rVert^2`
``sw_gram``              :math:`\langle\phi_\sigma(I_i), \phi_\sigma(I_j)\rangle`
``sw_distance``          :math:`SW^2(I_i, I_j)`
``sw_mean_distance``     the part of :math:`SW^2` that a translation explains
``sw_centred_distance``  the rest, i.e. :math:`SW^2` of the densities moved to a common mean
``hellinger_distance``   :math:`\lVert\sqrt{I_i} - \sqrt{I_j}\rVert^2`
``chi_squared_distance`` :math:`\sum (I_i - I_j)^2 / (I_i + I_j)`
``sw_gram_train``        ``sw_gram`` with the mean of the training densities as template
``hog_gram``             inner products of raw HOG vectors, where images have them
======================== =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from replication.arrays import Floats, Floats32, Indices
from sliced_wasserstein import (
    SlicedWassersteinEmbedding,
    change_template,
    gram_matrix,
    squared_distances,
)
from sliced_wasserstein.quantiles import quantile_edges

__all__ = [
    "TrainTemplate",
    "compare_densities",
    "compare_embeddings",
    "compare_hog",
    "compare_images",
]


def compare_images(
    densities: Floats32, transport: Mapping[str, Any], *, beyond_paper: bool, n_jobs: int = 1
) -> tuple[Floats32, dict[str, Floats]]:
    """Embed densities and compute all matrices that need no training part.

    Parameters
    ----------
    densities : ndarray of shape (n, height, width)
    transport : mapping
        Parameters of :class:`sliced_wasserstein.SlicedWassersteinEmbedding`.
    beyond_paper : bool
        See :func:`compare_densities`.
    n_jobs : int
        The result does not depend on it.

    Returns
    -------
    embedding : ndarray of float32, shape (n, n_angles * n_quantiles)
    matrices : dict of str to ndarray of shape (n, n)
        Those of :func:`compare_densities` and :func:`compare_embeddings`.
    """
    embedding = SlicedWassersteinEmbedding(**transport, n_jobs=n_jobs).fit_transform(densities)
    return embedding, {
        **compare_densities(densities, beyond_paper),
        **compare_embeddings(embedding, transport["n_angles"]),
    }


def compare_densities(densities: Floats32, beyond_paper: bool) -> dict[str, Floats]:
    """Compute the matrices that need no transport.

    Parameters
    ----------
    densities : ndarray of shape (n, height, width)
    beyond_paper : bool
        Whether to compute the distances that the paper does not compare with.

    Returns
    -------
    dict of str to ndarray of shape (n, n)
        ``density_gram``, ``density_distance``, and beyond the paper ``hellinger_distance`` and
        ``chi_squared_distance``.
    """
    rows = densities.reshape(len(densities), -1)
    matrices = {"density_gram": gram_matrix(rows), "density_distance": squared_distances(rows)}
    if beyond_paper:
        matrices["hellinger_distance"] = squared_distances(np.sqrt(rows))
        matrices["chi_squared_distance"] = _chi_squared_distances(rows)
    return matrices


def compare_hog(vectors: Floats32) -> dict[str, Floats]:
    """Compute ``hog_gram`` from HOG vectors of shape (n, d)."""
    return {"hog_gram": gram_matrix(vectors)}


@njit(cache=True, fastmath={"reassoc", "contract"})
def _chi_squared_distances(rows: Floats32) -> Floats:
    """Fill sum (a - b)^2 / (a + b) for all pairs; pixels empty in both add nothing.

    Every pair once and row against row, so that 2,400 images of 16,384 pixels take no memory
    beside the result.
    """
    n = len(rows)
    result = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(rows.shape[1]):
                a, b = np.float64(rows[i, k]), np.float64(rows[j, k])
                # Smaller than any mass of a pixel that float32 resolves; saves a branch.
                total += (a - b) * (a - b) / (a + b + 1e-300)
            result[i, j] = result[j, i] = total
    return result


def compare_embeddings(embedding: Floats32, n_angles: int) -> dict[str, Floats]:
    r"""Compute the sliced-Wasserstein matrices from embedded densities.

    A translation by v adds :math:`v\cdot\theta` to a whole quantile function. So the mean over u of
    each slice's quantile function is the translation part, and the rest is orthogonal to it:

    .. math:: SW^2(I_i, I_j) = \tfrac12 \lVert m_i - m_j \rVert^2
              + SW^2(\tilde I_i, \tilde I_j).

    Parameters
    ----------
    embedding : ndarray of shape (n, n_angles * n_quantiles)
        Columns are weighted by the square root of the bin widths, the same at each angle.
    n_angles : int

    Returns
    -------
    dict of str to ndarray of shape (n, n)
        ``sw_gram``, ``sw_distance``, ``sw_mean_distance``, ``sw_centred_distance``.
    """
    slices = embedding.reshape(len(embedding), n_angles, -1).astype(np.float64)
    n_quantiles = slices.shape[2]
    # sqrt(width of bin j), the direction that a constant shift of a quantile function takes
    constant = np.sqrt(np.diff(quantile_edges(n_quantiles)))
    shifts = slices @ constant
    distance = squared_distances(embedding)
    mean_distance = squared_distances(shifts)
    return {
        "sw_gram": gram_matrix(embedding),
        "sw_distance": distance,
        "sw_mean_distance": mean_distance,
        "sw_centred_distance": np.maximum(distance - mean_distance, 0.0),
    }


class TrainTemplate:
    """Matrices of a data set, one of them relative to the training rows' own template.

    Parameters
    ----------
    matrices : mapping of str to ndarray of shape (n, n)
        Matrices that do not depend on the training rows.
    densities : ndarray of shape (n, height, width)
    embedding : ndarray of shape (n, n_features)
        Of the densities, relative to the template of all of them.
    settings : mapping
        Parameters of :class:`sliced_wasserstein.SlicedWassersteinEmbedding`.
    """

    def __init__(
        self,
        matrices: Mapping[str, Floats],
        densities: Floats32,
        embedding: Floats32,
        settings: Mapping[str, Any],
    ) -> None:
        self._matrices = matrices
        self._read: dict[str, Floats] = {}
        self._densities = densities
        self._embedding = embedding
        self._transformer = SlicedWassersteinEmbedding(**settings).fit(densities)

    def __call__(self, name: str, train: Indices) -> Floats:
        """Return the matrix of a name; ``train`` are the rows that may be learnt from."""
        if name != "sw_gram_train":
            if name not in self._matrices:
                raise ValueError(f"this experiment has no matrix {name!r}, which a kernel needs")
            if name not in self._read:
                # An .npz file unpacks a matrix each time it is asked for it.
                self._read[name] = self._matrices[name]
            return self._read[name]
        mean = self._densities[train].mean(axis=0, dtype=np.float64)
        shift = self._transformer.transform(mean[np.newaxis])[0].astype(np.float64)
        return change_template(
            self("sw_gram", train), self._embedding @ shift, float(shift @ shift)
        )
