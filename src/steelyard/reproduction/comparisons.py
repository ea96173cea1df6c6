"""Two series of runs side by side: which looks there were, what each said, and what the next one needs.

Tested in ``tests/unit/reproduction/test_tables.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..evaluate.run_comparison import RunComparison, RunTest, compare_runs
from .sequential import ONCE, LookSchedule, Stage, look_level, look_sizes, stages
from .tables import Design, Line, Source

HOLDS, FAILS, UNDECIDED, UNTESTABLE = "holds", "fails", "undecided", "not testable here"


@dataclass(frozen=True)
class Need:
    """What would be looked at next: so many runs of some learners of a recipe, and how many would probably decide."""

    recipe: str
    learners: tuple[str, ...]
    runs: int
    expected: int | None = None


@dataclass(frozen=True)
class Series:
    """Values of two sides by run, and which recipes and learners they come from."""

    where: str
    better: str
    worse: str
    a: Mapping[int, float]
    b: Mapping[int, float]
    sources: tuple[Source, ...]
    design: Design

    @property
    def declared(self) -> int | None:
        """The fewest runs that a recipe of one of the sides declares; None where none does."""
        return min((s.declared for s in self.sources if s.declared is not None), default=None)

    def first(self, runs: int | None) -> tuple[list[float], list[float]]:
        """Return both sides' values in the common runs among the first ``runs``."""
        common = sorted(r for r in self.a.keys() & self.b.keys() if runs is None or r < runs)
        return [self.a[r] for r in common], [self.b[r] for r in common]

    def reached(self, runs: int | None) -> bool:
        """Whether that many runs are there; a few may have no value."""
        return _reached(self.a.keys() & self.b.keys(), runs)


def _reached(there: Set[int], runs: int | None) -> bool:
    if runs is None:
        return len(there) >= 2
    found = sum(r < runs for r in there)
    return found >= max(2, 0.9 * runs) and max(there) >= runs - 1


@dataclass(frozen=True)
class Pair:
    """One comparison of a claim: where, between whom, and what the common runs say (None: fewer than two)."""

    where: str
    better: str
    worse: str
    found: RunComparison | None
    conservative: bool = False  # costs are drawn anew each run, so that runs are less alike than the correction takes
    stage: Stage = ONCE
    side: int = 0  # 1 if the better one is, -1 if it is the worse, 0 if that is not decided
    needs: tuple[Need, ...] = ()

    def __str__(self) -> str:
        text = f"{self.where} {self.better} - {self.worse} = "
        if self.found is None:
            return f"{text}? (fewer than 2 common runs)"
        low, high = self.found.paired.low, self.found.paired.high
        look = f" (look at {self.stage.runs}, level {self.stage.test:.2g})" if self.stage.test < ONCE.test else ""
        return (
            f"{text}{self.found.difference:.4g} [{low:.4g}, {high:.4g}], {self.found.effect:+.2g} spreads, "
            f"{self.found.percent:+.3g}%, p = {self.found.paired.p_better:.2g}, {self.found.n} runs{look}"
        )

    @property
    def elsewhere(self) -> int | None:
        """The same of other samples, at the level of the look; None where the protocol says nothing about them."""
        if self.found is None or self.found.corrected is None:
            return None
        return _side(self.found.corrected, self.stage.test, 1)


def compare_series(series: Series, plan: LookSchedule, *, lower: bool, of: int) -> Pair:
    """Go through the looks of one comparison of ``of`` until one decides it.

    Parameters
    ----------
    series : Series
        The two sides.
    plan : LookSchedule
        When it is looked at.
    lower : bool
        Whether lower values are better.
    of : int
        How many comparisons the claim has; one reversed among many must be so after Bonferroni's correction.

    Returns
    -------
    pair : Pair
        As the deciding look, or else the last one possible, saw it.
    """
    pair = Pair(series.where, series.better, series.worse, None, series.design.drawn_costs)
    for stage in stages(plan, series.declared):
        if not series.reached(stage.runs) and stage.test < ONCE.test:
            break  # a look is taken when all its runs are there
        a, b = series.first(stage.runs)
        if len(a) < 2:
            continue
        found = compare_runs(a, b, lower_is_better=lower, **shares(series.design))
        side = _side(found.paired, stage.test, of)
        pair = Pair(series.where, series.better, series.worse, found, series.design.drawn_costs, stage, side)
        if side:
            return pair
    needs = next_look(series, _deciding_look(pair.found))
    return Pair(series.where, series.better, series.worse, pair.found, pair.conservative, pair.stage, 0, needs)


