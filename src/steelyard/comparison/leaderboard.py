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
from .evaluation import CandidateRun, Evaluation

SAME = 0.05  # a lead that chance gives this often is no lead
_RESAMPLES = 1000


@dataclass(frozen=True)
class LeaderboardRow:
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
    p_value: float | None  # one-tailed p-value of "not cheaper" for the winner against this one; None for the winner
    stopped: str | None

    @property
    def tied_with_best(self) -> bool:
        """Whether chance alone could put it behind the winner."""
        return self.p_value is None or self.p_value > SAME


def leaderboard(evaluation: Evaluation) -> list[LeaderboardRow]:
    """The leaderboard, cheapest first; those who did not finish come last, judged on what they answered.

    One of them comes first where it was clearly cheaper than everyone who finished, as far as it came.
    """
    complete = evaluation.complete() or [e for e in evaluation.entries if e.folds]
    if not complete:
        raise StateError("the comparison was interrupted before any contender had answered; there is nothing to show.")
    winner = _ahead(
        evaluation, min(complete, key=lambda e: (evaluation.paid(e)[1].mean(), e.candidate.family != "constant"))
    )
    lines = [_standing(evaluation, entry, winner) for entry in evaluation.entries if entry.folds]
    return sorted(
        lines,
        key=lambda s: (
            s.p_value is not None,
            s.folds < len(evaluation.splits),
            s.mean_cost.value,
            s.family != "constant",
        ),
    )


def _ahead(evaluation: Evaluation, first: CandidateRun) -> CandidateRun:
    """The best of those who finished, or who did not but was clearly cheaper as far as it came."""
    best, lead = first, 0.0
    for entry in evaluation.entries:
        if entry.folds and len(entry.folds) < len(evaluation.splits) and _behind(evaluation, first, entry) <= SAME:
            gained = _gap(evaluation, first, entry)
            if gained.mean() > lead:
                best, lead = entry, float(gained.mean())
    return best


def winner_of(evaluation: Evaluation, lines: list[LeaderboardRow]) -> CandidateRun:
    """The entry at the head of the leaderboard."""
    return next(e for e in evaluation.entries if e.candidate.name == lines[0].name)


def _standing(evaluation: Evaluation, entry: CandidateRun, winner: CandidateRun) -> LeaderboardRow:
    rows, predicted = evaluation.answers(entry)
    subset = evaluation.problem.labels_only().subset(rows)
    two = len(evaluation.problem.classes) == 2

    def interval(measure: Callable[..., float], **given: Any) -> Interval:
        return bootstrap_interval(
            measure, subset.y, predicted, costs=subset.costs, n_resamples=_RESAMPLES, random_state=subset.seed, **given
        )

    results = entry.folds.values()
    return LeaderboardRow(
        name=entry.candidate.name,
        family=entry.candidate.family,
        mean_cost=interval(mean_cost),
        total_cost=float(evaluation.paid(entry)[1].sum()),
        savings=interval(savings_score),
        g_mean=interval(g_mean_score),
        f1=interval(f_score) if two else None,
        sensitivity=interval(sensitivity_score) if two else None,
        specificity=interval(specificity_score) if two else None,
        fit_seconds=float(np.mean([r.fit_seconds for r in results])),
        predict_seconds=float(np.mean([r.predict_seconds for r in results])),
        folds=len(entry.folds),
        rows=evaluation.taught_with(entry),
        p_value=None if entry is winner else _behind(evaluation, entry, winner),
        stopped=entry.stopped,
    )


def _gap(evaluation: Evaluation, entry: CandidateRun, other: CandidateRun) -> NDArray[np.float64]:
    """How much more one paid than the other on each row that both answered for."""
    rows, cost = evaluation.paid(entry)
    other_rows, other_cost = evaluation.paid(other)
    _, at_mine, at_other = np.intersect1d(rows, other_rows, return_indices=True)
    return np.asarray(cost[at_mine] - other_cost[at_other])


