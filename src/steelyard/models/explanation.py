"""Which columns moved a decision: each in turn set to its usual value in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np

from ..validation.types import Floats
from .schema import Columns
from .training import TrainingSummary


def explain_rows(
    rows: Any,
    columns: Columns,
    training: TrainingSummary,
    probabilities: Callable[[Any], Floats],
    positive: int | None,
    n: int,
) -> list[list[dict[str, Any]]]:
    """For every row at most ``n`` columns, the one that changes the probability most first."""
    told = probabilities(rows)
    every = np.arange(len(told))
    watched = told.argmax(axis=1) if positive is None else np.full(len(told), positive)
    usual = _usual(columns, training)
    changes = np.zeros((len(told), len(usual)))
    for j, (name, value) in enumerate(usual):
        changes[:, j] = told[every, watched] - probabilities(_with(rows, name, value))[every, watched]
    order = np.argsort(-np.abs(changes), axis=1, kind="stable")[:, :n]
    return [
        [
            {"column": usual[j][0], "change": float(changes[i, j]), "usual": usual[j][1]}
            for j in order[i].tolist()
            if changes[i, j] != 0
        ]
        for i in range(len(told))
    ]


def _usual(columns: Columns, training: TrainingSummary) -> list[tuple[Any, Any]]:
    numbers = list(zip(columns.numeric, training.medians.tolist(), strict=True))
    levels = zip(columns.nominal, training.levels, strict=False)
    return numbers + [(name, seen[0]) for name, seen in levels if seen]


def _with(rows: Any, name: Any, value: Any) -> Any:
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.with_columns(nw.lit(value).alias(name)).to_native()
    changed = rows.copy()
    changed[:, name] = value
    return changed
