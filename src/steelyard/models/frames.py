"""Rows as everything behind reads them, whatever held them: numbers are numbers, and missing cells are NaN or None."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..validation.arrays import is_missing
from ..validation.values import invalid

__all__ = ["FRAMES", "as_table", "frame_library"]

FRAMES = ("pandas", "polars")


def frame_library() -> Any:
    """The frame library at hand."""
    return next(name for name in FRAMES if find_spec(name))


def as_table(X: Any, wanted: Sequence[Any] | None = None) -> Any:
    """The rows as a pandas or polars frame, an array or a sparse matrix.

    ``X`` may be a frame (pyarrow's too), an array, rows as lists, one row as a dict, or a list of dicts; of dicts the
    columns in ``wanted`` are taken, or all, and a key that a row has not is a missing cell.
    """
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, (list, tuple)) and all(isinstance(row, Mapping) for row in X) and (len(X) or wanted):
        names = list(dict.fromkeys(name for row in X for name in row)) if wanted is None else wanted
        known = [name for name in names if not X or any(name in row for row in X)]
        return nw.from_dict({n: [row.get(n) for row in X] for n in known}, backend=frame_library()).to_native()
    if isinstance(X, (list, tuple)):
        return _as_array(X)
    check_names_differ(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pyarrow():
        return frame.to_pandas() if frame_library() == "pandas" else frame.to_polars()
    return _with_plain_cells(_by_name(X))


def check_names_differ(X: Any) -> None:
    """Raise where a frame has two columns of one name."""
    columns: Any = getattr(X, "columns", None)
    if getattr(columns, "has_duplicates", False):  # only pandas has such frames
        name = columns[columns.duplicated()][0]
        raise invalid("columns", "have different names", f"{name} twice", "Rename one of them.")


def _as_array(rows: Sequence[Any]) -> NDArray[Any]:
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise invalid("X", "be rows of one length", type(rows).__name__, str(error)) from error


def _by_name(X: Any) -> Any:
    """The same rows; a frame whose columns are only numbered is an array, since a number is no name."""
    names = list(getattr(X, "columns", ()))
    if all(isinstance(name, str) for name in names):
        return X
    if names != list(range(len(names))):
        odd = next(name for name in names if not isinstance(name, str))
        raise invalid("columns", "have text as names", odd, "Rename them: X.columns = X.columns.astype(str).")
    return np.asarray(X)


def _with_plain_cells(X: Any) -> Any:
    """A frame of pandas without the cells that only pandas knows, and with numbers that objects held as numbers."""
    pandas = sys.modules.get("pandas")  # whoever has such a frame has imported it
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return X
    changed = {}
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "na_value", None) is pandas.NA:
            changed[name] = _without_na(pandas, X[name])
        elif dtype.kind == "O" and isinstance(dtype, np.dtype) and (plain := _of_objects(X[name].tolist())) is not None:
            changed[name] = plain
    return X.assign(**changed) if changed else X


def _without_na(pandas: Any, column: Any) -> NDArray[Any]:
    """A column of a nullable type as an array of numbers or of objects."""
    types, dtype = pandas.api.types, column.dtype
    whole = types.is_integer_dtype(dtype) or types.is_bool_dtype(dtype)
    if not (whole or types.is_numeric_dtype(dtype)):
        found: NDArray[Any] = column.to_numpy(dtype=object, na_value=None)
        return found
    if whole and not column.isna().any():
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _of_objects(cells: list[Any]) -> NDArray[Any] | None:
    """Cells that are all numbers or missing as numbers; others without the missing value of pandas; None as it is."""
    if any(isinstance(cell, (Real, Decimal)) for cell in cells) and all(
        is_missing(cell) or (isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool)) for cell in cells
    ):
        try:
            return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
        except OverflowError:  # a whole number of hundreds of digits
            return None
    if not any(type(cell).__name__ == "NAType" for cell in cells):
        return None
    found = np.empty(len(cells), dtype=object)
    found[:] = [None if is_missing(cell) else cell for cell in cells]
    return found
