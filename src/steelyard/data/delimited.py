"""CSV and other delimited text. The plain reader is the meaning; fast libraries only hurry it along."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from ..errors import DataFileError
from ..validation.values import check_flag, invalid
from .columns import (
    Column,
    Table,
    check_complete_labels,
    check_frame,
    check_names,
    encoded,
    is_number,
    number_column,
    target_name,
)
from .dataset import Dataset
from .engines import EngineRefuses, read_fast
from .files import Source, fault, name_of, opened
from .layout import MISSING, Layout

DECIMAL = frozenset("0123456789+-.eE ")  # what plain numbers are made of; float() knows more than we allow
HEAD = 1000  # rows that decide which columns are numeric


def read_csv(
    source: Source,
    *,
    target: str | int | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    delimiter: str = ",",
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    missing: Sequence[str] = MISSING,
    skip_lines: int = 0,
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Read delimited text; pyarrow, polars or pandas do the work where one is installed.

    A column is numeric if its first 1000 rows are numbers or missing, otherwise nominal; a later cell that contradicts
    is an error with its line. The same holds for lines with too few or too many cells.

    target: column of the labels, by name or position (-1 is the last). header: the first line names the columns;
    otherwise they are called ``names``, or x1, x2, ... delimiter: one character, or " " for runs of blanks. nominal:
    numeric-looking columns to take as categories. drop: columns to leave out. drop_missing: leave out rows with missing
    cells. missing: cells that count as missing. skip_lines: lines before the table. frame: "pandas", "polars" or
    "array" for data that an array of floats cannot hold.

    >>> import io
    >>> read_csv(io.BytesIO(b"width,colour,kind\\n1.5,red,a\\n2,?,b\\n"), target="kind").nominal
    {'colour': ('red',)}
    """
    reader = DelimitedReader(source, header, names, delimiter, nominal, missing, skip_lines)
    check_frame(frame)
    with opened(source) as content:
        text = reader.start(content)
        columns = reader.columns(text.read(), reader.line)
    table = Table.of(reader.kept(columns, drop), target_name(target, reader.layout.names))
    check_complete_labels(table, reader.where)
    return (table.without_missing() if drop_missing else table).dataset(frame, dtype)


@dataclass
class DelimitedReader:
    """Finds out the layout at the head of a file, then turns pieces of its text into columns."""

    source: Source
    header: bool
    names: Sequence[str] | None
    delimiter: str
    nominal: Sequence[str]
    missing: Sequence[str]
    skip_lines: int = 0
    head: int = HEAD

    def __post_init__(self) -> None:
        self.where = name_of(self.source)
        check_flag("header", self.header)
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise invalid("delimiter", "be one character", self.delimiter, 'Use " " for runs of blanks.')

    def start(self, content: BinaryIO) -> _Rejoined:
        """Read names and head; afterwards ``layout`` is known, and the text from line ``line`` on is returned."""
        text: Any = content if self.delimiter != " " else _Tabbed(content)
        self._separator = "\t" if self.delimiter == " " else self.delimiter
        skipped = list(islice(text, self.skip_lines))
        self.line = len(skipped) + 1
        records = records_of(text)
        first = b""
        for first in records:
            if first.strip():
                break
            self.line += first.count(b"\n")
        if not first.strip():
            raise fault(self.where, None, "at least one row", "an empty file")
        first = first.removeprefix(b"\xef\xbb\xbf")  # byte order mark
        cells = self._cells(first)
        head = [] if self.header else [first]
        names = self._names(cells)
        if self.header:
            self.line += first.count(b"\n") or 1
        head += islice(records, self.head - len(head))
        self.layout = self._layout(names, head)
        return _Rejoined(b"".join(head), text)

    def columns(self, text: bytes, line: int) -> list[Column]:
        """The columns of some lines of the file, the first of which is ``line``."""
        try:
            return read_fast(text, self.layout)
        except EngineRefuses:  # a fault, or something only the plain reader understands
            return plain_columns(self.where, text, line, self.layout)

    def kept(self, columns: list[Column], drop: Sequence[str]) -> list[Column]:
        """All but the dropped columns."""
        check_names("drop", drop, self.layout.names)
        return [c for c in columns if c.name not in drop]

    def _cells(self, record: bytes) -> list[str]:
        return next(iter(_rows(self.where, record, self.line, self._separator)), (0, []))[1]

    def _names(self, cells: list[str]) -> tuple[str, ...]:
        if self.names is not None:
            if len(self.names) != len(cells):
                raise fault(self.where, self.line, f"{len(self.names)} cells, one for each of names=", str(len(cells)))
            return tuple(self.names)
        if not self.header:
            return tuple(f"x{i}" for i in range(1, len(cells) + 1))
        names = tuple(cell.strip() or f"x{i}" for i, cell in enumerate(cells, start=1))
        seen: set[str] = set()
        for name in names:
            if is_number(name):
                raise fault(self.where, self.line, "column names", repr(name), "Pass header=False if there are none.")
            if name in seen:
                raise fault(self.where, self.line, "different column names", f"{name!r} twice")
            seen.add(name)
        return names

    def _layout(self, names: tuple[str, ...], head: list[bytes]) -> Layout:
        check_names("nominal", self.nominal, names)
        numeric = [name not in self.nominal for name in names]
        for _, row in _rows(self.where, b"".join(head), self.line, self._separator):
            for j, cell in enumerate(row[: len(names)]):
                if numeric[j] and not (is_number(cell) or cell.strip() in self.missing):
                    numeric[j] = False
        return Layout(names, tuple(numeric), self._separator, tuple(self.missing))