def _behind(evaluation: Evaluation, entry: CandidateRun, winner: CandidateRun) -> float:
    """One-tailed paired bootstrap on the rows both answered for: is the winner really cheaper?"""
    gap = _gap(evaluation, entry, winner)
    if len(gap) < 2:
        return 1.0
    return compare_costs(-gap, np.zeros(len(gap)), n_resamples=2000, random_state=evaluation.problem.seed).p_bootstrap


# -- The recommendation, in words and with its reason -----------------------------------------------------------------


def recommend(evaluation: Evaluation, lines: Sequence[LeaderboardRow]) -> list[str]:
    """What to use, what it will cost, how sure that is; one sentence each."""
    best = lines[0]
    said = [_what_to_use(best, lines), _what_it_costs(best)]
    said += _how_far(best, len(evaluation.splits))
    said += _how_sure(best, lines)
    if evaluation.interrupted:
        said.append("The comparison was interrupted: contenders that had not finished may be better. Resume to know.")
    late = [s.name for s in lines if s.stopped is not None and "out of time" in s.stopped]
    never = [e.candidate.name for e in evaluation.entries if not e.folds and "out of time" in (e.stopped or "")]
    failed = [e.candidate.name for e in evaluation.entries if "failed" in (e.stopped or "")]
    if failed:
        said.append(f"These could not learn from the data: {_listed(failed)}.")
    if late or never:
        said.append(f"Time ran out for {_listed([*late, *never])}; with more time one of them may do better.")
    return said


def _what_to_use(best: LeaderboardRow, lines: Sequence[LeaderboardRow]) -> str:
    if best.family == "constant":
        return (
            f"Answer {best.name.removeprefix('always ')!r} whatever the example looks like: "
            "at these costs no contender that ran found anything cheaper."
        )
    constant = next((s for s in lines if s.family == "constant" and s.tied_with_best), None)
    if constant is not None:
        return (
            f"Nothing is demonstrably cheaper than {constant.name}: {best.name} has the least cost, "
            "but its lead over that constant answer is within chance. More data would tell."
        )
    if best.stopped is not None:
        return f"Use {best.name}: as far as it came nobody was cheaper."
    finished = sum(line.stopped is None for line in lines)
    return f"Use {best.name}: it has the least cost of the {finished} contenders that finished."


def _how_far(best: LeaderboardRow, folds: int) -> list[str]:
    said = []
    if best.folds < folds:
        said.append(
            f"It ran {best.folds} of {folds} folds; on those rows it is significantly cheaper than everyone who "
            "finished. With more time that would be surer."
        )
    if best.rows is not None:
        said.append(f"It was taught with {best.rows:,} rows, for time or memory; with more it may do better.")
    return said


def _quick_alike(best: LeaderboardRow, lines: Sequence[LeaderboardRow]) -> LeaderboardRow | None:
    """A contender not distinguishable from the best that is ten times quicker, if there is one."""
    alike = [
        s
        for s in lines[1:]
        if s.tied_with_best and s.family != "constant" and s.stopped is None and s.fit_seconds < 0.1 * best.fit_seconds
    ]
    return min(alike, key=lambda s: s.mean_cost.value) if alike else None


def _what_it_costs(best: LeaderboardRow) -> str:
    cost, savings = best.mean_cost, best.savings
    if best.family == "constant":
        return f"Expect to pay {cost.value:.4g} per example (95% interval {cost.low:.4g} to {cost.high:.4g})."
    return (
        f"Expect to pay {cost.value:.4g} per example (95% interval {cost.low:.4g} to {cost.high:.4g}), "
        f"{savings.value:.0%} less than the cheapest constant answer ({savings.low:.0%} to {savings.high:.0%})."
    )


def _how_sure(best: LeaderboardRow, lines: Sequence[LeaderboardRow]) -> list[str]:
    alike = [s.name for s in lines[1:] if s.tied_with_best]
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
