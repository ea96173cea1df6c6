"""What a careful colleague would say about the data before anything is learned from them."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..validation.arrays import is_sparse
from .data import ComparisonData

_LEAK = 0.99  # share of labels that one column alone gives away, well above the largest class
_TINY = 10  # rows of a class below which every number about it is a guess
_LOOKED_AT = 20_000  # rows are enough to see any of this


def data_warnings(problem: ComparisonData) -> list[str]:
    """Warnings about leaky columns, duplicate rows, tiny classes and constant columns, one sentence each."""
    said = [f"Column {name!r} was left out: {why}." for name, why in problem.columns.left_out.items()]
    labels, counts = np.unique(problem.y, return_counts=True)
    said += [
        f"Class {label!r} has only {count} rows: what is said about it is uncertain."
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True)
        if count < _TINY
    ]
    if is_sparse(problem.X):
        return said
    columns = _coded_columns(problem)
    codes = np.unique(problem.y, return_inverse=True)[1][: _rows(problem)]
    for name, values in columns.items():
        levels = len(np.unique(values))
        if levels == 1:
            said.append(f"Column {name!r} is the same in every row and tells nothing.")
        elif given_away := _gives_away(values, codes):
            said.append(
                f"Column {name!r} alone gives away {given_away:.1%} of the labels: check that it is known before the "
                "outcome is."
            )
    said += _duplicates(columns, codes)
    return said


def _rows(problem: ComparisonData) -> int:
    return min(len(problem.y), _LOOKED_AT)


def _coded_columns(problem: ComparisonData) -> dict[Any, NDArray[np.intp]]:
    """Each used column as whole numbers, equal where the cells are; missing is a value of its own."""
    n = _rows(problem)
    frame = nw.from_native(problem.X, eager_only=True, pass_through=True)
    coded = {}
    for position, name in enumerate(problem.columns.used):
        if isinstance(frame, nw.DataFrame):
            cells = np.asarray(frame[name].head(n).to_list(), dtype=object)
        else:
            cells = np.asarray(problem.X)[:n, name if isinstance(name, int) else position]
        texts = cells.astype(str) if cells.dtype == object else cells
        coded[name] = np.unique(texts, return_inverse=True, equal_nan=True)[1].astype(np.intp)
    return coded


def _gives_away(values: NDArray[np.intp], codes: NDArray[np.intp]) -> float | None:
    """Share of labels right when each value answers with its commonest label; None where that is no surprise."""
    levels = values.max() + 1
    if levels > len(values) / 5:
        values = (values * 20) // levels  # a column of many numbers: twenty steps of its rank
        levels = 20
    table = np.zeros((levels, codes.max() + 1))
    np.add.at(table, (values, codes), 1)
    right = table.max(axis=1).sum() / len(codes)
    largest = np.bincount(codes).max() / len(codes)
    return float(right) if right >= max(_LEAK, largest + 0.5 * (1 - largest)) else None


def _duplicates(columns: dict[Any, NDArray[np.intp]], codes: NDArray[np.intp]) -> list[str]:
    rows = np.column_stack(list(columns.values()))
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    twice = len(rows) - len(first)
    if twice < 0.01 * len(rows):
        return []
    inverse = inverse.ravel()
    clash = int((codes != codes[first][inverse]).sum())
    more = f", {clash} of them with another label" if clash else ""
    return [f"{twice} rows ({twice / len(rows):.0%}) repeat an earlier row{more}; folds may share them."]
