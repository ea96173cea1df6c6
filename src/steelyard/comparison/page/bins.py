"""What a page embeds of each candidate: counts and cost sums over bins of alike rows, so that prices can be changed.

A row of truth i and answer j costs ``m[i][j] * u[i][j]``: a price and the row's own unit. Where costs are the same for
all rows the unit is 1 and the prices are the costs; where they differ the units are the row's costs and the prices are
multipliers, 1 at first. No bin holds rows that were answered differently at the given prices, so these are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...costs import ExampleCosts
from ..data import ComparisonData
from ..evaluation import CandidateRun

MOST_BINS = 400
MOST_CLASSES = 8  # whose prices can be edited cell by cell
_ROWS_A_BIN = 2  # on average at least: a bin is no row
_DIGITS = 7
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """Price of every cell as given, and the units of every row: (n, K, K), or None where each is 1.

    ``expected`` are the units that do not depend on the truth.
    """

    prices: Floats
    realized: Floats | None = None
    expected: Floats | None = None


def units_of(data: ComparisonData) -> Units:
    """Units and given prices of the judged rows."""
    n_classes = len(data.classes)
    if not isinstance(data.costs, ExampleCosts):
        matrix = data.costs.matrix
        assert matrix is not None
        return Units(np.asarray(matrix))
    if data.costs.matrices is not None:
        cube = np.asarray(data.costs.matrices)
        return Units((np.abs(cube).max(axis=0) > 0).astype(np.float64), cube, cube)
    realized = np.zeros((len(data.codes), n_classes, n_classes))
    realized[np.arange(len(data.codes)), data.codes] = data.cost_table
    means = data.mean_costs().matrix
    assert means is not None
    known = np.broadcast_to(means, realized.shape)
    return Units((np.abs(means) > 0).astype(np.float64), realized, known)


def binned(run: CandidateRun, data: ComparisonData, units: Units) -> dict[str, Any]:
    """One candidate as plain lists: ``counts`` of each truth, the sums of its ``proba``, its fixed ``answers`` if any.

    Where costs differ by row, also ``sums`` and ``squares`` of what was paid and what was ``expected``. Where rows have
    weights all these are of weighted rows, and ``count_squares`` (of the weights) and ``crosses`` (of weight and what
    was paid) are there for the standard error.

    Parameters
    ----------
    run : CandidateRun
        With its answers; with probabilities, or it answers the same at all prices.
    data : ComparisonData
        The judged rows.
    units : Units
        Of these rows.
    """
    assert run.answers is not None
    proba = None if run.proba is None else np.asarray(run.proba, dtype=np.float64)
    groups = _groups(run.answers, _keys(proba, units, data))
    weights = data.row_weights[:, None]
    truth = weights * np.eye(len(data.classes))[data.codes]
    believed = truth if proba is None else weights * proba
    found: dict[str, Any] = {"counts": _sums(truth, groups), "proba": _sums(believed, groups)}
    if data.weights is not None:
        found["count_squares"] = _sums(truth**2, groups)
    if proba is None:
        found["answers"] = [int(run.answers[rows[0]]) for rows in groups]
    if units.realized is not None and units.expected is not None:
        paid, likely = truth[:, :, None] * units.realized, believed[:, :, None] * units.expected
        found |= {"sums": _sums(paid, groups), "squares": _sums(paid**2, groups), "expected": _sums(likely, groups)}
        if data.weights is not None:
            found["crosses"] = _sums(weights[:, :, None] * paid, groups)
    return found


def _sums(values: Floats, groups: Sequence[NDArray[np.intp]]) -> Any:
    """Plain sums over the rows of each bin."""
    return _plain(np.array([values[rows].sum(axis=0) for rows in groups]))


def _plain(values: Floats) -> Any:
    """Lists of numbers of a few digits; whole numbers without a point."""
    return [_plain(v) if np.ndim(v) else _number(float(v)) for v in values]


def _number(value: float) -> float | int:
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short == int(short) else short


def _keys(proba: Floats | None, units: Units, data: ComparisonData) -> Floats | None:
    """What rows of a bin are to have in common: probabilities, or of two classes with row costs the share at stake."""
    if proba is None:
        return None
    if units.expected is None or proba.shape[1] > 2:
        return proba[:, 1:]
    stake = proba * np.abs(units.expected[:, [0, 1], [1, 0]] - units.expected[:, [0, 1], [0, 1]])
    return np.asarray(stake[:, 1:] / np.maximum(stake.sum(axis=1, keepdims=True), 1e-300))


def _groups(answers: NDArray[np.intp], keys: Floats | None) -> list[NDArray[np.intp]]:
    """Rows bin by bin: by their answer, then cut again and again at the median of the widest key."""
    most = min(MOST_BINS, max(1, len(answers) // _ROWS_A_BIN))
    groups: list[NDArray[np.intp]] = []
    for answer in np.flatnonzero(np.bincount(answers)):
        rows = np.flatnonzero(answers == answer)
        share = max(1, most * len(rows) // len(answers))
        groups += [rows] if keys is None else _cut(rows, keys, share)
    return groups


def _cut(rows: NDArray[np.intp], keys: Floats, most: int) -> list[NDArray[np.intp]]:
    spread = keys[rows].max(axis=0) - keys[rows].min(axis=0)
    if most < 2 or len(rows) < 2 or not spread.max() > 0:
        return [rows]
    ordered = rows[np.argsort(keys[rows, int(spread.argmax())], kind="stable")]
    left = most // 2
    at = max(1, len(rows) * left // most)
    return [*_cut(ordered[:at], keys, left), *_cut(ordered[at:], keys, most - left)]


def likeness(runs: Sequence[CandidateRun]) -> list[list[float]]:
    """Correlation of what each two candidates paid on the same rows; 0 where one always paid the same."""
    paid = np.array([np.asarray(run.paid) - run.cost for run in runs], dtype=np.float64)
    paid *= 1.0 if runs[0].weights is None else runs[0].weights
    size = np.sqrt((paid**2).sum(axis=1))
    found = paid @ paid.T / np.maximum(np.outer(size, size), 1e-300)
    return [[round(float(v), 4) for v in row] for row in found]
