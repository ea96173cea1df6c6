"""Columns between a reader and its result: numbers or categories, either with missing cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import DataFileError, InvalidInputError
from ..validation.text import printable
from ..validation.values import check_choice, invalid, require
from .dataset import Dataset

# Possessive, so that a long run of digits followed by something else is refused in linear time.
NUMBER = re.compile(r"\s*+[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?\s*+", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
PLAIN_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})", re.ASCII)
_MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)  # 1,234 is 1.234 to some, and 1234 to others
_EXCHANGED = str.maketrans(",.", ".,")
EXACT = 2**53  # whole numbers from there on are no doubles
FRAMES = ("auto", "pandas", "polars", "array")


@dataclass(frozen=True)
class Column:
    """Numbers with NaN for missing, or codes into ``categories`` with -1 for missing."""

    name: str
    values: NDArray[Any]
    categories: tuple[str, ...] | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where cells are missing."""
        return np.isnan(self.values) if self.categories is None else self.values < 0

    def texts(self) -> NDArray[Any]:
        """The category of every cell, None where it is missing."""
        names = np.array([*(self.categories or ()), None], dtype=object)
        return np.asarray(names[self.values])

    def labels(self) -> NDArray[Any]:
        """The cells as class labels: whole numbers as integers, others as text; None where missing."""
        if self.categories is None:
            kinds, codes = np.unique(self.values, return_inverse=True)
            known = kinds[~np.isnan(kinds)]
            whole = bool((np.abs(known) < EXACT).all()) and bool((known == known.astype(np.int64)).all())
            names = np.array(known.astype(np.int64) if whole else known)
            codes = np.where(codes < len(known), codes, -1)
        else:
            names, codes = _label_names(self.categories), self.values
        if (codes < 0).any():
            names = np.array([*names.tolist(), None], dtype=object)
        return np.asarray(names[codes])


def _label_names(categories: tuple[str, ...]) -> NDArray[Any]:
    """Texts as labels. A code such as 007 stays a text: as a number it would be another label than beside a word."""
    if categories and all(PLAIN_WHOLE.fullmatch(c) for c in categories):
        return np.array([int(c) for c in categories], dtype=np.int64)
    return np.array(categories, dtype=np.str_)


def is_number(cell: str) -> bool:
    """True for decimal text; NaN, infinity, hexadecimal and digit groups are no numbers."""
    return NUMBER.fullmatch(cell) is not None


def exchange_marks(cell: str) -> str:
    """A cell with points for commas and commas for points, so that 1,5 is a number and 1.5 is none."""
    return cell.translate(_EXCHANGED)


def has_decimal_commas(columns: Iterable[Sequence[str]]) -> bool:
    """Whether the numbers of a file are written 1,5 as far as its first cells show it beyond doubt.

    There is doubt where any column has numbers with a point, and in a column all of whose commas may part thousands.
    """
    found = False
    for cells in columns:
        if all(map(is_number, cells)):
            if any("." in cell for cell in cells):
                return False
        elif all(is_number(exchange_marks(cell)) for cell in cells):
            found = found or any("," in cell and not _MAY_BE_THOUSANDS.fullmatch(cell) for cell in cells)
    return found


def same_label(label: Any, wanted: Any) -> bool:
    """Whether labels are equal; a command line, and a file of late labels, know texts only: 1 is "1" and "+1"."""
    if label == wanted:
        return True
    if isinstance(label, str) == isinstance(wanted, str):
        return False
    text, value = (label, wanted) if isinstance(label, str) else (wanted, label)
    if isinstance(value, bool):
        return bool(text.lower() == str(value).lower())  # as JSON has it, or Python
    return bool(str(value) == text or (isinstance(value, (int, float)) and is_number(text) and float(text) == value))


def number_column(name: str, values: Any) -> Column:
    """A numeric column."""
    return Column(name, np.asarray(values, dtype=np.float64))


def text_column(name: str, codes: Any, found: Sequence[str], declared: Sequence[str] | None = None) -> Column:
    """A nominal column from codes into the texts ``found``: categories as declared, otherwise sorted."""
    stripped = [text.strip() for text in found]
    categories = tuple(sorted(set(stripped)) if declared is None else declared)
    at = {category: i for i, category in enumerate(categories)}
    recode = np.array([*(at[text] for text in stripped), -1], dtype=np.int32)
    return Column(name, recode[np.asarray(codes)], categories)


def encoded(name: str, cells: Iterable[str | None], declared: Sequence[str] | None = None) -> Column:
    """A nominal column from its texts, None for missing."""
    at: dict[str | None, int] = {None: -1}
    codes = [at.setdefault(cell, len(at) - 1) for cell in cells]
    return text_column(name, np.array(codes, dtype=np.int32), [c for c in at if c is not None], declared)


