"""Delimited text by the standard library alone: the meaning that every fast engine has to meet.

Tested in ``tests/property/test_delimited_engines.py``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..errors import DataFileError
from .columns import Column, encoded, exchange_marks, is_number, number_column
from .csv_records import MAX_RECORD_LINES, open_quote
from .files import file_error, not_utf8
from .layout import Layout

DECIMAL = frozenset("0123456789+-.eE ")  # what plain numbers are made of; float() knows more than we allow


def plain_columns(where: str, text: bytes, line: int, layout: Layout) -> list[Column]:
    """Columns of the text whose first line is ``line``; every error names its line."""
    width = len(layout.names)
    lines, rows = [], []
    for number, row in plain_rows(where, text, line, layout.delimiter):
        if len(row) != width:
            raise file_error(where, number, f"{width} cells", f"{len(row)}")
        lines.append(number)
        rows.append(row)
    columns: Iterable[Sequence[str]] = zip(*rows, strict=True) if rows else [()] * width
    return [
        _numeric(where, lines, name, cells, layout) if is_numeric else _nominal(name, cells, layout.missing)
        for name, cells, is_numeric in zip(layout.names, columns, layout.numeric, strict=True)
    ]


def _nominal(name: str, cells: Sequence[str], missing: Sequence[str]) -> Column:
    return encoded(name, [None if text in missing else text for text in map(str.strip, cells)])


def _numeric(where: str, lines: list[int], name: str, cells: Sequence[str], layout: Layout) -> Column:
    texts = cells if layout.decimal == "." else list(map(exchange_marks, cells))
    if DECIMAL.issuperset("".join(texts)):
        try:
            values = np.array(list(map(float, texts)), dtype=np.float64)
        except ValueError:
            values = np.array([np.inf])
        if np.isfinite(values).all():
            return number_column(name, values)
    stripped = map(str.strip, cells)
    numbers = [
        np.nan if cell in layout.missing else _number(where, number, name, cell, layout.decimal)
        for number, cell in zip(lines, stripped, strict=True)
    ]
    return number_column(name, numbers)


def _number(where: str, line: int, name: str, cell: str, decimal: str) -> float:
    text = cell if decimal == "." else exchange_marks(cell)
    value = float(text) if is_number(text) else np.inf
    if np.isinf(value):
        hint = f"If {name} holds text, name it in nominal= (--category); if this marks a missing value, in missing= or "
        hint += "leave the cell empty."
        if not is_number(text) and is_number(exchange_marks(text)):
            mark = "points" if decimal == "." else "commas"
            hint = f"The first rows have decimal {mark} or whole numbers; write all numbers of the file alike."
        raise file_error(where, line, f"a finite number in column {name}", repr(cell[:40]), hint)
    return value


def plain_rows(where: str, text: bytes, line: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(where, line, error) from error
    reader = csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter, strict=True)
    number = line
    try:
        for row in reader:
            after = line + reader.line_num
            if after - number > MAX_RECORD_LINES:
                raise open_quote(where, number)
            if row:
                yield number, row
            number = after
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise open_quote(where, number) from error
        raise DataFileError(f"{where}, line {number}: expected delimited text; {error}.") from error
