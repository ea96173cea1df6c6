"""How each kind of claim is weighed: tests over runs, and the word that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from ..evaluate.run_comparison import RunComparison, RunTest, compare_runs
from .tables import Line

HOLDS, FAILS, UNDECIDED, UNTESTABLE = "holds", "fails", "undecided", "not testable here"
LEVEL = 0.05


@dataclass(frozen=True)
class Pair:
    """One comparison of a claim: where, between whom, and what the common runs say (None: fewer than two)."""

    where: str
    better: str
    worse: str
    found: RunComparison | None
    conservative: bool = False  # costs are drawn anew each run, so that runs are less alike than the correction takes

    def __str__(self) -> str:
        text = f"{self.where} {self.better} - {self.worse} = "
        if self.found is None:
            return f"{text}? (fewer than 2 common runs)"
        low, high = self.found.paired.low, self.found.paired.high
        return (
            f"{text}{self.found.difference:.4g} [{low:.4g}, {high:.4g}], {self.found.effect:+.2g} spreads, "
            f"{self.found.percent:+.3g}%, p = {self.found.paired.p_better:.2g}, {self.found.n} runs"
        )


@dataclass(frozen=True)
class Weighed:
    """The word for this experiment and the one for other samples, the numbers behind them, and the pairs compared."""

    word: str
    reason: str
    elsewhere: str = ""
    pairs: tuple[Pair, ...] = ()


def weigh_lines(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """Weigh a claim by the lines it rests on."""
    if claim["kind"] != "untestable" and not lines:
        return Weighed(UNTESTABLE, "nothing was run")
    return KINDS[str(claim["kind"])](claim, lines)


# -- better: every one of some learners beats every one of others -----------------------------------------------------


def _better(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """Holds if all comparisons are significant at 5%; fails if one is reversed after Bonferroni's correction."""
    pairs = tuple(_pairs(claim, lines))
    if not pairs:
        return Weighed(UNTESTABLE, "nothing was run")
    word = _word([None if p.found is None else p.found.paired for p in pairs])
    reason = "; ".join(map(str, pairs))
    if word == UNDECIDED:
        needed = [p.found.runs_needed() for p in pairs if p.found is not None and p.found.paired.p_better >= LEVEL]
        known = [n for n in needed if n is not None]
        reason += f"; about {max(known):,} runs would decide at the difference seen" if known else ""
    if all(p.found is not None and p.found.corrected is not None for p in pairs):
        elsewhere = _word([p.found.corrected for p in pairs if p.found is not None])
        elsewhere += " (conservative)" if any(p.conservative for p in pairs) else ""
    elif all(line.design.kind == "generated" for line in lines):
        elsewhere = word  # every run is another sample
    else:
        elsewhere = ""
    return Weighed(word, reason, elsewhere, pairs)


def _pairs(claim: Mapping[str, Any], lines: Sequence[Line]) -> Iterator[Pair]:
    lower = bool(claim.get("lower", False))
    cells = {(line.data, line.measure, line.learner): line for line in lines}
    places = dict.fromkeys((line.data, line.measure) for line in lines)
    many = len({measure for _, measure in places}) > 1
    for data, measure in places:
        for up in claim["better"]:
            for down in claim["worse"]:
                a, b = cells.get((data, measure, up)), cells.get((data, measure, down))
                if a is not None and b is not None:
                    where = f"{data} {measure}" if many else data
                    yield Pair(where, up, down, _compared(a, b, lower=lower), a.design.drawn_costs)


def _compared(a: Line, b: Line, *, lower: bool) -> RunComparison | None:
    common = sorted(a.values.keys() & b.values.keys())
    if len(common) < 2:
        return None
    shares: dict[str, Any] = {} if a.design.kind != "split" else {"train": a.design.train, "test": 1 - a.design.train}
    x, y = ([line.values[run] for run in common] for line in (a, b))
    return compare_runs(x, y, lower_is_better=lower, **shares)


def _word(tests: Sequence[RunTest | None]) -> str:
    if any(t is not None and t.p_worse < LEVEL / len(tests) for t in tests):
        return FAILS
    return HOLDS if all(t is not None and t.p_better < LEVEL for t in tests) else UNDECIDED


# -- agrees: ours and the printed means, one joint test for all cells --------------------------------------------------


