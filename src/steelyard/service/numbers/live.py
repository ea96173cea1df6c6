"""Numbers for the owner: weighted by how their labels were asked, with interval, or the reason why there is none."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...costs import Costs
from ...errors import NotEstimableError
from ...evaluate import Estimate, Interval, estimate, f_score, mean_cost, savings_score
from ...report.amounts import money
from ...trace import Trace
from ..database.sqlite import SQLiteStore
from ..database.store import OPEN_QUESTIONS
from ..writer.snapshot import Snapshot

LEAST_SIZE = 30.0  # effective size below which no number is shown
LEAST_MISTAKES = 6  # labelled mistakes of the costliest kind
MOST_UNANSWERED = 0.02  # share of closed questions above which the band is widened
LEVEL = 0.95
POINTS = 40  # of the curve


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
    costly_mistakes: int
    unanswered: float
    waiting: int
    level: str
    cost: EstimateReply
    cost_with_answers: EstimateReply
    saved: EstimateReply
    f1: EstimateReply


class CurveReply(msgspec.Struct, frozen=True):
    """The cost a row of the first ``rows`` rows, each with its nominal 95% band, and what the cheapest constant costs.

    It begins where there are labels enough; ``waiting`` rows after its end still wait for labels.
    """

    rows: list[int]
    cost: list[float]
    low: list[float]
    high: list[float]
    constant: list[float]
    waiting: int


class Labelled(NamedTuple):
    """Settled questions up to the oldest open one, in their order."""

    end: int  # the last event it speaks about
    rounds: int  # rows that could have been asked up to there
    trace: Trace
    reach: NDArray[np.int64]  # the same, up to each label
    items: NDArray[np.int64]
    closed: int  # questions that got no label
    closed_items: NDArray[np.int64]

    @property
    def unanswered(self) -> float:
        """The share of questions that got no label."""
        return self.closed / (self.closed + len(self.trace.y)) if self.closed else 0.0

    def best(self) -> Labelled:
        """The same up to where the labels are worth most: what is asked after the plan stands for ever more rows.

        That depends on the chances alone, not on the labels, and it ends before the next question, not at one.
        """
        weights = 1.0 / self.trace.query_probability
        worth = np.cumsum(weights) ** 2 / np.cumsum(weights**2)
        count = int(np.argmax(worth)) + 1 if len(worth) else 0
        if count == len(worth):
            return self
        return self.first(count)._replace(
            end=int(self.items[count]) - 1,
            rounds=int(self.reach[count]) - 1,
            closed=int(np.searchsorted(self.closed_items, self.items[count])),
            closed_items=self.closed_items[self.closed_items < self.items[count]],
        )

    def first(self, count: int) -> Labelled:
        """The same as of the label of this number."""
        return self._part(slice(None, count), int(self.reach[count - 1]), self.closed_items < self.items[count - 1])

    def after(self, count: int) -> Labelled:
        """The same of what came after the label of this number."""
        rounds = self.rounds - int(self.reach[count - 1])
        return self._part(slice(count, None), rounds, self.closed_items > self.items[count - 1])

    def _part(self, part: slice, rounds: int, closed: NDArray[np.bool_]) -> Labelled:
        cut, found = Trace(*(np.asarray(column)[part] for column in self.trace)), self.closed_items[closed]
        return Labelled(self.end, rounds, cut, self.reach[part], self.items[part], len(found), found)


def labelled(store: SQLiteStore, project: int, snapshot: Snapshot) -> Labelled:
    """What there is to estimate from; later rounds still wait for their labels."""
    run = store.connection
    oldest = run.execute(
        f"SELECT q.item, q.reach {OPEN_QUESTIONS} AND q.item <= ? ORDER BY q.item LIMIT 1",
        (project, snapshot.seq),
    ).fetchone()
    end, rounds = (snapshot.seq, snapshot.reach) if oldest is None else (oldest[0] - 1, oldest[1] - 1)
    rows = run.execute(
        "SELECT x.score, x.answer, x.chance, x.y, q.reach, x.item FROM training_example x"
        " JOIN question q ON q.project = x.project AND q.item = x.item"
        " WHERE x.project = ? AND x.y IS NOT NULL AND x.item <= ? ORDER BY x.item",
        (project, end),
    ).fetchall()
    sql = "SELECT item FROM question WHERE project = ? AND state = 2 AND item <= ? ORDER BY item"
    closed = np.array([row[0] for row in run.execute(sql, (project, end))], dtype=np.int64)
    columns = [np.array(column) for column in zip(*rows, strict=True)] if rows else [np.empty(0)] * 6
    score, answer, chance, y, reach, items = columns
    trace = Trace(score, answer.astype(np.int64), np.ones(len(rows), bool), chance, y.astype(np.int64))
    found = Labelled(end, rounds, trace, reach.astype(np.int64), items.astype(np.int64), len(closed), closed)
    left = snapshot.limit - snapshot.spent - snapshot.reserved
    return found.best() if left <= 0 or snapshot.rounds > snapshot.settings.expected_rows else found


def estimates(store: SQLiteStore, project: int, snapshot: Snapshot) -> EstimatesReply:
    """Estimates up to the oldest open question."""
    found, matrix = labelled(store, project, snapshot), snapshot.settings.cost_matrix()
    size, mistakes = _support(found, matrix)

    def shown(measure: Any, shown_as: str, worst: float, best: float) -> EstimateReply:
        return shown_or_reason(found, matrix, measure, shown_as, worst, best)

    f1 = with_answers = EstimateReply(None, None, None, "two classes only")
    if len(matrix) == 2:  # else no class is the positive one, as which a row counts whose label was asked for
        f1 = shown(f_score, "push", 0.0, 1.0)
        with_answers = shown(mean_cost, "push_and_query", float(matrix.max()), 0.0)
    return EstimatesReply(
        upto=found.end,
        rounds=found.rounds,
        labels=len(found.trace.y),
        effective_size=size,
        costly_mistakes=mistakes,
        unanswered=found.unanswered,
        waiting=snapshot.open,
        level="nominal 95%",
        cost=cost_shown(found, matrix),
        cost_with_answers=with_answers,
        saved=shown(savings_score, "push", -np.inf, 1.0),
        f1=f1,
    )


def shown_or_reason(found: Labelled, matrix: Any, measure: Any, shown: str, worst: float, best: float) -> EstimateReply:
    """A number with its band, or the reason why there is none."""
    reason = _too_few(*_support(found, matrix))
    if reason is None and measure is not mean_cost:
        reason = _too_few_avoided(_avoided(matrix, found.trace))
    if reason is not None:
        return EstimateReply(None, None, None, reason)
    return _estimated(measure, found, matrix, shown, found.unanswered, best, worst)


def curve(store: SQLiteStore, project: int, snapshot: Snapshot) -> CurveReply:
    """The cost a row over time, at some points; none where there were too few labels to say."""
    found, matrix = labelled(store, project, snapshot), snapshot.settings.cost_matrix()
    labels = len(found.trace.y)
    points: list[tuple[int, float, float, float, float]] = []
    for count in sorted({max(1, labels * n // POINTS) for n in range(1, POINTS + 1)}) if labels else []:
        part = found.first(count) if count < labels else found
        if _too_few(*_support(part, matrix)) is not None:
            continue
        cost, saved = (
            _estimated(measure, part, matrix, "push", found.unanswered, best, worst)
            for measure, best, worst in ((mean_cost, 0.0, float(matrix.max())), (savings_score, 1.0, -np.inf))
        )
        if cost.value is None or cost.low is None or cost.high is None or saved.value is None:
            continue
        constant = cost.value / (1 - saved.value) if saved.value < 1 else 0.0
        points.append((part.rounds, cost.value, cost.low, cost.high, constant))
    return CurveReply(
        rows=[rounds for rounds, *_ in points],
        cost=[cost for _, cost, *_ in points],
        low=[low for _, _, low, _, _ in points],
        high=[high for _, _, _, high, _ in points],
        constant=[constant for *_, constant in points],
        waiting=snapshot.reach - found.rounds,
    )


def spread_of(low: float, high: float) -> float:
    """The doubt whose digits are shown of a number in this band: two digits of half its width."""
    return (high - low) / 16


def banded(found: EstimateReply) -> str:
    """A cost a row and its band in words, or the reason why there is none."""
    if found.value is None or found.low is None or found.high is None:
        return found.reason or ""
    spread = spread_of(found.low, found.high)
    value, low, high = (money(one, spread) for one in (found.value, found.low, found.high))
    return f"{value} ({low} to {high}) a row"


def cost_shown(found: Labelled, matrix: Any) -> EstimateReply:
    """The cost a row with its band, or the reason why there is none."""
    return shown_or_reason(found, matrix, mean_cost, "push", float(matrix.max()), 0.0)


def _support(found: Labelled, matrix: Any) -> tuple[float, int]:
    """Effective size, and labels that showed a mistake of the costliest kind."""
    return effective_size(found.trace), _costly_mistakes(matrix, found.trace)


def effective_size(trace: Trace) -> float:
    """How many labels of equal chance these are worth."""
    weights = 1.0 / trace.query_probability
    return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0


def _costly_mistakes(matrix: Any, trace: Trace) -> int:
    """Labels that showed a mistake of the costliest kind."""
    costs = matrix[trace.y, trace.prediction] if len(trace.y) else np.empty(0)
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    return int((costs == off.max()).sum()) if off.max() > 0 else 0


def _avoided(matrix: Any, trace: Trace) -> int:
    """Labels that showed a right answer where a wrong one could have cost the most.

    What is saved, and F1, rest on them as much as on mistakes: sure answers are seldom asked about, and while few of
    them are labelled a band is narrow around nothing.
    """
    off = np.where(np.eye(len(matrix), dtype=bool), -np.inf, matrix).max(axis=1)
    return int(((trace.y == trace.prediction) & (off[trace.y] == off.max())).sum()) if len(trace.y) else 0


def _too_few_avoided(avoided: int) -> str | None:
    if avoided < LEAST_MISTAKES:
        return f"too few costly mistakes avoided among the labels: {avoided} of {LEAST_MISTAKES}"
    return None


def _too_few(size: float, mistakes: int) -> str | None:
    if size < LEAST_SIZE:
        return "too few labels to say"
    if mistakes < LEAST_MISTAKES:
        return f"too few mistakes seen: {mistakes} of {LEAST_MISTAKES}"
    return None


def estimated(measure: Any, trace: Trace, rounds: int, matrix: Any, shown: str, *, unanswered: float = 0.0) -> Estimate:
    """A measure of all these rounds, from the labelled ones; raises NotEstimableError if they do not tell."""
    classes = list(range(len(matrix)))
    more: dict[str, Any] = {"costs": Costs.from_matrix(matrix, classes=classes)} if measure is not f_score else {}
    more |= {"classes": classes} | ({"positive": 1} if measure is f_score else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimate(measure, trace, rounds=rounds, shown=shown, answered=1 - unanswered, **more)


def saved_interval(saved: Estimate, cost: float, costliest: float) -> Interval:
    """Saved is 1 - cost / constant: the interval of that share of the constant's cost, turned round.

    The share is skewed as the cost is, so its interval is the cost's, with the costliest mistake as such a share, too.
    """
    paid = replace(saved, value=1 - saved.value)
    if not (0 < paid.value < np.inf and cost > 0):
        return saved.interval(LEVEL)
    band = paid.interval(LEVEL, costliest=costliest / cost * paid.value)  # in this order no product is too large
    return replace(band, value=saved.value, low=1 - band.high, high=1 - band.low)


def _saved_with_unanswered(low: float, high: float, unanswered: float, costliest: float) -> tuple[float, float]:
    """The band of what is saved, with the questions nobody answered; ``costliest``: what it costs over the constant's.

    At worst each was decided by that mistake, and the constant answer is right; at best it is the other way round.
    """
    more = unanswered / (1 - unanswered) * costliest
    return low - more, 1 - (1 - high) / (1 + more)


def _estimated(
    measure: Any,
    known: Labelled,
    matrix: Any,
    shown: str,
    unanswered: float,
    best: float,
    worst: float,
) -> EstimateReply:
    try:
        found = estimated(measure, known.trace, known.rounds, matrix, shown, unanswered=unanswered)
        if measure is savings_score:
            cost = estimated(mean_cost, known.trace, known.rounds, matrix, shown, unanswered=unanswered)
            band = saved_interval(found, cost.value, float(matrix.max()))
        elif measure is mean_cost:
            band = found.interval(LEVEL, costliest=float(matrix.max()))
        else:
            band = found.interval(LEVEL, log_odds=True)
    except NotEstimableError as error:
        return EstimateReply(None, None, None, str(error))
    low, high = band.low, band.high
    if unanswered > MOST_UNANSWERED:  # as if every unanswered question were right, or of the costliest kind
        if measure is savings_score:
            costliest = float(matrix.max()) / cost.value * (1 - found.value)
            low, high = _saved_with_unanswered(low, high, unanswered, costliest)
        else:
            ends = [(1 - unanswered) * end + unanswered * case for end in (low, high) for case in (best, worst)]
            low, high = min(ends), max(ends)
    least, most = sorted((best, worst))
    return EstimateReply(found.value, max(low, least), min(high, most), None)
