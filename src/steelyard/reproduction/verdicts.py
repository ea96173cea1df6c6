"""How each kind of claim is weighed: tests over runs, and the word that follows from them.

Tested in ``tests/unit/reproduction/test_tables.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy import stats

from .agreement import agrees, counts, equal, improvement, marks
from .claim_result import ClaimResult
from .comparisons import (
    FAILS,
    HOLDS,
    UNDECIDED,
    UNTESTABLE,
    Bounded,
    Sample,
    Series,
    bound_sample,
    compare_series,
    source_of,
    word_of,
)
from .sequential import LEVEL, LookSchedule
from .steadiness import compare_deviations
from .tables import Line, Source, mean_and_std

AVERAGE = "average"  # the name of the data set that a row of averages stands for


def weigh_lines(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule = LookSchedule.ONCE) -> ClaimResult:
    """Weigh a claim by the lines it rests on; claims about printed numbers always by the declared runs alone."""
    kind = str(claim["kind"])
    if kind == "untestable":
        return ClaimResult(UNTESTABLE, str(claim["reason"]))
    if claim.get("average"):
        lines = averaged(lines)
    if not lines:
        return ClaimResult(UNTESTABLE, "nothing was run")
    if kind in LOOKED_AT:
        return LOOKED_AT[kind](claim, lines, plan)
    return ONCE_ONLY[kind](claim, [line.first(line.source.declared) for line in lines])


# -- every one of some learners beats every one of others ------------------------------------------------------------


def _better(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """Holds if all comparisons are significant; fails if one is reversed after Bonferroni's correction.

    With ``any`` the best one of the better learners stands for all of them.
    """
    return _judged(claim, lines, list(_series(_chosen(claim, lines), lines)), plan, lower=_lower(claim))


def _monotone(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """A measure rises (or, with ``falls``, falls) along ``order``, a list of learners, in every paired step."""
    falls = bool(claim.get("falls", False))
    steps = [{**claim, "better": [b], "worse": [a]} for a, b in pairwise(claim["order"])]
    return _judged(claim, lines, [s for step in steps for s in _series(step, lines)], plan, lower=falls)


def _gain(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """What the better learner is ahead of the worse one is more ``here`` than ``there``, run by run.

    ``here`` and ``there`` are a table or figure (``item``), data and a measure, as far as the two differ in them.
    """
    cells = {(line.item, line.data, line.measure, line.learner): line for line in lines}
    found = []
    for data in dict.fromkeys(line.data for line in lines):
        ends = []
        for end in (claim["here"], claim["there"]):
            place = (str(end.get("item", claim["item"])), str(end.get("data", data)), str(end["measure"]))
            pair = [cells.get((*place, str(name))) for name in (claim["of"], claim["to"])]
            ends.append([line for line in pair if line is not None])
        if any(len(end) < 2 for end in ends):
            continue
        more, less = ({r: end[0].values[r] - end[1].values[r] for r in _common(*end)} for end in ends)
        here, there = (str(end.get("name", end["measure"])) for end in (claim["here"], claim["there"]))
        where = f"{data} {claim['of']} - {claim['to']}:"
        lines_used = [line for end in ends for line in end]
        found.append(Series(where, here, there, more, less, source_of(*lines_used), lines_used[0].design))
    return _judged(claim, lines, found, plan, lower=_lower(claim))


def _steadier(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """One learner varies less from run to run than another."""
    cells = {(line.data, line.measure, line.learner): line for line in lines}
    places = dict.fromkeys((line.data, line.measure) for line in lines)
    found = []
    for place in places:
        for up, down in product(claim["better"], claim["worse"]):
            a, b = cells.get((*place, up)), cells.get((*place, down))
            if a is not None and b is not None:
                found.append(compare_deviations(" ".join((*place, up)), a, b, plan, of=len(places)))
    there = [each for each in found if each is not None]
    parts = [f"{b.label}: {b.mean:.3g} times the other's [{b.low:.3g}, {b.high:.3g}], {b.runs} runs" for b in there]
    if not there:
        return ClaimResult(UNTESTABLE, "fewer than four common runs")
    result = _together(there, parts)
    return replace(result, reason=f"deviations from run to run: {result.reason}")


def _judged(
    claim: Mapping[str, Any], lines: Sequence[Line], found: Sequence[Series], plan: LookSchedule, *, lower: bool
) -> ClaimResult:
    """Compare all series of a claim and put what they say into the two words."""
    pairs = tuple(compare_series(series, plan, lower=lower, of=len(found)) for series in found)
    if not pairs:
        return ClaimResult(UNTESTABLE, "nothing was run")
    word = word_of([pair.side for pair in pairs])
    reason = "; ".join(map(str, pairs))
    if word == UNDECIDED:
        open_ones = [(pair.found, pair.stage.test) for pair in pairs if pair.found is not None and pair.side == 0]
        known = [n for n in (found.runs_needed(level=level) for found, level in open_ones) if n is not None]
        reason += f"; about {max(known):,} runs would decide at the difference seen" if known else ""
    elsewhere = [pair.elsewhere for pair in pairs]
    if all(side is not None for side in elsewhere):
        other = word_of([side for side in elsewhere if side is not None])
        other += " (conservative)" if any(pair.conservative for pair in pairs) else ""
    elif all(line.design.kind == "generated" for line in lines):
        other = word  # every run is another sample
    else:
        other = ""
    return ClaimResult(word, reason, other, pairs)


def _lower(claim: Mapping[str, Any]) -> bool:
    return bool(claim.get("lower", False))


def _chosen(claim: Mapping[str, Any], lines: Sequence[Line]) -> Mapping[str, Any]:
    """The claim, with ``any`` about the best of its better learners alone, by the mean over all data."""
    if not claim.get("any"):
        return claim
    sign = -1 if _lower(claim) else 1
    means = {name: [line.mean for line in lines if line.learner == name] for name in claim["better"]}
    best = max((name for name in means if means[name]), key=lambda name: sign * float(np.mean(means[name])))
    return {**claim, "better": [best]}


def _series(claim: Mapping[str, Any], lines: Sequence[Line]) -> Iterator[Series]:
    cells = {(line.data, line.measure, line.learner): line for line in lines}
    places = dict.fromkeys((line.data, line.measure) for line in lines)
    many = len({measure for _, measure in places}) > 1
    for data, measure in places:
        for up in claim["better"]:
            for down in claim["worse"]:
                a, b = cells.get((data, measure, up)), cells.get((data, measure, down))
                if a is not None and b is not None:
                    where = f"{data} {measure}" if many else data
                    yield Series(where, up, down, a.values, b.values, source_of(a, b), a.design)


def _common(a: Line, b: Line) -> list[int]:
    return sorted(a.values.keys() & b.values.keys())


def averaged(lines: Sequence[Line]) -> list[Line]:
    """Return a row of averages over data sets: run r of each stands for one run of all."""
    found: list[Line] = []
    data = dict.fromkeys(line.data for line in lines if line.data != AVERAGE)
    printed = {(line.learner, line.measure): line.printed for line in lines if line.data == AVERAGE}
    cells = {(line.data, line.learner, line.measure): line for line in lines}
    for learner, measure in dict.fromkeys((line.learner, line.measure) for line in lines if line.data != AVERAGE):
        some = [cells[name, learner, measure] for name in data if (name, learner, measure) in cells]
        runs = sorted(set.intersection(*(set(line.values) for line in some)))
        if len(some) < len(data) or not runs:
            continue
        values = {r: math.fsum(line.values[r] for line in some) / len(some) for r in runs}
        mean, std = mean_and_std(list(values.values()))
        declared = min((line.source.declared for line in some if line.source.declared is not None), default=None)
        found.append(
            replace(
                some[0],
                data=AVERAGE,
                mean=mean,
                std=std,
                runs=len(runs),
                values=values,
                printed=printed.get((learner, measure)),
                source=Source("", learner, declared, tuple(line.source for line in some)),
            )
        )
    return found


# -- a quantity within stated bounds -----------------------------------------------------------------------------------


def _ratio(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """One learner's value against another's, on each data set and measure: the ratio within its stated bounds."""
    found, parts = [], []
    least, most = _bounds(claim)
    for label, a, b in _of_and_to(claim, lines):
        logs = {r: math.log(a.values[r] / b.values[r]) for r in _common(a, b)}
        logged = bound_sample(Sample(label, logs, source_of(a, b)), plan, _log(least), _log(most))
        if logged is not None:
            found.append(logged)
            low, middle, high = (math.exp(v) for v in (logged.low, logged.mean, logged.high))
            parts.append(f"{label} {middle:.3g} times [{low:.3g}, {high:.3g}]")
    return _together(found, parts)


def _difference(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """One learner's value minus another's, on each data set and measure: the difference within its stated bounds."""
    found = []
    for label, a, b in _of_and_to(claim, lines):
        gaps = {r: a.values[r] - b.values[r] for r in _common(a, b)}
        found.append(bound_sample(Sample(label, gaps, source_of(a, b)), plan, *_bounds(claim)))
    there = [each for each in found if each is not None]
    return _together(there, [f"{b.label} {b.mean:.4g} [{b.low:.4g}, {b.high:.4g}]" for b in there])


def _quantity(claim: Mapping[str, Any], lines: Sequence[Line], plan: LookSchedule) -> ClaimResult:
    """A learner's mean: its interval within stated bounds, on each data set and measure."""
    found = []
    for line in lines:
        if line.learner in claim.get("of", [line.learner]):
            sample = Sample(f"{line.data} {line.learner}", line.values, source_of(line))
            found.append(bound_sample(sample, plan, *_bounds(claim)))
    there = [each for each in found if each is not None]
    return _together(there, [f"{b.label} {b.mean:.4g} +- {(b.high - b.low) / 2:.2g}" for b in there])


