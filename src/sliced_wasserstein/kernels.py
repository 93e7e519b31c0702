r"""Kernel matrices of embedded distributions.

With embedded distributions :math:`\phi_i` as rows of a matrix, everything the paper does (support
vector machines, kernel PCA, kernel k-means) is a function of the Gram matrix
:math:`G_{ij} = \langle\phi_i, \phi_j\rangle` and of :math:`SW_{ij}^2 = G_{ii} + G_{jj} - 2G_{ij}`
(Eq. 17). Embeddings are stored in single precision; the products are summed in double precision,
because a distance is a small difference of large numbers.

Units: G and SW² are in px². The kernels of the paper depend on this unit (and on the measure on
the sphere) through their parameters; state ``gamma`` relative to
:func:`median_squared_distance`, and a polynomial of ``G / kernel_scale``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sliced_wasserstein._checks import (
    check_choice,
    check_number,
    check_positive_integer,
    float_array,
    symmetric_matrix,
)
from sliced_wasserstein._compile import compiled
from sliced_wasserstein._types import Booleans, Floats

__all__ = [
    "center_gram",
    "change_template",
    "gaussian_kernel",
    "gram_matrix",
    "kernel_scale",
    "median_squared_distance",
    "polynomial_kernel",
    "squared_distances",
]

_BLOCK_VALUES = 2**21
"""Numbers converted to double precision at a time (16 MiB)."""

_CANCELLED = 1e-4
"""Share of the squared norms below which their difference has lost too many digits."""

_MANY = 0.1
"""Share of such pairs above which a common offset is the likely cause."""


def gram_matrix(Z: ArrayLike, Y: ArrayLike | None = None) -> Floats:
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
        If an argument is no matrix of finite real numbers, the numbers of features differ, or a
        product exceeds the largest float.

    Examples
    --------
    >>> gram_matrix([[1.0, 2.0], [0.0, 3.0]])
    array([[5., 6.],
           [6., 9.]])
    """
    z, y = _pair_of_sets(Z, Y)
    return _finite(_products(z, y), "Z")


