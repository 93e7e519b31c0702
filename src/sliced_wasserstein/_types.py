"""Types of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Floats", "Labels"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]
Booleans = NDArray[np.bool_]
