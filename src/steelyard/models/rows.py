"""New rows in any form a user may have them, as the rows a model was fitted on; a bad cell is named.

Tested in ``tests/unit/models/test_prediction.py``.
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np

from ..errors import InvalidInputError
from ..validation.arrays import is_sparse
from ..validation.values import invalid
from .cells import as_levels
from .schema import Columns

_TRUTH = {"True": 1.0, "true": 1.0, "False": 0.0, "false": 0.0}  # as files hold a column of truth values


class BadCellError(InvalidInputError):
    """A cell that is no number where the model needs one; it knows its row (from 0) and column."""

    def __init__(self, row: int, column: str, rule: str, cell: Any) -> None:
        super().__init__(str(invalid(f"row {row}, column {column!r}", f"be {rule}", cell)))
        self.row, self.column, self.rule, self.cell = row, column, rule, cell


def missing_column(name: Any) -> InvalidInputError:
    """The error about rows without a column that the model needs."""
    return invalid("data", "have every column the model was fitted on", f"no column {name!r}")


def known_columns(rows: Any, columns: Columns) -> Any:
    """The columns a model knows, checked: none is gone, and numbers are numbers."""
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return _known_positions(rows, columns)
    missing = [c for c in columns.used if c not in frame.columns]
    if missing:
        raise missing_column(missing[0])
    frame = frame.with_columns(
        *[_numeric(frame[name], name) for name in columns.numeric],
        *[as_levels(frame[name]) for name in columns.nominal],
    )
    return frame.select(list(columns.used)).to_native()


def _known_positions(X: Any, columns: Columns) -> Any:
    if any(isinstance(name, str) for name in columns.used):
        raise invalid("data", "be a frame with the columns the model was fitted on", type(X).__name__)
    least = max(columns.used) + 1
    if X.ndim != 2 or X.shape[1] < least or (is_sparse(X) and X.shape[1] != least):
        raise invalid("data", f"have the {least} columns the model was fitted on", f"shape {X.shape}")
    return X


def _numeric(column: Any, name: str) -> Any:
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        cells = [_as_number(cell, i, name) for i, cell in enumerate(column.to_list())]
        column = nw.new_series(name, cells, nw.Float64, backend=column.implementation)
    if not column.dtype.is_integer() and column.dtype != nw.Boolean:
        infinite = np.isinf(column.to_numpy().astype(np.float64))
        if infinite.any():
            at = int(np.argmax(infinite))
            raise BadCellError(at, name, "finite or missing", float(column.to_numpy()[at]))
    return column


def _as_number(cell: Any, row: int, name: str) -> float:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return math.nan
    found = as_number(cell)
    if found is None:
        raise BadCellError(row, name, "a number", cell)
    return found


def as_number(cell: Any) -> float | None:
    """A cell as a number, True and False as files write them being 1 and 0; None where it is none."""
    if isinstance(cell, str) and cell in _TRUTH:
        return _TRUTH[cell]
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
