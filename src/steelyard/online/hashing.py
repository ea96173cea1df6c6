"""Mixed records as sparse rows of a fixed width, with nothing to fit."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self
from unicodedata import normalize

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from .._native import HashedRows
from ..validation.arrays import is_sparse
from ..validation.types import LabelsLike, MatrixLike
from ..validation.values import check_count, invalid, is_missing
from .sparse_row import SparseRow

__all__ = ["RecordHasher"]

WIDEST = 2**31 - 1  # a hash has 31 bits besides its sign
_INT32 = np.dtype(np.int32)
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^/.?=&-]+")


class RecordHasher(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Dicts or frames with numbers, texts and missing cells as CSR rows of ``n_features`` columns.

    A number under the name f adds its value at the place of ``f``; a text v adds 1 at the place of ``f=v``; a missing
    cell (None, NaN) adds 1 at the place of ``f=`` and nothing else; True and False are 1 and 0. A column named in
    ``text`` is read instead: lower-cased (after NFKC), each of its words, pairs of neighbouring words and pieces of 3
    to 5 characters within words adds 1 at the place of ``f~token``, and the column's part is scaled to length 1; a
    column named in ``url`` likewise, its words being what stands between / . ? = & and -. Place and sign of a token
    come from its MurmurHash3 (32 bit, seed 0): |h| mod n_features and the sign of h, as in scikit-learn's
    FeatureHasher, so they are the same on every machine and there is nothing to fit.

    Parameters
    ----------
    n_features : int
        Columns, >= 1; better a power of two well above the number of different tokens.
    text : sequence of str
        Columns of texts to be read word by word.
    url : sequence of str
        Columns of addresses to be read part by part.

    Examples
    --------
    >>> rows = RecordHasher(64).transform([{"age": 31, "city": "Oslo"}, {"age": None, "city": "Oslo"}])
    >>> [sorted(row.data.tolist()) for row in rows]
    [[1.0, 31.0], [-1.0, 1.0]]
    >>> RecordHasher(text=["note"]).one({"note": "Pay fee"}).values.round(3).tolist()
    [-0.667, -0.333, 0.667]
    """

    def __init__(self, n_features: int = 2**18, *, text: Sequence[str] = (), url: Sequence[str] = ()) -> None:
        self.n_features = n_features
        self.text = text
        self.url = url

    def fit(self, X: MatrixLike | None = None, y: LabelsLike | None = None) -> Self:
        """Nothing to learn; checks the parameters."""
        self._kernel()
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
        _refuse_sparse(X)
        words = self._kernel()[1]
        rows = HashedRows(self.n_features)
        for i, record in enumerate(_records(X)):
            if not isinstance(record, Mapping):
                raise invalid("X", "hold one dict a row", record, f"See record {i}.")
            where = f"record {i}"
            plain = record if type(record) is dict else _plain(record, where)
            if rows.add(plain, words.of(plain, where)) is not None:
                plain = _plain(plain, where)
                rows.add(plain, words.of(plain, where))
        values, columns, starts = rows.arrays()
        return sparse.csr_matrix((values, columns, starts), shape=(len(starts) - 1, self.n_features))

    def one(self, record: Mapping[str, Any]) -> SparseRow:
        """The sparse row of one record: :meth:`transform` for a single one, much quicker.

        Parameters
        ----------
        record : mapping
            Numbers, texts and missing cells by name.

        Returns
        -------
        SparseRow
            Its row.
        """
        rows, words = self._kernel()
        if type(record) is not dict:
            record = _plain(record, "the record")
        found: Any = rows.one(record, words.of(record, "the record"))
        if found is None:
            record = _plain(record, "the record")
            found = rows.one(record, words.of(record, "the record"))
        return SparseRow(np.frombuffer(found[0]), np.frombuffer(found[1], _INT32), self.n_features)

    def one_arranged(
        self, record: dict[str, Any], names: tuple[str, ...], numeric: bytes, raw: Any, numbers: Any
    ) -> SparseRow:
        """The row of a record whose numbers were changed: cells in the order of ``names``, all others left out.

        Parameters
        ----------
        record : dict
            Cells by name; one that is not there is missing.
        names : tuple of str
            The columns.
        numeric : bytes
            For each of them 1 if it is a number, else 0.
        raw : buffer of float
            The numbers as they were; NaN for a missing one, which stays missing.
        numbers : buffer of float
            What to hash in their place.

        Returns
        -------
        SparseRow
            Its row.
        """
        rows, words = self._kernel()
        found: Any = rows.one_arranged(record, words.of(record, "the record"), names, numeric, raw, numbers)
        if found is None:
            record = _plain({name: record.get(name) for name in names}, "the record")
            found = rows.one_arranged(record, words.of(record, "the record"), names, numeric, raw, numbers)
        if found is None:
            raise invalid("numbers", "be finite", list(numbers))
        return SparseRow(np.frombuffer(found[0]), np.frombuffer(found[1], _INT32), self.n_features)

    def _kernel(self) -> tuple[HashedRows, _Words]:
        text = self.text if type(self.text) is tuple else _names("text", self.text)
        url = self.url if type(self.url) is tuple else _names("url", self.url)
        return _kernel_of(self.n_features, text, url)

    def state(self) -> dict[str, Any]:
        """All there is: the parameters."""
        self._kernel()
        texts = {"text": list(self.text), "url": list(self.url)}
        return {"format": "steelyard.RecordHasher", "version": 1, "n_features": int(self.n_features)} | texts

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
        return cls(state["n_features"], text=tuple(state.get("text", ())), url=tuple(state.get("url", ())))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True  # any record fits: there is no width to keep
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


