"""Cells that are no numbers as numbers: parts of dates, mean targets of categories, words of texts.

Tested in ``tests/unit/models/test_schema.py``.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from ..validation.arrays import is_missing

__all__ = ["DATE_PARTS", "DateParts", "TargetMeans", "TextWords", "as_levels", "parse_date"]

Floats = NDArray[np.float64]
DATE_PARTS = 5  # year, month, weekday, days since the first one, missing
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ](\d{1,2}):(\d{2}).*)?")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_EUROPEAN = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ](\d{1,2}):(\d{2}).*)?")
_INNER_FOLDS = 5
_SMOOTHING = 10.0  # rows of the overall mean that are added to every level
_WORD = re.compile(r"\w\w+")
_MOST_WORDS = 20_000


def columns_of(X: Any) -> list[list[Any]]:
    """The cells of each column of a frame or array, missing ones as None."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        found = [frame[name].to_list() for name in frame.columns]
    else:
        found = np.asarray(X, dtype=object).T.tolist()
    return [[None if is_missing(cell) else cell for cell in column] for column in found]


def as_levels(column: Any) -> Any:
    """A column of categories as texts, whatever held them: 3, 3.0 and "3" are one level, True and "True" another.

    A code may be a number where a model is fitted and a text where new rows come from, a file or a record, or the other
    way round.
    """
    if column.dtype == nw.String:
        return column
    if column.dtype in (nw.Categorical, nw.Enum) and all(isinstance(v, str) for v in column.drop_nulls().unique()):
        return column
    missing = column.is_null().to_list()
    cells = [None if null else _level_text(cell) for cell, null in zip(column.to_list(), missing, strict=True)]
    return nw.new_series(column.name, cells, nw.String, backend=column.implementation)


def _level_text(cell: Any) -> str | None:
    if is_missing(cell):
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else str(cell)


def parse_date(cell: Any, *, month_first: bool = False) -> datetime.datetime | None:
    """A date as it is or from its text (year first; or day, month, year); None for anything else.

    ``month_first`` reads 03/04/2024 as the 4th of March, see :func:`is_month_first`.
    """
    if isinstance(cell, datetime.datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, datetime.date):
        return datetime.datetime(cell.year, cell.month, cell.day)
    text = (_level_text(cell) or "").strip()
    if match := _ISO.fullmatch(text):
        year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    elif match := _EUROPEAN.fullmatch(text):
        day, month, year, hour, minute = (int(part or 0) for part in match.groups())
        if month > 12 >= day or (month_first and day <= 12):
            day, month = month, day
    elif match := _COMPACT.fullmatch(text):
        (year, month, day), hour, minute = map(int, match.groups()), 0, 0
    else:
        return None
    try:
        return datetime.datetime(year, month, day, hour, minute)
    except ValueError:
        return None


def is_month_first(cells: Iterable[Any]) -> bool:
    """Whether dates are written as in 12/31/2024: some can be read only so, and none only with the day first."""
    found = (_EUROPEAN.fullmatch(cell.strip()) for cell in cells if isinstance(cell, str))
    pairs = [(int(match[1]), int(match[2])) for match in found if match]
    return any(second > 12 >= first for first, second in pairs) and all(first <= 12 for first, _ in pairs)


