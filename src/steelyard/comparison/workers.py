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
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, BinaryIO

from .data import ComparisonData
from .fold import SKIPPED, Failed, FoldRunner, Outcome, Results, Task
from .schedule import Unit

_POLL = 0.1
_IDLE_TIMES = 10  # wall time a unit may take, in multiples of its CPU limit
_START_LIMIT = 600.0  # seconds in which a worker has imported its libraries
_READY = b"ready"
_MEMORY_SHARE = 0.7  # of the machine's memory ends a worker that fills it


class WorkerPool:
    """So many worker processes; the data go to each once.

    Parameters
    ----------
    data : the question
    cv : folds
    n_jobs : processes
    cpu_limit : CPU seconds that end a unit
    memory_limit : bytes in memory that end a worker; by default most of what the machine has
    interrupted : asked between results; True ends the workers at once, whatever they are at
    """

    def __init__(
        self,
        data: ComparisonData,
        cv: int,
        n_jobs: int,
        cpu_limit: float,
        *,
        memory_limit: float | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._start = pickle.dumps((data, cv))
        self._n_jobs = n_jobs
        self.cpu_limit = cpu_limit
        self._memory_limit = _MEMORY_SHARE * _physical_memory() if memory_limit is None else memory_limit
        self._interrupted = interrupted
        self._workers: list[_Worker] = []
        self._began = time.process_time()

    def run(self, tasks: Iterable[Task], may_start: Callable[[Unit], bool], failed: Failed) -> Results:
        """Results in the order of the tasks, until one may not start."""
        waiting, done, order = iter(list(tasks)), dict[int, Outcome](), list[Unit]()
        given, shown, open_ended = 0, 0, True
        while True:
            while open_ended and (worker := self._free()) is not None:
                task = next(waiting, None)
                if task is None or not may_start(task[0]):
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
            if self._interrupted():
                self.close()
                return
            done.update(self._collect())

    def _free(self) -> _Worker | None:
        free = next((w for w in self._workers if w.task is None), None)
        if free is None and len(self._workers) < self._n_jobs:
            free = _Worker(self._start, self._interrupted)
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
                result = worker.receive()
                found |= {} if result is None else {index: result}
            elif worker.memory() > self._memory_limit:
                found[index] = f"stopped (more than {self._memory_limit / (1 << 30):.3g} GB of memory)"
                worker.end()
            elif worker.overdue(self.cpu_limit):
                found[index] = f"stopped (more than {self.cpu_limit:.3g} s in one fold)"
                worker.end()
        self._workers = [w for w in self._workers if w.alive]
        return found

    def cpu_beside(self) -> float:
        """CPU seconds of this process since the pool was made.

        Workers' imports are left out: on a machine of many cores they would use up a short time before the first unit.
        """
        return time.process_time() - self._began

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.end()
        self._workers = []


class _Worker:
    def __init__(self, start: bytes, interrupted: Callable[[], bool]) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from steelyard.comparison.workers import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # what a buffer holds back no selector sees
            env=environment,
            start_new_session=True,  # Ctrl-C is for the command, which ends the workers itself
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self.output = self._process.stdin, self._process.stdout
        self.task: int | None = None
        self.alive, self._ready = True, False
        self._interrupted = interrupted
        os.set_blocking(self._input.fileno(), False)
        self._send(start)

    def _send(self, content: bytes) -> None:
        """Write as the worker reads, which first imports its libraries: an interruption does not wait for that."""
        left = memoryview(_message(content))
        with suppress(OSError), selectors.DefaultSelector() as selector:  # OSError: it has ended; receive() says so
            selector.register(self._input, selectors.EVENT_WRITE)
            while left and not self._interrupted():
                if selector.select(_POLL):
                    left = left[self._input.write(left) or 0 :]

    def give(self, index: int, task: Task) -> None:
        self.task = index
        self._since, self._cpu_before = time.monotonic(), self._cpu()
        self._send(pickle.dumps(task))

    def receive(self) -> Outcome | None:
        """What came of the unit; None for the word that it is only starting now."""
        content = _read(self.output)
        if content is None:
            self.end()
            return "stopped (its process ended)"
        if content == _READY:
            self._ready = True
            self._since, self._cpu_before = time.monotonic(), self._cpu()
            return None
        self.task = None
        result: Outcome = pickle.loads(content)  # from a process that this one has started
        return result

    def overdue(self, limit: float) -> bool:
        waited = time.monotonic() - self._since
        if not self._ready:
            return waited > max(_START_LIMIT, _IDLE_TIMES * limit)
        return waited > _IDLE_TIMES * limit or (waited > limit and self._cpu() - self._cpu_before > limit)

    def _cpu(self) -> float:
        """CPU seconds of the process so far; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))

    def memory(self) -> int:
        """Bytes that the process holds in memory; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            return 0

    def end(self) -> None:
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._input, self.output):
            with suppress(OSError):
                pipe.close()


def _message(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def _write(pipe: BinaryIO, content: bytes) -> None:
    pipe.write(_message(content))
    pipe.flush()


def _read(pipe: BinaryIO | Any) -> bytes | None:
    head = _exactly(pipe, 8)
    return None if head is None else _exactly(pipe, struct.unpack("<Q", head)[0])


def _exactly(pipe: BinaryIO | Any, length: int) -> bytes | None:
    """So many bytes; None where the other side ended before."""
    parts: list[bytes] = []
    while length > 0:
        part = pipe.read(min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return math.inf


def _limit_memory() -> None:
    """A unit that wants more than the machine has gets a MemoryError instead of the whole machine."""
    try:
        import resource

        most = int(_physical_memory())
        resource.setrlimit(resource.RLIMIT_AS, (most + (2 << 30), resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, OSError, ValueError, OverflowError):
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
    _write(answers, _READY)
    while (content := _read(sys.stdin.buffer)) is not None:
        try:
            _write(answers, pickle.dumps(runner.run(*pickle.loads(content))))
        except BrokenPipeError:  # nobody is left to read the answer
            return
