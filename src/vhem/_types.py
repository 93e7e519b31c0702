"""Types of arrays, and what the compiled recursions read of a mixture of HMMs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Floats", "Integers", "MixtureArrays"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class MixtureArrays(Protocol):
    """The arrays of a mixture of HMMs, :class:`vhem.H3M`, which describes them."""

    @property
    def startprob(self) -> Floats:
        """Shape (K, S)."""

    @property
    def transmat(self) -> Floats:
        """Shape (K, S, S)."""

    @property
    def mixture_weights(self) -> Floats:
        """Shape (K, S, M)."""

    @property
    def means(self) -> Floats:
        """Shape (K, S, M, d)."""

    @property
    def covars(self) -> Floats:
        """Shape (K, S, M, d) or (K, S, M, d, d)."""

    @property
    def n_features(self) -> int:
        """The d."""

    @property
    def covariance_type(self) -> str:
        """Either ``"diag"`` or ``"full"``."""

    def __len__(self) -> int:
        """Return K."""
