"""Checks of estimator parameters; every message names the parameter."""

from __future__ import annotations

import numbers

__all__ = ["check_count", "check_number"]


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
