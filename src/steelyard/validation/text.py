"""Text from data on its way to a terminal or a spreadsheet, where some characters are commands."""

from __future__ import annotations

import unicodedata

__all__ = ["printable", "safe_cell"]

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take for the beginning of one


def printable(text: object) -> str:
    """The text with control characters escaped, so that a terminal shows them instead of obeying them.

    Line ends are among them: what is shown stays one line. Characters that turn the direction of writing are
    escaped as well.

    >>> print(printable("good" + chr(27) + "[2J"))
    good\\x1b[2J
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(c if not _is_control(c) else c.encode("unicode_escape").decode("ascii") for c in shown)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def safe_cell(cell: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula: ``'`` stands before one. Numbers stay numbers.

    >>> safe_cell("=1+1"), safe_cell("-1.5"), safe_cell(-2)
    ("'=1+1", '-1.5', -2)
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULAS):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
