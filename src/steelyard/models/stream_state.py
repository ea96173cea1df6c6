"""A stream at rest: what was learned, how rows are read, what the answers were so far."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..data import Dataset
from ..online import OnlineClassifier, OnlineCostClassifier
from ..validation.values import invalid
from .records import RecordEncoder

__all__ = ["StreamState"]


@dataclass(frozen=True, eq=False)
class StreamState:
    """What `steelyard stream --state` keeps.

    Parameters
    ----------
    learner : OnlineClassifier or OnlineCostClassifier
        Over the classes 0, 1, ..
    encoder : RecordEncoder
        From the columns of a table to the learner's rows.
    labels : tuple
        The user's own label of each class.
    counts : array of shape (n_classes, n_classes)
        How often each label got each answer.
    log : dict
        Plain values that say which decision log belongs to the state.
    """

    learner: OnlineClassifier | OnlineCostClassifier
    encoder: RecordEncoder
    labels: tuple[Any, ...]
    counts: NDArray[np.int64]
    log: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to a `.steelyard` file, whole or not at all."""
        from .storage import save_object  # the table of kinds knows this class

        return save_object(self, path)

    def predict(self, chunk: Dataset) -> NDArray[Any]:
        """Decisions for rows that are not learned from; columns that the stream did not have are ignored."""
        answers = self.learner.predict(self.encoder.transform(self._known_columns(chunk)))
        labels = np.empty(len(self.labels), dtype=object)
        labels[:] = self.labels
        return labels[np.asarray(answers, dtype=np.intp)]

    def _known_columns(self, chunk: Dataset) -> Dataset:
        wanted = self.encoder.columns
        if not isinstance(wanted, tuple) or chunk.features == wanted or not chunk.features:
            return chunk
        missing = [name for name in wanted if name not in chunk.features]
        if missing:
            raise invalid("data", "have every column of the stream", f"no column {missing[0]!r}")
        nominal = {name: levels for name, levels in chunk.nominal.items() if name in wanted}
        frame = nw.from_native(chunk.X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            X: Any = chunk.X[:, [chunk.features.index(name) for name in wanted]]
        elif nominal:
            X = frame.select(list(wanted)).to_native()
        else:
            X = np.column_stack([frame[name].to_numpy().astype(np.float64) for name in wanted])
        return Dataset(X, None, wanted, nominal)
