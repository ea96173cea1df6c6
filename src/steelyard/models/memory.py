"""How much memory there is, and the error for what would not fit.

Tested in ``tests/unit/models/test_records.py``.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..validation.values import invalid

_MEMINFO = Path("/proc/meminfo")


def free_memory() -> int:
    """Bytes that can be had without swapping; all of the machine's where the system does not say more."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(option: str, value: object, needed: int) -> None:
    """Raise unless ``needed`` bytes are free; the message names both sizes."""
    free = free_memory()
    if needed > free:
        sizes = f"{needed / 1e9:,.1f} GB needed, {free / 1e9:,.1f} GB free"
        raise invalid(option, f"leave weights that fit into memory ({sizes})", value, "Use a smaller number.")