def _of_and_to(claim: Mapping[str, Any], lines: Sequence[Line]) -> Iterator[tuple[str, Line, Line]]:
    cells = {(line.data, line.measure, line.learner): line for line in lines}
    places = dict.fromkeys((line.data, line.measure) for line in lines)
    many = len({measure for _, measure in places}) > 1
    for data, measure in places:
        a, b = cells.get((data, measure, claim["of"])), cells.get((data, measure, claim["to"]))
        if a is not None and b is not None:
            yield (f"{data} {measure}" if many else data), a, b


def _bounds(claim: Mapping[str, Any]) -> tuple[float, float]:
    return float(claim.get("at_least", -math.inf)), float(claim.get("at_most", math.inf))


def _log(bound: float) -> float:
    return math.log(bound) if 0 < bound < math.inf else math.copysign(math.inf, bound)


def _together(found: Sequence[Bounded], parts: Sequence[str]) -> ClaimResult:
    if not found:
        return ClaimResult(UNTESTABLE, "fewer than two common runs")
    words = {each.word for each in found}
    worst = next(word for word in (FAILS, UNDECIDED, HOLDS) if word in words)
    return ClaimResult(worst, "; ".join(parts), bounded=tuple(found))


# -- over data sets ----------------------------------------------------------------------------------------------------


