"""Where the winner's costs come from: confusions, the costliest rows, segments, and whether its probabilities hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ...evaluate.weighted import effective_rows, weighted_mean
from ...report.amounts import significant
from ..data import ComparisonData
from ..evaluation import CandidateRun, Evaluation

Floats = NDArray[np.float64]
MOST_MISTAKES = 12
MOST_LEVELS = 12  # of a segment; the rest is one level
MOST_CELLS = 12  # columns shown of a row
_QUANTILES = 4  # parts of a segment of numbers
_FEW_VALUES = 8  # different numbers up to which each is a segment of its own
FEWEST_OF_A_SEGMENT = 5  # rows, for an interval of their cost
_BINS = 10
_DIGITS, _ALL_DIGITS = 6, 17  # of a number that names a segment, and of any number at all
_Z = 1.96


class Confusions(NamedTuple):
    """By truth and answer: how many, and what they cost."""

    counts: Floats
    money: Floats


def confusions(data: ComparisonData, run: CandidateRun) -> Confusions:
    """Of the judged rows."""
    assert run.answers is not None
    n_classes = len(data.classes)
    counts, money = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes))
    np.add.at(counts, (data.codes, run.answers), data.row_weights)
    np.add.at(money, (data.codes, run.answers), data.row_weights * np.asarray(run.paid))
    return Confusions(counts, money)


def costliest_cells(found: Confusions, classes: NDArray[Any], most: int = 20) -> list[dict[str, Any]]:
    """The confusions that cost most, for tables too wide to read."""
    order = np.argsort(-found.money, axis=None, kind="stable")[:most]
    whole = float(np.maximum(found.money, 0.0).sum())
    cells = zip(*np.unravel_index(order, found.money.shape), strict=True)
    return [
        {
            "truth": str(classes[i]),
            "answer": str(classes[j]),
            "count": float(found.counts[i, j]),
            "cost": float(found.money[i, j]),
            "share": float(found.money[i, j]) / whole if whole > 0 else 0.0,
        }
        for i, j in cells
        if found.money[i, j] > 0 and i != j
    ]


def mistakes(evaluation: Evaluation, run: CandidateRun, *, show_rows: bool) -> list[dict[str, Any]]:
    """The rows that cost most more than they had to; numbered from 1 as in the data, their cells only if asked for."""
    data, rows = evaluation.data, evaluation.judged.rows
    assert run.answers is not None
    wasted = np.asarray(run.paid) - data.cost_table.min(axis=1)
    worst = np.argsort(-wasted, kind="stable")[:MOST_MISTAKES]
    found = []
    for i in worst[wasted[worst] > 0].tolist():
        truth = int(data.codes[i])
        line = {
            "row": int(rows[i]) + 1,
            "truth": str(data.classes[truth]),
            "answer": str(data.classes[int(run.answers[i])]),
            "proba": None if run.proba is None else float(run.proba[i, truth]),
            "cost": float(np.asarray(run.paid)[i]),
        }
        found.append(line | ({"cells": _cells(evaluation.problem, int(rows[i]))} if show_rows else {}))
    return found


def _cells(problem: ComparisonData, row: int) -> dict[str, str]:
    frame = nw.from_native(problem.X, eager_only=True, pass_through=True)
    names = problem.columns.used[:MOST_CELLS]
    if isinstance(frame, nw.DataFrame):
        return {str(name): _cell(frame[name][row]) for name in names}
    return {f"column {name}": _cell(problem.X[row, name].item()) for name in names}


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def segment_costs(
    evaluation: Evaluation, run: CandidateRun, segments: Mapping[str, NDArray[Any]]
) -> list[dict[str, Any]]:
    """Mean cost of the rows of each segment with a 95% interval, the costliest first; rare levels are one.

    Of too few rows, or rows that all cost the same, there is no interval: they do not tell how others would differ.
    """
    found: list[dict[str, Any]] = []
    paid, weights = np.asarray(run.paid), evaluation.data.row_weights
    whole = float(weights @ paid)
    for name, cells in segments.items():
        labels = _levels(np.asarray(cells))[evaluation.judged.rows]
        levels, codes = np.unique(labels, return_inverse=True)
        counts = np.bincount(codes)
        kept = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        parts = {str(levels[k]): codes == k for k in kept.tolist()}
        rest = ~np.isin(codes, kept)
        if rest.any():
            parts[f"{len(levels) - len(kept)} others"] = rest
        lines = [_segment(level, paid[rows], weights[rows], whole) for level, rows in parts.items()]
        found.append({"name": name, "lines": sorted(lines, key=lambda line: -line["mean"])})
    return found


def _segment(level: str, paid: Floats, weights: Floats, whole: float) -> dict[str, Any]:
    mean, error = weighted_mean(paid, weights)
    known = len(paid) >= FEWEST_OF_A_SEGMENT and error > 0
    return {
        "level": level,
        "rows": len(paid),
        "mean": mean,
        "low": mean - _Z * error if known else None,
        "high": mean + _Z * error if known else None,
        "share": float(weights @ paid) / whole if whole > 0 else 0.0,
    }


def _levels(cells: NDArray[Any]) -> NDArray[Any]:
    """Texts as they are; of many different numbers, quarters of equal size."""
    if cells.dtype.kind in "OUSb":
        return np.array(["(missing)" if c is None or c != c or c == "" else str(c) for c in cells.tolist()])
    numbers = cells.astype(np.float64)
    known = np.unique(numbers[np.isfinite(numbers)])
    if len(known) <= _FEW_VALUES:
        name_of = dict(zip(known.tolist(), _apart(known), strict=True))
        return np.array([name_of.get(v, "(missing)") for v in numbers.tolist()])
    edges = np.unique(np.quantile(numbers[np.isfinite(numbers)], np.linspace(0, 1, _QUANTILES + 1)))
    part = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    ends = _apart(edges)
    names = np.array([f"{low} to {high}" for low, high in itertools.pairwise(ends)])
    return np.where(np.isfinite(numbers), names[part], "(missing)")


def _apart(values: Floats) -> list[str]:
    """Different numbers as different texts, with no more digits than that takes and all before the point."""
    before = len(f"{np.abs(values).max(initial=0.0):.0f}")
    for digits in range(max(_DIGITS, min(before, _ALL_DIGITS)), _ALL_DIGITS):
        texts = [significant(v, digits) for v in values.tolist()]
        if len(set(texts)) == len(texts):
            return texts
    return [significant(v, _ALL_DIGITS) for v in values.tolist()]


class Reliability(NamedTuple):
    """Rows of like probability: its mean, the observed fraction of the class, and a 95% interval of that."""

    proba: float
    observed: float
    low: float
    high: float
    rows: int


def calibration(data: ComparisonData, run: CandidateRun) -> list[Reliability]:
    """Bins of equal size; of more than two classes, how often the likeliest one was right."""
    if run.proba is None:
        return []
    proba = np.asarray(run.proba, dtype=np.float64)
    if len(data.classes) == 2:
        at = data.costs.positive_index()
        score, truth = proba[:, at], data.codes == at
    else:
        score, truth = proba.max(axis=1), proba.argmax(axis=1) == data.codes
    order = np.argsort(score, kind="stable")
    weights = data.row_weights
    parts = [rows for rows in np.array_split(order, _BINS) if len(rows)]
    return [_reliability(score[rows], truth[rows], weights[rows]) for rows in parts]


def _reliability(score: Floats, truth: NDArray[np.bool_], weights: Floats) -> Reliability:
    """With Wilson's interval, of as many rows as the weighted ones are worth."""
    n, observed = effective_rows(weights), float(np.average(truth, weights=weights))
    centre = (observed + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(observed * (1 - observed) / n + _Z**2 / (4 * n * n))
    mean_score = float(np.average(score, weights=weights))
    return Reliability(mean_score, observed, max(0.0, centre - half), min(1.0, centre + half), len(score))
