"""Mixed records as sparse rows of a fixed width, with nothing to fit."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import murmurhash3_32

from ..validation.arrays import is_sparse
from ..validation.types import LabelsLike, MatrixLike
from ..validation.values import check_count, invalid

__all__ = ["RecordHasher"]

REMEMBERED = 1 << 18  # tokens whose place is not worked out again


class RecordHasher(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Dicts or frames with numbers, texts and missing cells as CSR rows of ``n_features`` columns.

    A number under the name f adds its value at the place of ``f``; a text v adds 1 at the place of ``f=v``; a missing
    cell (None, NaN) adds 1 at the place of ``f=`` and nothing else; True and False are 1 and 0. Place and sign of a
    token come from its MurmurHash3 (32 bit, seed 0): |h| mod n_features and the sign of h, as in scikit-learn's
    FeatureHasher, so they are the same on every machine and there is nothing to fit.

    Parameters
    ----------
    n_features : int
        Columns, >= 1; better a power of two well above the number of different tokens.

    Examples
    --------
    >>> rows = RecordHasher(64).transform([{"age": 31, "city": "Oslo"}, {"age": None, "city": "Oslo"}])
    >>> [sorted(row.data.tolist()) for row in rows]
    [[1.0, 31.0], [-1.0, 1.0]]
    """

    def __init__(self, n_features: int = 2**18) -> None:
        self.n_features = n_features

    def fit(self, X: MatrixLike | None = None, y: LabelsLike | None = None) -> Self:
        """Nothing to learn; checks the parameter."""
        self._width()
        _refuse_sparse(X)
        return self

    def partial_fit(self, X: MatrixLike | None = None, y: LabelsLike | None = None) -> Self:
        """Nothing to learn."""
        return self.fit(X, y)

    def transform(self, X: MatrixLike) -> sparse.csr_matrix:
        """One sparse row for every record.

        Parameters
        ----------
        X : iterable of mappings, or frame
            Records.

        Returns
        -------
        csr_matrix of shape (n, n_features)
            One sparse row for every record.
        """
        width = self._width()
        _refuse_sparse(X)
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if isinstance(frame, nw.DataFrame):
            return _of_columns([(name, frame[name].to_numpy()) for name in frame.columns], len(frame), width)
        if hasattr(X, "shape") and len(X.shape) == 2:
            return _of_columns([(f"x{j}", np.asarray(X)[:, j]) for j in range(X.shape[1])], X.shape[0], width)
        return _of_records(X, width)

    def _width(self) -> int:
        return check_count("n_features", self.n_features)

    def state(self) -> dict[str, Any]:
        """All there is: the parameter."""
        return {"format": "steelyard.RecordHasher", "version": 1, "n_features": self._width()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The hasher as it was.

        Parameters
        ----------
        state : dict
            What :meth:`state` gave.

        Returns
        -------
        Self
            The hasher as it was.
        """
        return cls(state["n_features"])

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True  # any record fits: there is no width to keep
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _refuse_sparse(X: Any) -> None:
    if is_sparse(X):
        raise invalid("X", "hold records, not sparse rows", type(X).__name__, "Sparse rows need no hashing.")


@lru_cache(maxsize=REMEMBERED)
def _place(token: str, width: int) -> tuple[int, float]:
    """Column and sign of a token."""
    h = int(murmurhash3_32(token.encode(), seed=0))
    return abs(h) % width, 1.0 if h >= 0 else -1.0


def _token(name: str, value: Any, where: str) -> tuple[str, float]:
    """The token of one cell and how much it counts."""
    if value is None or value != value:
        return f"{name}=", 1.0
    if isinstance(value, str):
        return f"{name}={value}", 1.0
    if isinstance(value, (numbers.Real, np.bool_)):
        number = float(value)
        if not np.isfinite(number):
            raise invalid("X", "hold finite numbers, texts or missing cells", value, f"See {where}, {name}.")
        return name, number
    raise invalid("X", "hold numbers, texts or missing cells", value, f"See {where}, {name}.")


def _of_records(records: Any, width: int) -> sparse.csr_matrix:
    if isinstance(records, (str, Mapping)) or not isinstance(records, Iterable):
        raise invalid("X", "be a frame, a table or a list of dicts", records, "Put a single record into a list.")
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise invalid("X", "hold one dict a row", record, f"See record {i}.")
        for name, value in record.items():
            token, amount = _token(str(name), value, f"record {i}")
            column, sign = _place(token, width)
            columns.append(column)
            values.append(sign * amount)
        starts.append(len(columns))
    return _compact(values, columns, starts, width)


def _of_columns(columns: list[tuple[str, NDArray[Any]]], n: int, width: int) -> sparse.csr_matrix:
    """The same, column by column: a number needs one hash a column, a text one hash a category."""
    places = np.empty((n, len(columns)), dtype=np.int64)
    amounts = np.empty((n, len(columns)))
    for j, (name, cells) in enumerate(columns):
        if cells.dtype.kind in "fiub":
            numbers_ = cells.astype(np.float64)
            if np.isinf(numbers_).any():
                _token(name, np.inf, f"row {int(np.argmax(np.isinf(numbers_)))}")
            missing = np.isnan(numbers_)
            (place, sign), (gap, gap_sign) = _place(name, width), _place(f"{name}=", width)
            places[:, j] = np.where(missing, gap, place)
            amounts[:, j] = np.where(missing, gap_sign, sign * numbers_)
        else:
            for i, value in enumerate(cells.tolist()):
                token, amount = _token(name, value, f"row {i}")
                place, sign = _place(token, width)
                places[i, j], amounts[i, j] = place, sign * amount
    starts = np.arange(n + 1) * len(columns)
    return _compact(amounts.ravel(), places.ravel(), starts, width)


def _compact(values: Any, columns: Any, starts: Any, width: int) -> sparse.csr_matrix:
    parts = (np.asarray(values, dtype=np.float64), np.asarray(columns), np.asarray(starts))
    rows = sparse.csr_matrix(parts, shape=(len(starts) - 1, width))
    rows.sum_duplicates()
    return rows
