"""Columns and rows straight from Arrow arrays.

Tested in ``tests/unit/data/test_parquet.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..validation.values import require
from .columns import EXACT, Column, encoded, number_column, text_column
from .files import file_error

BLOCK = 1 << 18  # bytes of rows that are filled column by column


def is_arrow_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers: integers, floats, decimals, booleans, or nothing at all."""
    types = _pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_arrow_text(kind: Any) -> bool:
    """Whether an Arrow type holds text: strings, dictionaries of them, dates and times."""
    types = _pyarrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (is_arrow_string, types.is_date, types.is_time, types.is_timestamp)
    return any(test(kind) for test in tests)


def is_arrow_string(kind: Any) -> bool:
    """Whether an Arrow type is one of the three layouts of strings."""
    types = _pyarrow().types
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view))


def arrow_rows(where: str, batch: Any, names: Sequence[str], dtype: DTypeLike) -> NDArray[Any]:
    """Numeric columns of a record batch as rows, each cell copied once; missing cells are NaN."""
    X = np.empty((batch.num_rows, len(names)), dtype=dtype)
    columns = [_numbers(where, name, batch.column(name)) for name in names]
    block = max(512, BLOCK // max(1, X.itemsize * len(names)))
    for start in range(0, len(X), block):  # cells of one column lie a row apart: a few rows at a time stay in the cache
        rows = X[start : start + block]
        for j, column in enumerate(columns):
            rows[:, j] = column[start : start + block]
    return X


def arrow_labels(where: str, name: str, cells: Any, as_nominal: bool) -> NDArray[Any]:
    """Class labels: a column of small integers without gaps as it is, any other as :meth:`Column.labels` has it."""
    if _pyarrow().types.is_integer(cells.type) and cells.null_count == 0 and not as_nominal:
        found = np.asarray(cells.to_numpy(zero_copy_only=False))
        greatest = max(map(int, (found.min(), found.max())), key=abs) if found.size else 0
        if abs(greatest) < EXACT:
            return found.astype(np.int64)
        hint = f"Read them as text with nominal=[{name!r}]."
        raise file_error(where, None, f"labels within 2^53 in column {name}", str(greatest), hint)
    return arrow_column(where, name, cells, as_nominal).labels()


def arrow_column(where: str, name: str, cells: Any, as_nominal: bool) -> Column:
    """One column of a Parquet or Arrow file; dates are text, as a CSV file has them."""
    types = _pyarrow().types
    as_text = (types.is_date, types.is_time, types.is_timestamp, types.is_string_view)
    if any(test(cells.type) for test in as_text):
        cells = cells.cast("string")
    kind = cells.type
    if is_arrow_number(kind):
        if as_nominal:
            return encoded(name, [None if v is None else str(v) for v in cells.to_pylist()])
        return number_column(name, _numbers(where, name, cells))
    if types.is_dictionary(kind) and is_arrow_string(kind.value_type):
        keys = cells
    elif is_arrow_string(kind):
        keys = cells.dictionary_encode()
    else:
        hint = "Convert it, or leave it out with drop= (--drop)."
        raise file_error(where, None, f"numbers or text in column {name}", str(kind), hint)
    return _text(name, keys)


def _text(name: str, keys: Any) -> Column:
    """A dictionary may itself hold nulls; cells that point to one are missing."""
    found = keys.dictionary.to_pylist()
    codes = keys.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
    texts = [text for text in found if text is not None]
    if len(texts) < len(found):
        position = np.cumsum([text is not None for text in found]) - 1
        moved = np.array([*(p if t is not None else -1 for p, t in zip(position, found, strict=True)), -1])
        codes = moved[codes]
    return text_column(name, codes, texts)


def _numbers(where: str, name: str, cells: Any) -> NDArray[Any]:
    """The cells as floats, without a copy where Arrow holds them as such."""
    pa = _pyarrow()
    if pa.types.is_floating(cells.type) and cells.type != pa.float16():
        return np.asarray(cells.to_numpy(zero_copy_only=False))
    try:
        return np.asarray(cells.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64)
    except pa.ArrowInvalid as error:  # an identifier, as a rule
        hint = f"Leave it out with drop=[{name!r}] (--drop), or read it as text with nominal=[{name!r}] (--category)."
        got = next(iter(str(error).splitlines()), "a larger one")
        raise file_error(where, None, f"numbers within 2^53 in column {name}", got, hint) from error


@cache
def _pyarrow() -> Any:
    return require("pyarrow", extra="files", why="A Parquet or Arrow file")
