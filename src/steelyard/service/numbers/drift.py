"""Whether rows, scores, asking and costs are still what they were: read beside the writer, never replayed."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ...errors import NotEstimableError
from ...evaluate import Estimate, mean_cost
from ...evaluate.drift import stability_index
from ..database.sqlite import SQLiteStore
from ..log.events import Decide, Event, unpack
from ..log.records import RecordReader
from ..writer.snapshot import Snapshot
from .live import LEAST_SIZE, banded, cost_shown, effective_size, estimated, labelled

REFERENCE = 2000  # rows
RECENT = 1000
LOOK, ACT = 0.1, 0.25  # of the stability index
LOOK_Z, ACT_Z = 2.0, 3.0
LAST_PART = 0.25  # of the labels whose cost is held against that of the others
ADVICE = {
    "inputs": "Look at the column in the latest rows: has its source changed?",
    "scores": "Decisions may have shifted: look at the latest ones, and at the inputs.",
    "asking": "Another share of rows is asked about: see whether the budget lasts as long as you want.",
    "cost": "The latest rows cost something else: look at their labels, and at prices and threshold.",
}


_Row = tuple[dict[str, Any] | None, Decide]


class LightReply(msgspec.Struct, frozen=True):
    """One light: calm, look or act, or unknown with the reason. ``value``: a stability index, for costs a z-value."""

    name: str
    light: str
    value: float | None
    what: str
    hint: str


class DriftReply(msgspec.Struct, frozen=True):
    """The last rows held against the first; ``columns``: the stability index of each column."""

    reference: int
    recent: int
    lights: list[LightReply]
    columns: dict[str, float]


def drift(store: SQLiteStore, project: int, snapshot: Snapshot) -> DriftReply:
    """The lights of a project, as of a commit."""
    first = _rows(store, project, f"ORDER BY e.seq LIMIT {REFERENCE}", snapshot)
    last = _rows(
        store, project, f"ORDER BY e.seq DESC LIMIT {min(RECENT, max(0, snapshot.rounds - REFERENCE))}", snapshot
    )
    cost = _cost_light(store, project, snapshot)
    if len(first) < REFERENCE or len(last) < RECENT:
        why = f"needs {REFERENCE + RECENT:,} rows; {snapshot.rounds:,} have come"
        lights = [LightReply(name, "unknown", None, why, "") for name in ("inputs", "scores", "asking")]
        return DriftReply(len(first), len(last), [*lights, cost], {})
    inputs, columns = _input_light(first, last, snapshot)
    lights = [inputs, *_model_lights(_rows_of_the_model(store, project, first, snapshot), last, snapshot), cost]
    return DriftReply(len(first), len(last), lights, columns)


def _rows_of_the_model(store: SQLiteStore, project: int, first: list[_Row], snapshot: Snapshot) -> list[_Row]:
    """The first rows that the present model has decided: scores of another one lie on another scale."""
    if not snapshot.replaced:
        return first
    return _rows(store, project, f"AND e.seq > {snapshot.replaced} ORDER BY e.seq LIMIT {REFERENCE}", snapshot)


def _model_lights(first: list[_Row], last: list[_Row], snapshot: Snapshot) -> list[LightReply]:
    """Those of what the model says: scores and asking."""
    count = snapshot.rounds - first[0][1].t if first else 0
    if count < REFERENCE + RECENT:
        why = f"needs {REFERENCE + RECENT:,} rows of the model that decides now; {count:,} have come"
        return [LightReply(name, "unknown", None, why, "") for name in ("scores", "asking")]
    scores = stability_index([made.score for _, made in first], [made.score for _, made in last])
    asking = stability_index([str(made.ask) for _, made in first], [str(made.ask) for _, made in last])
    asked = (
        f"{np.mean([made.ask for _, made in last]):.1%} asked, {np.mean([made.ask for _, made in first]):.1%} before"
    )
    since = "the first" if not snapshot.replaced else "its first"
    return [
        _light("scores", scores, f"last {RECENT:,} rows against {since} {REFERENCE:,}"),
        _light("asking", asking, asked),
    ]


def _input_light(first: list[_Row], last: list[_Row], snapshot: Snapshot) -> tuple[LightReply, dict[str, float]]:
    """The columns of the rows that were not erased, unless those are few."""
    before, now = ([record for record, _ in rows if record is not None] for rows in (first, last))
    if 2 * len(before) < len(first) or 2 * len(now) < len(last):
        what = f"most of the {'first' if 2 * len(before) < len(first) else 'last'} rows were erased"
        return LightReply("inputs", "unknown", None, what, ""), {}
    columns = {
        name: stability_index([record[name] for record in before], [record[name] for record in now])
        for name in RecordReader(snapshot.settings).columns
    }
    worst = max(columns, key=lambda name: columns[name])
    return _light("inputs", columns[worst], f"most in {worst}"), columns


def _rows(store: SQLiteStore, project: int, part: str, snapshot: Snapshot) -> list[_Row]:
    """Decisions, each with its record; None where that was erased."""
    sql = (
        "SELECT e.seq, e.kind, e.at, e.item, e.actor, e.body, e.chain, i.payload FROM event e"
        " JOIN item i ON i.project = e.project AND i.id = e.seq"
        f" WHERE e.project = ? AND e.kind = 3 AND e.seq <= ? {part}"
    )
    reader, found = RecordReader(snapshot.settings), []
    for *event, payload in store.connection.execute(sql, (project, snapshot.seq)):
        found.append((reader.record(payload), unpack(Event(*event))))
    return found


def _light(name: str, value: float, what: str, look: float = LOOK, act: float = ACT) -> LightReply:
    light = "act" if abs(value) >= act else "look" if abs(value) >= look else "calm"
    return LightReply(name, light, value, what, "" if light == "calm" else ADVICE[name])


def _cost_light(store: SQLiteStore, project: int, snapshot: Snapshot) -> LightReply:
    """The cost of the last quarter of the labels against that of the others, in standard errors."""
    found, matrix = labelled(store, project, snapshot), snapshot.settings.cost_matrix()
    labels = len(found.trace.y)
    cut = labels - int(labels * LAST_PART)
    if 0 < cut < labels:
        parts = found.first(cut), found.after(cut)
        if min(effective_size(part.trace) for part in parts) >= LEAST_SIZE:
            try:
                before, now = (estimated(mean_cost, one.trace, one.rounds, matrix, "push") for one in parts)
            except NotEstimableError as error:
                return LightReply("cost", "unknown", None, str(error), "")
            return _compared(before, now, *(banded(cost_shown(part, matrix)) for part in parts))
    return LightReply("cost", "unknown", None, "too few labels to say", "")


def _compared(before: Estimate, now: Estimate, before_in_words: str, now_in_words: str) -> LightReply:
    error = float(np.hypot(before.standard_error, now.standard_error))
    if error == 0:  # every row was labelled, or no label differs
        return LightReply("cost", "unknown", None, "nothing to tell the difference by", "")
    what = f"lately {now_in_words}; before {before_in_words}"
    return _light("cost", (now.value - before.value) / error, what, LOOK_Z, ACT_Z)
