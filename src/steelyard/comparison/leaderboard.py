"""Who came where: costs with intervals, and whether the winner's lead is more than chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from ..evaluate import (
    Interval,
    bootstrap_interval,
    compare_costs,
    f_score,
    g_mean_score,
    mean_cost,
    savings_score,
    sensitivity_score,
    specificity_score,
)
from .evaluation import Entry, Race

SAME = 0.05  # a lead that chance gives this often is no lead
_RESAMPLES = 1000


@dataclass(frozen=True)
class Standing:
    """One line of the leaderboard; intervals are 95% stratified bootstrap intervals of out-of-fold answers."""

    name: str
    family: str
    mean_cost: Interval
    total_cost: float
    savings: Interval
    g_mean: Interval
    f1: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None
    fit_seconds: float
    predict_seconds: float
    folds: int
    rows: int | None  # taught with, where these are fewer than the training part of a fold
    behind: float | None  # one-tailed p-value of "not cheaper" for the winner against this one; None for the winner
    stopped: str | None

    @property
    def like_the_best(self) -> bool:
        """Whether chance alone could put it behind the winner."""
        return self.behind is None or self.behind > SAME


def standings(race: Race) -> list[Standing]:
    """The leaderboard, cheapest first; those who did not finish come last, judged on what they answered.

    One of them comes first where it was clearly cheaper than everyone who finished, as far as it came.
    """
    complete = race.complete() or [e for e in race.entries if e.folds]
    if not complete:
        raise StateError("the comparison was interrupted before any contender had answered; there is nothing to show.")
    winner = _ahead(race, min(complete, key=lambda e: (race.paid(e)[1].mean(), e.contender.family != "constant")))
    lines = [_standing(race, entry, winner) for entry in race.entries if entry.folds]
    return sorted(
        lines,
        key=lambda s: (
            s.behind is not None,
            s.folds < len(race.splits),
            s.mean_cost.value,
            s.family != "constant",
        ),
    )


def _ahead(race: Race, first: Entry) -> Entry:
    """The best of those who finished, or who did not but was clearly cheaper as far as it came."""
    best, lead = first, 0.0
    for entry in race.entries:
        if entry.folds and len(entry.folds) < len(race.splits) and _behind(race, first, entry) <= SAME:
            gained = _gap(race, first, entry)
            if gained.mean() > lead:
                best, lead = entry, float(gained.mean())
    return best


def winner_of(race: Race, lines: list[Standing]) -> Entry:
    """The entry at the head of the leaderboard."""
    return next(e for e in race.entries if e.contender.name == lines[0].name)


def _standing(race: Race, entry: Entry, winner: Entry) -> Standing:
    rows, predicted = race.answers(entry)
    part = race.problem.without_columns().part(rows)
    two = len(race.problem.classes) == 2

    def interval(measure: Callable[..., float], **given: Any) -> Interval:
        return bootstrap_interval(
            measure, part.y, predicted, costs=part.costs, n_resamples=_RESAMPLES, random_state=part.seed, **given
        )

    results = entry.folds.values()
    return Standing(
        name=entry.contender.name,
        family=entry.contender.family,
        mean_cost=interval(mean_cost),
        total_cost=float(race.paid(entry)[1].sum()),
        savings=interval(savings_score),
        g_mean=interval(g_mean_score),
        f1=interval(f_score) if two else None,
        sensitivity=interval(sensitivity_score) if two else None,
        specificity=interval(specificity_score) if two else None,
        fit_seconds=float(np.mean([r.fit_seconds for r in results])),
        predict_seconds=float(np.mean([r.predict_seconds for r in results])),
        folds=len(entry.folds),
        rows=race.taught_with(entry),
        behind=None if entry is winner else _behind(race, entry, winner),
        stopped=entry.stopped,
    )


def _gap(race: Race, entry: Entry, other: Entry) -> NDArray[np.float64]:
    """How much more one paid than the other on each row that both answered for."""
    rows, cost = race.paid(entry)
    other_rows, other_cost = race.paid(other)
    _, at_mine, at_other = np.intersect1d(rows, other_rows, return_indices=True)
    return np.asarray(cost[at_mine] - other_cost[at_other])


def _behind(race: Race, entry: Entry, winner: Entry) -> float:
    """One-tailed paired bootstrap on the rows both answered for: is the winner really cheaper?"""
    gap = _gap(race, entry, winner)
    if len(gap) < 2:
        return 1.0
    return compare_costs(-gap, np.zeros(len(gap)), n_resamples=2000, random_state=race.problem.seed).p_bootstrap


# -- The recommendation, in words and with its reason -----------------------------------------------------------------


def advice(race: Race, lines: Sequence[Standing]) -> list[str]:
    """What to use, what it will cost, how sure that is; one sentence each."""
    best = lines[0]
    said = [_what_to_use(best, lines), _what_it_costs(best)]
    said += _how_far(best, len(race.splits))
    said += _how_sure(best, lines)
    if race.interrupted:
        said.append("The comparison was interrupted: contenders that had not finished may be better. Resume to know.")
    late = [s.name for s in lines if s.stopped is not None and "out of time" in s.stopped]
    never = [e.contender.name for e in race.entries if not e.folds and "out of time" in (e.stopped or "")]
    failed = [e.contender.name for e in race.entries if "failed" in (e.stopped or "")]
    if failed:
        said.append(f"These could not learn from the data: {_listed(failed)}.")
    if late or never:
        said.append(f"Time ran out for {_listed([*late, *never])}; with more time one of them may do better.")
    return said


def _what_to_use(best: Standing, lines: Sequence[Standing]) -> str:
    if best.family == "constant":
        return (
            f"Answer {best.name.removeprefix('always ')!r} whatever the example looks like: "
            "at these costs no contender that ran found anything cheaper."
        )
    constant = next((s for s in lines if s.family == "constant" and s.like_the_best), None)
    if constant is not None:
        return (
            f"Nothing is demonstrably cheaper than {constant.name}: {best.name} has the least cost, "
            "but its lead over that constant answer is within chance. More data would tell."
        )
    if best.stopped is not None:
        return f"Use {best.name}: as far as it came nobody was cheaper."
    finished = sum(line.stopped is None for line in lines)
    return f"Use {best.name}: it has the least cost of the {finished} contenders that finished."


def _how_far(best: Standing, folds: int) -> list[str]:
    said = []
    if best.folds < folds:
        said.append(
            f"It ran {best.folds} of {folds} folds; on those rows it is significantly cheaper than everyone who "
            "finished. With more time that would be surer."
        )
    if best.rows is not None:
        said.append(f"It was taught with {best.rows:,} rows, for time or memory; with more it may do better.")
    return said


def _quick_alike(best: Standing, lines: Sequence[Standing]) -> Standing | None:
    """A contender not distinguishable from the best that is ten times quicker, if there is one."""
    alike = [
        s
        for s in lines[1:]
        if s.like_the_best and s.family != "constant" and s.stopped is None and s.fit_seconds < 0.1 * best.fit_seconds
    ]
    return min(alike, key=lambda s: s.mean_cost.value) if alike else None


def _what_it_costs(best: Standing) -> str:
    cost, savings = best.mean_cost, best.savings
    if best.family == "constant":
        return f"Expect to pay {cost.value:.4g} per example (95% interval {cost.low:.4g} to {cost.high:.4g})."
    return (
        f"Expect to pay {cost.value:.4g} per example (95% interval {cost.low:.4g} to {cost.high:.4g}), "
        f"{savings.value:.0%} less than the cheapest constant answer ({savings.low:.0%} to {savings.high:.0%})."
    )


def _how_sure(best: Standing, lines: Sequence[Standing]) -> list[str]:
    alike = [s.name for s in lines[1:] if s.like_the_best]
    said = []
    if alike:
        said.append(f"Not distinguishable from the best on these data: {_listed(alike)}.")
    else:
        said.append("Every other contender that ran is significantly dearer (paired bootstrap, 5% level).")
    simpler = _quick_alike(best, lines)
    if simpler is not None:
        said.append(
            f"If speed counts, {simpler.name} is as good as far as these data tell, "
            f"and {best.fit_seconds / max(simpler.fit_seconds, 1e-9):.0f} times quicker to fit."
        )
    return said


def _listed(names: Sequence[str]) -> str:
    if len(names) > 6:
        return "; ".join(names[:6]) + f"; and {len(names) - 6} more"
    return "; ".join(names)  # names hold commas
