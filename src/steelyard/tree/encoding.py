"""Columns of any kind as the one matrix of floats that the kernel reads."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidTypeError
from ..validation.arrays import check_finite, check_rows, check_shape, note_columns
from ..validation.values import invalid, is_missing

UNSEEN = -1.0  # stands for a category that training did not show; no branch bears it


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of the training data were read, so that later data are read alike.

    ``nominal`` flags the nominal columns. ``categories[j]`` lists the categories of column j, whose floats are their
    positions; it is None where the floats are the values themselves: in numeric columns and nominal columns of numbers.
    """

    nominal: NDArray[np.uint8]
    categories: tuple[tuple[Any, ...] | None, ...]
    names: tuple[str, ...]

    def category(self, column: int, value: float) -> Any:
        """The category that a branch of the tree stands for."""
        known = self.categories[column]
        return value if known is None else known[int(value)]

    def matrix(self, estimator: Any, X: Any) -> NDArray[np.float64]:
        """Later rows, read like the training data."""
        columns = _columns(estimator, X, reset=False)
        if columns is None:
            rows = _numbers(estimator, X, reset=False)
            if any(known is not None for known in self.categories):
                columns = list(rows.T)
            else:
                return rows
        out = np.empty((len(columns[0]), len(columns)))
        for j, (column, known) in enumerate(zip(columns, self.categories, strict=True)):
            out[:, j] = _positions(column, known) if known is not None else _floats(column, self.names[j])
        return out


def encode(estimator: Any, X: Any, nominal: Sequence[int | str] | None) -> tuple[NDArray[np.float64], Encoding]:
    """Read the training data: the matrix and how it came about."""
    columns = _columns(estimator, X, reset=True)
    rows = _numbers(estimator, X, reset=True) if columns is None else None
    names = _names(estimator)
    flags = _listed(nominal, names)
    if rows is not None:
        return rows, Encoding(flags, (None,) * len(names), names)
    assert columns is not None
    matrix = np.empty((len(columns[0]), len(columns)))
    categories: list[tuple[Any, ...] | None] = []
    for j, column in enumerate(columns):
        known = _categories(column, names[j]) if _holds_names(column) else None
        matrix[:, j] = _floats(column, names[j]) if known is None else _positions(column, known)
        flags[j] |= known is not None
        categories.append(known)
    return matrix, Encoding(flags, tuple(categories), names)


def _columns(estimator: Any, X: Any, *, reset: bool) -> list[NDArray[Any]] | None:
    """The columns one by one if any of them may hold other things than numbers, else None."""
    if not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X):
        note_columns(estimator, check_shape(X), reset=reset)  # which also tells what is wrong with their names
        frame = nw.from_native(X, eager_only=True)
        if all(kind.is_numeric() for kind in frame.schema.values()):
            return None
        columns = [frame[:, j] for j in range(frame.shape[1])]
        return [(c.cast(nw.Float64) if c.dtype.is_numeric() else c).to_numpy() for c in columns]
    if hasattr(X, "toarray"):
        return None  # sparse: refused with scikit-learn's own words
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if array.ndim != 2 or array.dtype.kind not in "OUSTmM":
        return None
    if array.dtype.kind not in "mM" and not any(_holds_names(c) for c in array.T):
        return None
    note_columns(estimator, check_shape(array), reset=reset)
    return list(array.T)


def _numbers(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = check_rows(
        estimator, X, reset=reset, accept_sparse=False, dtype=np.float64, allow_nan=True
    )
    return rows


def _names(estimator: Any) -> tuple[str, ...]:
    named = getattr(estimator, "feature_names_in_", None)
    return tuple(f"x{j}" for j in range(estimator.n_features_in_)) if named is None else tuple(map(str, named))


def _listed(nominal: Sequence[int | str] | None, names: tuple[str, ...]) -> NDArray[np.uint8]:
    flags = np.zeros(len(names), dtype=np.uint8)
    if isinstance(nominal, (str, bytes)) or not (nominal is None or hasattr(nominal, "__iter__")):
        raise invalid("nominal", "be None or a list of column numbers or names", nominal)
    for column in () if nominal is None else nominal:
        if isinstance(column, str) and column in names:
            flags[names.index(column)] = 1
        elif isinstance(column, numbers.Integral) and not isinstance(column, bool) and 0 <= int(column) < len(names):
            flags[int(column)] = 1
        else:
            raise invalid("nominal", f"name columns of X or their numbers below {len(names)}", column)
    return flags


def _holds_names(column: NDArray[Any]) -> bool:
    """True if the column holds anything but numbers and missing values."""
    if column.dtype.kind in "USTb":
        return True
    if column.dtype.kind != "O":
        return False
    return any(not isinstance(v, numbers.Real) or isinstance(v, bool) for v in column if not is_missing(v))


def _categories(column: NDArray[Any], name: str) -> tuple[Any, ...]:
    try:
        found = {v for v in column.tolist() if not is_missing(v)}
    except (TypeError, ValueError):  # lists and arrays have no hash, and no truth value
        rule = "hold numbers, texts or other values that compare as a whole"
        raise invalid(f"column {name!r} of X", rule, column[0], error=InvalidTypeError) from None
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=lambda v: (type(v).__name__, str(v))))


def _positions(column: NDArray[Any], categories: tuple[Any, ...]) -> NDArray[np.float64]:
    position = {c: float(k) for k, c in enumerate(categories)}
    values = column.tolist()
    return np.fromiter((np.nan if is_missing(v) else position.get(v, UNSEEN) for v in values), float, len(values))


def _floats(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    if column.dtype.kind in "mM":
        return _seconds(column)
    if column.dtype.kind != "O":
        values = column
    else:
        values = np.array([np.nan if is_missing(v) else v for v in column], dtype=object)
    try:
        floats = values.astype(np.float64)
    except (TypeError, ValueError):
        raise invalid(f"column {name!r} of X", "hold numbers as in training", column[:3].tolist()) from None
    check_finite(f"column {name!r} of X", floats, allow_nan=True)
    return floats


def _seconds(column: NDArray[Any]) -> NDArray[np.float64]:
    """Dates as seconds since 1970 and durations as seconds, whatever unit the column counts in; missing ones as NaN."""
    kind = column.dtype.kind
    whole = column.astype(f"{kind}8[us]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
