"""Processes that run a piece of Python, forked from one that has imported the libraries once for all tests of a run."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FORKS = """
import importlib, json, os, signal, socket, sys

def run(code, arguments, folder, environment, pipes):
    *standard, status = pipes
    child = os.fork()
    if child:
        os.write(status, f"{child}\\n".encode())
        for pipe in standard:
            os.close(pipe)
        for number in range(3):
            os.close(number)  # whoever reads them sees the end when the child has ended
        left = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(status, f"{left}\\n".encode())
        os._exit(0)
    os.close(status)
    for number, pipe in enumerate(standard):
        os.dup2(pipe, number)
        os.close(pipe)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    exec(code, {"__name__": "__main__"})

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
door = socket.socket(fileno=int(sys.argv[1]))
while True:
    asked, pipes, _, _ = socket.recv_fds(door, 1 << 20, 4)
    if not asked:
        break
    modules, *given = json.loads(asked)
    for name in modules:
        importlib.import_module(name)
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        door.close()
        run(*given, pipes)
        break
    for pipe in pipes:
        os.close(pipe)
    door.send(b".")
"""


class _Forks:
    def __init__(self) -> None:
        self._door, inside = socket.socketpair()
        places = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS, str(inside.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[inside.fileno()],
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": places},
        )
        inside.close()

    def ask(self, given: list[Any], pipes: list[int]) -> None:
        socket.send_fds(self._door, [json.dumps(given).encode()], pipes)
        assert self._door.recv(1) == b"."

    def close(self) -> None:
        self._door.close()
        self._process.wait(60)


@cache
def _forks() -> _Forks:
    made = _Forks()
    atexit.register(made.close)
    return made


class Forked:
    """As ``subprocess.Popen([python, "-c", code, *arguments])`` with pipes of text; ``modules`` are there already."""

    def __init__(
        self, code: str, *arguments: object, modules: tuple[str, ...] = ("steelyard.cli",), **more: str
    ) -> None:
        ours, theirs = [], []
        for number in range(4):
            read, write = os.pipe()
            ours.append(write if number == 0 else read)
            theirs.append(read if number == 0 else write)
        there = [name for name in modules if find_spec(name) is not None]
        environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"} | more
        _forks().ask([there, code, [*map(str, arguments)], str(Path.cwd()), environment], theirs)
        for end in theirs:
            os.close(end)
        self.stdin = os.fdopen(ours[0], "w")
        self.stdout, self.stderr, self._status = (os.fdopen(end) for end in ours[1:])
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def wait(self) -> int:
        """The exit code, once it has ended; minus a signal that ended it."""
        if self.returncode is None:
            self.returncode = int(self._status.readline())
        return self.returncode

    def has_ended(self) -> bool:
        """Whether it has ended by itself or by a signal."""
        return self.returncode is not None or bool(select.select([self._status], [], [], 0)[0])

    def communicate(self) -> tuple[str, str]:
        """What it writes until it has ended: little, or errors would fill their pipe."""
        self.stdin.close()
        said = self.stdout.read(), self.stderr.read()
        self.close()
        return said

    def kill(self, number: int = signal.SIGKILL) -> int:
        os.kill(self.pid, number)
        return self.wait()

    def close(self) -> None:
        """Wait for its end and close the pipes."""
        self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr, self._status):
            pipe.close()
