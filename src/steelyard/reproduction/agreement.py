"""Claims about printed numbers: are ours the same, or such as chance would bring?

Tested in ``tests/unit/reproduction/test_verdicts.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from .claim_result import ClaimResult
from .comparisons import FAILS, HOLDS, UNTESTABLE
from .sequential import LEVEL
from .tables import Line


def agrees(claim: Mapping[str, Any], lines: Sequence[Line]) -> ClaimResult:
    """One test a data set, Hotelling's where the runs are common and more than the cells; Sidak over data sets."""
    printed = [line for line in lines if line.printed is not None]
    if not printed:
        return ClaimResult(UNTESTABLE, "nothing is printed")
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
    return ClaimResult(FAILS if p < LEVEL else HOLDS, reason)


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


def equal(claim: Mapping[str, Any], lines: Sequence[Line]) -> ClaimResult:
    """Holds if every printed digit is ours."""
    printed = [line for line in lines if line.printed is not None]
    numbers = sum(1 + (line.printed is not None and line.printed.spread is not None) for line in printed)
    off = [line for line in printed if not line.equal]
    if not printed:
        return ClaimResult(UNTESTABLE, "nothing is printed")
    if off:
        return ClaimResult(FAILS, f"{len(off)} of {len(printed)} cells differ, first {_cell(off[0])}")
    return ClaimResult(HOLDS, f"{numbers} of {numbers} printed numbers equal")


def marks(claim: Mapping[str, Any], lines: Sequence[Line]) -> ClaimResult:
    """Are the printed marks a likely outcome of as many runs as the paper had, drawn from ours?"""
    marked = [line for line in lines if line.printed is not None and line.values]
    if not marked:
        return ClaimResult(UNTESTABLE, "nothing was run")
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
    return ClaimResult(FAILS if p < LEVEL else HOLDS, reason)


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


def counts(claim: Mapping[str, Any], lines: Sequence[Line]) -> ClaimResult:
    """Are so many marks for and against the reference a likely outcome of as many runs as the paper had?

    ``stated`` gives the paper's counts, by mark: ``{"1": 5, "-1": 2}`` of one learner's data sets.
    """
    marked = [line for line in lines if line.learner == claim["of"] and line.printed is not None and line.values]
    if not marked:
        return ClaimResult(UNTESTABLE, "nothing was run")
    rng, draws = np.random.default_rng(0), 500
    drawn = np.array([_drawn_marks(line, float(claim.get("level", 0.1)), draws, rng) for line in marked])
    printed = len([line for line in lines if line.learner == claim["of"]])
    parts, worst = [], 1.0
    for mark, stated in claim["stated"].items():
        number = (drawn == int(mark)).sum(axis=0)
        p = min(1.0, 2 * min(np.mean(number <= int(stated)), np.mean(number >= int(stated))))
        worst = min(worst, (p * draws + 1) / (draws + 1))
        name = {"1": "better", "-1": "worse", "0": "alike"}[str(mark)]
        now = sum(round(line.mean) == int(mark) for line in marked)
        parts.append(f"{name} on {stated} as printed, on {now} here, {number.mean():.1f} in such draws (p = {p:.2g})")
    reason = f"of {printed} data sets: {'; '.join(parts)}"
    return ClaimResult(FAILS if worst < LEVEL / len(claim["stated"]) else HOLDS, reason)


def improvement(claim: Mapping[str, Any], lines: Sequence[Line]) -> ClaimResult:
    """A printed difference of two learners against ours, with the noise of both: theirs over ``runs`` runs."""
    cells = {(line.data, line.measure, line.learner): line for line in lines}
    parts, words = [], []
    for data, measure in dict.fromkeys((line.data, line.measure) for line in lines):
        a, b = cells.get((data, measure, claim["of"])), cells.get((data, measure, claim["to"]))
        common = sorted(a.values.keys() & b.values.keys()) if a is not None and b is not None else []
        if a is None or b is None or len(common) < 2:
            continue
        gaps = float(claim.get("scale", 1)) * np.array([a.values[r] - b.values[r] for r in common])
        theirs = int(claim.get("runs", 1))
        error = float(gaps.std(ddof=1)) * math.sqrt(1 / len(gaps) + 1 / theirs)
        t = (float(gaps.mean()) - float(claim["printed"])) / error if error else math.inf
        p = 2 * float(stats.t.sf(abs(t), max(1, min(len(gaps), theirs) - 1)))
        own = float(stats.t.isf(LEVEL / 2, len(gaps) - 1) * gaps.std(ddof=1)) / math.sqrt(len(gaps))
        parts.append(
            f"{data} {measure} {claim['of']} - {claim['to']} = {gaps.mean():.4g} [{gaps.mean() - own:.4g}, "
            f"{gaps.mean() + own:.4g}] against {claim['printed']:g} printed, "
            f"whose {theirs} runs vary as ours do, p = {p:.2g}"
        )
        words.append(FAILS if p < LEVEL else HOLDS)
    if not words:
        return ClaimResult(UNTESTABLE, "fewer than two common runs")
    return ClaimResult(FAILS if FAILS in words else HOLDS, "; ".join(parts))
