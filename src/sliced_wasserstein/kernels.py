r"""Kernel matrices of embedded distributions.

With embedded distributions :math:`\phi_i` as rows of a matrix, everything the paper does (support
vector machines, kernel PCA, kernel k-means) is a function of the Gram matrix
:math:`G_{ij} = \langle\phi_i, \phi_j\rangle` and of :math:`SW_{ij}^2 = G_{ii} + G_{jj} - 2G_{ij}`
(Eq. 17). Embeddings are stored in single precision; the products are summed in double precision,
because a distance is a small difference of large numbers.

Units: G and SW² are in px². The kernels of the paper depend on this unit (and on the measure on
the sphere) through their parameters; state ``gamma`` relative to
:func:`median_squared_distance`, and a polynomial of ``G`` divided by a typical norm.

References
----------
S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
CVPR 2016, Theorems 5 and 6, Section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "center_gram",
    "change_template",
    "gaussian_kernel",
    "gram_matrix",
    "median_squared_distance",
    "polynomial_kernel",
    "squared_distances",
]

_BLOCK_VALUES = 2**21
"""Numbers converted to double precision at a time (16 MiB)."""


def gram_matrix(Z: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Return the inner products :math:`\langle z_i, y_j\rangle` in double precision.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Embedded distributions.
    Y : array-like of shape (m, n_features), optional
        A second set, for instance the training set when `Z` is a test set. `Z` itself by default;
        the result is then exactly symmetric.

    Returns
    -------
    ndarray of shape (n, n) or (n, m)
        Gram matrix (px²).

    Raises
    ------
    ValueError
        If an argument is not a matrix or the numbers of features differ.

    Examples
    --------
    >>> gram_matrix([[1.0, 2.0], [0.0, 3.0]])
    array([[5., 6.],
           [6., 9.]])
    """
    z = _matrix(Z, "Z")
    y = z if Y is None else _matrix(Y, "Y")
    if y.shape[1] != z.shape[1]:
        raise ValueError(f"Z has {z.shape[1]} features, Y has {y.shape[1]}")
    gram = np.zeros((len(z), len(y)))
    # Blocks of features, so that the double-precision copy stays small.
    step = max(1, _BLOCK_VALUES // max(len(z), len(y)))
    for start in range(0, z.shape[1], step):
        z_block = z[:, start : start + step].astype(np.float64)
        y_block = z_block if Y is None else y[:, start : start + step].astype(np.float64)
        gram += z_block @ y_block.T
    return (gram + gram.T) / 2 if Y is None else gram


def squared_distances(Z: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Return :math:`SW^2_{ij} = \|\phi_i - \phi_j\|^2` (Eq. 17) in double precision.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Embedded distributions.
    Y : array-like of shape (m, n_features), optional
        A second set. `Z` itself by default; the result is then exactly symmetric with an exactly
        zero diagonal.

    Returns
    -------
    ndarray of shape (n, n) or (n, m)
        Squared distances (px²), never negative.

    Raises
    ------
    ValueError
        If an argument is not a matrix or the numbers of features differ.

    Examples
    --------
    >>> squared_distances([[0.0, 0.0], [3.0, 4.0]])
    array([[ 0., 25.],
           [25.,  0.]])
    """
    z = _matrix(Z, "Z")
    if Y is None:
        gram = gram_matrix(z)
        rows = columns = np.diag(gram)
    else:
        y = _matrix(Y, "Y")
        gram = gram_matrix(z, y)
        rows = np.einsum("ij,ij->i", z, z, dtype=np.float64)
        columns = np.einsum("ij,ij->i", y, y, dtype=np.float64)
    squared = np.maximum(rows[:, None] + columns[None, :] - 2 * gram, 0.0)
    if Y is None:
        np.fill_diagonal(squared, 0.0)
    return squared


def center_gram(G: ArrayLike) -> NDArray[np.float64]:
    r"""Return :math:`HGH` with :math:`H = I - 11^\top/n`, the Gram matrix of centred vectors.

    Kernel PCA is the eigendecomposition of this matrix (Section 4.2). It does not depend on the
    template of the embedding.

    Parameters
    ----------
    G : array-like of shape (n, n)
        Symmetric Gram matrix.

    Returns
    -------
    ndarray of shape (n, n)
        Exactly symmetric.

    Examples
    --------
    >>> center_gram([[1.0, 0.0], [0.0, 1.0]])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    gram = _square(G)
    means = gram.mean(axis=0)
    return gram - (means[:, None] + means[None, :]) + means.mean()


def change_template(
    G: ArrayLike,
    inner: ArrayLike,
    squared_norm: float,
    inner_columns: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Move the template of an embedding by updating its Gram matrix.

    Embedding relative to another template I0' subtracts one vector from every row,
    :math:`\phi_i' = \phi_i - q` with :math:`q = \phi(I_0')`, so that

    .. math:: G'_{ij} = G_{ij} - \langle\phi_i, q\rangle - \langle\phi_j, q\rangle
              + \langle q, q\rangle,

    an update of rank 2. Distances and centred Gram matrices do not change; polynomial kernels of
    degree 2 and more do. Take for q the embedded mean image of the training set to keep test
    images out of the template.

    Parameters
    ----------
    G : array-like of shape (n, m)
        Gram matrix relative to the old template.
    inner : array-like of shape (n,)
        :math:`\langle\phi_i, q\rangle` for the rows.
    squared_norm : float
        :math:`\langle q, q\rangle`.
    inner_columns : array-like of shape (m,), optional
        :math:`\langle\phi_j, q\rangle` for the columns; `inner` by default (square G).

    Returns
    -------
    ndarray of shape (n, m)
        Gram matrix relative to the new template.

    Raises
    ------
    ValueError
        If the shapes do not fit together.

    Examples
    --------
    >>> Z, q = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0])
    >>> change_template(Z @ Z.T, Z @ q, q @ q)
    array([[ 1.,  4.],
           [ 4., 20.]])
    """
    gram = _matrix(G, "G").astype(np.float64)
    rows = np.asarray(inner, dtype=np.float64)
    columns = rows if inner_columns is None else np.asarray(inner_columns, dtype=np.float64)
    if gram.shape != (*rows.shape, *columns.shape):
        raise ValueError(
            f"G of shape {gram.shape} needs inner products of shapes ({gram.shape[0]},) and "
            f"({gram.shape[1]},), got {rows.shape} and {columns.shape}"
        )
    return gram - (rows[:, None] + columns[None, :]) + squared_norm


def median_squared_distance(D2: ArrayLike) -> float:
    """Return the median squared distance between different members of a set.

    The natural scale for the parameter of :func:`gaussian_kernel`.

    Parameters
    ----------
    D2 : array-like of shape (n, n)
        Squared distances within one set, n >= 2 (px²).

    Returns
    -------
    float
        Median over all pairs i < j (px²).

    Examples
    --------
    >>> median_squared_distance([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    4.0
    """
    squared = _square(D2)
    if len(squared) < 2:
        raise ValueError("the median distance needs at least two members")
    return float(np.median(squared[np.triu_indices(len(squared), k=1)]))


def gaussian_kernel(D2: ArrayLike, gamma: float) -> NDArray[np.float64]:
    r"""Sliced Wasserstein Gaussian kernel :math:`\exp(-\gamma\, SW^2)` (Theorem 5).

    Positive definite for every :math:`\gamma > 0` because SW is the norm of a difference of
    embedded points.

    Parameters
    ----------
    D2 : array-like of shape (n, m)
        Squared distances (px²).
    gamma : float
        Positive (1/px²). A choice that depends on neither the pixel size nor the measure:
        ``gamma = c / median_squared_distance(D2_train)``.

    Returns
    -------
    ndarray of shape (n, m)

    Raises
    ------
    ValueError
        If gamma is not positive and finite.

    Examples
    --------
    >>> gaussian_kernel([[0.0, 2.0], [2.0, 0.0]], gamma=0.5).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(f"gamma must be positive and finite, got {gamma}")
    kernel: NDArray[np.float64] = np.exp(-gamma * _matrix(D2, "D2").astype(np.float64))
    return kernel


def polynomial_kernel(G: ArrayLike, degree: int, coef0: float = 0.0) -> NDArray[np.float64]:
    r"""Sliced Wasserstein polynomial kernel :math:`(\langle\phi_i, \phi_j\rangle + c)^d`.

    Theorem 6 of the paper is the homogeneous kernel (c = 0); its proof ends with c = 1. They are
    two different kernels: with c = 0 the scale of G only scales the kernel, with c > 0 it decides
    the balance between the degrees.

    Parameters
    ----------
    G : array-like of shape (n, m)
        Gram matrix, best divided by its mean diagonal.
    degree : int
        Degree d, at least 1.
    coef0 : float, default=0
        Constant c, not negative (a negative one would lose positive definiteness).

    Returns
    -------
    ndarray of shape (n, m)

    Raises
    ------
    ValueError
        If `degree` is not a positive integer or `coef0` is negative.

    Examples
    --------
    >>> polynomial_kernel([[1.0, 0.5], [0.5, 1.0]], degree=2, coef0=1.0)
    array([[4.  , 2.25],
           [2.25, 4.  ]])
    """
    if degree < 1 or degree != int(degree):
        raise ValueError(f"degree must be a positive integer, got {degree}")
    if not coef0 >= 0:
        raise ValueError(f"coef0 must not be negative, got {coef0}")
    kernel: NDArray[np.float64] = (_matrix(G, "G").astype(np.float64) + coef0) ** int(degree)
    return kernel


def _matrix(values: ArrayLike, name: str) -> NDArray[np.floating]:
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {array.shape}")
    return array


def _square(values: ArrayLike) -> NDArray[np.float64]:
    array = _matrix(values, "the argument").astype(np.float64)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"expected a square matrix, got shape {array.shape}")
    return array
