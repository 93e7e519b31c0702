"""Names of the types of arrays in annotations; shapes stand in the docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "AnyArray",
    "Bools",
    "Floats",
    "Floats32",
    "Indices",
    "Integers",
    "Pixels",
    "Texts",
]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int_]
Indices = npt.NDArray[np.intp]
"""Places in another array."""
Pixels = npt.NDArray[np.uint8]
Texts = npt.NDArray[np.str_]
AnyArray = npt.NDArray[Any]