def _ranks(claim: Mapping[str, Any], lines: Sequence[Line]) -> ClaimResult:
    """Best on average over data sets: Friedman's mean ranks, the differences to the others tested with Holm."""
    learners = [*claim["better"], *claim["worse"]]
    sign = 1 if claim.get("lower", False) else -1
    by_data: dict[str, dict[str, float]] = {}
    for line in lines:
        by_data.setdefault(line.data, {})[line.learner] = sign * line.mean
    table = np.array([[row[k] for k in learners] for row in by_data.values() if all(k in row for k in learners)])
    if len(table) < 2 or len(learners) < 2:
        return ClaimResult(UNTESTABLE, "fewer than two data sets")
    ranks = stats.rankdata(table, axis=1).mean(axis=0)
    error = math.sqrt(len(learners) * (len(learners) + 1) / (6 * len(table)))
    up = len(claim["better"])
    z = np.array([(r - ranks[:up].max()) / error for r in ranks[up:]])
    order = np.sort(stats.norm.sf(z))
    holds = bool((order < LEVEL / np.arange(len(order), 0, -1)).all())
    reversed_ = bool((stats.norm.cdf(z) < LEVEL / len(z)).any())
    reason = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(learners, ranks, strict=True))
    word = FAILS if reversed_ else HOLDS if holds else UNDECIDED
    further = "; more data sets, not more runs, would decide" if word == UNDECIDED else ""
    return ClaimResult(word, f"mean ranks over {len(table)} data sets: {reason}{further}")


LOOKED_AT: Mapping[str, Callable[[Mapping[str, Any], Sequence[Line], LookSchedule], ClaimResult]] = {
    "better": _better,
    "monotone": _monotone,
    "gain": _gain,
    "ratio": _ratio,
    "difference": _difference,
    "quantity": _quantity,
    "steadier": _steadier,
}
ONCE_ONLY: Mapping[str, Callable[[Mapping[str, Any], Sequence[Line]], ClaimResult]] = {
    "agrees": agrees,
    "equal": equal,
    "marks": marks,
    "counts": counts,
    "improvement": improvement,
    "ranks": _ranks,
}
KINDS = (*LOOKED_AT, *ONCE_ONLY, "untestable")