class _Tabbed:
    """Text whose runs of blanks are single tabs."""

    def __init__(self, content: BinaryIO) -> None:
        self._lines = (b"\t".join(line.split()) + b"\n" for line in content)

    def __iter__(self) -> Iterator[bytes]:
        return self._lines

    def read(self) -> bytes:
        return b"".join(self._lines)


class _Rejoined:
    """The head that was looked at, then the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def __iter__(self) -> Iterator[bytes]:
        return chain(io.BytesIO(self._head), self._rest)

    def read(self) -> bytes:
        return b"".join((self._head, self._rest.read()))


def records_of(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, those within quotes joined: a record is whole when its quotes are even."""
    open_record = b""
    for line in lines:
        open_record += line
        if open_record.count(b'"') % 2 == 0:
            yield open_record
            open_record = b""
    if open_record:
        yield open_record


def plain_columns(where: str, text: bytes, line: int, layout: Layout) -> list[Column]:
    """Columns by the standard library alone; every fault is reported with its line."""
    width = len(layout.names)
    lines, rows = [], []
    for number, row in _rows(where, text, line, layout.delimiter):
        if len(row) != width:
            raise fault(where, number, f"{width} cells", f"{len(row)}")
        lines.append(number)
        rows.append(row)
    columns: Iterable[Sequence[str]] = zip(*rows, strict=True) if rows else [()] * width
    return [
        _numeric(where, lines, name, cells, layout.missing) if is_numeric else _nominal(name, cells, layout.missing)
        for name, cells, is_numeric in zip(layout.names, columns, layout.numeric, strict=True)
    ]


def _nominal(name: str, cells: Sequence[str], missing: Sequence[str]) -> Column:
    return encoded(name, [None if text in missing else text for text in map(str.strip, cells)])


def _numeric(where: str, lines: list[int], name: str, cells: Sequence[str], missing: Sequence[str]) -> Column:
    if DECIMAL.issuperset("".join(cells)):
        try:
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except ValueError:
            values = np.array([np.inf])
        if np.isfinite(values).all():
            return number_column(name, values)
    stripped = map(str.strip, cells)
    numbers = [
        np.nan if cell in missing else _number(where, number, name, cell)
        for number, cell in zip(lines, stripped, strict=True)
    ]
    return number_column(name, numbers)


def _number(where: str, line: int, name: str, cell: str) -> float:
    value = float(cell) if is_number(cell) else np.inf
    if np.isinf(value):
        advice = f"If {name} holds text, name it in nominal=; if this marks a missing value, in missing=."
        raise fault(where, line, f"a finite number in column {name}", repr(cell[:40]), advice)
    return value


def _rows(where: str, text: bytes, line: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line + text[: error.start].count(b"\n")
        raise fault(where, bad, "UTF-8 text", repr(text[error.start : error.end])) from error
    reader = csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter, strict=True)
    number = line
    try:
        for row in reader:
            if row:
                yield number, row
            number = line + reader.line_num
    except csv.Error as error:
        raise DataFileError(f"{where}, line {number}: expected delimited text; {error}.") from error
