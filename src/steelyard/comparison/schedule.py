"""How long a fit takes is learned by growing it: few rows first, then as many as the time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

from .data import ComparisonData

T = TypeVar("T")

FIRST_ROWS = 1_000
_LEAP = 8  # times the rows at the most from one fit to the next: estimates are rough
_WORTH = 1.5  # times the rows at least, or another fit is not worth its time
_CAREFUL = 0.8  # of the time left is planned for


def fit_within_time(
    fit: Callable[[ComparisonData], T],
    training: ComparisonData,
    seconds: float,
    growth: float,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[T, int]:
    """Teach with more and more rows as long as the next fit is expected within ``seconds``; the last one and its rows.

    The first fit has 1,000 rows, or all where there are not twice as many. Time is taken to grow with a power of the
    rows: ``growth`` before two fits were seen, then what was seen, but at least 1 or ``growth`` where that is less.
    """
    start = clock()
    n = len(training.y)
    rows = n if n <= 2 * FIRST_ROWS else FIRST_ROWS
    before: tuple[int, float] | None = None
    while True:
        begun = clock()
        subset = training.subsample(rows)
        fitted = fit(subset)
        taken = max(clock() - begun, 1e-6)
        seen = growth if before is None else math.log(taken / before[1]) / math.log(rows / before[0])
        power = max(min(growth, 1.0), seen)
        before = (rows, taken)
        longest = rows * (max(_CAREFUL * (seconds - (clock() - start)), 0.0) / taken) ** (1 / power)
        following = min(int(longest), _LEAP * rows, n)
        if rows == n or following < min(_WORTH * rows, n):
            return fitted, len(subset.y)
        rows = following
