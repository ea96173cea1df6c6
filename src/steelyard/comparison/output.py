"""A comparison for machines, and the digest of its question."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import narwhals as nw
import numpy as np

from ..data.digest import data_digest
from ..evaluate import Interval
from ..evaluate.weighted import effective_rows
from .candidates import Candidate
from .data import ComparisonData
from .evaluation import CandidateRun, Evaluation
from .leaderboard import LeaderboardRow
from .promise import Promise

SCHEMA = 1  # of the JSON
_TIMES = ("fit_seconds", "predict_seconds")  # differ from run to run


def comparison_json(
    runs: Evaluation,
    best: CandidateRun,
    lines: Sequence[LeaderboardRow],
    recommendation: Sequence[str],
    warnings: Sequence[str],
    promised: Promise,
) -> str:
    """Everything that depends on data, seed and units alone; nothing that depends on the machine."""
    done = {row.name for row in lines}
    body = {
        "schema": SCHEMA,
        "data": data_digest_of(runs.problem),
        "costs": runs.problem.deciding_costs().to_dict(),
        "sample_weight": weights_in_short(runs.problem),
        "winner": best.name,
        "promise": {name: plain_values(value) for name, value in promised.as_dict().items()},
        "recommendation": list(recommendation),
        "warnings": list(warnings),
        "units": runs.units,
        "interrupted": runs.interrupted,
        "rows": len(runs.judged.rows),
        "folds": runs.judged.n_folds,
        "blend": {run.name: weight for run, weight in best.members},
        "leaderboard": [_flat(line) for line in lines],
        "not_ranked": {e.name: e.stopped for e in runs.entries if e.name not in done},
    }
    return json.dumps(body, indent=1, default=str, allow_nan=False)


def _flat(line: LeaderboardRow) -> dict[str, Any]:
    """A leaderboard line of plain values; what is not finite is null."""
    cells = {field.name: getattr(line, field.name) for field in fields(line) if field.name not in _TIMES}
    return {name: plain_values(value) for name, value in cells.items()} | {"tied_with_best": line.tied_with_best}


def plain_values(value: Any) -> Any:
    """An interval as a mapping, what is not finite as None, anything else as it is."""
    if isinstance(value, Interval):
        return {"value": plain_values(value.value), "low": plain_values(value.low), "high": plain_values(value.high)}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def weights_in_short(data: ComparisonData) -> dict[str, float] | None:
    """Sum of the rows' weights and the rows that are as certain; None without weights."""
    if data.weights is None:
        return None
    return {"sum": float(data.weights.sum()), "effective_rows": effective_rows(data.weights)}


def question_of(data: ComparisonData, everyone: Sequence[Candidate], cv: int) -> str:
    """What finished units may be used for again: the same data, costs, folds, seed and candidates."""
    settings = [[c.name, c.params, c.weighted] for c in everyone]
    return json.dumps(
        {"data": data_digest_of(data), "cv": cv, "seed": data.seed, "candidates": settings}, sort_keys=True
    )


def data_digest_of(data: ComparisonData) -> str:
    """SHA-256 of what a comparison is about; it changes when a cell, a name, a label, a group or a cost does."""
    frame = nw.from_native(data.X, eager_only=True, pass_through=True)
    groups = () if data.groups is None else data.groups
    parts = [data_digest(data.cost_table, data.codes), data_digest(data.classes, groups), repr(data.columns)]
    parts += [data_digest(given, ()) for given in (data.weights, data.folds) if given is not None]
    if isinstance(frame, nw.DataFrame):
        parts += [data_digest(_cells(frame[name]), ()) for name in data.columns.used]
    else:
        parts.append(data_digest(data.X, ()))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _cells(column: Any) -> Any:
    """A column as an array of numbers, words as their bytes."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column.cast(nw.Float64).to_numpy()
    return np.frombuffer("\0".join(map(str, column.to_list())).encode(), dtype=np.uint8)
