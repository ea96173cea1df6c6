"""Kinds of columns from a sample of rows."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from ...validation.values import invalid

SAMPLE = 1000  # rows looked at
SHOWN = 5  # values of a column
MOST_CLASSES = 50
_OTHER_SEPARATORS = (";", "\t", "|")
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


class GuessedColumn(NamedTuple):
    """A column of a sample: its kind, five values, all of them if they are few, and whether none comes twice."""

    name: str
    kind: str
    values: list[str]
    classes: list[str] | None
    unique: bool


def guess_sample(text: str) -> tuple[list[GuessedColumn], int]:
    """The columns of a CSV text with a header, and the number of its rows."""
    rows = list(read_csv(io.StringIO(text, newline="")))
    if not rows:
        raise invalid("the file", "hold a header and at least one row", "none")
    found = []
    for name in rows[0]:
        cells = [row[name] for row in rows if row[name]]
        counts = Counter(cells)
        distinct = list(counts)  # in the order of the file
        few = 2 <= len(distinct) <= MOST_CLASSES
        classes = sorted(distinct, key=lambda label: (-counts[label], label)) if few else None  # the rarest one last
        kind = _kind(cells[:SAMPLE])
        found.append(GuessedColumn(name, kind, distinct[:SHOWN], classes, len(distinct) == len(rows)))
    return found, len(rows)


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


def parse_cell(cell: str) -> Any:
    """A cell as JSON would have it: None if it is empty, a number if it is one, else its text."""
    if not cell:
        return None
    if not is_number(cell):
        return cell
    return float(cell) if any(c in cell for c in ".eEnN") else int(cell)


def read_csv(source: Path | Any) -> Generator[dict[str, str], None, None]:
    """The rows of a CSV file with a header, as texts; ``source`` is its path, its bytes or its text, opened."""
    try:
        if isinstance(source, Path):
            with source.open(encoding="utf-8-sig", newline="") as lines:
                yield from _named(csv.DictReader(lines))
        elif isinstance(source, io.TextIOBase):
            yield from _named(csv.DictReader(source))
        else:
            lines = _text(source)
            try:
                yield from _named(csv.DictReader(lines))
            finally:
                lines.detach()  # whoever opened it closes it
    except UnicodeDecodeError as error:
        found = error.object[error.start : error.start + 1]
        raise invalid("the file", "be text in UTF-8", found, "Save it as UTF-8.") from None
    except csv.Error as error:
        raise invalid("the file", "be CSV", str(error)) from None


def _text(raw: IO[bytes]) -> io.TextIOWrapper:
    """Without the mark that some programs put before UTF-8, which would be a part of the first name."""
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _named(reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    names = reader.fieldnames or []
    if len(names) == 1 and any(mark in names[0] for mark in _OTHER_SEPARATORS):
        raise invalid("the header", "separate its names by commas", names[0][:60], "Save the file with commas.")
    if len(set(names)) < len(names):
        raise invalid("the header", "name each column once", sorted({n for n in names if list(names).count(n) > 1}))
    for row in reader:
        if None in row or None in row.values():
            raise invalid(f"line {reader.line_num}", "have as many cells as the header", len(row))
        yield row
