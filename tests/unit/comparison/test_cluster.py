"""Units on an executor: the same comparison, lost workers' units and a lost cluster."""

import multiprocessing
import threading
import time
import warnings
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from steelyard import ClusterLost, InvalidInputError, compare
from steelyard.comparison.cluster import ExecutorPool
from steelyard.comparison.data import read_data
from steelyard.comparison.fold import single_threaded
from steelyard.comparison.registry import candidates
from steelyard.comparison.schedule import Unit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = (X[:, 0] + RNG.normal(size=160) > 0.4).astype(int)
GIVEN: Any = {"costs": [[0, 1], [5, 0]], "effort": 12, "cv": 3}


def test_the_same_comparison_on_threads_and_processes() -> None:
    expected = compare(X, Y, **GIVEN).to_json()
    with ThreadPoolExecutor(2) as pool:
        assert compare(X, Y, executor=pool, **GIVEN).to_json() == expected
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert compare(X, Y, executor=pool, **GIVEN).to_json() == expected
    with pytest.raises(InvalidInputError, match="executor must be"):
        compare(X, Y, executor=3, **GIVEN)  # type: ignore[arg-type]


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_a_unit_that_ends_leaves_the_others_their_one_thread_and_their_silence() -> None:
    """Threads of BLAS and filters of warnings are the process's: equal bytes need them to stay while any unit runs."""
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen: list[Any] = []

    def first() -> None:
        with single_threaded():
            first_in.set()
            second_in.wait(60)
        first_out.set()

    def second() -> None:
        first_in.wait(60)
        with single_threaded():
            second_in.set()
            first_out.wait(60)
            seen.append(blas_threads())
            warnings.warn("an error outside", UserWarning, stacklevel=1)
            warnings.resetwarnings()  # as scikit-learn's forests do for a moment, in whichever thread
            warnings.warn("shown outside", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as shown, ThreadPoolExecutor(2) as executor:
        warnings.simplefilter("error")
        before = blas_threads(), list(warnings.filters)
        pool, _ = pool_of(executor)
        for done in [executor.submit(first), executor.submit(second)]:
            done.result()
        assert blas_threads() == {1}
        pool.close()
        assert (blas_threads(), list(warnings.filters)) == before
    assert seen == [{1}]
    assert not shown


def test_units_of_two_threads_are_not_charged_for_each_other() -> None:
    """A loop of a known CPU time in another thread is no part of the unit's."""
    running = threading.Event()

    def other() -> None:
        end = time.thread_time() + 1.0
        running.set()
        while time.thread_time() < end:
            pass

    with ThreadPoolExecutor(1) as executor:
        pool, tasks = pool_of(executor)
        began = time.process_time()
        beside = threading.Thread(target=other)
        beside.start()
        running.wait(60)
        found = [outcome for _, outcome in pool.run(tasks, lambda unit: True, lambda c: False)]
        beside.join()
        pool.close()
    taken = sum(outcome.cpu_seconds for outcome in found if not isinstance(outcome, str))
    assert taken <= time.process_time() - began - 1.0


class KilledWorker(Exception):  # noqa: N818 - named as the one of distributed
    """What a cluster says of a task that ended its workers."""


class Failing(ThreadPoolExecutor):
    """Every second task comes to nothing."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(1)
        self.error, self.calls = error, 0
        self.given: list[Future[Any]] = []

    def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
        self.calls += 1
        if self.calls % 2:
            self.given.append(super().submit(task, *given, **named))
        else:
            self.given.append(Future())
            self.given[-1].set_exception(self.error)
        return self.given[-1]


def pool_of(executor: Any, **given: Any) -> tuple[ExecutorPool, list[Any]]:
    data = read_data(X, Y, None)
    one = candidates(None)[0]
    return ExecutorPool(data, 3, executor, **given), [(Unit(0, 160, fold), one) for fold in range(3)]


def test_a_unit_that_ends_its_workers_is_one_candidates_trouble() -> None:
    with Failing(KilledWorker()) as executor:
        pool, tasks = pool_of(executor)
        found = [outcome for _, outcome in pool.run(tasks, lambda unit: True, lambda c: False)]
        pool.close()
    assert [isinstance(one, str) for one in found] == [False, True, False]
    assert found[1] == "stopped (its workers ended)"


def test_the_time_stays_countable_when_a_unit_ends_its_workers() -> None:
    with Failing(KilledWorker()) as executor:
        result = compare(X, Y, executor=executor, candidates=["logistic regression, C=1"], cv=2, time_limit=600.0)
    assert 0 < result.runs.cpu_seconds < 600
    assert result.best.family == "constant"


def test_a_lost_cluster_is_said() -> None:
    with Failing(CancelledError()) as executor:
        pool, tasks = pool_of(executor)
        with pytest.raises(ClusterLost, match="went away during the comparison"):
            list(pool.run(tasks, lambda unit: True, lambda c: False))
    with Failing(ZeroDivisionError()) as executor:
        pool, tasks = pool_of(executor)
        with pytest.raises(ZeroDivisionError):
            list(pool.run(tasks, lambda unit: True, lambda c: False))


def test_units_are_left_out_taken_back_or_not_begun() -> None:
    with ThreadPoolExecutor(1) as executor:
        pool, tasks = pool_of(executor)
        assert [outcome for _, outcome in pool.run(tasks, lambda unit: True, lambda c: True)] == ["skipped"] * 3
        assert list(pool.run(tasks, lambda unit: False, lambda c: False)) == []

    class Never(ThreadPoolExecutor):
        given: ClassVar[list[Future[Any]]] = []

        def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
            self.given.append(Future())
            return self.given[-1]

    with Never(1) as executor:
        pool, tasks = pool_of(executor, interrupted=lambda: True)
        assert list(pool.run(tasks, lambda unit: True, lambda c: False)) == []
        assert all(future.cancelled() for future in executor.given)
