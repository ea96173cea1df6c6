"""Numbers for the owner: weighted by how their labels were asked, with interval, or the reason why there is none."""

from __future__ import annotations

import warnings
from typing import Any

import msgspec
import numpy as np

from ..costs import Costs
from ..errors import NotEstimableError
from ..evaluate import estimate, f_score, mean_cost, savings_score
from ..trace import Trace
from .sqlite import SQLiteStore
from .writer import Snapshot

LEAST_SIZE = 30.0  # effective size below which no number is shown
LEAST_MISTAKES = 6  # labelled mistakes of the costliest kind
MOST_UNANSWERED = 0.02  # share of closed questions above which the band is widened
LEVEL = 0.95


class EstimateReply(msgspec.Struct, frozen=True):
    """A number with its nominal 95% band, or None and the reason."""

    value: float | None
    low: float | None
    high: float | None
    reason: str | None


class EstimatesReply(msgspec.Struct, frozen=True):
    """What the decisions cost a row, and the share saved against the cheapest constant answer.

    ``rounds``: rows it speaks about; ``waiting``: questions that are open.
    """

    upto: int
    rounds: int
    labels: int
    effective_size: float
    dear_mistakes: int
    unanswered: float
    waiting: int
    level: str
    cost: EstimateReply
    cost_with_answers: EstimateReply
    saved: EstimateReply
    f1: EstimateReply


def estimates(store: SQLiteStore, project: int, snapshot: Snapshot) -> EstimatesReply:
    """Estimates up to the oldest open question; later rounds still wait for their labels."""
    run = store.connection
    oldest = run.execute(
        "SELECT item, reach FROM question WHERE project = ? AND state IN (0, 3) AND item <= ? ORDER BY item LIMIT 1",
        (project, snapshot.seq),
    ).fetchone()
    end, rounds = (snapshot.seq, snapshot.reach) if oldest is None else (oldest[0] - 1, oldest[1] - 1)
    rows = run.execute(
        "SELECT score, answer, chance, y FROM training_example"
        " WHERE project = ? AND y IS NOT NULL AND item <= ? ORDER BY item",
        (project, end),
    ).fetchall()
    closed = run.execute(
        "SELECT count(*) FROM question WHERE project = ? AND state = 2 AND item <= ?", (project, end)
    ).get
    matrix = snapshot.settings.cost_matrix()
    score, answer, chance, y = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 4
    trace = Trace(score, answer.astype(np.int64), np.ones(len(rows), bool), chance, y.astype(np.int64))
    mistakes = _dear_mistakes(matrix, trace)
    unanswered = closed / (closed + len(rows)) if closed else 0.0
    weights = 1.0 / chance if rows else np.zeros(1)
    size = float(weights.sum() ** 2 / (weights**2).sum()) if rows else 0.0
    reason = _too_few(size, mistakes)

    def shown(measure: Any, shown_as: str, worst: float, best: float) -> EstimateReply:
        if reason is not None:
            return EstimateReply(None, None, None, reason)
        return _estimated(measure, trace, rounds, matrix, shown_as, unanswered, best, worst)

    costliest = float(matrix.max())
    f1 = shown(f_score, "push", 0.0, 1.0) if len(matrix) == 2 else EstimateReply(None, None, None, "two classes only")
    return EstimatesReply(
        upto=end,
        rounds=rounds,
        labels=len(rows),
        effective_size=size,
        dear_mistakes=mistakes,
        unanswered=unanswered,
        waiting=snapshot.open,
        level="nominal 95%",
        cost=shown(mean_cost, "push", costliest, 0.0),
        cost_with_answers=shown(mean_cost, "push_and_query", costliest, 0.0),
        saved=shown(savings_score, "push", -np.inf, 1.0),
        f1=f1,
    )


def _dear_mistakes(matrix: Any, trace: Trace) -> int:
    """Labels that showed a mistake of the costliest kind."""
    costs = matrix[trace.y, trace.prediction] if len(trace.y) else np.empty(0)
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    return int((costs == off.max()).sum()) if off.max() > 0 else 0


def _too_few(size: float, mistakes: int) -> str | None:
    if size < LEAST_SIZE:
        return "too few labels to say"
    if mistakes < LEAST_MISTAKES:
        return f"too few mistakes seen: {mistakes} of {LEAST_MISTAKES}"
    return None


def _estimated(
    measure: Any, trace: Trace, rounds: int, matrix: Any, shown: str, unanswered: float, best: float, worst: float
) -> EstimateReply:
    classes = list(range(len(matrix)))
    more: dict[str, Any] = {"costs": Costs.from_matrix(matrix, classes=classes)} if measure is not f_score else {}
    more |= {"classes": classes} | ({"positive": 1} if measure is f_score else {})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = estimate(measure, trace, rounds=rounds, shown=shown, **more)
            band = found.interval(LEVEL)
    except NotEstimableError as error:
        return EstimateReply(None, None, None, str(error))
    low, high = band.low, band.high
    if unanswered > MOST_UNANSWERED and np.isfinite(
        worst
    ):  # as if every unanswered question were right, or of the costliest kind
        ends = [(1 - unanswered) * end + unanswered * case for end in (low, high) for case in (best, worst)]
        low, high = min(ends), max(ends)
    least, most = sorted((best, worst))
    return EstimateReply(found.value, max(low, least), min(high, most), None)
