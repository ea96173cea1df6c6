"""CSV and other delimited text, whole or in chunks. Fast libraries do the work where one is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from ..errors import DataFileError
from ..validation.docstrings import documented
from ..validation.values import check_count, check_flag, invalid
from .columns import (
    Column,
    Table,
    check_complete_labels,
    check_frame,
    check_names,
    exchange_marks,
    has_decimal_commas,
    is_number,
    target_name,
)
from .csv_records import HeadAndRest, TabbedLines, TextLines, split_records, split_row
from .dataset import READING, Dataset
from .engines import EngineUnsupported, read_fast
from .files import Source, file_error, name_of, open_source
from .layout import MISSING, Layout
from .plain_csv import plain_columns, plain_rows

HEAD = 1000  # rows that decide which columns are numeric
SEPARATORS = (",", ";", "\t", "|")  # looked for in this order where none is given
_SEPARATOR_LINE = re.compile(rb'"?sep=([^"\r\n])"?\s*', re.IGNORECASE)  # as Excel writes above the names


@documented(READING)
def read_csv(
    source: Source,
    *,
    target: str | int | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    missing: Sequence[str] = MISSING,
    skip_lines: int = 0,
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Dataset:
    """Read delimited text; pyarrow, polars or pandas do the work where one is installed.

    A column is numeric if its first 1000 rows are numbers or missing, otherwise nominal; a later cell that contradicts
    is an error with its line. The same holds for lines with too few or too many cells. Where cells are not separated
    by commas, numbers may be written 1,5: in all columns or in none, as the first rows have it.

    Parameters
    ----------
    header : bool
        The first line names the columns; otherwise they are called ``names``, or x1, x2, ...
    names : sequence of str, optional
        Names of the columns.
    delimiter : str, optional
        One character, or " " for runs of blanks. By default the one of a first line such as ``sep=;``; without such a
        line a comma, or where the first rows have none a semicolon, tab or bar.
    missing : sequence of str
        Cells that count as missing.
    skip_lines : int
        Lines before the table.

    Returns
    -------
    Dataset
        Rows, labels and names.

    Examples
    --------
    >>> import io
    >>> read_csv(io.BytesIO(b"width,colour,kind\\n1.5,red,a\\n2,?,b\\n"), target="kind").nominal
    {'colour': ('red',)}
    """
    reader = DelimitedReader(source, header, names, delimiter, nominal, missing, skip_lines)
    check_frame(frame)
    with open_source(source, max_bytes) as content:
        text = reader.start(content)
        chosen = reader.target(target)
        columns = reader.columns(text.read(), reader.line)
    table = Table.of(reader.select(columns, drop), chosen)
    check_complete_labels(table, reader.where)
    return (table.without_missing() if drop_missing else table).dataset(frame, dtype)


def csv_chunks(
    source: Source,
    rows: int,
    *,
    target: str | int | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    missing: Sequence[str] = MISSING,
    skip_lines: int = 0,
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Iterator[Dataset]:
    """Read delimited text as data sets of ``rows`` rows each; parameters as for :func:`read_csv`."""
    head = min(HEAD, rows) if hasattr(source, "read") else HEAD  # a live stream may not have more to show yet
    reader = DelimitedReader(source, header, names, delimiter, nominal, missing, skip_lines, head)
    with open_source(source, max_bytes) as content:
        records = reader.records(reader.start(content))
        chosen = reader.target(target)
        line = reader.line
        while records_now := list(islice(records, rows)):
            text = b"".join(records_now)
            yield Table.of(reader.select(reader.columns(text, line), drop), chosen).chunk(frame, dtype)
            line += text.count(b"\n")


@dataclass
class DelimitedReader:
    """Finds out the layout at the head of a file, then turns pieces of its text into columns."""

    source: Source
    header: bool
    names: Sequence[str] | None
    delimiter: str | None
    nominal: Sequence[str]
    missing: Sequence[str]
    skip_lines: int = 0
    head: int = HEAD

    def __post_init__(self) -> None:
        self.where = name_of(self.source)
        check_flag("header", self.header)
        check_count("skip_lines", self.skip_lines, at_least=0)
        given = self.delimiter
        if given is not None and (not isinstance(given, str) or len(given) != 1 or given in '"\r\n'):
            raise invalid("delimiter", "be one character", given, 'Use " " for runs of blanks.')

    def start(self, content: BinaryIO) -> HeadAndRest:
        """Read names and head; afterwards ``layout`` is known, and the text from line ``line`` on is returned."""
        lines = (TabbedLines if self.delimiter == " " else TextLines)(self.where, content)
        first = self._first_line(lines)
        self._separator = self._find_separator(first)
        text = HeadAndRest(first, lines)
        records = split_records(self.where, text, self._separator, self.line)
        first = next(records, b"")
        cells = self._cells(first)
        if not cells:
            raise self._without_rows()
        names = self._names(cells)
        head = [first]
        if self.header:
            named, behind = split_row(first, self._separator)
            head = [behind] if behind else []
            self.line += named.count(b"\n") or 1
        head += islice(records, self.head - len(head))
        self.layout = self._layout(names, head)
        return HeadAndRest(b"".join(head), lines)

    def records(self, text: HeadAndRest) -> Iterator[bytes]:
        """The records of what :meth:`start` returned."""
        return split_records(self.where, text, self._separator, self.line)

    def target(self, target: str | int | None) -> str | None:
        """The name of the target column; where it is missing the separator may be to blame."""
        try:
            return target_name(target, self.layout.names)
        except ValueError as error:
            only = self.layout.names[0] if len(self.layout.names) == 1 else ""
            found = next((s for s in (";", "\t", "|", ":", ",", " ") if s in only), None)
            if found is None:
                raise
            command = "--format whitespace" if found == " " else "commas"
            hint = f"Is the separator {found!r}? Pass delimiter={found!r}; for a command use {command}."
            raise file_error(
                self.where, self.line, f"a column {target!r}", f"one column {only[:60]!r}", hint
            ) from error

    def columns(self, text: bytes, line: int) -> list[Column]:
        """The columns of some lines of the file, the first of which is ``line``."""
        try:
            return read_fast(text, self.layout)
        except EngineUnsupported:  # an error, or something only the plain reader understands
            return plain_columns(self.where, text, line, self.layout)

    def select(self, columns: list[Column], drop: Sequence[str]) -> list[Column]:
        """All but the dropped columns."""
        check_names("drop", drop, self.layout.names)
        return [c for c in columns if c.name not in drop]

    def _first_line(self, lines: Any) -> bytes:
        """The first line that is not blank and names no separator, without a byte order mark; ``line`` counts it."""
        self._said: str | None = None
        self.line = len(list(islice(lines, self.skip_lines))) + 1
        for line in lines:
            first = bytes(line.removeprefix(b"\xef\xbb\xbf"))  # a line of the mark alone is blank
            said = _SEPARATOR_LINE.fullmatch(first) if self._said is None else None
            if said is not None:
                self._said = said[1].decode("latin-1")
            elif first.startswith((b"PAR1", b"ARROW1")):
                hint = "Pass format='parquet' (--format parquet), or name the file so."
                raise file_error(self.where, None, "delimited text", "a Parquet or Arrow file", hint)
            elif first.strip():
                return first
            self.line += 1
        raise self._without_rows()

    def _without_rows(self) -> DataFileError:
        return file_error(self.where, None, "at least one row", "an empty file")

    def _find_separator(self, first: bytes) -> str:
        """The given separator or the one that the file names, else the first that cuts the first line into cells."""
        if self.delimiter is not None:
            return "\t" if self.delimiter == " " else self.delimiter
        if self._said is not None:
            return self._said
        for separator in SEPARATORS:
            try:
                if len(self._cells(first, separator)) > 1:
                    return separator
            except DataFileError:  # a quoted cell that goes on in the next line
                if separator.encode() in first:
                    return separator
        return ","

    def _cells(self, record: bytes, separator: str | None = None) -> list[str]:
        return next(iter(plain_rows(self.where, record, self.line, separator or self._separator)), (0, []))[1]

    def _names(self, cells: list[str]) -> tuple[str, ...]:
        if self.names is not None:
            if len(self.names) != len(cells):
                expected = f"{len(self.names)} cells, one for each of names="
                raise file_error(self.where, self.line, expected, str(len(cells)))
            return tuple(self.names)
        if not self.header:
            return tuple(f"x{i}" for i in range(1, len(cells) + 1))
        names = tuple(cell.strip() or f"x{i}" for i, cell in enumerate(cells, start=1))
        seen: set[str] = set()
        for name in names:
            if is_number(name):
                hint = "Pass header=False if there are none; for a command write names above the rows."
                raise file_error(self.where, self.line, "column names", repr(name[:40]), hint)
            if name in seen:
                raise file_error(self.where, self.line, "different column names", f"{name[:40]!r} twice")
            seen.add(name)
        return names

    def _layout(self, names: tuple[str, ...], head: list[bytes]) -> Layout:
        check_names("nominal", self.nominal, names)
        numeric = [name not in self.nominal for name in names]
        rows = [row for _, row in plain_rows(self.where, b"".join(head), self.line, self._separator)]
        with_commas = self._separator != "," and self._has_decimal_commas(rows, numeric)
        for row in rows:
            for j, cell in enumerate(row[: len(names)]):
                number = exchange_marks(cell) if with_commas else cell
                if numeric[j] and not (is_number(number) or cell.strip() in self.missing):
                    numeric[j] = False
        return Layout(names, tuple(numeric), self._separator, tuple(self.missing), "," if with_commas else ".")

    def _has_decimal_commas(self, rows: list[list[str]], looked_at: list[bool]) -> bool:
        stripped = [[cell.strip() for cell in row] for row in rows]
        if not any("," in cell for row in stripped for cell in row):
            return False
        places = [j for j, look in enumerate(looked_at) if look]
        return has_decimal_commas(
            [row[j] for row in stripped if j < len(row) and row[j] not in self.missing] for j in places
        )
