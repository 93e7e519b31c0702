"""Compilation of loops by numba, cached on disk where there is a place for it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


@functools.cache
def _warn_that_nothing_is_cached() -> None:
    warnings.warn(
        "no folder for numba's cache can be written, so every process compiles anew, which takes "
        "seconds: set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=4,
    )


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function with :func:`numba.njit`, without the GIL and cached if possible.

    numba caches in ``NUMBA_CACHE_DIR``, beside the source or in the user's cache folder, and
    refuses to decorate where none of them can be written. Then the function is compiled in memory,
    with one warning for all.

    Parameters
    ----------
    **options
        Further options of :func:`numba.njit`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:
            _warn_that_nothing_is_cached()
            return njit(nogil=True, **options)(function)

    return decorate
