"""Delimited text as lines and records, in time linear in its length whatever its quotes are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from ..errors import DataFileError
from .files import file_error, lines_of

MAX_RECORD_LINES = 1000
MAX_RECORD_BYTES = 1 << 20


def split_records(where: str, lines: Iterable[bytes], separator: str, first: int) -> Iterator[bytes]:
    """Join lines into records: a line break within quotes does not end one.

    A quote opens a cell only at its start, as the csv module has it. A record of more than 1,000 lines or 1 MB is an
    error that names the line of its quote: one stray quote must not swallow the rest of the file.
    """
    opening = re.compile(rb'(?:^|\r|%s)"' % re.escape(separator.encode()))
    held: list[bytes] = []
    size = quote_line = 0
    for number, line in enumerate(lines, start=first):
        if not held and b'"' not in line:
            yield line
            continue
        at = _open_quote(line, opening, is_open=bool(held))
        held.append(line)
        size += len(line)
        if at is None:
            yield b"".join(held)
            held, size = [], 0
            continue
        quote_line = number if at >= 0 else quote_line
        if len(held) > MAX_RECORD_LINES or size > MAX_RECORD_BYTES:
            raise open_quote(where, quote_line)
    if held:
        yield b"".join(held)


def split_row(record: bytes, separator: str) -> tuple[bytes, bytes]:
    """The first row of a record, and what follows: lines may end in a carriage return alone, and then are one record.

    Parameters
    ----------
    record : bytes
        What :func:`split_records` gave; it has a row.
    separator : str
        Of its cells.
    """
    if b"\r" not in record.rstrip(b"\r\n"):
        return record, b""
    lines = io.StringIO(record.decode("utf-8"), newline="").readlines()
    rows = csv.reader(lines, delimiter=separator, strict=True)
    next(row for row in rows if row)
    return tuple("".join(some).encode() for some in (lines[: rows.line_num], lines[rows.line_num :]))  # type: ignore[return-value]


def open_quote(where: str, line: int) -> DataFileError:
    """The error for a quote that is not closed within a record's limits."""
    expected = f"a closing quote within {MAX_RECORD_LINES:,} lines and {MAX_RECORD_BYTES >> 20} MB"
    return file_error(where, line, expected, "none for the quote in this line", "Remove or close it.")


def _open_quote(line: bytes, opening: re.Pattern[bytes], *, is_open: bool) -> int | None:
    """Where the quote that is still open at the end of the line stands: -1 if before it, None if all are closed."""
    start, at = -1, 0
    while True:
        if not is_open:
            found = opening.search(line, at)
            if found is None:
                return None
            start = at = found.end()
        at = line.find(b'"', at)
        if at < 0:
            return start
        doubled = line[at + 1 : at + 2] == b'"'
        at += 2 if doubled else 1
        is_open = doubled


class TextLines:
    """Lines of limited length; :meth:`read` gives what was not iterated over."""

    def __init__(self, where: str, content: BinaryIO) -> None:
        self._content = lines_of(where, content)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._content)

    def read(self) -> bytes:
        """All the rest."""
        return self._content.read()


class TabbedLines:
    """Lines whose runs of blanks are single tabs."""

    def __init__(self, where: str, content: BinaryIO) -> None:
        self._lines = (b"\t".join(line.split()) + b"\n" for line in lines_of(where, content))

    def __iter__(self) -> Iterator[bytes]:
        return self._lines

    def read(self) -> bytes:
        """All the rest."""
        return b"".join(self._lines)


class HeadAndRest:
    """The head that was looked at, then the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest

    def __iter__(self) -> Iterator[bytes]:
        return chain(io.BytesIO(self._head), self._rest)

    def read(self) -> bytes:
        """Head and rest as one text."""
        return b"".join((self._head, self._rest.read()))
