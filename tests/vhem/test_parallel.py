"""Limits of threads that overlap, in threads and forks."""

import multiprocessing
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vhem import EMH3M
from vhem._parallel import ordered_map, single_threaded


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2):
        yield


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def openmp_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}


def test_overlapping_fits_leave_the_threads_of_blas_as_they_were():
    """The first fit ends while the second is at work."""
    sequences = list(np.random.default_rng(0).normal(size=(6, 5, 2)))
    first_began, second_began, first_ended = (threading.Event() for _ in range(3))
    seen = []

    def fit(began, wait_for):
        def monitor(*_):
            began.set()
            assert wait_for.wait(60)
            seen.append(blas_threads())

        EMH3M(2, 1, n_init=1, max_iter=2, random_state=0).fit(sequences, monitor=monitor)

    first = threading.Thread(target=fit, args=(first_began, second_began))
    second = threading.Thread(target=fit, args=(second_began, first_ended))
    first.start()
    assert first_began.wait(60)
    second.start()
    first.join(60)
    assert blas_threads() == {1}
    first_ended.set()
    second.join(60)
    assert blas_threads() == {2}
    assert seen
    assert set.union(*seen) == {1}


def test_limit_may_be_entered_again_and_is_lifted_by_an_error():
    def fail():
        with single_threaded():
            with single_threaded():
                assert blas_threads() == openmp_threads() == {1}
            assert blas_threads() == openmp_threads() == {1}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert blas_threads() == openmp_threads() == {2}


def _report(queue):
    with single_threaded():
        inside = blas_threads()
    queue.put((inside, blas_threads()))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_child_inherits_the_limit_of_the_forking_thread_only():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def child():
        process = context.Process(target=_report, args=(queue,))
        process.start()
        found = queue.get(timeout=60)
        process.join(60)
        return found

    inside, done = threading.Event(), threading.Event()

    def hold():
        with single_threaded():
            inside.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    assert inside.wait(60)
    assert child() == ({1}, {2})
    with single_threaded():
        assert child() == ({1}, {1})
    done.set()
    other.join(60)
    assert blas_threads() == {2}


def test_threads_return_in_order_and_openmp_is_limited_in_each():
    with single_threaded():
        for n_jobs in (None, 1, 3, np.int64(2), -1):
            found = list(ordered_map(lambda k: (k, openmp_threads()), range(20), n_jobs))
            assert found == [(k, {1}) for k in range(20)]


@pytest.mark.parametrize(
    ("n_jobs", "error"),
    [(0, ValueError), (np.nan, TypeError), (1.5, TypeError), ("2", TypeError), (True, TypeError)],
)
def test_wrong_number_of_threads_is_named(n_jobs, error):
    with pytest.raises(error, match="n_jobs is"):
        list(ordered_map(abs, [1], n_jobs))