class DateParts(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Dates as year, month, weekday, days since the first date of the training rows, and whether it is missing."""

    def fit(self, X: Any, y: Any = None) -> DateParts:
        """Find the first date of each column, and in which order days and months are written."""
        columns = columns_of(X)
        self.n_features_in_ = len(columns)
        self.month_first_ = np.array([is_month_first(column) for column in columns], dtype=np.int64)
        dates = [
            [d for cell in column if (d := parse_date(cell, month_first=bool(order))) is not None]
            for column, order in zip(columns, self.month_first_, strict=True)
        ]
        self.first_days_ = np.array([_day(min(found)) if found else 0.0 for found in dates])
        return self

    def transform(self, X: Any) -> Floats:
        """Five numbers per column; those of a missing date are NaN."""
        known = zip(columns_of(X), self.first_days_, self.month_first_, strict=True)
        parts = [self._parts(column, first, bool(order)) for column, first, order in known]
        return np.hstack(parts) if parts else np.empty((len(X), 0))

    def _parts(self, column: list[Any], first: float, month_first: bool) -> Floats:
        found = np.full((len(column), DATE_PARTS), np.nan)
        found[:, -1] = 1.0
        for i, cell in enumerate(column):
            date = None if cell is None else parse_date(cell, month_first=month_first)
            if date is not None:
                found[i] = date.year, date.month, date.weekday(), _day(date) - first, 0.0
        return found


def _day(date: datetime.datetime) -> float:
    return date.toordinal() + (date.hour * 60 + date.minute) / 1440.0


class TargetMeans(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Categories of many values as the share of each class among their rows, drawn towards the overall share.

    Training rows are encoded out of fold: no row's own label is in its cell. Labels are class codes 0, 1, ..
    """

    def fit(self, X: Any, y: Any) -> TargetMeans:
        """Learn the shares of every level."""
        columns, codes = columns_of(X), np.asarray(y, dtype=np.intp)
        self.n_features_in_ = len(columns)
        self.prior_ = np.bincount(codes) / len(codes)
        found = [_level_means(column, codes, self.prior_) for column in columns]
        self.levels_ = [list(means) for means in found]
        self.means_ = [np.array(list(means.values())).reshape(-1, len(self.prior_)) for means in found]
        return self

    def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Floats:
        """Encode the training rows, each fold by the labels of the others."""
        columns, codes = columns_of(X), np.asarray(y, dtype=np.intp)
        self.fit(X, codes)
        fold = np.random.default_rng(0).permutation(np.arange(len(codes)) % _INNER_FOLDS)
        found = np.empty((len(codes), len(columns) * self._width))
        for k in range(_INNER_FOLDS):
            rest, held_out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            for j, column in enumerate(columns):
                means = _level_means([column[i] for i in rest], codes[rest], self.prior_)
                cells = [means.get(_level(column[i]), self.prior_) for i in held_out]
                found[held_out, j * self._width : (j + 1) * self._width] = self._shown(np.array(cells))
        return found

    def transform(self, X: Any) -> Floats:
        """Shares of the levels; an unknown level gets the overall ones."""
        shown = []
        for levels, means, column in zip(self.levels_, self.means_, columns_of(X), strict=True):
            place = {level: i for i, level in enumerate(levels)}
            table = np.vstack([means, self.prior_])
            shown.append(self._shown(table[[place.get(_level(cell), -1) for cell in column]]))
        return np.hstack(shown)

    @property
    def _width(self) -> int:
        return len(self.prior_) - 1  # the shares sum to one

    def _shown(self, means: Floats) -> Floats:
        return means.reshape(-1, len(self.prior_))[:, 1:]


def _level(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _level_means(column: list[Any], codes: NDArray[np.intp], prior: Floats) -> dict[str, Floats]:
    """The smoothed shares of the classes for each level, in the order of first appearance."""
    place: dict[str, int] = {}
    at = [place.setdefault(_level(cell), len(place)) for cell in column]
    sums = np.tile(_SMOOTHING * prior, (len(place), 1))
    np.add.at(sums, (np.asarray(at, dtype=np.intp), codes), 1.0)
    return dict(zip(place, sums / sums.sum(axis=1, keepdims=True), strict=True))


class TextWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One column of texts as words: 1 + log count, times the inverse document frequency, rows of length one.

    Parameters
    ----------
    most_words : int
        The commonest words are kept, in rows of two or more.
    """

    def __init__(self, most_words: int = _MOST_WORDS) -> None:
        self.most_words = most_words

    def fit(self, X: Any, y: Any = None) -> TextWords:
        """Choose the words and weigh them."""
        texts = _texts(X)
        self.n_features_in_ = 1
        rows_with: Counter[str] = Counter()
        for words in texts:
            rows_with.update(words.keys())
        kept = sorted((w for w, n in rows_with.items() if n >= 2), key=lambda w: (-rows_with[w], w))
        self.words_ = sorted(kept[: self.most_words])
        counts = np.array([rows_with[w] for w in self.words_], dtype=np.float64)
        self.idf_ = np.log((1.0 + len(texts)) / (1.0 + counts)) + 1.0
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        """A sparse matrix with a column per word."""
        place = {word: j for j, word in enumerate(self.words_)}
        data: list[float] = []
        columns: list[int] = []
        ends = [0]
        for words in _texts(X):
            known = sorted((place[w], n) for w, n in words.items() if w in place)
            values = np.array([(1.0 + np.log(n)) * self.idf_[j] for j, n in known])
            length = np.sqrt(values @ values) if len(values) else 1.0
            data.extend((values / length).tolist())
            columns.extend(j for j, _ in known)
            ends.append(len(columns))
        return sparse.csr_matrix((data, columns, ends), shape=(len(ends) - 1, len(self.words_)))


def _texts(X: Any) -> list[Counter[str]]:
    (column,) = columns_of(X)
    return [Counter(_WORD.findall("" if cell is None else str(cell).lower())) for cell in column]
