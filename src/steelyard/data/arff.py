"""ARFF (Weka) and KEEL files: attributes with declared types, then one row a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike

from ..errors import DataFileError
from ..validation.docstrings import documented
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
from .dataset import READING, Dataset
from .files import Source, file_error, lines_of, name_of, not_utf8, open_source

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
# Possessive, so that a long line that does not match is refused in linear time.
CELL = re.compile(rf"\s*+({QUOTED}|[^,'\"]*+)\s*+(?:,|$)")
SPARSE_CELL = re.compile(rf"\s*+(\d++)\s++({QUOTED}|[^,'\"]*+)\s*+(?:,|$)")
NUMERIC = re.compile(r"(numeric|real|integer)\b", re.IGNORECASE)
MISSING = ("?", "<null>")


@dataclass(frozen=True)
class Attribute:
    """A column: numeric, of declared values, or free text (``values`` empty)."""

    name: str
    values: tuple[str, ...] | None = None

    @cached_property
    def known(self) -> frozenset[str]:
        """The declared values, for looking one up."""
        return frozenset(self.values or ())


@dataclass
class Header:
    """What stands before ``@data``."""

    relation: str = ""
    attributes: list[Attribute] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    outputs: str | None = None

    def target(self) -> str:
        """KEEL names its output; Weka's habit is an attribute called class, or the last one."""
        names = [a.name for a in self.attributes]
        named = [n for n in names if n == self.outputs] or [n for n in names if n.lower() == "class"]
        return named[0] if named else names[-1]


