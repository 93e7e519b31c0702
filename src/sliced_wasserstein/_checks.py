"""Checks of arguments: every message names the argument, what was found and what is allowed."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from sliced_wasserstein._types import Floats

_SHAPES = {1: "vector", 2: "matrix"}


def real_array(values: ArrayLike, name: str) -> NDArray[np.generic]:
    """Return values as an array of integers, booleans or floats, or say why they are none.

    Parameters
    ----------
    values : array-like
        Numbers in any container.
    name : str
        What the message calls them.

    Returns
    -------
    ndarray
        The array itself where it is one.

    Raises
    ------
    ValueError, TypeError
        For masked values, imaginary parts, text, dates, records, sparse or ragged data: nothing
        that numpy would drop or convert in silence.
    """
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name}: masked values have no number, fill them or leave them out")
    if issparse(values):
        raise TypeError(f"{name}: sparse data are not supported, use .toarray()")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in array.flat):
            array = array.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name} must be an array of real numbers: {error}") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has imaginary parts")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return array


def float_array(values: ArrayLike, name: str, ndim: int) -> NDArray[np.floating]:
    """Return a non-empty array of finite numbers in single or double precision.

    Parameters
    ----------
    values : array-like
        Real numbers; all but float32 become float64.
    name : str
        What the message calls them.
    ndim : int
        Number of axes.

    Returns
    -------
    ndarray of float32 or float64

    Raises
    ------
    ValueError, TypeError
        If the values are not real numbers (see :func:`real_array`), not finite, none at all, or
        have another number of axes.
    """
    array = real_array(values, name)
    if array.dtype not in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name} must be a non-empty {_SHAPES[ndim]}, got shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        place = np.unravel_index(np.argmin(finite), array.shape)
        raise ValueError(
            f"{name} contains NaN or infinite values, the first at {tuple(map(int, place))}"
        )
    return cast(NDArray[np.floating], array)


def symmetric_matrix(values: ArrayLike, name: str) -> Floats:
    """Return a symmetric matrix of finite numbers in double precision, or name what is wrong."""
    matrix = float_array(values, name, 2).astype(np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}")
    with np.errstate(over="ignore"):
        asymmetry = np.abs(matrix - matrix.T).max()
    if asymmetry > 1e-6 * np.abs(matrix).max():
        raise ValueError(f"{name} must be symmetric")
    return matrix


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise an error that names the parameter unless its value is among those allowed."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}")


def check_positive_integer(name: str, value: object) -> int:
    """Return a count, or raise an error that names the parameter."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def check_number(
    name: str, value: object, least: float, *, above: bool = False, infinite: bool = False
) -> float:
    """Return a real number that is at least, or above, a bound; or name the parameter."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        inside = number > least if above else number >= least
        if inside and (infinite or number < math.inf):
            return number
    bound = f"{'above' if above else 'at least'} {least:g}{'' if infinite else ' and finite'}"
    raise ValueError(f"{name} must be a number {bound}, got {value!r}")


def thread_count(n_jobs: object, n_tasks: int) -> int:
    """Return the number of threads that ``n_jobs`` asks for, at most one a task."""
    if n_jobs is not None and (
        not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
    ):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    return max(1, min(int(effective_n_jobs(n_jobs)), n_tasks))