def _deciding_look(found: RunComparison | None) -> int | None:
    """Count the runs of the look that would find the difference seen with a probability of .8; None if none would."""
    if found is None:
        return None
    for number, runs in enumerate(look_sizes(), start=1):
        needed = found.runs_needed(level=look_level(number))
        if runs > found.n and needed is not None and needed <= runs:
            return runs
    return None


def next_look(series: Series, expected: int | None) -> tuple[Need, ...]:
    """Name the runs that the next look of a series needs; none where the last one was taken."""
    return next_runs(series.sources, series.declared, series.reached, expected)


def next_runs(sources: Sequence[Source], declared: int | None, reached: Any, expected: int | None) -> tuple[Need, ...]:
    """Name the runs of the first look that is not reached yet."""
    sizes = [n for n in look_sizes() if n > (declared or 0) and not reached(n)]
    recipes: dict[str, list[str]] = {}
    for source in sources:
        recipes.setdefault(source.recipe, []).append(source.learner)
    if not sizes:
        return ()
    wanted = min((n for n in look_sizes() if expected is not None and n >= expected), default=None)
    return tuple(Need(name, tuple(dict.fromkeys(them)), sizes[0], wanted) for name, them in recipes.items() if name)


def _side(test: RunTest, level: float, of: int) -> int:
    return -1 if test.p_worse < level / of else 1 if test.p_better < level else 0


def shares(design: Design) -> dict[str, float]:
    """Shares of training and test rows, for the correction of overlapping training parts."""
    return {"train": design.train, "test": 1 - design.train} if design.kind == "split" else {}


def word_of(sides: Sequence[int]) -> str:
    """Put the sides of all comparisons of a claim into a word: one reversed fails it, all must hold."""
    return FAILS if -1 in sides else HOLDS if all(side == 1 for side in sides) else UNDECIDED


# -- one series against stated bounds ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Values of one quantity by run, on the scale on which their mean is taken."""

    label: str
    values: Mapping[int, float]
    sources: tuple[Source, ...]

    @property
    def declared(self) -> int | None:
        """The fewest runs that a recipe of it declares."""
        return min((s.declared for s in self.sources if s.declared is not None), default=None)

    def first(self, runs: int | None) -> list[float]:
        """Return the values among the first ``runs`` runs."""
        return [v for r, v in sorted(self.values.items()) if runs is None or r < runs]

    def reached(self, runs: int | None) -> bool:
        """Whether that many runs are there; a few may have no value."""
        return _reached(self.values.keys(), runs)


@dataclass(frozen=True)
class Bounded:
    """A mean with its interval at the deciding look, the word its bounds give, and what the next look needs."""

    label: str
    mean: float
    low: float
    high: float
    runs: int
    word: str
    needs: tuple[Need, ...] = ()


def bound_sample(sample: Sample, plan: LookSchedule, least: float, most: float) -> Bounded | None:
    """Go through the looks until an interval lies within the bounds or outside them; None of fewer than two runs."""
    found: Bounded | None = None
    for stage in stages(plan, sample.declared):
        values = sample.first(stage.runs)
        if len(values) < 2 or (stage.test < ONCE.test and not sample.reached(stage.runs)):
            continue
        mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))
        reach = float(stats.t.isf(stage.interval / 2, len(values) - 1)) * error
        word = _within(mean - reach, mean + reach, least, most)
        found = Bounded(sample.label, mean, mean - reach, mean + reach, len(values), word)
        if word != UNDECIDED:
            return found
    if found is None:
        return None
    expected = _runs_to_bounds(found, least, most)
    needs = next_runs(sample.sources, sample.declared, sample.reached, expected)
    return Bounded(found.label, found.mean, found.low, found.high, found.runs, UNDECIDED, needs)


def _within(low: float, high: float, least: float, most: float) -> str:
    if high < least or low > most:
        return FAILS
    rounding = 1e-9 * max(abs(low), abs(high))
    return HOLDS if low >= least - rounding and high <= most + rounding else UNDECIDED


def _runs_to_bounds(found: Bounded, least: float, most: float) -> int | None:
    """Count the runs at which an interval around this mean would no longer touch the nearest bound."""
    gap = min(abs(found.mean - least), abs(found.mean - most))
    reach = (found.high - found.low) / 2
    return None if gap <= 0 else math.ceil(found.runs * (1.5 * reach / gap) ** 2)


def source_of(*lines: Line) -> tuple[Source, ...]:
    """Name the recipes and learners behind some lines."""
    return tuple(source for line in lines for source in line.source.parts or (line.source,))
