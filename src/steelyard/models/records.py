"""From the chunks of a reader to the rows of a learner, without looking ahead."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from ..data import Dataset
from ..errors import StateError
from ..online import RecordHasher, StreamScaler
from ..validation.arrays import is_sparse
from ..validation.values import check_choice, invalid
from .memory import check_memory

SCALES = ("auto", "none", "standard", "unit-norm")
DEFAULT_BITS = 18  # of the hash of tables with text columns
WIDE = 2**20  # columns from which on the memory of the weights is looked at


class RecordEncoder:
    """Numbers are scaled by the past; text columns, if there are any, are hashed together with the numbers."""

    def __init__(self, scale: str = "auto", hash_bits: int | None = None) -> None:
        self.scale = check_choice("--scale", scale, SCALES)
        self.hash_bits = hash_bits
        self.scaler: StreamScaler | None = None
        self.columns: tuple[str, ...] | int | None = None  # only their number where they have no names

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
        return RecordHasher(2**self._bits).transform(self._half_scaled(chunk))

    def transform(self, X: Any) -> Any:
        """New rows as the learner reads them; nothing is learned from them, and columns it does not know are left."""
        if is_sparse(X):
            return X
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
        return RecordHasher(2**self._bits).transform(frame.to_native())

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
            raise invalid("columns", f"stay the {had[0]} of the state", other, "Start with another --state.")
        self.columns = found

    def _scaled(self, numbers: Any) -> Any:
        """Missing cells become the mean, 0; without scaling they stay for the learner to complain about."""
        if self.scale == "none":
            return numbers
        if self.scaler is None:
            self.scaler = StreamScaler(unit_norm=self.scale != "standard")
        return self.scaler.run(numbers)

    def _half_scaled(self, chunk: Dataset) -> Any:
        """A frame whose numbers are scaled; a missing number stays missing, because the hasher has a place for it."""
        names = [name for name in chunk.features if name not in chunk.nominal]
        if self.scale == "none" or not names:
            return chunk.X
        frame = nw.from_native(chunk.X, eager_only=True)
        raw = np.column_stack([frame[name].to_numpy().astype(np.float64) for name in names])
        if self.scaler is None:
            self.scaler = StreamScaler()
        scaled = np.where(np.isnan(raw), np.nan, self.scaler.run(raw))
        return _with_numbers(frame, names, scaled).to_native()

    def state(self) -> dict[str, Any]:
        """Plain data, and the scaler's sums as lists of exact numbers."""
        scaler = None
        if self.scaler is not None:
            scaler = self.scaler.state()
            scaler["arrays"] = {name: array.tolist() for name, array in scaler["arrays"].items()}
        columns = list(self.columns) if isinstance(self.columns, tuple) else self.columns
        return {"scale": self.scale, "hash_bits": self.hash_bits, "columns": columns, "scaler": scaler}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RecordEncoder:
        """The encoder as it was."""
        try:
            made = cls(state["scale"], state["hash_bits"])
            columns = state["columns"]
            made.columns = tuple(columns) if isinstance(columns, list) else columns
            made.scaler = None if state["scaler"] is None else StreamScaler.from_state(state["scaler"])
        except (KeyError, TypeError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        return made


def _with_numbers(frame: Any, names: list[str], cells: Any) -> Any:
    """The frame with these columns replaced."""
    backend = nw.get_native_namespace(frame)
    return frame.with_columns(*(nw.new_series(name, cells[:, j], backend=backend) for j, name in enumerate(names)))