def _agrees(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """One test a data set, Hotelling's where the runs are common and more than the cells; Sidak over data sets."""
    printed = [line for line in lines if line.printed is not None]
    if not printed:
        return Weighed(UNTESTABLE, "nothing is printed")
    p_values, excluded = {}, 0.0
    for data in dict.fromkeys(line.data for line in printed):
        cells = [line for line in printed if line.data == data]
        p_values[data] = _joint(cells)
        excluded = max([excluded, *(_largest_difference(line, len(printed)) for line in cells)])
    p = 1 - (1 - min(p_values.values())) ** len(p_values)
    far = max(printed, key=lambda line: abs(line.gap or 0.0))
    reason = (
        f"{len(printed)} cells, joint p = {p:.2g} ({', '.join(f'{d} {v:.2g}' for d, v in p_values.items())}); "
        f"differences beyond {excluded:.1f}% of the printed are excluded; farthest {_cell(far)}"
    )
    return Weighed(FAILS if p < LEVEL else HOLDS, reason)


def _joint(cells: Sequence[Line]) -> float:
    """Probability of a difference as large as this in all cells of a data set, if there were none."""
    common = sorted(set.intersection(*(set(line.values) for line in cells)))
    theirs = min((line.printed.runs or 1) for line in cells if line.printed is not None)
    table = np.array([[line.values[run] for run in common] for line in cells]) if common else np.empty((len(cells), 0))
    values, vectors = np.linalg.eigh(np.cov(table).reshape(len(cells), -1)) if len(common) > 1 else (np.zeros(1), None)
    kept = values > 1e-9 * max(values.max(), 1e-300)
    rank = int(kept.sum())
    if vectors is not None and rank and len(common) > 2 * rank:
        gap = table.mean(axis=1) - [line.printed.mean for line in cells if line.printed is not None]
        square = float((((vectors.T @ gap)[kept] ** 2) / values[kept]).sum()) / (1 / len(common) + 1 / theirs)
        n = len(common)
        return float(stats.f.sf(square * (n - rank) / (rank * (n - 1)), rank, n - rank))
    each = [_cell_p(line) for line in cells]
    return 1 - (1 - min(each)) ** len(each)


def _cell_p(line: Line) -> float:
    """Two-sided p of one cell; t with the smaller of both numbers of runs."""
    assert line.printed is not None
    gap = abs(line.gap or 0.0)
    degrees = max(1, min(line.runs, line.printed.runs or line.runs) - 1)
    return 0.0 if math.isinf(gap) else float(2 * stats.t.sf(gap, degrees))


def _largest_difference(line: Line, cells: int) -> float:
    """The largest difference, in percent of the printed mean, that the joint 95% intervals do not exclude."""
    assert line.printed is not None
    difference = line.mean - line.printed.mean
    error = abs(difference / line.gap) if line.gap and not math.isinf(line.gap) else 0.0
    degrees = max(1, min(line.runs, line.printed.runs or line.runs) - 1)
    reach = float(stats.t.isf((1 - (1 - LEVEL) ** (1 / cells)) / 2, degrees)) * error
    return 100 * (abs(difference) + reach) / abs(line.printed.mean) if line.printed.mean else 0.0


def _cell(line: Line) -> str:
    printed = "" if line.printed is None else f" against {line.printed.mean:g}"
    return f"{line.data} {line.learner} {line.measure}: {line.mean:.5g}{printed}"


# -- equal, marks, ratio, quantity, ranks, untestable ------------------------------------------------------------------


def _equal(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    printed = [line for line in lines if line.printed is not None]
    numbers = sum(1 + (line.printed is not None and line.printed.spread is not None) for line in printed)
    off = [line for line in printed if not line.equal]
    if not printed:
        return Weighed(UNTESTABLE, "nothing is printed")
    if off:
        return Weighed(FAILS, f"{len(off)} of {len(printed)} cells differ, first {_cell(off[0])}")
    return Weighed(HOLDS, f"{numbers} of {numbers} printed numbers equal")


def _marks(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """Are the printed marks a likely outcome of as many runs as the paper had, drawn from ours?"""
    marked = [line for line in lines if line.printed is not None and line.values]
    if not marked:
        return Weighed(UNTESTABLE, "nothing was run")
    rng, draws = np.random.default_rng(0), 500
    level = float(claim.get("level", 0.1))
    drawn = np.array([_drawn_marks(line, level, draws, rng) for line in marked])  # (cells, draws)
    printed = np.array([line.printed.mean for line in marked if line.printed is not None])
    chance = np.array([[(np.mean(row == mark) + 1 / draws) for mark in (-1, 0, 1)] for row in drawn])
    logs = np.log(chance / chance.sum(axis=1, keepdims=True))
    likely = np.take_along_axis(logs, drawn.astype(int) + 1, axis=1).sum(axis=0)
    ours = float(logs[np.arange(len(marked)), printed.astype(int) + 1].sum())
    p = float((1 + (likely <= ours).sum()) / (1 + draws))
    agree = (drawn == printed[:, None]).sum(axis=0).mean()
    now = sum(line.equal for line in marked)
    reason = f"{now} of {len(marked)} marks equal, {agree:.1f} expected of such draws; p = {p:.2g}"
    return Weighed(FAILS if p < LEVEL else HOLDS, reason)


def _drawn_marks(line: Line, level: float, draws: int, rng: np.random.Generator) -> Any:
    assert line.printed is not None
    values = np.array(list(line.values.values()))
    size = min(line.printed.runs or len(values), len(values))
    again = len(values) < 2 * size
    sample = np.array([rng.choice(values, size, replace=again) for _ in range(draws)])
    spread = sample.std(axis=1, ddof=1)
    t = sample.mean(axis=1) / np.where(spread > 0, spread / math.sqrt(size), np.inf)
    limit = stats.t.isf(level, size - 1)
    return np.where(t > limit, 1, np.where(t < -limit, -1, 0))


def _ratio(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """One learner's value against another's, on each data set: the interval of the ratio within its stated bounds."""
    cells = {(line.data, line.learner): line for line in lines}
    parts, words = [], []
    for data in dict.fromkeys(line.data for line in lines):
        a, b = cells.get((data, claim["of"])), cells.get((data, claim["to"]))
        common = sorted(a.values.keys() & b.values.keys()) if a is not None and b is not None else []
        if a is None or b is None or len(common) < 2:
            continue
        logs = np.log([a.values[run] / b.values[run] for run in common])
        reach = float(stats.t.isf(LEVEL / 2, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs)))
        low, high = (math.exp(logs.mean() + side * reach) for side in (-1, 1))
        parts.append(f"{data} {math.exp(logs.mean()):.3g} times [{low:.3g}, {high:.3g}]")
        words.append(_within_bounds(claim, low, high))
    return _together(words, parts)


def _quantity(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """A learner's mean: its interval within stated bounds, on each data set and measure."""
    parts, words = [], []
    for line in lines:
        if line.learner in claim.get("of", [line.learner]) and line.runs > 1:
            reach = float(stats.t.isf(LEVEL / 2, line.runs - 1)) * line.standard_error
            parts.append(f"{line.data} {line.learner} {line.mean:.4g} +- {reach:.2g}")
            words.append(_within_bounds(claim, line.mean - reach, line.mean + reach))
    return _together(words, parts)


def _within_bounds(claim: Mapping[str, Any], low: float, high: float) -> str:
    least, most = float(claim.get("at_least", -math.inf)), float(claim.get("at_most", math.inf))
    if high < least or low > most:
        return FAILS
    rounding = 1e-9 * max(abs(low), abs(high))
    return HOLDS if low >= least - rounding and high <= most + rounding else UNDECIDED


def _together(words: Sequence[str], parts: Sequence[str]) -> Weighed:
    if not words:
        return Weighed(UNTESTABLE, "fewer than two common runs")
    worst = next(word for word in (FAILS, UNDECIDED, HOLDS) if word in words)
    return Weighed(worst, "; ".join(parts))


def _ranks(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """Best on average over data sets: Friedman's mean ranks, the differences to the others tested with Holm."""
    learners = [*claim["better"], *claim["worse"]]
    sign = 1 if claim.get("lower", False) else -1
    by_data: dict[str, dict[str, float]] = {}
    for line in lines:
        by_data.setdefault(line.data, {})[line.learner] = sign * line.mean
    table = np.array([[row[k] for k in learners] for row in by_data.values() if all(k in row for k in learners)])
    if len(table) < 2 or len(learners) < 2:
        return Weighed(UNTESTABLE, "fewer than two data sets")
    ranks = stats.rankdata(table, axis=1).mean(axis=0)
    error = math.sqrt(len(learners) * (len(learners) + 1) / (6 * len(table)))
    up = len(claim["better"])
    z = np.array([(r - ranks[:up].max()) / error for r in ranks[up:]])
    order = np.sort(stats.norm.sf(z))
    holds = bool((order < LEVEL / np.arange(len(order), 0, -1)).all())
    reversed_ = bool((stats.norm.cdf(z) < LEVEL / len(z)).any())
    reason = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(learners, ranks, strict=True))
    word = FAILS if reversed_ else HOLDS if holds else UNDECIDED
    return Weighed(word, f"mean ranks over {len(table)} data sets: {reason}")


def _monotone(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    """A measure rises (or, with ``falls``, falls) along ``order``, a list of learners, in every paired step."""
    order, sign = list(claim["order"]), -1.0 if claim.get("falls", False) else 1.0
    steps = [{**claim, "better": [b], "worse": [a], "lower": sign < 0} for a, b in pairwise(order)]
    pairs = tuple(pair for step in steps for pair in _pairs(step, lines))
    if not pairs:
        return Weighed(UNTESTABLE, "nothing was run")
    word = _word([None if p.found is None else p.found.paired for p in pairs])
    return Weighed(word, "; ".join(map(str, pairs)), pairs=pairs)


def _untestable(claim: Mapping[str, Any], lines: Sequence[Line]) -> Weighed:
    return Weighed(UNTESTABLE, str(claim["reason"]))


KINDS: Mapping[str, Callable[[Mapping[str, Any], Sequence[Line]], Weighed]] = {
    "better": _better,
    "agrees": _agrees,
    "equal": _equal,
    "marks": _marks,
    "ratio": _ratio,
    "quantity": _quantity,
    "ranks": _ranks,
    "monotone": _monotone,
    "untestable": _untestable,
}
