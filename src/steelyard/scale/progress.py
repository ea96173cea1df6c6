"""A line that says how far a job is, on terminals alone."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

from ..validation.text import printable

SLOWEST = 3  # tasks that are named when so few are left


class Progress:
    """Tasks done, rows a second, workers, the time left, and who the last ones are, on standard error."""

    def __init__(self, shown: bool, workers: int | None = None) -> None:
        self.shown = shown and sys.stderr.isatty()
        self.workers = workers
        self.title, self.total, self.rows, self.began = "", 0, 0, 0.0

    def begin(self, title: str, total: int) -> None:
        """Begin a series of tasks."""
        self.title, self.total, self.rows, self.began = title, total, 0, time.monotonic()

    def step(self, done: int, about: Any, waiting: list[str]) -> None:
        """One more task is done."""
        self.rows += int(about.get("rows", 0))
        if self.shown:
            sys.stderr.write(f"\r\x1b[2K{printable(self.text(done, waiting))}")
            sys.stderr.flush()

    def text(self, done: int, waiting: list[str]) -> str:
        """The line."""
        elapsed = max(time.monotonic() - self.began, 1e-9)
        left = elapsed / done * (self.total - done)
        side = "" if self.workers is None else f", {self.workers} workers"
        line = f"{self.title}: {done} of {self.total}{side}, {self.rows / elapsed:,.0f} rows/s, {left:.0f} s left"
        return f"{line}; waiting for {', '.join(waiting)}" if 0 < len(waiting) <= SLOWEST else line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[2K")
