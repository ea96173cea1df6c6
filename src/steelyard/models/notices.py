"""What is unusual about new rows, counted column by column as they pass.

Tested in ``tests/unit/models/test_prediction.py``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals as nw
import numpy as np

from ..validation.arrays import is_missing
from .cells import as_levels, parse_date
from .model import Model
from .rows import as_number

_SAID = {
    "imputed": "missing",
    "out of range": "outside the range of training",
    "unseen": "never seen in training",
    "unread": "that are no dates, and count as missing",
}


class Notices:
    """Missing cells, what is no date, numbers outside the range of training and texts never seen there, per column."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows = 0
        self.counts: dict[str, Counter[str]] = {kind: Counter() for kind in _SAID}

    def look(self, table: Any) -> None:
        """Count what one chunk of rows has."""
        training, columns = self.model.training, self.model.columns
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        self.rows += len(frame) if isinstance(frame, nw.DataFrame) else table.shape[0]
        if training is None or not isinstance(frame, nw.DataFrame):
            return
        for j, name in enumerate(columns.numeric):
            values = _numbers(frame[name])
            missing = np.isnan(values)
            self.counts["imputed"][name] += int(missing.sum())
            with np.errstate(invalid="ignore"):
                outside = (values < training.lows[j]) | (values > training.highs[j])
            self.counts["out of range"][name] += int(outside.sum())
        for name in columns.dates:
            cells = frame[name].to_list()
            missing = [is_missing(cell) for cell in cells]
            self.counts["imputed"][name] += sum(missing)
            strange = (cell for cell, gone in zip(cells, missing, strict=True) if not gone and parse_date(cell) is None)
            self.counts["unread"][name] += sum(1 for _ in strange)
        for name, seen in zip(columns.nominal, training.levels, strict=False):
            if seen is not None:
                known = set(seen)
                cells = as_levels(frame[name]).drop_nulls().to_list()
                self.counts["unseen"][name] += sum(cell not in known for cell in cells)

    def lines(self) -> list[str]:
        """One sentence for each column that has something."""
        return [
            f"column {name!r}: {count:,} of {self.rows:,} rows {_SAID[kind]}"
            for kind, found in self.counts.items()
            for name, count in found.items()
            if count
        ]

    def as_dict(self) -> dict[str, dict[str, int]]:
        """The counts that are not 0, for machines."""
        return {kind: {str(name): n for name, n in found.items() if n} for kind, found in self.counts.items()}


def _numbers(column: Any) -> Any:
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column.to_numpy().astype(np.float64)
    return np.array([_number(cell) for cell in column.to_list()])


def _number(cell: Any) -> float:
    found = as_number(cell)
    return float("nan") if found is None else found
