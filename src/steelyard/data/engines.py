"""Fast libraries for delimited text. Each gives exactly what the plain reader would give, or is unsupported.

Tested in ``tests/property/test_delimited_engines.py``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from .columns import Column, number_column, text_column
from .csv_records import MAX_RECORD_LINES
from .layout import Layout

SMALL = 1 << 16  # bytes; below, importing and starting an engine takes longer than reading


class EngineUnsupported(Exception):  # noqa: N818 - a signal, not an error
    """The text is for the plain reader."""


def read_fast(text: bytes, layout: Layout) -> list[Column]:
    """Columns by the fastest library installed; EngineUnsupported where there is none or it reads otherwise."""
    engine = next((read for library, read in ENGINES.items() if find_spec(library)), None)
    if engine is None or len(text) < SMALL or b"\0" in text:
        raise EngineUnsupported
    columns = engine(text, layout)
    if any(c.categories is None and np.isinf(c.values).any() for c in columns):
        raise EngineUnsupported  # infinity is an error; the plain reader says in which line
    return columns


def _with_pyarrow(text: bytes, layout: Layout) -> list[Column]:
    import pyarrow as pa
    from pyarrow import csv

    kinds = {
        n: pa.float64() if numeric else pa.string() for n, numeric in zip(layout.names, layout.numeric, strict=True)
    }
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(column_names=list(layout.names)),
            parse_options=csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=b'"' in text),
            convert_options=csv.ConvertOptions(
                column_types=kinds,
                null_values=list(layout.missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                decimal_point=layout.decimal,
            ),
        )
    except pa.ArrowInvalid as error:
        raise EngineUnsupported from error
    return [_arrow_column(name, table.column(name).combine_chunks(), layout) for name in layout.names]


def _arrow_column(name: str, cells: Any, layout: Layout) -> Column:
    if str(cells.type) == "double":
        values = cells.to_numpy(zero_copy_only=False)
        if np.count_nonzero(np.isnan(values)) != cells.null_count:
            raise EngineUnsupported  # a NaN that was not announced as missing
        return number_column(name, values)
    keys = cells.dictionary_encode()
    return _text(name, keys.indices.fill_null(-1).to_numpy(), keys.dictionary.to_pylist(), layout)


def _with_polars(text: bytes, layout: Layout) -> list[Column]:
    import polars as pl

    _refuse_ragged(text, layout)
    if "" not in layout.missing:
        raise EngineUnsupported  # polars takes every empty cell as missing
    try:
        table = pl.read_csv(
            io.BytesIO(text),
            has_header=False,
            separator=layout.delimiter,
            schema={
                n: pl.Float64 if numeric else pl.String for n, numeric in zip(layout.names, layout.numeric, strict=True)
            },
            null_values=list(layout.missing),
        )
    except pl.exceptions.PolarsError as error:
        raise EngineUnsupported from error
    return [_polars_column(name, table[name], layout) for name in layout.names]


def _polars_column(name: str, cells: Any, layout: Layout) -> Column:
    import polars as pl

    if cells.dtype == pl.Float64:
        if cells.is_nan().any():
            raise EngineUnsupported
        return number_column(name, cells.to_numpy())
    found = cells.drop_nulls().unique().sort().to_list()
    codes = cells.cast(pl.Enum(found)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return _text(name, codes, found, layout)


def _with_pandas(text: bytes, layout: Layout) -> list[Column]:
    import pandas as pd

    _refuse_ragged(text, layout)
    try:
        table = pd.read_csv(
            io.BytesIO(text),
            header=None,
            names=list(layout.names),
            index_col=False,
            sep=layout.delimiter,
            dtype={
                n: np.float64 if numeric else object for n, numeric in zip(layout.names, layout.numeric, strict=True)
            },
            na_values=list(layout.missing),
            keep_default_na=False,
            **_exact_decimals(pd.__version__),
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise EngineUnsupported from error
    columns = [_pandas_column(name, table[name], layout) for name in layout.names]
    numbers, lower = [c for c in columns if c.categories is None], text.lower()
    if any(c.missing.any() for c in numbers) and b"nan" in lower:
        raise EngineUnsupported  # pandas reads "NAN" as a number; it may have been announced as missing
    if any(np.isin(c.values[~c.missing], (0, 1)).all() for c in numbers) and (b"true" in lower or b"false" in lower):
        raise EngineUnsupported  # pandas reads a column of these words as numbers
    return columns


def _exact_decimals(pandas_version: str) -> dict[str, Any]:
    """Since 3.1 pandas always reads the nearest double; before, it had to be asked."""
    always = tuple(int(part) for part in pandas_version.split(".")[:2]) >= (3, 1)
    return {} if always else {"float_precision": "round_trip"}


def _pandas_column(name: str, cells: Any, layout: Layout) -> Column:
    import pandas as pd

    if cells.dtype == np.float64:
        return number_column(name, cells.to_numpy())
    codes, found = pd.factorize(cells)
    return _text(name, codes, list(found), layout)


def _refuse_ragged(text: bytes, layout: Layout) -> None:
    """Short lines, which these libraries fill with missing cells, and decimal commas are left to the plain reader."""
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    ragged = text.count(layout.delimiter.encode()) != lines * (len(layout.names) - 1)
    if ragged or b'"' in text or layout.decimal != ".":
        raise EngineUnsupported


def _text(name: str, codes: Any, found: list[str], layout: Layout) -> Column:
    if any(text.strip() in layout.missing for text in found):
        raise EngineUnsupported  # a missing cell with blanks around it
    if any(text.count("\n") >= MAX_RECORD_LINES for text in found):
        raise EngineUnsupported  # two stray quotes with half a file between them; the plain reader names the line
    return text_column(name, codes, found)


ENGINES: dict[str, Callable[[bytes, Layout], list[Column]]] = {
    "pyarrow": _with_pyarrow,
    "polars": _with_polars,
    "pandas": _with_pandas,
}
