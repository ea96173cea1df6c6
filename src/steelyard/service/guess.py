"""Kinds of columns from a sample of rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..validation.values import invalid

SAMPLE = 1000  # rows looked at
_URLS = ("http://", "https://", "www.")


def guess_columns(path: Path, *, ignored: set[str]) -> dict[str, str]:
    """number where every cell is one, url where they begin so, text where they have words, else category."""
    rows = list(islice(read_csv(path), SAMPLE))
    if not rows:
        raise invalid(str(path), "hold a header and at least one row", "none")
    kinds = {}
    for name in rows[0]:
        cells = [row[name] for row in rows if row[name]]
        kinds[name] = "ignored" if name in ignored else _kind(cells)
    return kinds


def _kind(cells: list[str]) -> str:
    if cells and all(is_number(cell) for cell in cells):
        return "number"
    if cells and all(cell.lower().startswith(_URLS) for cell in cells):
        return "url"
    if cells and sum(len(cell.split()) for cell in cells) > 2 * len(cells):
        return "text"
    return "category"


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number."""
    try:
        return "_" not in cell and abs(float(cell)) < 1e100
    except ValueError:
        return False


def read_csv(source: Path | Any) -> Iterator[dict[str, str]]:
    """The rows of a CSV file with a header, as texts."""
    if not isinstance(source, Path):
        yield from _named(csv.DictReader(source))
        return
    with source.open(encoding="utf-8-sig", newline="") as lines:
        yield from _named(csv.DictReader(lines))


def _named(reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    for row in reader:
        if None in row or None in row.values():
            raise invalid(f"line {reader.line_num}", "have as many cells as the header", len(row))
        yield row
