"""Processes that run units: each can crash, hang or eat memory without harm to the others."""

from __future__ import annotations

import math
import os
import pickle
import selectors
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from .cache import FoldResult
from .candidates import Candidate
from .data import ComparisonData
from .fold import FoldRunner
from .schedule import Unit

Task = tuple[Unit, Candidate]
Outcome = FoldResult | str
Results = Iterator[tuple[Unit, Outcome]]
Failed = Callable[[int], bool]  # whether a candidate has failed on an earlier fold
SKIPPED = "skipped"
_POLL = 0.1
_IDLE_TIMES = 10  # wall time a unit may take, in multiples of its CPU limit


class InProcess:
    """Units one after the other in this process: nothing to start, no protection."""

    def __init__(self, data: ComparisonData, cv: int) -> None:
        self.cpu_limit = math.inf
        self._runner = FoldRunner(data, cv)

    def run(self, tasks: Iterable[Task], may_start: Callable[[], bool], failed: Failed) -> Results:
        """Results in the order of the tasks, until no further one may start."""
        for unit, candidate in tasks:
            if not may_start():
                return
            yield unit, SKIPPED if failed(unit.candidate) else self._runner.run(unit, candidate)

    def close(self) -> None:
        """Nothing to end."""


class WorkerPool:
    """So many worker processes; the data go to each once. ``cpu_limit`` seconds end a unit."""

    def __init__(self, data: ComparisonData, cv: int, n_jobs: int, cpu_limit: float) -> None:
        self._start = pickle.dumps((data, cv))
        self._n_jobs = n_jobs
        self.cpu_limit = cpu_limit
        self._workers: list[_Worker] = []

    def run(self, tasks: Iterable[Task], may_start: Callable[[], bool], failed: Failed) -> Results:
        """Results in the order of the tasks, until no further one may start."""
        waiting, done, order = iter(list(tasks)), dict[int, Outcome](), list[Unit]()
        given, shown, open_ended = 0, 0, True
        while True:
            while open_ended and (worker := self._free()) is not None:
                task = next(waiting, None) if may_start() else None
                if task is None:
                    open_ended = False
                    break
                order.append(task[0])
                if failed(task[0].candidate):
                    done[given] = SKIPPED
                else:
                    worker.give(given, task)
                given += 1
            while shown in done:
                yield order[shown], done.pop(shown)
                shown += 1
            if shown == given:
                if not open_ended:
                    return
                continue
            done.update(self._collect())

    def _free(self) -> _Worker | None:
        free = next((w for w in self._workers if w.task is None), None)
        if free is None and len(self._workers) < self._n_jobs:
            free = _Worker(self._start)
            self._workers.append(free)
        return free

    def _collect(self) -> dict[int, Outcome]:
        """Results that have come in; what ended a worker is the result of its unit."""
        busy = [w for w in self._workers if w.task is not None]
        found: dict[int, Outcome] = {}
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.output, selectors.EVENT_READ, worker)
            ready = [key.data for key, _ in selector.select(_POLL)]
        for worker in busy:
            index = worker.task
            assert index is not None
            if worker in ready:
                found[index] = worker.receive()
            elif worker.overdue(self.cpu_limit):
                found[index] = f"stopped (more than {self.cpu_limit:.0f} s in one fold)"
                worker.end()
        self._workers = [w for w in self._workers if w.alive]
        return found

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.end()
        self._workers = []


class _Worker:
    def __init__(self, start: bytes) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from steelyard.comparison.workers import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the command, which ends the workers itself
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self.output = self._process.stdin, self._process.stdout
        self.task: int | None = None
        self.alive = True
        self._send(start)

    def _send(self, content: bytes) -> None:
        with suppress(OSError):  # it has ended; receive() says so
            _write(self._input, content)

    def give(self, index: int, task: Task) -> None:
        self.task = index
        self._since, self._cpu_before = time.monotonic(), self._cpu()
        self._send(pickle.dumps(task))

    def receive(self) -> Outcome:
        content = _read(self.output)
        if content is None:
            self.end()
            return "stopped (its process ended)"
        self.task = None
        result: Outcome = pickle.loads(content)  # from a process that this one has started
        return result

    def overdue(self, limit: float) -> bool:
        waited = time.monotonic() - self._since
        return waited > _IDLE_TIMES * limit or (waited > limit and self._cpu() - self._cpu_before > limit)

    def _cpu(self) -> float:
        """CPU seconds of the process so far; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))

    def end(self) -> None:
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._input, self.output):
            with suppress(OSError):
                pipe.close()


def _write(pipe: BinaryIO | Any, content: bytes) -> None:
    pipe.write(struct.pack("<Q", len(content)) + content)
    pipe.flush()


def _read(pipe: BinaryIO | Any) -> bytes | None:
    head = pipe.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    content: bytes = pipe.read(length)
    return content if len(content) == length else None


def _limit_memory() -> None:
    """A unit that wants more than the machine has gets a MemoryError instead of the whole machine."""
    try:
        import resource

        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_AS, (most + (2 << 30), resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, OSError, ValueError):
        pass


def serve() -> None:
    """Run units as they come, until the other side is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints is no answer
    _limit_memory()
    start = _read(sys.stdin.buffer)
    if start is None:
        return
    runner = FoldRunner(*pickle.loads(start))
    while (content := _read(sys.stdin.buffer)) is not None:
        try:
            _write(answers, pickle.dumps(runner.run(*pickle.loads(content))))
        except BrokenPipeError:  # nobody is left to read the answer
            return
