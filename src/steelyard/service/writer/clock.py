"""The time of events, and whether the clock can be trusted to close questions."""

from __future__ import annotations

import time

APART = 3600.0  # seconds by which wall clock and boot clock may move apart


class Clock:
    """The wall clock, watched by the clock that counts since boot (sleep included)."""

    def __init__(self) -> None:
        self._agreed = self.wall() - self.boot()

    def wall(self) -> float:
        """Seconds, UTC."""
        return time.time()

    def boot(self) -> float:
        """Seconds since boot."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def now(self) -> int:
        """Microseconds, UTC."""
        return int(self.wall() * 1_000_000)

    def trusted(self) -> bool:
        """Whether both clocks have moved together since they last agreed; a jump of the wall clock is not trusted."""
        apart = self.wall() - self.boot()
        if abs(apart - self._agreed) > APART:
            return False
        self._agreed = apart
        return True
