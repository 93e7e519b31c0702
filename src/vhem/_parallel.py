"""Threads that cannot change a result.

Work is cut into pieces whose borders depend only on the problem, each piece runs with a
single-threaded BLAS, and results come back in order. So the number of threads decides who
computes a number, never how.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["ordered_map", "single_threaded"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@functools.cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds; they do not change later.
    return ThreadpoolController()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Keep BLAS and OpenMP from splitting work: their split would depend on the machine."""
    with _controller().limit(limits=1):
        yield


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> Iterator[Result]:
    """Apply ``function`` to the items in up to ``n_jobs`` threads; yield results in order.

    ``n_jobs`` is joblib's: None is 1, -1 all processors.
    """
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads) as executor:
        yield from executor.map(function, items)
