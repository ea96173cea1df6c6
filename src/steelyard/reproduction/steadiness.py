"""Whether one learner varies less from run to run than another: the test of Pitman and Morgan for paired values.

Tested in ``tests/unit/reproduction/test_verdicts.py``.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from .comparisons import FAILS, HOLDS, UNDECIDED, Bounded, Sample, next_runs, source_of
from .sequential import LEVEL, LookSchedule, stages
from .tables import Line


def compare_deviations(label: str, calm: Line, wild: Line, plan: LookSchedule, *, of: int) -> Bounded | None:
    """Go through the looks until one learner's deviation is below the other's, or above it.

    Parameters
    ----------
    label : str
        Where the two are compared.
    calm, wild : Line
        The learner said to vary less, and the other.
    plan : LookSchedule
        When it is looked at.
    of : int
        How many comparisons the claim has; one reversed among many must be so after Bonferroni's correction.

    Returns
    -------
    bounded : Bounded or None
        The ratio of the two deviations with its interval; None of fewer than four common runs.
    """
    common = sorted(calm.values.keys() & wild.values.keys())
    sample = Sample(label, {r: calm.values[r] - wild.values[r] for r in common}, source_of(calm, wild))
    found: Bounded | None = None
    for stage in stages(plan, sample.declared):
        runs = [r for r in common if stage.runs is None or r < stage.runs]
        if len(runs) < 4 or (stage.test < LEVEL and not sample.reached(stage.runs)):
            continue
        x, y = (np.array([line.values[r] for r in runs]) for line in (calm, wild))
        ratio, together = float(x.std(ddof=1) / y.std(ddof=1)), float(np.corrcoef(x, y)[0, 1])
        low, high = _interval(ratio, together, len(runs), stage.test)
        above = _interval(ratio, together, len(runs), stage.test / of)[0]
        word = FAILS if above > 1 else HOLDS if high < 1 else UNDECIDED
        found = Bounded(label, ratio, low, high, len(runs), word)
        if word != UNDECIDED:
            return found
    if found is None:
        return None
    needs = next_runs(sample.sources, sample.declared, sample.reached, _runs_to_one(found))
    return Bounded(label, found.mean, found.low, found.high, found.runs, UNDECIDED, needs)


def _interval(ratio: float, together: float, runs: int, level: float) -> tuple[float, float]:
    """Where the ratio may lie, ``level`` on each side; together is the correlation of the two."""
    t = float(stats.t.isf(level, runs - 2))
    k = 1 + 2 * (1 - together**2) * t * t / (runs - 2)
    reach = math.sqrt(k + math.sqrt(k * k - 1))
    return ratio / reach, ratio * reach


def _runs_to_one(found: Bounded) -> int | None:
    """Count the runs at which an interval around this ratio would no longer hold 1."""
    gap, reach = abs(math.log(found.mean)), math.log(found.high / found.mean)
    return None if gap <= 0 else math.ceil(found.runs * (1.5 * reach / gap) ** 2)