@dataclass(frozen=True)
class Table:
    """Columns with the labels apart: what the papers' preparations work on."""

    columns: tuple[Column, ...]
    y: NDArray[Any] | None

    @staticmethod
    def of(columns: Sequence[Column], target: str | None) -> Table:
        """Set the target column apart."""
        if target is None:
            return Table(tuple(columns), None)
        labels = next((c.labels() for c in columns if c.name == target), None)
        if labels is None:
            raise invalid("drop", "leave the column of labels in", target)
        return Table(tuple(c for c in columns if c.name != target), labels)

    def without_missing(self) -> Table:
        """Only rows with every cell present."""
        if not self.columns:
            return self
        whole = ~np.logical_or.reduce([c.missing for c in self.columns])
        columns = tuple(replace(c, values=c.values[whole]) for c in self.columns)
        return Table(columns, None if self.y is None else self.y[whole])

    def needs_frame(self) -> bool:
        """True if a float array cannot hold the columns."""
        return any(c.categories is not None or bool(c.missing.any()) for c in self.columns)

    def dataset(self, frame: str = "auto", dtype: DTypeLike = np.float64) -> Dataset:
        """The result: an array where that is enough, otherwise a frame."""
        X = framed(self.columns, frame) if self.needs_frame() else stacked(self.columns, dtype, self._rows())
        nominal = {c.name: c.categories for c in self.columns if c.categories is not None}
        return Dataset(X, self.y, tuple(c.name for c in self.columns), nominal)

    def chunk(self, frame: str = "auto", dtype: DTypeLike = np.float64) -> Dataset:
        """One chunk of many: its form depends on the kinds of columns alone, and categories are plain text."""
        nominal: dict[str, tuple[str, ...]] = {c.name: () for c in self.columns if c.categories is not None}
        X = framed(self.columns, frame, as_text=True) if nominal else stacked(self.columns, dtype, self._rows())
        return Dataset(X, self.y, tuple(c.name for c in self.columns), nominal)

    def _rows(self) -> int:
        return len(self.columns[0].values) if self.columns else 0 if self.y is None else len(self.y)


def stacked(columns: Sequence[Column], dtype: DTypeLike, rows: int) -> NDArray[Any]:
    """Numeric columns side by side, row by row in memory."""
    X = np.empty((rows, len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        X[:, j] = column.values
    return X


def framed(columns: Sequence[Column], frame: str = "auto", *, as_text: bool = False) -> Any:
    """A pandas or polars frame of the columns, or an object array where neither is installed."""
    return FRAME_MAKERS[check_frame(frame)](columns, as_text)


def check_frame(frame: str) -> str:
    """The frame library to use; ``auto`` is pandas, else polars, else a plain array."""
    check_choice("frame", frame, FRAMES)
    if frame != "auto":
        return frame
    return next((library for library in ("pandas", "polars") if find_spec(library)), "array")


def _pandas(columns: Sequence[Column], as_text: bool) -> Any:
    pd = require("pandas", why="A pandas frame")

    def cells(column: Column) -> Any:
        if column.categories is None:
            return column.values
        return column.texts() if as_text else pd.Categorical.from_codes(column.values, list(column.categories))

    return pd.DataFrame({c.name: cells(c) for c in columns})


def _polars(columns: Sequence[Column], as_text: bool) -> Any:
    pl = require("polars", extra="files", why="A polars frame")

    def cells(column: Column) -> Any:
        if column.categories is None:
            return pl.Series(column.name, column.values).fill_nan(None)
        kind = pl.String if as_text else pl.Enum(list(column.categories))
        return pl.Series(column.name, column.texts().tolist(), dtype=kind)

    return pl.DataFrame([cells(c) for c in columns])


def _objects(columns: Sequence[Column], as_text: bool) -> NDArray[Any]:
    X = np.empty((len(columns[0].values), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        X[:, j] = column.values if column.categories is None else column.texts()
    return X


FRAME_MAKERS: dict[str, Callable[[Sequence[Column], bool], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "array": _objects,
}


def target_name(target: str | int | None, names: Sequence[str]) -> str | None:
    """The name of the target column, from its name, its position (-1 is the last) or None."""
    if target is None or target in names:
        return target  # type: ignore[return-value]
    if isinstance(target, int) and not isinstance(target, bool) and -len(names) <= target < len(names):
        return names[target]
    raise invalid("target", f"be a column name or position; the columns are {_listed(names)}", target)


def _listed(names: Sequence[str]) -> str:
    return printable(", ".join(names[:20]))


class UnknownColumnError(InvalidInputError):
    """A column that a file does not have; it knows the name and the columns of the file."""

    def __init__(self, what: str, column: str, names: Sequence[str]) -> None:
        known = _listed(names)
        super().__init__(str(invalid(what, f"name columns that exist ({known})", column)))
        self.column, self.known = column, known


def check_names(what: str, wanted: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns that exist."""
    known = set(names)
    for name in wanted:
        if name not in known:
            raise UnknownColumnError(what, name, names)
    return tuple(wanted)


def check_complete_labels(table: Table, where: str) -> Table:
    """A table in which every row has a label, or an error that says which row has none."""
    if table.y is not None and table.y.dtype == object:
        row = next(i for i, label in enumerate(table.y) if label is None)
        raise DataFileError(f"{where}: expected a label on every row; row {row + 1} has none. Drop such rows first.")
    return table
