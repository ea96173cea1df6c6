"""A line that says how far a job is, on terminals alone."""

from __future__ import annotations

import sys
import time
from typing import Any, Self


class Progress:
    """Tasks done, rows a second and the time left, on standard error."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown and sys.stderr.isatty()
        self.title, self.total, self.rows, self.began = "", 0, 0, 0.0

    def begin(self, title: str, total: int) -> None:
        """Begin a series of tasks."""
        self.title, self.total, self.rows, self.began = title, total, 0, time.monotonic()

    def step(self, done: int, about: Any) -> None:
        """One more task is done."""
        self.rows += int(about.get("rows", 0))
        if not self.shown:
            return
        elapsed = max(time.monotonic() - self.began, 1e-9)
        left = elapsed / done * (self.total - done)
        text = f"{self.title}: {done} of {self.total}, {self.rows / elapsed:,.0f} rows/s, {left:.0f} s left"
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[2K")
