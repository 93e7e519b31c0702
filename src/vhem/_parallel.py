"""Threads that cannot change a result.

Work is cut into pieces whose borders depend only on the problem, each piece runs with a
single-threaded BLAS, and results come back in order. So the number of threads decides who
computes a number, never how.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Integral
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["ordered_map", "single_threaded"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@functools.cache
def _controller(user_api: str) -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds; they do not change later. Selected
    # because a limit that ends restores all libraries of its controller.
    return ThreadpoolController().select(user_api=user_api)


def _let_this_thread_control_blas() -> None:
    """Lift the reservation for one thread.

    Since 3.8 threadpoolctl heeds only the thread that was first to change OpenBLAS and ignores
    the others in silence; the last to leave need not be the first that came.
    """
    for library in _controller("blas").lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class _BlasLimit:
    """One BLAS thread while anyone holds the limit.

    The number of threads of a BLAS is one for the process: had each holder its own limit, the
    second of two that overlap would take the first one's limit for the original and restore it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.limiter: Any = None
        self.own = threading.local()

    def acquire(self) -> None:
        with self.lock:
            if self.holders == 0:
                _let_this_thread_control_blas()
                self.limiter = _controller("blas").limit(limits=1)
            self.holders += 1
        self.own.depth = getattr(self.own, "depth", 0) + 1

    def release(self) -> None:
        self.own.depth -= 1
        with self.lock:
            self._drop(self.holders - 1)

    def after_fork(self) -> None:
        # The other holders' threads do not exist in the child and will release nothing.
        self.lock.release()
        if self.holders:
            self._drop(getattr(self.own, "depth", 0))

    def _drop(self, holders: int) -> None:
        self.holders = holders
        if holders == 0:
            _let_this_thread_control_blas()
            self.limiter.restore_original_limits()
            _let_this_thread_control_blas()


_blas_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_blas_limit.lock.acquire,
        after_in_parent=_blas_limit.lock.release,
        after_in_child=_blas_limit.after_fork,
    )


def _limit_openmp() -> Any:
    """Limit OpenMP in the calling thread: its number of threads is one for each thread."""
    return _controller("openmp").limit(limits=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Keep BLAS and OpenMP from splitting work: their split would depend on the machine.

    It may be entered again inside, and from several threads at a time; when the last one leaves,
    BLAS has as many threads as before.
    """
    # This order, because the threads of a BLAS that is built on OpenMP are those of OpenMP.
    with _limit_openmp():
        _blas_limit.acquire()
        try:
            yield
        finally:
            _blas_limit.release()


def _thread_count(n_jobs: int | None) -> int:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise TypeError(f"n_jobs is {n_jobs!r}, expected an integer or None")
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, expected a number of threads, -1 for all processors or None")
    return int(effective_n_jobs(n_jobs))


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> Iterator[Result]:
    """Apply ``function`` to the items in up to ``n_jobs`` threads; yield results in order.

    ``n_jobs`` is joblib's: None is 1, -1 all processors.
    """
    n_threads = _thread_count(n_jobs)
    if n_threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads, initializer=_limit_openmp) as executor:
        yield from executor.map(function, items)
