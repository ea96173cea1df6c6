"""What came of weighing a claim.

Tested in ``tests/unit/reproduction/test_tables.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .comparisons import Bounded, Need, Pair


@dataclass(frozen=True)
class ClaimResult:
    """The word for this experiment and the one for other samples, the numbers behind them, and what was compared."""

    word: str
    reason: str
    elsewhere: str = ""
    pairs: tuple[Pair, ...] = ()
    bounded: tuple[Bounded, ...] = ()


def needs_of(pairs: Iterable[Pair], bounded: Iterable[Bounded]) -> tuple[Need, ...]:
    """Collect the runs that the next looks of all undecided parts of a claim need."""
    return (*(need for pair in pairs for need in pair.needs), *(need for each in bounded for need in each.needs))
