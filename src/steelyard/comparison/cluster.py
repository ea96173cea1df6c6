"""Units on any executor, such as a Dask cluster: the data are sent once, and a lost worker's unit is run again."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack
from typing import Any

from ..executors import naming_loss, shared, unwrap, workers_of
from .candidates import Candidate
from .data import ComparisonData
from .fold import SKIPPED, Failed, FoldRunner, Outcome, Results, Task, single_threaded
from .schedule import Unit

_POLL = 0.2  # seconds between two looks whether the user wants to stop
_AHEAD = 2  # units handed out for each worker, so that none waits for the next
_local = threading.local()


class ExecutorPool:
    """Units on an executor, each result in the order of the tasks.

    Parameters
    ----------
    data : the question
    cv : folds
    executor : where units run; it stays open
    interrupted : asked between results; True takes back what has not started
    """

    def __init__(
        self, data: ComparisonData, cv: int, executor: Executor, *, interrupted: Callable[[], bool] = lambda: False
    ) -> None:
        self.cpu_limit = math.inf
        self._executor, self._interrupted = executor, interrupted
        self._held = ExitStack()
        self._held.enter_context(
            single_threaded()
        )  # for units in threads of this process: BLAS heeds one thread's word
        self._handle = self._held.enter_context(shared(executor, (data, cv)))
        self._began = time.thread_time()

    def run(self, tasks: Iterable[Task], may_start: Callable[[Unit], bool], failed: Failed) -> Results:
        """Results in the order of the tasks, until one may not start."""
        waiting, most = iter(list(tasks)), _AHEAD * workers_of(self._executor)
        order: list[tuple[Unit, Future[Any] | None]] = []
        shown, open_ended = 0, True
        try:
            while True:
                while open_ended and len(order) - shown < most:
                    task = next(waiting, None)
                    if task is None or not may_start(task[0]):
                        open_ended = False
                        break
                    order.append((task[0], None if failed(task[0].candidate) else self._submit(*task)))
                if shown == len(order):
                    return
                unit, future = order[shown]
                if future is not None and not wait([future], timeout=_POLL, return_when=FIRST_COMPLETED).done:
                    if self._interrupted():
                        return
                    continue
                yield unit, SKIPPED if future is None else self._outcome(future)
                shown += 1
        finally:
            for _, future in order[shown:]:
                if future is not None:
                    future.cancel()

    def _submit(self, unit: Unit, candidate: Candidate) -> Future[Any]:
        return self._executor.submit(run_unit, self._handle, unit, candidate)

    def _outcome(self, future: Future[Any]) -> Outcome:
        """A unit that ends every worker it runs on is one candidate's trouble; a cluster that is gone ends it all."""
        try:
            with naming_loss(self._executor, "the comparison", "Run it again with out= and resume=True."):
                result: Outcome = future.result()
        except Exception as error:
            if type(error).__name__ != "KilledWorker":
                raise
            return "stopped (its workers ended)"
        return result

    def cpu_beside(self) -> float:
        """CPU seconds of this thread since the pool was made; units may run in other threads of this process."""
        return time.thread_time() - self._began

    def close(self) -> None:
        """Let go of the data; the executor stays open."""
        self._held.close()


def run_unit(handle: Any, unit: Unit, candidate: Candidate) -> Outcome:
    """Run one unit; the task of a worker, which prepares rows of a fold once."""
    data, cv = unwrap(handle)
    if getattr(_local, "data", None) is not data:
        _local.data, _local.runner = data, FoldRunner(data, cv, time.thread_time)
    found: Outcome = _local.runner.run(unit, candidate)
    return found
