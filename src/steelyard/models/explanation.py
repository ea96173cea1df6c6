"""Which columns moved a decision: each in turn set to its usual value in training.

Tested in ``tests/unit/models/test_model.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from ..decision import ExpectedCostClassifier
from ..decision.blending import BlendClassifier
from ..decision.calibration import CalibratedClassifier
from ..validation.types import Floats
from .schema import Columns
from .training import TrainingSummary

_LEAST = 1e-12


def explain_rows(
    rows: Any,
    columns: Columns,
    training: TrainingSummary,
    probabilities: Callable[[Any], Floats],
    positive: int | None,
    n: int,
    *,
    exact: bool = False,
) -> list[list[dict[str, Any]]]:
    """For every row at most ``n`` columns, the one that moves the log-odds most first.

    Where a model is linear in its columns (``exact``), the moves add up to the distance of the row from a usual one.
    """
    proba = probabilities(rows)
    every = np.arange(len(proba))
    watched = proba.argmax(axis=1) if positive is None else np.full(len(proba), positive)
    usual = _usual(columns, training)
    changes, moves = np.zeros((len(proba), len(usual))), np.zeros((len(proba), len(usual)))
    before = proba[every, watched]
    for j, (name, value) in enumerate(usual):
        after = probabilities(_with(rows, name, value))[every, watched]
        changes[:, j], moves[:, j] = before - after, _log_odds(before) - _log_odds(after)
    order = np.argsort(-np.abs(moves), axis=1, kind="stable")[:, :n]
    method = "exact" if exact else "one column at a time"
    return [
        [
            {
                "column": usual[j][0],
                "change": float(changes[i, j]),
                "log_odds": float(moves[i, j]),
                "usual": usual[j][1],
                "method": method,
            }
            for j in order[i].tolist()
            if changes[i, j] != 0
        ]
        for i in range(len(proba))
    ]


def _log_odds(proba: Floats) -> Floats:
    kept = np.clip(proba, _LEAST, 1.0 - _LEAST)
    return np.asarray(np.log(kept / (1.0 - kept)))


def is_linear(estimator: Any) -> bool:
    """Whether log-odds are a sum over the columns: logistic regression alone, calibrated by a curve or not."""
    inside = estimator
    while True:
        if isinstance(inside, BlendClassifier):
            if len(inside.members) != 1:
                return False
            inside = inside.members[0][1]
        elif isinstance(inside, Pipeline):
            inside = inside[-1]
        elif isinstance(inside, CalibratedClassifier):
            inside = inside.classifier
        elif isinstance(inside, ExpectedCostClassifier):
            inside = inside.estimator_
        elif isinstance(inside, FrozenEstimator):
            inside = inside.estimator
        else:
            return isinstance(inside, LogisticRegression)


def _usual(columns: Columns, training: TrainingSummary) -> list[tuple[Any, Any]]:
    """Columns with their usual cells; of dates, texts and levels too many to count a missing one is."""
    numbers = list(zip(columns.numeric, training.medians.tolist(), strict=True))
    levels = zip(columns.nominal, training.levels, strict=False)
    usual = [(name, seen[0] if seen else None) for name, seen in levels]
    return [*numbers, *usual, *((name, None) for name in (*columns.dates, *columns.texts))]


def _with(rows: Any, name: Any, value: Any) -> Any:
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if value is None:
            gone = nw.new_series(name, [None] * len(frame), nw.String, backend=frame.implementation)
            return frame.with_columns(gone).to_native()
        return frame.with_columns(nw.lit(value).alias(name)).to_native()
    changed = rows.copy()
    changed[:, name] = value
    return changed
