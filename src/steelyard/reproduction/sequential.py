"""When a claim is looked at: once, at the runs its recipe declares, or again and again until it is decided.

The looks are at 20, 40, 80, ... runs. Look k may spend ``SPENT / (k (k + 1))`` on each side, which sums to ``SPENT``
however many looks there are: one that looks until something is significant is wrong no more often than that.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

LEVEL = 0.05  # of the one test at the declared number of runs, on one side; of a two-sided interval
SPENT = 0.025  # over all looks, on each side
FIRST, MOST = 20, 10_240


class Stage(NamedTuple):
    """One look: the first ``runs`` runs, the level of a one-sided test and that of a two-sided interval."""

    runs: int | None
    test: float
    interval: float


class LookSchedule(Enum):
    """How often a claim is looked at; declared before its runs are made."""

    ONCE = "once, at the declared runs"
    AFTER = "at the declared runs, then at each look beyond them"
    FRESH = "at each look"


ONCE = Stage(None, LEVEL, LEVEL)


def look_sizes() -> list[int]:
    """Number the runs of every look: 20, 40, 80, ..., 10,240."""
    return [FIRST << k for k in range((MOST // FIRST).bit_length())]


def look_level(number: int) -> float:
    """Give what look ``number``, from 1 on, may spend on each side."""
    return SPENT / (number * (number + 1))


def stages(plan: LookSchedule, declared: int | None) -> list[Stage]:
    """List the looks of a comparison whose recipe declares that many runs (None: all there are).

    Parameters
    ----------
    plan : LookSchedule
        How often it is looked at.
    declared : int or None
        The recipe's number of runs.

    Returns
    -------
    stages : list of Stage
    """
    once = Stage(declared, LEVEL, LEVEL)
    if plan is LookSchedule.ONCE:
        return [once]
    looks = [Stage(n, look_level(k), 2 * look_level(k)) for k, n in enumerate(look_sizes(), start=1)]
    if plan is LookSchedule.FRESH:
        return looks
    return [once, *(look for look in looks if look.runs is not None and look.runs > (declared or 0))]
