"""What is known about the columns of a delimited text before it is read.

Tested in ``tests/property/test_delimited_engines.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null")


@dataclass(frozen=True)
class Layout:
    """Names and kinds of the columns, and how their cells are separated."""

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    delimiter: str = ","
    missing: tuple[str, ...] = MISSING
    decimal: str = "."  # or a comma, in all numeric columns alike