def _pair_of_sets(
    Z: ArrayLike, Y: ArrayLike | None
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    z = float_array(Z, "Z", 2)
    y = None if Y is None else float_array(Y, "Y", 2)
    if y is not None and y.shape[1] != z.shape[1]:
        raise ValueError(f"Z has {z.shape[1]} features, Y has {y.shape[1]}")
    return z, y


def _products(z: NDArray[np.floating], y: NDArray[np.floating] | None) -> Floats:
    """Sum products in double precision; of z with itself without y, then exactly symmetric."""
    gram = np.zeros((len(z), len(z if y is None else y)))
    # Blocks of features, so that the double-precision copy stays small.
    step = max(1, _BLOCK_VALUES // max(gram.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, z.shape[1], step):
            z_block = z[:, start : start + step].astype(np.float64)
            y_block = z_block if y is None else y[:, start : start + step].astype(np.float64)
            gram += z_block @ y_block.T
        return (gram + gram.T) / 2 if y is None else gram


def _finite(result: Floats, name: str) -> Floats:
    if not np.isfinite(result).all():
        raise ValueError(f"{name} is too large: the result overflows, divide {name} by a number")
    return result


def squared_distances(Z: ArrayLike, Y: ArrayLike | None = None) -> Floats:
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
        As :func:`gram_matrix`.

    Notes
    -----
    Norms and inner products are subtracted, which is fast. Pairs whose distance is small beside
    their norms are then summed anew from differences, after the common mean was subtracted if
    they are many, so that points far from the origin keep their distances.

    Examples
    --------
    >>> squared_distances([[0.0, 0.0], [3.0, 4.0]])
    array([[ 0., 25.],
           [25.,  0.]])
    """
    z, y = _pair_of_sets(Z, Y)
    squared, lost = _expanded_squares(z, y)
    if lost.mean() > _MANY:
        centre = (z if y is None else np.concatenate([z, y])).mean(axis=0, dtype=np.float64)
        squared, lost = _expanded_squares(z - centre, None if y is None else y - centre)
    rows, columns = np.nonzero(lost)
    if len(rows):
        # In one layout, for which the loop is compiled.
        first = np.require(z, requirements=["C", "W"])
        second = first if y is None else np.require(y, requirements=["C", "W"])
        _sum_differences(first, second, rows, columns, squared)
    if y is None:
        squared[columns, rows] = squared[rows, columns]
        np.fill_diagonal(squared, 0.0)
    return _finite(squared, "Z")


def _expanded_squares(
    z: NDArray[np.floating], y: NDArray[np.floating] | None
) -> tuple[Floats, Booleans]:
    """Return |z|² + |y|² - 2 z·y and where digits were lost; without y, above the diagonal."""
    gram = _products(z, y)
    with np.errstate(over="ignore", invalid="ignore"):
        if y is None:
            rows = columns = np.diag(gram)
        else:
            rows = np.einsum("ij,ij->i", z, z, dtype=np.float64)
            columns = np.einsum("ij,ij->i", y, y, dtype=np.float64)
        norms = rows[:, None] + columns[None, :]
        squared = np.maximum(norms - 2 * gram, 0.0)
        lost = squared < _CANCELLED * norms
    return squared, lost if y is not None else np.triu(lost, 1)


@compiled(fastmath={"reassoc", "contract"})
def _sum_differences(z, y, rows, columns, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i, j]`` with the squared distance of z[i] and y[j], for some pairs."""
    for k in range(len(rows)):
        i, j = rows[k], columns[k]
        total = 0.0
        for f in range(z.shape[1]):
            difference = np.float64(z[i, f]) - np.float64(y[j, f])
            total += difference * difference
        out[i, j] = total


def center_gram(G: ArrayLike) -> Floats:
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
        Exactly symmetric. Its eigenvalues are negative, and kernel PCA has no meaning, where G is
        no Gram matrix.

    Raises
    ------
    ValueError
        If G is no symmetric matrix of finite real numbers.

    Examples
    --------
    >>> center_gram([[1.0, 0.0], [0.0, 1.0]])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    gram = symmetric_matrix(G, "G")
    with np.errstate(over="ignore", invalid="ignore"):
        means = gram.mean(axis=0)
        return _finite(gram - (means[:, None] + means[None, :]) + means.mean(), "G")


def change_template(
    G: ArrayLike,
    inner: ArrayLike,
    squared_norm: float,
    inner_columns: ArrayLike | None = None,
) -> Floats:
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
        If the shapes do not fit together, or a number is not finite and real.

    Examples
    --------
    >>> Z, q = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0])
    >>> change_template(Z @ Z.T, Z @ q, q @ q)
    array([[ 1.,  4.],
           [ 4., 20.]])
    """
    gram = float_array(G, "G", 2).astype(np.float64)
    rows = columns = float_array(inner, "inner", 1).astype(np.float64)
    if inner_columns is not None:
        columns = float_array(inner_columns, "inner_columns", 1).astype(np.float64)
    norm = check_number("squared_norm", squared_norm, 0)
    if gram.shape != (*rows.shape, *columns.shape):
        raise ValueError(
            f"G of shape {gram.shape} needs inner products of shapes ({gram.shape[0]},) and "
            f"({gram.shape[1]},), got {rows.shape} and {columns.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(gram - (rows[:, None] + columns[None, :]) + norm, "G")


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

    Raises
    ------
    ValueError
        If D2 is no symmetric matrix of finite non-negative numbers, or has one row only.

    Examples
    --------
    >>> median_squared_distance([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    4.0
    """
    squared = symmetric_matrix(D2, "D2")
    _check_distances(squared)
    if len(squared) < 2:
        raise ValueError("the median distance needs at least two members")
    return float(np.median(squared[np.triu_indices(len(squared), k=1)]))


