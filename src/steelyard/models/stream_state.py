"""A stream at rest: what was learned, how rows are read, what the answers were so far."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..online import OnlineClassifier, OnlineCostClassifier
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
