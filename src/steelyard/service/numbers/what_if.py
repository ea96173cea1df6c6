"""What the same rows would cost at other prices, or with the threshold elsewhere; what was learned stays as it is."""

from __future__ import annotations

import msgspec
import numpy as np

from ...evaluate import savings_score
from ..database.sqlite import SQLiteStore
from ..writer.snapshot import Snapshot
from .live import EstimateReply, cost_shown, labelled, shown_or_reason


class WhatIfReply(msgspec.Struct, frozen=True):
    """The cost a row, and what is saved, had prices or threshold been these; what was learned and asked stays."""

    fn: float
    fp: float
    threshold: float
    rounds: int
    cost: EstimateReply
    saved: EstimateReply
    note: str = "learning unchanged"


def what_if(
    store: SQLiteStore,
    project: int,
    snapshot: Snapshot,
    *,
    fn: float | None = None,
    fp: float | None = None,
    threshold: float | None = None,
) -> WhatIfReply:
    """Other prices for the same decisions; with a threshold, other decisions by the same scores."""
    settings, found = snapshot.settings, labelled(store, project, snapshot)
    matrix = settings.cost_matrix()
    matrix[1, 0] = matrix[1, 0] if fn is None else fn
    matrix[0, 1] = matrix[0, 1] if fp is None else fp
    if threshold is not None and threshold != settings.threshold:
        decided = (np.asarray(found.trace.score) >= threshold).astype(np.int64)
        found = found._replace(trace=found.trace._replace(prediction=decided))
    return WhatIfReply(
        fn=float(matrix[1, 0]),
        fp=float(matrix[0, 1]),
        threshold=settings.threshold if threshold is None else threshold,
        rounds=found.rounds,
        cost=cost_shown(found, matrix),
        saved=shown_or_reason(found, matrix, savings_score, "push", -np.inf, 1.0),
    )
