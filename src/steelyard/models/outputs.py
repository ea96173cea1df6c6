"""Decisions on their way out: CSV, TSV, JSON lines, Parquet or Arrow, a chunk at a time.

Tested in ``tests/unit/models/test_prediction.py``.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from ..data.columns import EXACT
from ..validation.text import printable, safe_cell
from ..validation.values import invalid, require

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


_LONGEST_HEAD = 1 << 16  # bytes of a first line that are looked at
DECISION, EXPECTED, REASONS = "decision", "expected_cost", "reasons"  # columns that are written for every row


def proba_names(labels: Iterable[Any]) -> list[str]:
    """Names of the columns of probabilities."""
    return [f"probability {label}" for label in labels]


def check_carried(option: str, names: Iterable[str], written: Collection[str]) -> None:
    """Columns of the input that go along have other names than those that are written beside them."""
    for name in names:
        if name in written:
            rule = f"name no column that is written anyway ({', '.join(written)})"
            raise invalid(option, rule, name, "Rename it in the input first.")


def kept_as_text(names: Iterable[str], numbers: Collection[Any], output: str) -> list[str]:
    """Which columns that go along are read as texts: all where texts are written, so that 007 stays 007.

    Elsewhere a column in which the model finds numbers holds numbers.
    """
    return [name for name in names if output in ("csv", "tsv") or name not in numbers]


class RowWriter(Protocol):
    """Takes columns of equal length, chunk after chunk."""

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        """Write one chunk."""

    def close(self) -> None:
        """Write what is left."""


def output_format(out: Path | None) -> str:
    """By the suffix of the file; CSV for one without a suffix and on standard output."""
    if out is None or not out.suffix:
        return "csv"
    found = SUFFIXES.get(out.suffix.lower())
    if found is None:
        raise invalid("--out", f"end in one of {', '.join(SUFFIXES)}", out.name)
    return found


def holds_decisions(path: Path, kind: str) -> bool:
    """Whether a file was written as decisions before: it has a column, or a key in its first line, of that name."""
    try:
        if kind == "parquet":
            parquet: Any = require("pyarrow.parquet", extra="files", why=ParquetRows.what)
            return "decision" in parquet.read_schema(path).names
        if kind == "arrow":
            ipc: Any = require("pyarrow.ipc", extra="files", why=ArrowRows.what)
            return "decision" in ipc.open_file(path).schema.names
        with path.open("rb") as file:
            line = file.readline(_LONGEST_HEAD).decode()
        if kind == "jsonl":
            first = json.loads(line)
            return isinstance(first, dict) and "decision" in first
        return "decision" in next(csv.reader([line], delimiter="\t" if kind == "tsv" else ","), [])
    except (OSError, ValueError, RecursionError, csv.Error):
        return False


def row_writer(kind: str, file: BinaryIO, *, safe: bool, terminal: bool = False) -> RowWriter:
    """A writer of this format on an open file."""
    if kind == "parquet":
        return ParquetRows(file)
    if kind == "arrow":
        return ArrowRows(file)
    cell: Callable[[object], object] = safe_cell if safe else (lambda value: value)
    return TextRows(kind, file, cell, terminal)


class TextRows:
    """CSV, TSV or JSON lines."""

    def __init__(self, kind: str, file: BinaryIO, cell: Callable[[object], object], terminal: bool) -> None:
        self.kind, self.file, self.cell, self.terminal = kind, file, cell, terminal
        self.started = False

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        """Write one chunk; the head once."""
        text = io.StringIO()
        own = list(columns).index(DECISION) if DECISION in columns else 0  # before it stand columns of the user's
        if self.kind == "jsonl":
            exact = [map(_exact, cells) if j < own else cells for j, cells in enumerate(columns.values())]
            rows = zip(*exact, strict=True)
            text.writelines(json.dumps(dict(zip(columns, row, strict=True)), default=str) + "\n" for row in rows)
        else:
            writer = csv.writer(text, lineterminator="\n", delimiter="\t" if self.kind == "tsv" else ",")
            if not self.started:
                writer.writerow(map(self.cell, columns))
            shown = [map(_exact if j < own else _rounded, cells) for j, cells in enumerate(columns.values())]
            writer.writerows(map(self.cell, row) for row in zip(*shown, strict=True))
        self.started = True
        lines = text.getvalue()
        if self.terminal:
            lines = "".join(printable(line) + "\n" for line in lines.splitlines())
        self.file.write(lines.encode())

    def close(self) -> None:
        """Nothing is held back."""


def _rounded(value: Any) -> Any:
    """Six digits of what was computed."""
    return f"{value:.6g}" if isinstance(value, float) else value


def _exact(value: Any) -> Any:
    """A cell of the input with every digit; a whole number has no point, and a missing one is nothing."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < EXACT else float(value)


class ArrowRows:
    """Batches of an Arrow file; the types of the first chunk hold for all."""

    what = "writing Arrow"

    def __init__(self, file: BinaryIO) -> None:
        self.arrow: Any = require("pyarrow", extra="files", why=self.what)
        self.file = file
        self.writer: Any = None
        self.schema: Any = None

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        """Write one chunk; where it has no row, arrays tell the types."""
        found = {
            name: cells if isinstance(cells, np.ndarray) and not len(cells) else list(cells)
            for name, cells in columns.items()
        }
        table = self.arrow.table(found, schema=self.schema)
        if self.writer is None:
            self.writer, self.schema = self._open(table.schema), table.schema
        self.writer.write_table(table)

    def _open(self, schema: Any) -> Any:
        ipc: Any = require("pyarrow.ipc", extra="files", why=self.what)
        return ipc.new_file(self.file, schema)

    def close(self) -> None:
        """Write the footer."""
        if self.writer is not None:
            self.writer.close()


class ParquetRows(ArrowRows):
    """Row groups of Parquet; the types of the first chunk hold for all."""

    what = "writing Parquet"

    def _open(self, schema: Any) -> Any:
        parquet: Any = require("pyarrow.parquet", extra="files", why=self.what)
        return parquet.ParquetWriter(self.file, schema, write_page_checksum=True)
