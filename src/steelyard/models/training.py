"""What a model remembers of its training data: shares of the classes, usual values, and where costs come from.

Tested in ``tests/unit/models/test_model.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..costs.spec import CostSpec
from ..validation.arrays import is_sparse
from ..validation.types import Floats
from .schema import Columns

MOST_LEVELS_KEPT = 1_000  # of a text column: beyond that unseen ones are not counted


@dataclass(frozen=True, eq=False)
class TrainingSummary:
    """Usual values of each column, to explain decisions and to notice rows unlike the training data.

    Parameters
    ----------
    shares : (K,) share of each class
    medians, lows, highs : (numeric columns,) of the values there were; NaN for none
    levels : texts seen in each text column, the most frequent first; None where there were too many to keep
    cost_spec : the costs as stated, where they name columns of the data
    card : plain values that say how the model came about
    """

    shares: Floats
    medians: Floats
    lows: Floats
    highs: Floats
    levels: tuple[tuple[str, ...] | None, ...]
    cost_spec: CostSpec | None = None
    card: dict[str, Any] = field(default_factory=dict)


def summarize(
    X: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    columns: Columns,
    *,
    weights: Floats | None = None,
    cost_spec: CostSpec | None = None,
    card: dict[str, Any] | None = None,
) -> TrainingSummary:
    """Look once at the rows a model was fitted on; ``weights`` say how much each counts in the shares."""
    shares = np.bincount(codes, weights=weights, minlength=n_classes) / max(
        len(codes) if weights is None else float(weights.sum()), 1e-300
    )
    if is_sparse(X):
        return TrainingSummary(shares, *_of_sparse(X), (), cost_spec, {} if card is None else card)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    named = isinstance(frame, nw.DataFrame)
    cells = [_numbers(frame[name] if named else X, name, named) for name in columns.numeric]
    levels = tuple(_levels(frame[name]) for name in columns.nominal) if named else ()
    return TrainingSummary(
        shares,
        np.array([_or_nan(np.median, c) for c in cells]),
        np.array([_or_nan(np.min, c) for c in cells]),
        np.array([_or_nan(np.max, c) for c in cells]),
        levels,
        cost_spec,
        {} if card is None else card,
    )


def _numbers(column: Any, name: Any, named: bool) -> Floats:
    """The values there are of one column."""
    values = column.cast(nw.Float64).to_numpy() if named else np.asarray(column[:, name], dtype=np.float64)
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)


def _of_sparse(X: Any) -> tuple[Floats, Floats, Floats]:
    """Median, least and largest of every column; most cells are 0, and so is the usual value."""
    low, high = (np.asarray(X.min(axis=0).todense()).ravel(), np.asarray(X.max(axis=0).todense()).ravel())
    return np.zeros(X.shape[1]), low.astype(np.float64), high.astype(np.float64)


def _or_nan(statistic: Any, values: Floats) -> float:
    return float(statistic(values)) if len(values) else float("nan")


def _levels(column: Any) -> tuple[str, ...] | None:
    texts = [str(cell) for cell in column.to_list() if cell is not None and cell == cell]
    found, counts = np.unique(np.array(texts, dtype=object), return_counts=True)
    if len(found) > MOST_LEVELS_KEPT:
        return None
    return tuple(str(text) for text in found[np.argsort(-counts, kind="stable")])
