"""From the chunks of a reader to the rows of a learner, without looking ahead."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .._native import gather_numbers
from ..data import Dataset
from ..errors import InvalidInputError, StateError
from ..online import RecordHasher, SparseRow, StreamScaler
from ..validation.arrays import is_sparse
from ..validation.values import check_choice, invalid
from .memory import check_memory

SCALES = ("auto", "none", "standard", "unit-norm")
DEFAULT_BITS = 18  # of the hash of tables with text columns
WIDE = 2**20  # columns from which on the memory of the weights is looked at


class RecordEncoder:
    """Numbers are scaled by the past; where there are columns of texts, all are hashed together.

    A text is one token, but for the columns named in ``text`` and ``url``, which :class:`RecordHasher` reads word by
    word.
    """

    def __init__(
        self,
        scale: str = "auto",
        hash_bits: int | None = None,
        *,
        text: Sequence[str] = (),
        url: Sequence[str] = (),
    ) -> None:
        self.scale = check_choice("--scale", scale, SCALES)
        self.hash_bits = hash_bits
        self.text, self.url = tuple(text), tuple(url)
        self.scaler: StreamScaler | None = None
        self.columns: tuple[str, ...] | int | None = None  # only their number where they have no names
        self.nominal: tuple[str, ...] = ()  # those that are no numbers
        self._numeric: tuple[str, ...] = ()
        self._made: RecordHasher | None = None

    def begin(self, columns: Sequence[str], nominal: Collection[str] = ()) -> RecordEncoder:
        """Say which columns a record has, and which of them are no numbers, before the first one comes.

        Parameters
        ----------
        columns : sequence of str
            All columns, in their order.
        nominal : collection of str
            Those whose cells are texts; those named in ``text`` and ``url`` are among them.

        Returns
        -------
        RecordEncoder
            The encoder, ready for :meth:`one`.
        """
        unknown = [name for name in (*nominal, *self.text, *self.url) if name not in columns]
        if unknown or len(set(columns)) < len(columns):
            raise invalid("columns", "come once each and hold every nominal column", unknown or list(columns))
        texts = {*nominal, *self.text, *self.url}
        self._keep(tuple(columns), tuple(name for name in columns if name in texts))
        return self

    def one(self, record: Mapping[str, Any]) -> NDArray[np.float64] | SparseRow:
        """One record as a row of the learner, scaled by those before it; the same row as :meth:`rows` makes of it.

        A cell that the record has not is missing; one that the encoder does not know is left out.

        Parameters
        ----------
        record : mapping
            Numbers, texts and None by column.

        Returns
        -------
        ndarray or SparseRow
            What ``decide`` and ``learn`` take.
        """
        if not isinstance(self.columns, tuple):
            raise invalid("columns", "be known before a single record comes", None, "Call begin() first.")
        if type(record) is not dict:
            record = dict(record)
        raw = self._numbers(record)
        if not self.hashed:
            return np.array(raw) if self.scale == "none" else self._scaler(unit_norm=True).one(raw)
        if self.scale == "none" or not self._numeric:
            return self._hasher().one_arranged(record, self.columns, self._is_numeric, raw, raw)
        scaler = self.scaler
        before = None if scaler is None else (scaler.counts_, scaler.mean_, scaler.squares_)  # never written to
        try:
            scaled = self._scaler().one(raw)
            return self._hasher().one_arranged(record, self.columns, self._is_numeric, raw, scaled)
        except BaseException:
            self.scaler = scaler
            if scaler is not None and before is not None:
                scaler.counts_, scaler.mean_, scaler.squares_ = before
            raise

    def one_of_numbers(self, numbers: Sequence[Any]) -> NDArray[np.float64]:
        """The same for a record of numbers alone, in the order of the columns, none of them missing.

        Parameters
        ----------
        numbers : sequence of float
            A number for each column.

        Returns
        -------
        ndarray
            What ``decide`` and ``learn`` take.
        """
        raw = array("d", numbers)
        if self.hashed or len(raw) != self.width:
            raise invalid("numbers", f"be {self.width}, of columns that are all numbers", len(raw))
        return np.array(raw) if self.scale == "none" else self._scaler(unit_norm=True).one(raw)

    def many_of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for many records, NaN where a cell is missing; each row is scaled by those before it.

        Parameters
        ----------
        numbers : ndarray of shape (n, d)
            A number for each record and column.

        Returns
        -------
        ndarray of shape (n, d)
            The learner's rows.
        """
        if self.hashed or numbers.shape[1] != self.width:
            raise invalid("numbers", f"be {self.width} a record, of columns that are all numbers", numbers.shape)
        return self._scaled(numbers)  # type: ignore[no-any-return]

    def _numbers(self, record: dict[str, Any]) -> array[float]:
        numbers = array("d", self._blank)
        if not gather_numbers(record, self._numeric, numbers):
            try:
                return array("d", [math.nan if (cell := record.get(name)) is None else cell for name in self._numeric])
            except (TypeError, OverflowError):
                name = next(name for name in self._numeric if not _is_number(record.get(name)))
                raise invalid(f"column {name!r}", "hold a number or nothing", record.get(name)) from None
        return numbers

    def unused(self) -> RecordEncoder:
        """An encoder like this one that has seen nothing yet."""
        return RecordEncoder(self.scale, self.hash_bits, text=self.text, url=self.url)

    def __copy__(self) -> RecordEncoder:
        made = self.unused()
        made.__dict__ |= self.__dict__ | {"scaler": copy(self.scaler)}  # what it learns from later rows stays its own
        return made

    @property
    def hashed(self) -> bool:
        """Whether rows are hashed into sparse ones."""
        return bool(self.nominal) or self.hash_bits is not None

    @property
    def width(self) -> int:
        """Features of the learner's rows, once the columns are known."""
        if self.hashed:
            return int(2**self._bits)
        return len(self.columns) if isinstance(self.columns, tuple) else self.columns or 0

    def _keep(self, columns: tuple[str, ...] | int, nominal: tuple[str, ...]) -> None:
        self.columns, self.nominal = columns, nominal
        named, texts = columns if isinstance(columns, tuple) else (), set(nominal)
        self._numeric = tuple(name for name in named if name not in texts)
        self._is_numeric = bytes(name not in texts for name in named)
        self._blank = bytes(8 * len(self._numeric))

    def _scaler(self, *, unit_norm: bool = False) -> StreamScaler:
        """What scales numbers, made when the first ones come; hashed rows are not brought to length 1."""
        if self.scaler is None:
            self.scaler = StreamScaler(unit_norm=unit_norm and self.scale != "standard")
        return self.scaler

    def _hasher(self) -> RecordHasher:
        if self._made is None:
            self._made = RecordHasher(2**self._bits, text=self.text, url=self.url)
        return self._made

    def rows(self, chunk: Dataset) -> Any:
        """The rows of the next chunk, ready to learn from."""
        self._check_columns(chunk)
        self._check_memory(chunk)
        if is_sparse(chunk.X):
            if self.scale in ("standard", "unit-norm"):
                raise invalid("--scale", "be none for sparse rows", self.scale)
            return chunk.X
        if not chunk.nominal and self.hash_bits is None:
            return self._scaled(np.asarray(chunk.X, dtype=np.float64))
        return self._hasher().transform(self._half_scaled(replace(chunk, X=_named(chunk.X, chunk.features))))

    def transform(self, X: Any) -> Any:
        """New rows as the learner reads them; nothing is learned from them, and columns it does not know are left."""
        if is_sparse(X):
            return X
        if self.hash_bits is not None and isinstance(self.columns, tuple):
            X = _named(X, self.columns)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        named = isinstance(self.columns, tuple) and isinstance(frame, nw.DataFrame)
        if named:
            missing = [name for name in self.columns or () if name not in frame.columns]  # type: ignore[union-attr]
            if missing:
                raise invalid("data", "have every column of the stream", f"no column {missing[0]!r}")
            frame = frame.select(list(self.columns))  # type: ignore[arg-type]
        numeric = [name for name in frame.columns if frame[name].dtype.is_numeric()] if named else []
        if not named or (self.hash_bits is None and len(numeric) == len(frame.columns)):
            numbers = np.asarray(frame.to_numpy() if named else X, dtype=np.float64)
            return numbers if self.scaler is None else self.scaler.transform(numbers)
        if self.scaler is not None:
            if len(numeric) != self.scaler.n_features_in_:
                raise invalid(
                    "data", f"have {self.scaler.n_features_in_} columns of numbers", f"{len(numeric)} of them"
                )
            raw = np.column_stack([frame[name].to_numpy().astype(np.float64) for name in numeric])
            frame = _with_numbers(frame, numeric, np.where(np.isnan(raw), np.nan, self.scaler.transform(raw)))
        return self._hasher().transform(frame.to_native())

    @property
    def _bits(self) -> int:
        return DEFAULT_BITS if self.hash_bits is None else self.hash_bits

    def _check_memory(self, chunk: Dataset) -> None:
        """Raise before the learner asks for more memory than there is."""
        hashed = not is_sparse(chunk.X) and (bool(chunk.nominal) or self.hash_bits is not None)
        width = 2**self._bits if hashed else chunk.X.shape[1]
        if width >= WIDE:
            option, value = ("--hash-bits", self._bits) if hashed else ("--n-features", width)
            check_memory(option, value, 8 * width)

    def _check_columns(self, chunk: Dataset) -> None:
        found: tuple[str, ...] | int = chunk.features or chunk.X.shape[1]
        if self.columns is not None and found != self.columns:
            had, now = ((c, ()) if isinstance(c, int) else (len(c), c) for c in (self.columns, found))
            other = next((b for a, b in zip(had[1], now[1], strict=False) if a != b), now[0])
            raise other_columns(self.columns, other)
        if self.columns is not None:
            self._check_kinds(chunk)
        else:
            self._check_texts(chunk)
            self._keep(found, tuple(name for name in chunk.features if name in chunk.nominal))

    def _check_kinds(self, chunk: Dataset) -> None:
        """Raise where a column of numbers holds texts now, or the other way round: it would be another feature."""
        for name in chunk.features:
            if (name in chunk.nominal) != (name in self.nominal):
                kind, now = ("texts", "numbers") if name in self.nominal else ("numbers", "texts")
                raise invalid(f"column {name!r}", f"hold {kind}, as in the state", now, "Start with another --state.")

    def _check_texts(self, chunk: Dataset) -> None:
        for option, names in (("--text", self.text), ("--url", self.url)):
            for name in names:
                if name not in chunk.nominal:
                    raise invalid(
                        option, "name a column of texts", name, f"Texts: {', '.join(chunk.nominal) or 'none'}."
                    )

    def _scaled(self, numbers: Any) -> Any:
        """Missing cells become the mean, 0; without scaling they stay for the learner to refuse."""
        return numbers if self.scale == "none" else self._scaler(unit_norm=True).run(numbers)

    def _half_scaled(self, chunk: Dataset) -> Any:
        """A frame whose numbers are scaled; a missing number stays missing, because the hasher has a place for it."""
        names = [name for name in chunk.features if name not in chunk.nominal]
        if self.scale == "none" or not names:
            return chunk.X
        frame = nw.from_native(chunk.X, eager_only=True)
        raw = np.column_stack([frame[name].to_numpy().astype(np.float64) for name in names])
        scaled = np.where(np.isnan(raw), np.nan, self._scaler().run(raw))
        return _with_numbers(frame, names, scaled).to_native()

    def state(self) -> dict[str, Any]:
        """Plain data, and the scaler's sums as lists of exact numbers."""
        scaler = None
        if self.scaler is not None:
            scaler = self.scaler.state()
            scaler["arrays"] = {name: array.tolist() for name, array in scaler["arrays"].items()}
        columns = list(self.columns) if isinstance(self.columns, tuple) else self.columns
        texts = {"text": list(self.text), "url": list(self.url), "nominal": list(self.nominal)}
        return {"scale": self.scale, "hash_bits": self.hash_bits, "columns": columns, "scaler": scaler} | texts

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RecordEncoder:
        """The encoder as it was."""
        try:
            made = cls(state["scale"], state["hash_bits"], text=state.get("text", ()), url=state.get("url", ()))
            columns = state["columns"]
            made._keep(tuple(columns) if isinstance(columns, list) else columns, tuple(state.get("nominal", ())))
            made.scaler = None if state["scaler"] is None else StreamScaler.from_state(state["scaler"])
        except (KeyError, TypeError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        return made


def other_columns(columns: tuple[str, ...] | int | None, got: Any) -> InvalidInputError:
    """The error for rows that have other columns than those before.

    Parameters
    ----------
    columns : tuple of str, int or None
        Of the encoder.
    got : object
        What is there instead.
    """
    count = len(columns) if isinstance(columns, tuple) else columns
    return invalid("columns", f"stay the {count} of the state", got, "Start with another --state.")


def _named(X: Any, names: tuple[str, ...]) -> Any:
    """A table whose columns have names, since a cell's place in a hashed row depends on the name of its column."""
    if not isinstance(X, np.ndarray):
        return X
    if X.ndim != 2 or X.shape[1] != len(names):
        raise invalid("data", f"have the {len(names)} columns of the stream", f"shape {X.shape}")
    return nw.from_numpy(X, schema=list(names), backend="pandas").to_native()


def _with_numbers(frame: Any, names: list[str], cells: Any) -> Any:
    """The frame with these columns replaced."""
    backend = nw.get_native_namespace(frame)
    return frame.with_columns(*(nw.new_series(name, cells[:, j], backend=backend) for j, name in enumerate(names)))


def _is_number(cell: Any) -> bool:
    try:
        array("d", [math.nan if cell is None else cell])
    except (TypeError, OverflowError):
        return False
    return True