@documented(READING)
def read_arff(
    source: Source,
    *,
    target: str | int | None = "auto",
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Dataset:
    """Read an ARFF or KEEL file; nominal attributes keep the order of their declared values, ``?`` stays missing.

    Every row is checked against the declared types; an error names file and line.

    Parameters
    ----------
    target : str, int or None
        Attribute of the labels, by name or position; "auto" is KEEL's ``@outputs``, else an attribute called class,
        else the last.

    Returns
    -------
    Dataset
        Rows, labels and names.

    Examples
    --------
    >>> import io
    >>> text = b"@relation r\\n@attribute a {x, y}\\n@attribute n real\\n@attribute class {0, 1}\\n@data\\ny, ?, 1\\n"
    >>> rows = read_arff(io.BytesIO(text))
    >>> rows.nominal, rows.y.tolist()
    ({'a': ('x', 'y')}, [1])
    """
    check_frame(frame)
    where = name_of(source)
    with open_source(source, max_bytes) as content:
        lines = _lines(where, content)
        header = _read_header(where, lines)
        chosen = _choose(header, target, nominal, drop)
        table = Table.of(_read_rows(where, lines, header.attributes, drop), chosen)
    check_complete_labels(table, where)
    return replace((table.without_missing() if drop_missing else table).dataset(frame, dtype), name=header.relation)


def arff_chunks(
    source: Source,
    rows: int,
    *,
    target: str | int | None = "auto",
    nominal: Sequence[str] = (),
    drop: Sequence[str] = (),
    frame: str = "auto",
    dtype: DTypeLike = np.float64,
    max_bytes: int | None = None,
) -> Iterator[Dataset]:
    """Read an ARFF or KEEL file as data sets of ``rows`` rows each; parameters as for :func:`read_arff`."""
    where = name_of(source)
    with open_source(source, max_bytes) as content:
        lines = _lines(where, content)
        header = _read_header(where, lines)
        chosen = _choose(header, target, nominal, drop)
        while part := list(islice(lines, rows)):
            table = Table.of(_read_rows(where, part, header.attributes, drop), chosen)
            yield replace(table.chunk(frame, dtype), name=header.relation)


def _choose(header: Header, target: str | int | None, nominal: Sequence[str], drop: Sequence[str]) -> str | None:
    """The name of the target; attributes named in ``nominal`` become nominal."""
    names = [a.name for a in header.attributes]
    check_names("nominal", nominal, names)
    check_names("drop", drop, names)
    as_nominal = set(nominal)
    header.attributes = [replace(a, values=a.values or ()) if a.name in as_nominal else a for a in header.attributes]
    return target_name(header.target() if target == "auto" else target, names)


def _lines(where: str, content: BinaryIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines_of(where, content), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise not_utf8(where, number, error) from error
        if text and not text.startswith("%"):
            yield number, text


def _read_header(where: str, lines: Iterator[tuple[int, str]]) -> Header:
    header = Header()
    for number, line in lines:
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not header.attributes:
                raise file_error(where, number, "@attribute lines before @data")
            return header
        if word == "@relation":
            header.relation = _unquoted(line[len(word) :].strip())
        elif word == "@attribute":
            attribute = _attribute(where, number, line)
            if attribute.name in header.names:
                raise file_error(where, number, "different attribute names", f"{attribute.name!r} twice")
            header.attributes.append(attribute)
            header.names.add(attribute.name)
        elif word in ("@output", "@outputs"):
            header.outputs = line[len(word) :].strip()
        elif word not in ("@input", "@inputs"):
            raise file_error(where, number, "@relation, @attribute, @inputs, @outputs or @data", repr(line[:40]))
    raise file_error(where, None, "a line @data", "the end of the file")


def _attribute(where: str, number: int, line: str) -> Attribute:
    found = ATTRIBUTE.fullmatch(line)
    name, kind = (_unquoted(found[1]), found[2].strip()) if found else ("", "")
    if NUMERIC.match(kind):
        return Attribute(name)
    if kind.lower() == "string":
        return Attribute(name, ())
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(_cells(where, number, kind[1:-1]))
        if len(set(values)) < len(values):
            twice = next(value for value, times in Counter(values).items() if times > 1)
            raise file_error(where, number, f"different values for {name[:40]}", f"{twice[:40]!r} twice")
        return Attribute(name, values)
    raise file_error(where, number, "@attribute NAME numeric, real, integer, string or {values}", repr(line[:60]))


def _read_rows(
    where: str, lines: Iterable[tuple[int, str]], attributes: Sequence[Attribute], drop: Sequence[str]
) -> list[Column]:
    cells: list[list[Any]] = [[] for _ in attributes]
    for number, line in lines:
        row = _sparse(where, number, line, attributes) if line.startswith("{") else _cells(where, number, line)
        if len(row) != len(attributes):
            raise file_error(where, number, f"{len(attributes)} cells", str(len(row)))
        for column, attribute, cell in zip(cells, attributes, row, strict=True):
            column.append(_value(where, number, attribute, cell))
    return [
        number_column(a.name, column) if a.values is None else encoded(a.name, column, a.values or None)
        for a, column in zip(attributes, cells, strict=True)
        if a.name not in drop
    ]


def _value(where: str, number: int, attribute: Attribute, cell: str) -> Any:
    if cell in MISSING:
        return np.nan if attribute.values is None else None
    if attribute.values is None:
        if not is_number(cell) or np.isinf(float(cell)):
            raise file_error(where, number, f"a finite number for {attribute.name}", repr(cell[:40]))
        return float(cell)
    if attribute.values and cell not in attribute.known:
        listed = ", ".join(attribute.values[:12])
        raise file_error(where, number, f"one of {listed} for {attribute.name}", repr(cell[:40]))
    return cell


def _cells(where: str, number: int, line: str) -> list[str]:
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells, at = [], 0
    while at <= len(line):
        found = CELL.match(line, at)
        if not found:
            raise _bad_quote(where, number, line[at:])
        cells.append(_unquoted(found[1].strip()))
        at = found.end() if found[0].endswith(",") else len(line) + 1
    return cells


def _sparse(where: str, number: int, line: str, attributes: Sequence[Attribute]) -> list[str]:
    """Weka's sparse rows {position value, ...}: what is not named is 0 or the first declared value."""
    if not line.endswith("}"):
        raise file_error(where, number, "a closing brace", repr(line[-20:]))
    row = ["0" if not a.values else a.values[0] for a in attributes]
    inside, at = line[1:-1].strip(), 0
    while at < len(inside):
        found = SPARSE_CELL.match(inside, at)
        if not found or len(found[1]) > 9 or int(found[1]) >= len(attributes):
            raise file_error(where, number, f"position below {len(attributes)} and value", repr(inside[at : at + 20]))
        row[int(found[1])] = _unquoted(found[2].strip())
        at = found.end()
    return row


def _bad_quote(where: str, number: int, rest: str) -> DataFileError:
    return file_error(where, number, "cells with closed quotes", repr(rest[:40]))


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
