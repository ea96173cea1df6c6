"""Tasks on any executor: all of them, in no order, with errors that name the task and the cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ClusterLost, SteelyardError
from ..executors import is_loss
from .dask import ClusterExecutor

Done = Callable[[int, Any, list[str]], None]  # tasks done, what came of the last, names of those not done


def say_nothing(done: int, result: Any, waiting: list[str]) -> None:
    """For tasks whose progress is not shown."""


@contextmanager
def executor_or_pool(executor: Executor | None, tasks: int) -> Iterator[Executor]:
    """The executor given, or a pool of processes of its own."""
    if executor is not None:
        yield executor
        return
    workers = max(1, min(tasks, os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def run_tasks(
    executor: Executor,
    task: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    names: Sequence[str],
    kind: str,
    work: str,
    on_done: Done,
    before: int = 0,
    total: int | None = None,
    detail: Callable[[int], str] | None = None,
) -> list[Any]:
    """The results of all tasks, in their order. The first failure takes back those that have not started.

    ``before`` and ``total`` count the tasks of earlier stages and of all; ``detail`` tells what a task that ended its
    workers was at. ``work`` is the folder that a second call goes on from, or empty.
    """
    places: dict[Future[Any], int] = {}
    results: list[Any] = [None] * len(arguments)
    done = before
    try:
        for i, given in enumerate(arguments):
            places[executor.submit(task, *given)] = i
        for future in as_completed(places):
            results[places[future]] = future.result()
            done += 1
            on_done(done, results[places[future]], [names[i] for other, i in places.items() if not other.done()])
    except BaseException as error:
        for future in places:
            future.cancel()
        named = [name if detail is None else f"{name}{detail(i)}" for i, name in enumerate(names)]
        explained = _explained(error, executor, places, named, f"{done} of {total or len(arguments)} {kind}", work)
        if explained is error:
            raise
        raise explained from error
    return results


def _explained(
    error: BaseException,
    executor: Executor,
    places: dict[Future[Any], int],
    names: Sequence[str],
    progress: str,
    work: str,
) -> BaseException:
    """What to say of a failure: that a cluster went away, or which task ended its workers."""
    if isinstance(error, SteelyardError) or not isinstance(error, Exception):
        return error if not isinstance(error, CancelledError) else _lost(executor, progress, work)
    if type(error).__name__ == "KilledWorker" or isinstance(error, BrokenProcessPool):
        failed = next((names[i] for future, i in places.items() if future.done() and _failed_with(future, error)), "?")
        if isinstance(error, BrokenProcessPool) and _is_run_again():
            return ClusterLost(
                f"workers ended at {failed}, after {progress}: each runs this script again from its first line. Put "
                'what starts them below `if __name__ == "__main__":`, or give a ThreadPoolExecutor as executor=.'
            )
        return ClusterLost(
            f"workers ended at {failed}, after {progress}: it may need more memory than a worker has"
            f"{_limit(executor)}. Give smaller rows=, or more memory to each worker{_holds(work)}."
        )
    if isinstance(executor, ClusterExecutor) and is_loss(error):
        return _lost(executor, progress, work)
    return error


def _is_run_again() -> bool:
    """Whether a process that starts anew would begin by doing all that this script does."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    try:
        return script is not None and "__main__" not in Path(script).read_text()
    except (OSError, ValueError):
        return False


def _limit(executor: Executor) -> str:
    known = getattr(executor, "memory_limit", None)
    return f" ({known / (1 << 30):.3g} GB)" if known else ""


def _failed_with(future: Future[Any], error: BaseException) -> bool:
    return not future.cancelled() and future.exception() is error


def _lost(executor: Executor, progress: str, work: str) -> BaseException:
    address = getattr(executor, "address", "the executor")
    return ClusterLost(f"the cluster at {address} went away after {progress}. Run the same call again{_holds(work)}.")


def _holds(work: str) -> str:
    return f"; {work} holds what is done" if work else ""
