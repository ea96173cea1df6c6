"""A stream at rest: what was learned, how rows are read, what the answers were so far."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import Costs
from ..online import OnlineClassifier, OnlineCostClassifier
from .awaited import AwaitedRow, SettledLabel
from .records import RecordEncoder
from .schema import Columns

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
    awaited : tuple of AwaitedRow
        Rows whose label was asked for and has not come.
    settled : dict
        The labels that came late, by round.
    notes : dict
        Plain values: the names of columns that are not learned from, the digest of the rows seen, what was paid.
    """

    learner: OnlineClassifier | OnlineCostClassifier
    encoder: RecordEncoder
    labels: tuple[Any, ...]
    counts: NDArray[np.int64]
    log: dict[str, Any] = field(default_factory=dict)
    awaited: tuple[AwaitedRow, ...] = ()
    settled: dict[int, SettledLabel] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What a user calls it."""
        return f"stream, {type(self.learner).__name__}"

    @property
    def columns(self) -> Columns:
        """The columns it reads; which of them hold text is seen in the data."""
        known = self.encoder.columns
        if isinstance(known, tuple):
            return Columns(known, ())
        return Columns(tuple(range(self.learner.n_features_in_)), (), sparse=True)

    @property
    def costs(self) -> Costs:
        """The costs it learned with, or one for every mistake."""
        matrix = getattr(self.learner.costs, "matrix", None)
        return Costs.zero_one(self.labels) if matrix is None else Costs.from_matrix(matrix, classes=list(self.labels))

    def predict(self, X: Any, *, costs: Any = None) -> NDArray[Any]:
        """Decisions for new rows, by what has been learned so far; nothing is learned from them.

        ``costs`` of single rows play no part: the learner weighed costs while it learned.
        """
        answers = np.asarray(self.learner.predict(self.encoder.transform(X)))
        found = np.empty(len(self.labels), dtype=object)
        found[:] = self.labels
        return np.asarray(found[answers.astype(np.intp)])

    def scores(self, X: Any) -> NDArray[np.float64] | None:
        """Scores of new rows, larger for the second of two classes; None for more classes.

        Parameters
        ----------
        X : frame, array-like or sparse matrix
            Rows.

        Returns
        -------
        ndarray of shape (n,) or None
            The learner's decision function.
        """
        found = np.asarray(self.learner.decision_function(self.encoder.transform(X)))
        return found if found.ndim == 1 else None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to a `.steelyard` file, whole or not at all."""
        from .storage import save_object  # the table of kinds knows this class

        return save_object(self, path)