class _Words:
    """How the texts of a record are cut, column by column."""

    def __init__(self, text: tuple[str, ...], url: tuple[str, ...]) -> None:
        self.cut: dict[str, Callable[[str], list[str]]] = dict.fromkeys(text, _WORD.findall)
        self.cut |= dict.fromkeys(url, _PART.findall)

    def of(self, record: Mapping[Any, Any], where: str) -> dict[str, list[str]] | None:
        """The words of every text by column; None where no column holds any."""
        if not self.cut:
            return None
        found = {}
        for name, cut in self.cut.items():
            cell = record.get(name)
            if isinstance(cell, str):
                found[name] = cut(cell.lower() if cell.isascii() else normalize("NFKC", cell).lower())
            elif not is_missing(cell):
                raise invalid("X", "hold texts or missing cells in columns of texts", cell, f"See {where}, {name}.")
        return found


@lru_cache(maxsize=64)
def _kernel_of(n_features: Any, text: tuple[str, ...], url: tuple[str, ...]) -> tuple[HashedRows, _Words]:
    """What hashes a single record, made once for equal parameters; it keeps nothing between two records."""
    width = check_count("n_features", n_features, at_most=WIDEST)
    both = set(_names("text", text)) & set(_names("url", url))
    if both:
        raise invalid("url", "name no column that text names", sorted(both)[0])
    return HashedRows(width), _Words(text, url)


def _names(what: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise invalid(what, "be a list of column names", names)
    return tuple(names)


def _refuse_sparse(X: Any) -> None:
    if is_sparse(X):
        raise invalid("X", "hold records, not sparse rows", type(X).__name__, "Sparse rows need no hashing.")


def _plain(record: Any, where: str) -> dict[str, Any]:
    """A record as the kernel reads it: texts, finite numbers and None by name."""
    if not isinstance(record, Mapping):
        raise invalid("record", "be a dict of cells by name", record)
    return {str(name): _plain_cell(str(name), value, where) for name, value in record.items()}


def _plain_cell(name: str, value: Any, where: str) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (numbers.Real, np.bool_)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise invalid("X", "hold finite numbers, texts or missing cells", value, f"See {where}, {name}.")
        return number
    raise invalid("X", "hold numbers, texts or missing cells", value, f"See {where}, {name}.")


def _records(X: Any) -> Iterable[Any]:
    """The rows of a table as dicts; records as they come."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        names, columns = frame.columns, [frame[name].to_numpy().tolist() for name in frame.columns]
    elif hasattr(X, "shape") and len(X.shape) == 2:
        names, columns = [f"x{j}" for j in range(X.shape[1])], np.asarray(X).T.tolist()
    elif isinstance(X, (str, Mapping)) or not isinstance(X, Iterable):
        raise invalid("X", "be a frame, a table or a list of dicts", X, "Put a single record into a list.")
    else:
        return X
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
