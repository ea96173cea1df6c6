"""Candidates that crash, hang or eat memory are stopped and named, and the others go on."""

import os
import sys
import textwrap
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.comparison import workers
from steelyard.comparison.cache import FoldResult, UnitCache
from steelyard.comparison.candidates import Candidate, Kind
from steelyard.comparison.data import read_data
from steelyard.comparison.evaluation import Evaluation, Work, evaluate
from steelyard.comparison.fold import FoldRunner, InProcess
from steelyard.comparison.registry import portfolio
from steelyard.comparison.schedule import Effort, Unit
from steelyard.comparison.workers import WorkerPool

PLANTED = textwrap.dedent(
    """
    import os, time
    import numpy as np

    def crash(params, rows, weighted):
        os.abort()

    def hang(params, rows, weighted):
        time.sleep(1e6)

    def spin(params, rows, weighted):
        while True:
            pass

    def eat(params, rows, weighted):
        kept = []
        while True:
            kept.append(np.ones(1 << 22))  # 32 MB
            time.sleep(0.01)

    def ask_for_all(params, rows, weighted):
        return np.ones(1 << 55), None
    """
)
FIRST = next(c for c in portfolio() if c.name.startswith("logistic"))


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "planted_candidates.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("planted_candidates")
    sys.modules.pop("planted_candidates", None)


def compared(everyone: list[Candidate], interrupted: Any = lambda: False, **limits: Any) -> Evaluation:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = read_data(X, (X[:, 0] > 0).astype(int), None)
    pool = WorkerPool(data, 2, 1, **{"cpu_limit": 30.0, "interrupted": interrupted, **limits})
    try:
        judged = FoldRunner(data, 2).judged
        work = Work(
            pool,
            UnitCache(None),
            judged,
            2,
            limit=None,
            time_limit=None,
            interrupted=interrupted,
            cost_of=lambda unit, result: 0.0,
        )
        return evaluate(data, everyone, work, judged, Effort(None, None, 0))
    finally:
        pool.close()


@pytest.mark.skipif(os.name != "posix", reason="a worker that is a shell script")
def test_an_interruption_does_not_wait_for_a_worker_to_take_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_reads = tmp_path / "python"
    never_reads.write_text("#!/bin/sh\nexec sleep 30\n")
    never_reads.chmod(0o755)
    monkeypatch.setattr(workers.sys, "executable", str(never_reads))
    asked = iter([False, False, True])
    worker = workers._Worker(bytes(1 << 20), lambda: next(asked))
    try:
        assert worker._process.poll() is None  # it has not ended, and so has not been waited for
    finally:
        worker.end()


def test_each_is_stopped_and_named_and_the_rest_goes_on(planted: Any) -> None:
    said = {
        "crash": "stopped (its process ended)",
        "hang": "stopped (more than 0.8 s in one fold)",
        "spin": "stopped (more than 0.8 s in one fold)",
        "ask_for_all": "failed (out of memory)",
    }
    bad = [Candidate(name, Kind(getattr(planted, name), "coded")) for name in said]
    result = compared([*bad, FIRST], cpu_limit=0.8)
    assert {e.name: e.stopped for e in result.entries[:-1]} == said
    assert result.entries[-1].complete


def test_one_that_fills_the_memory_is_stopped_and_the_rest_goes_on(planted: Any) -> None:
    result = compared([Candidate("eat", Kind(planted.eat, "coded")), FIRST], memory_limit=600 << 20)
    assert result.entries[0].stopped == "stopped (more than 0.586 GB of memory)"
    assert result.entries[1].complete


def test_an_interrupt_does_not_wait_for_what_runs(planted: Any) -> None:
    since = time.monotonic()
    result = compared([FIRST, Candidate("hang", Kind(planted.hang, "coded"))], lambda: time.monotonic() > since + 4.0)
    assert result.cut
    assert result.entries[1].stopped is not None


def test_repeats_deal_the_folds_out_anew_and_equal_in_workers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = read_data(X, (X[:, 0] > 0).astype(int), None)
    runner = FoldRunner(data, 3)
    assert not np.array_equal(runner.judged(60).fold, runner.judged(60, 1).fold)
    pool = WorkerPool(data, 3, 1, 30.0)
    try:
        ((_, found),) = pool.run([(Unit(0, 60, 2, 1), FIRST)], lambda unit: True, lambda c: False)
    finally:
        pool.close()
    here = runner.run(Unit(0, 60, 2, 1), FIRST)
    assert isinstance(found, FoldResult)
    assert isinstance(here, FoldResult)
    assert found.proba.tobytes() == here.proba.tobytes()


def test_what_this_process_does_beside_units_is_counted() -> None:
    """A loop of a known CPU time between two units; the units' own time is not counted twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = read_data(X, (X[:, 0] > 0).astype(int), None)
    for pool in (InProcess(data, 3), WorkerPool(data, 3, 1, 30.0)):
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        before = pool.cpu_beside()
        assert before >= 0.05
        if isinstance(pool, InProcess):
            began = time.process_time()
            ((_, found),) = pool.run([(Unit(0, 60, 2), FIRST)], lambda unit: True, lambda c: False)
            assert isinstance(found, FoldResult)
            taken = time.process_time() - began - found.cpu_seconds
            assert pool.cpu_beside() - before == pytest.approx(taken, abs=0.01)
        pool.close()
