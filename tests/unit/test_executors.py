"""A value for many tasks: sent once, found again where the tasks run."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from shared_value import total

from steelyard import InvalidInputError
from steelyard.executors import InMemory, check_executor, shared, unwrap, workers_of


def test_processes_read_a_value_once() -> None:
    rows = np.arange(12.0).reshape(4, 3)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with shared(pool, {"rows": rows}) as handle:
            assert isinstance(handle, InMemory)
            found = [pool.submit(total, handle, at).result() for at in range(4)]
        with shared(pool, {"rows": rows + 1}) as other:
            assert pool.submit(total, other, 0).result()[0] == 6.0
    assert [sums for sums, _, _ in found] == [3.0, 12.0, 21.0, 30.0]
    assert len({(place, process) for _, place, process in found}) == 1
    assert found[0][2] != os.getpid()
    with pytest.raises(FileNotFoundError):
        unwrap(InMemory(handle.name, handle.size))


def test_threads_and_clusters_have_their_own_way() -> None:
    value = object()
    with ThreadPoolExecutor(3) as pool, shared(pool, value) as handle:
        assert unwrap(handle) is value
        assert workers_of(pool) == 3

    class Cluster:
        workers = 5

        def share(self, value: object) -> str:
            return "scattered"

    with shared(Cluster(), value) as handle:  # type: ignore[arg-type]
        assert unwrap(handle) == "scattered"
    assert workers_of(Cluster()) == 5
    assert workers_of(object()) == 2


def test_what_is_no_executor_is_refused() -> None:
    assert check_executor(None) is None
    with pytest.raises(InvalidInputError, match=r"executor must be a concurrent\.futures\.Executor or None; got 3"):
        check_executor(3)
