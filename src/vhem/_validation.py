"""Checks of arrays and of estimator parameters; every message names the argument."""

from __future__ import annotations

import numbers

import numpy as np
from numpy.typing import ArrayLike

from ._types import Booleans, Floats

__all__ = [
    "LARGEST_SQUARABLE",
    "check_count",
    "check_covariances",
    "check_distributions",
    "check_number",
    "frozen_array",
    "real_array",
]


_SUM_TOLERANCE = 1e-6
_SYMMETRY_TOLERANCE = 1e-8
# Squares of larger numbers, and sums of those, leave the range of double precision.
LARGEST_SQUARABLE = 1e150
_LARGEST = float(np.finfo(np.float64).max)


def check_count(name: str, value: object, minimum: int = 1) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}, expected an integer")
    if value < minimum:
        raise ValueError(f"{name} is {value}, expected at least {minimum}")
    return int(value)


def check_number(name: str, value: object, *, positive: bool = False) -> float:
    """Return ``value`` as a finite float that is >= 0, or > 0 if ``positive``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}, expected a number")
    number = float(value)
    if not 0 <= number < float("inf") or (positive and number == 0):
        bound = "> 0" if positive else ">= 0"
        raise ValueError(f"{name} is {value}, expected a finite number {bound}")
    return number


def real_array(name: str, value: ArrayLike, largest: float = LARGEST_SQUARABLE) -> Floats:
    """Return ``value`` as a float64 array, without a copy where it is one.

    Parameters
    ----------
    name : str
        Name of the argument, for messages.
    value : array-like
        Real numbers: floats of any width, integers or booleans, in any memory order.
    largest : float, default=LARGEST_SQUARABLE
        Bound on the magnitude.

    Raises
    ------
    ValueError
        If ``value`` is ragged, masked, complex or no array of numbers, or if a number is not
        finite or so large that its square overflows. The message names the index.
    """
    parts = value if isinstance(value, list | tuple) else [value]
    if any(np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} has masked entries, expected numbers only: fill or drop them")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"it holds {array.dtype}")
        with np.errstate(over="ignore"):
            array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} is not a rectangular array of real numbers: {error}") from None
    # One pass for both; NaN fails the comparison too.
    wrong = ~(np.abs(array) <= largest)
    if wrong.any():
        index = _first(wrong)
        allowed = "finite number" if not np.isfinite(array[index]) else "smaller number"
        reason = "" if not np.isfinite(array[index]) else ": squares overflow, rescale the data"
        raise ValueError(f"{_where(name, index)} is {array[index]}, expected a {allowed}{reason}")
    return array


def frozen_array(
    name: str, value: ArrayLike, shape: tuple[int | str, ...], largest: float = _LARGEST
) -> Floats:
    """Return a read-only, C-contiguous copy of ``value`` after the checks of :func:`real_array`.

    Parameters
    ----------
    name, value, largest
        As there.
    shape : tuple of int or str
        The shape wanted; a string stands for any positive length.
    """
    array = np.array(real_array(name, value, largest), order="C")
    wanted = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    if array.ndim != len(shape) or any(
        isinstance(n, int) and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {array.shape}, expected ({wanted})")
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}, expected ({wanted})")
    array.flags.writeable = False
    return array


def check_distributions(name: str, array: Floats) -> None:
    """Every row along the last axis must be a probability vector."""
    if (array < 0).any():
        index = _first(array < 0)
        raise ValueError(f"{_where(name, index)} is {array[index]:g}, expected a number >= 0")
    sums = array.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > _SUM_TOLERANCE
    if wrong.any():
        index = _first(np.atleast_1d(wrong))[: sums.ndim]
        raise ValueError(f"{_where(name, index)} sums to {sums[index]:.9g}, expected 1")


def check_covariances(name: str, covars: Floats, full: bool) -> None:
    """Variances must be positive, matrices symmetric and positive definite."""
    if not full:
        if (covars <= 0).any():
            index = _first(covars <= 0)
            raise ValueError(f"{_where(name, index)} is {covars[index]:g}, expected a variance > 0")
        return
    transposed = np.swapaxes(covars, -1, -2)
    scale = np.abs(covars).max(axis=(-1, -2), keepdims=True)
    skewed = (np.abs(covars - transposed) > _SYMMETRY_TOLERANCE * scale).any(axis=(-1, -2))
    if skewed.any():
        raise ValueError(f"{_where(name, _first(skewed))} is not symmetric")
    try:
        np.linalg.cholesky(covars)
    except np.linalg.LinAlgError:
        # The batch does not say which matrix failed.
        for index in np.ndindex(covars.shape[:-2]):
            smallest = np.linalg.eigvalsh(covars[index])[0]
            try:
                np.linalg.cholesky(covars[index])
            except np.linalg.LinAlgError:
                raise ValueError(
                    f"{_where(name, index)} is not positive definite "
                    f"(smallest eigenvalue {smallest:.3g})"
                ) from None
        raise


def _where(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _first(mask: Booleans) -> tuple[int, ...]:
    """Index of the first true element."""
    return tuple(int(i) for i in np.argwhere(mask)[0])
