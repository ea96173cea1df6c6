"""What other models would have cost on the same rows: the difference to what was decided, with its interval."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...costs import Costs
from ...errors import NotEstimableError
from ...evaluate import Estimate, estimate, mean_cost
from ...trace import Trace
from ..database.sqlite import SQLiteStore
from ..replay.shadows import MOST_SHADOWS
from ..writer.snapshot import ShadowHead, Snapshot
from .live import LEAST_SIZE, LEVEL, MOST_UNANSWERED, EstimateReply, Labelled, effective_size, labelled

LEAST_DIFFERENCES = 6  # mistakes of the costliest kind that one of two models made; below that no number is shown


class ShadowReply(msgspec.Struct, frozen=True):
    """A model that does not decide. ``rounds``, ``labels``: since when both models are what they are.

    ``differences``: labels on which the two cost differently. ``difference``: its cost a row less that of the model
    that decides, with its nominal 95% band; below 0 it is cheaper. ``ended``: its weights have left the range of
    numbers.
    """

    slot: int
    name: str
    since: int
    ended: bool
    rounds: int
    labels: int
    differences: int
    difference: EstimateReply


class ShadowsReply(msgspec.Struct, frozen=True):
    """The models that do not decide, by slot, how many shadows there may be, and what decides.

    Where a champion decides, slot 0 is the learner.
    """

    shadows: list[ShadowReply]
    most: int
    deciding: str
    level: str


def shadow_comparisons(store: SQLiteStore, project: int, snapshot: Snapshot) -> ShadowsReply:
    """All of them against what was decided, on the same labels."""
    found = labelled(store, project, snapshot) if snapshot.shadows else None
    compared = [] if found is None else [_compared(store, project, snapshot, found, one) for one in snapshot.shadows]
    settings = snapshot.settings
    champion = snapshot.champion
    deciding = settings.update or str(settings.update_rule()) if champion is None else champion.name
    return ShadowsReply(compared, MOST_SHADOWS, deciding, "nominal 95%")


def _compared(store: SQLiteStore, project: int, snapshot: Snapshot, found: Labelled, shadow: ShadowHead) -> ShadowReply:
    sql = "SELECT item, answer FROM shadow_answer WHERE project = ? AND slot = ? AND item > ?"
    answers = dict(store.connection.execute(sql, (project, shadow.slot, shadow.since)))
    used = np.array([item in answers for item in found.items.tolist()], dtype=bool)
    trace = Trace(*(np.asarray(column)[used] for column in found.trace))
    others = np.array([answers[item] for item in found.items[used].tolist()], dtype=np.int64)
    closed = int((found.closed_items > shadow.since).sum())
    matrix = snapshot.settings.cost_matrix()
    theirs, decided = matrix[trace.y, others], matrix[trace.y, trace.prediction]
    gaps = theirs - decided
    rounds, count = max(0, found.rounds - shadow.reach), len(gaps)
    differ = int((gaps != 0).sum())
    unanswered = closed / (closed + count) if closed else 0.0
    costly = int(((theirs == matrix.max()) != (decided == matrix.max())).sum())
    shown = _shown(trace, gaps, costly, rounds, unanswered, float(matrix.max()))
    return ShadowReply(shadow.slot, shadow.name, shadow.since, shadow.ended, rounds, count, differ, shown)


def _shown(
    trace: Trace, gaps: NDArray[np.float64], costly: int, rounds: int, unanswered: float, costliest: float
) -> EstimateReply:
    """A number with its band, or why there is none; ``costly``: the costliest mistakes that only one of them made."""
    if effective_size(trace) < LEAST_SIZE:
        return EstimateReply(None, None, None, "too few labels to say")
    if costly < LEAST_DIFFERENCES:
        reason = f"too few costly mistakes that only one of them made: {costly} of {LEAST_DIFFERENCES}"
        return EstimateReply(None, None, None, reason)
    try:
        found = mean_difference(trace, gaps, rounds, answered=1 - unanswered)
        band = found.interval(LEVEL)
    except NotEstimableError as error:
        return EstimateReply(None, None, None, str(error))
    low, high = band.low, band.high
    if unanswered > MOST_UNANSWERED:  # as if one of the two were right on every such question, and the other wrong
        low = (1 - unanswered) * low - unanswered * costliest
        high = (1 - unanswered) * high + unanswered * costliest
    return EstimateReply(found.value, max(low, -costliest), min(high, costliest), None)


def mean_difference(trace: Trace, gaps: NDArray[np.float64], rounds: int, *, answered: float = 1.0) -> Estimate:
    """The mean of differences of cost over all rounds, from those of the labelled ones, each weighted by 1 / chance.

    Costs are never negative, so the differences are estimated as costs from the largest gain on; what is added to all
    of them is taken off the mean and has no part in its error.
    """
    least = float(gaps.min())
    prices = Costs.from_rows(np.column_stack([gaps - least, np.zeros(len(gaps))]), classes=[0, 1])
    first = np.zeros(len(gaps), dtype=np.int64)
    priced = trace._replace(prediction=first, y=first)
    found = estimate(mean_cost, priced, costs=prices, classes=[0, 1], rounds=rounds, answered=answered)
    return dataclasses.replace(found, value=found.value + least)
