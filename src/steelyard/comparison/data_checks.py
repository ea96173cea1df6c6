"""What a careful colleague would say about the data before anything is learned from them."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from ..validation.arrays import is_sparse
from .data import ComparisonData

_LEAK = 0.99  # share of labels that one column alone gives away, well above the largest class
_FEWEST_IN_A_STEP = 5  # rows
_STEPS = 8  # of a column's rank that its part in the labels is judged by
_TINY = 10  # rows of a class below which every number about it is a guess
_LOOKED_AT = 20_000  # rows are enough to see any of this


def data_warnings(problem: ComparisonData) -> list[str]:
    """Warnings about columns left out, duplicate rows and tiny classes, one sentence each."""
    said = [f"Column {name!r} was left out: {why}." for name, why in problem.columns.left_out.items()]
    counts = np.bincount(problem.codes, minlength=len(problem.classes))
    said += [
        f"Class {label!r} has only {count} rows: what is said about it is uncertain."
        for label, count in zip(problem.classes.tolist(), counts.tolist(), strict=True)
        if count < _TINY
    ]
    return (
        said if is_sparse(problem.X) else said + _duplicates(_coded_columns(problem), problem.codes[: _rows(problem)])
    )


def leaking_columns(problem: ComparisonData) -> dict[Any, float]:
    """Columns of which one alone, or where its cells are missing, gives nearly all labels away: the share it gives."""
    if is_sparse(problem.X):
        return {}
    codes, columns = problem.codes[: _rows(problem)], _coded_columns(problem)
    if not columns:
        return {}
    different = len(np.unique(np.column_stack(list(columns.values())), axis=0))
    found = {}
    for name, values in columns.items():
        shares = [_gives_away(each, codes, different) for each in (values, _missing(problem, name))]
        if share := max((t for t in shares if t is not None), default=None):
            found[name] = share
    return found


def by_association(problem: ComparisonData) -> list[Any]:
    """The used columns, first the one of which a few steps tell most about the labels; for dense rows."""
    codes = problem.codes[: _rows(problem)]
    impurity = {}
    for name, values in _coded_columns(problem).items():
        steps = DecisionTreeClassifier(max_leaf_nodes=_STEPS, min_samples_leaf=_FEWEST_IN_A_STEP, random_state=0)
        tree = steps.fit(values[:, None], codes).tree_
        leaves = tree.children_left < 0
        impurity[name] = float(tree.n_node_samples[leaves] @ tree.impurity[leaves])
    return sorted(impurity, key=lambda name: impurity[name])


def _missing(problem: ComparisonData, name: Any) -> NDArray[np.intp]:
    """1 where a cell is missing, 0 elsewhere."""
    frame = nw.from_native(problem.X, eager_only=True, pass_through=True)
    n = _rows(problem)
    if isinstance(frame, nw.DataFrame):
        cells = np.asarray(frame[name].head(n).to_list(), dtype=object)
        return np.array([cell is None or cell != cell for cell in cells.tolist()], dtype=np.intp)
    cells = np.asarray(problem.X)[:n, name]
    return (np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(n)).astype(np.intp)


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


def _gives_away(values: NDArray[np.intp], codes: NDArray[np.intp], different: int) -> float | None:
    """Share of labels right when each value answers with its commonest label; None where that is no surprise.

    ``different`` rows are no repeats of another: a number that stands in all copies of a row tells nothing.
    """
    levels, n_classes = values.max() + 1, codes.max() + 1
    if levels > different / 5:  # a column of many numbers or dates: a few steps of its rank, where they tell most
        steps = DecisionTreeClassifier(max_leaf_nodes=2 * n_classes, min_samples_leaf=_FEWEST_IN_A_STEP, random_state=0)
        values = steps.fit(values[:, None], codes).apply(values[:, None])
        levels = values.max() + 1
    table = np.zeros((levels, n_classes))
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
    return [
        f"{twice} rows ({twice / len(rows):.0%}) repeat an earlier row{more}; if they are of one customer "
        "or event, name the column that tells by --groups, so that no fold shares them."
    ]