def kernel_scale(
    squared_norms: ArrayLike, average: Literal["norm", "squared_norm"] = "norm"
) -> float:
    r"""Return the mean size of the members of a set, by which to divide their inner products.

    The natural scale of :func:`polynomial_kernel`, as :func:`median_squared_distance` is that of
    :func:`gaussian_kernel`. Two averages of the norms :math:`\lVert\phi_i\rVert` are in use:

    ``norm``
        :math:`(\frac1n \sum_i \lVert\phi_i\rVert)^2`. For its k-means the paper "normalized the
        data by the average norm"; whatever is compared with that, inertias and the C of an SVM,
        is measured in the same unit.
    ``squared_norm``
        :math:`\frac1n \sum_i \lVert\phi_i\rVert^2`, the mean diagonal, for spectra: their trace
        is n then. It is never the smaller one, and equal only where all norms are.

    Parameters
    ----------
    squared_norms : array-like of shape (n,)
        Diagonal of a Gram matrix (px²).
    average : {"norm", "squared_norm"}, default="norm"
        What is averaged.

    Returns
    -------
    float
        px²; 0 if all members are.

    Raises
    ------
    ValueError
        If a squared norm is negative or not finite, there is none, or `average` is unknown.

    Examples
    --------
    >>> kernel_scale([1.0, 9.0]), kernel_scale([1.0, 9.0], "squared_norm")
    (4.0, 5.0)
    """
    check_choice("average", average, ("norm", "squared_norm"))
    squared = float_array(squared_norms, "squared_norms", 1).astype(np.float64)
    if (least := squared.min()) < 0:
        raise ValueError(f"squared_norms must not be negative, got {least:g}")
    return float(np.sqrt(squared).mean() ** 2 if average == "norm" else squared.mean())


def gaussian_kernel(D2: ArrayLike, gamma: float) -> Floats:
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
        If gamma is not positive and finite, or D2 no matrix of finite non-negative numbers.

    Examples
    --------
    >>> gaussian_kernel([[0.0, 2.0], [2.0, 0.0]], gamma=0.5).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    rate = check_number("gamma", gamma, 0, above=True)
    squared = float_array(D2, "D2", 2).astype(np.float64)
    _check_distances(squared)
    # The kernel of a product beyond the largest float is 0 all the same.
    with np.errstate(over="ignore", under="ignore"):
        kernel: Floats = np.exp(-rate * squared)
    return kernel


def _check_distances(squared: Floats) -> None:
    if (least := squared.min()) < 0:
        raise ValueError(
            f"D2 must hold squared distances, got {least:g}; np.maximum(D2, 0) removes rounding"
        )


def polynomial_kernel(G: ArrayLike, degree: int, coef0: float = 0.0) -> Floats:
    r"""Sliced Wasserstein polynomial kernel :math:`(\langle\phi_i, \phi_j\rangle + c)^d`.

    Theorem 6 of the paper is the homogeneous kernel (c = 0); its proof ends with c = 1. They are
    two different kernels: with c = 0 the scale of G only scales the kernel, with c > 0 it decides
    the balance between the degrees.

    Parameters
    ----------
    G : array-like of shape (n, m)
        Gram matrix, best divided by its :func:`kernel_scale`.
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
        If `degree` is not a positive integer, `coef0` is negative or not finite, G is no matrix
        of finite real numbers, or a power exceeds the largest float.

    Examples
    --------
    >>> polynomial_kernel([[1.0, 0.5], [0.5, 1.0]], degree=2, coef0=1.0)
    array([[4.  , 2.25],
           [2.25, 4.  ]])
    """
    power = check_positive_integer("degree", degree)
    constant = check_number("coef0", coef0, 0)
    with np.errstate(over="ignore", under="ignore"):
        return _finite((float_array(G, "G", 2).astype(np.float64) + constant) ** power, "G")
