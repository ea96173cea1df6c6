"""Trials reserved in a storage before they are judged, so that processes that share it judge ``n_trials`` in all."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

BEAT = 10.0  # seconds between two signs of life
EXPIRES = 60.0  # seconds without one after which the trials of a process on another machine are judged by others
OPEN = (TrialState.COMPLETE, TrialState.RUNNING)


class Reservations:
    """The trials that this process has reserved in a study; a running trial is a reservation.

    Numbers of trials are given out by the storage, each once. A trial with ``n_trials`` or more trials before it,
    judged or reserved, is given back: however many processes ask at once, no more than ``n_trials`` are judged. A
    process says that it lives by a number that grows. One that is gone, or silent for a minute, loses its
    reservations: their vectors wait to be judged again.
    """

    def __init__(self, study: Any, n_trials: int) -> None:
        self.study, self.n_trials = study, n_trials
        self.owner = f"{machine()}/{os.getpid()}/{uuid.uuid4().hex}"
        self._heard: dict[str, tuple[Any, float]] = {}  # owner -> last sign of life, and when it was new to us

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Say that this process lives, for the length of the block."""
        ended = threading.Event()

        def beat() -> None:
            count = 0
            while not ended.wait(BEAT if count else 0.0):
                count += 1
                self.study.set_user_attr(f"alive {self.owner}", count)

        thread = threading.Thread(target=beat, daemon=True, name="steelyard-search")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def left(self) -> int:
        """How many trials are neither judged nor reserved by a living process."""
        self._expire()
        return self.n_trials - len(self.study.get_trials(deepcopy=False, states=OPEN))

    def reserve(self, count: int, space: dict[str, Any]) -> list[Any]:
        """Up to ``count`` trials for this process alone; fewer where others were quicker."""
        asked = [self.study.ask(space) for _ in range(count)]
        for trial in asked:
            trial.set_user_attr("owner", self.owner)
        numbers = [trial.number for trial in self.study.get_trials(deepcopy=False, states=OPEN)]
        mine = []
        for trial in asked:
            if sum(number < trial.number for number in numbers) < self.n_trials:
                mine.append(trial)
            else:
                self.study.tell(trial, state=TrialState.FAIL)
        return mine

    def _expire(self) -> None:
        """Give back the trials of processes that are gone; of several that see it, one does."""
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            owner = trial.user_attrs.get("owner")
            if owner == self.owner or not self._is_gone(owner, trial):
                continue
            try:
                self.study.tell(trial.number, state=TrialState.FAIL)
            except (optuna.exceptions.UpdateFinishedTrialError, ValueError):
                continue  # another process was quicker, or it was judged after all
            self.study.enqueue_trial(trial.params)

    def _is_gone(self, owner: str | None, trial: FrozenTrial) -> bool:
        if owner is not None and not may_live(owner):
            return True
        name = f"trial {trial.number}" if owner is None else owner
        sign = None if owner is None else self.study.user_attrs.get(f"alive {owner}")
        known = self._heard.get(name)
        now = time.monotonic()
        if known is None or known[0] != sign:
            self._heard[name] = (sign, now)
            return False
        return now - known[1] > EXPIRES


def machine() -> str:
    """This machine, and on Linux the set of processes that this one can see."""
    try:
        seen = os.readlink("/proc/self/ns/pid")
    except OSError:
        seen = "all"
    return f"{socket.gethostname()} {seen}".replace("/", " ")


def may_live(owner: str) -> bool:
    """Whether a process may still be there: False only for one of this machine that is gone."""
    where, _, rest = owner.partition("/")
    number = rest.partition("/")[0]
    if where != machine() or os.name != "posix" or not number.isdigit():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
