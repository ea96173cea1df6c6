"""A task that reads a shared value, for processes of a pool, which import it by name."""

from __future__ import annotations

import os

from steelyard.executors import unwrap


def total(handle: object, at: int) -> tuple[float, int, int]:
    """The sum of a row, the place of the value in memory, and the process."""
    value = unwrap(handle)
    return float(value["rows"][at].sum()), id(value), os.getpid()
