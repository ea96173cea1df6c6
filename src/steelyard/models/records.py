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

SCALES = ("auto", "none", "standard", "unit-norm")


class RecordEncoder:
    """Numbers are scaled by the past; text columns, if there are any, are hashed together with the numbers."""

    def __init__(self, scale: str = "auto", hash_bits: int | None = None) -> None:
        self.scale = check_choice("--scale", scale, SCALES)
        self.hash_bits = hash_bits
        self.scaler: StreamScaler | None = None
        self.columns: tuple[str, ...] | None = None

    def rows(self, chunk: Dataset) -> Any:
        """The rows of the next chunk, ready to learn from."""
        self._check_columns(chunk)
        if is_sparse(chunk.X):
            if self.scale in ("standard", "unit-norm"):
                raise invalid("--scale", "be none for sparse rows", self.scale)
            return chunk.X
        if not chunk.nominal and self.hash_bits is None:
            return self._scaled(np.asarray(chunk.X, dtype=np.float64))
        return RecordHasher(2 ** (18 if self.hash_bits is None else self.hash_bits)).transform(self._half_scaled(chunk))

    def _check_columns(self, chunk: Dataset) -> None:
        found = chunk.features or tuple(f"x{j}" for j in range(chunk.X.shape[1]))
        if self.columns is not None and found != self.columns:
            other = next((a for a, b in zip(found, self.columns, strict=False) if a != b), len(found))
            raise invalid("columns", f"stay the {len(self.columns)} of the state", other, "Start with another --state.")
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
        backend = nw.get_native_namespace(frame)
        series = [nw.new_series(name, scaled[:, j], backend=backend) for j, name in enumerate(names)]
        return frame.with_columns(*series).to_native()

    def state(self) -> dict[str, Any]:
        """Plain data, and the scaler's sums as lists of exact numbers."""
        scaler = None
        if self.scaler is not None:
            scaler = self.scaler.state()
            scaler["arrays"] = {name: array.tolist() for name, array in scaler["arrays"].items()}
        columns = None if self.columns is None else list(self.columns)
        return {"scale": self.scale, "hash_bits": self.hash_bits, "columns": columns, "scaler": scaler}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RecordEncoder:
        """The encoder as it was."""
        try:
            made = cls(state["scale"], state["hash_bits"])
            made.columns = None if state["columns"] is None else tuple(state["columns"])
            made.scaler = None if state["scaler"] is None else StreamScaler.from_state(state["scaler"])
        except (KeyError, TypeError) as error:
            raise StateError(f"state must be complete and unchanged; got {type(error).__name__}: {error}.") from error
        return made
