"""Decisions of a project as they are exported: in pages, each with its row, the sender's own id and its label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..log.events import Event
from .sqlite import SQLiteStore

_COLUMNS = "e.seq, e.kind, e.at, e.item, e.actor, e.body, e.chain, i.external, i.payload, q.label"
_ALL = (
    f"SELECT {_COLUMNS} FROM event e JOIN item i ON i.project = e.project AND i.id = e.seq"
    " LEFT JOIN question q ON q.project = e.project AND q.item = e.seq"
    " WHERE e.project = ? AND e.seq > ? AND e.kind = 3 ORDER BY e.seq LIMIT ?"
)
# From the questions on: where few rows have labels, to look for them among all rows takes as long as there are rows.
_LABELLED = (
    f"SELECT {_COLUMNS} FROM question q JOIN event e ON e.project = q.project AND e.seq = q.item"
    " JOIN item i ON i.project = q.project AND i.id = q.item"
    " WHERE q.project = ? AND q.item > ? AND q.state = 1 ORDER BY q.item LIMIT ?"
)


class StoredDecision(NamedTuple):
    """A decision's event, the sender's own id of its row, the row (None: erased), and the label it has by now."""

    event: Event
    external: str | None
    payload: bytes | None
    label: int | None


def decisions_behind(
    store: SQLiteStore, project: int, after: int, limit: int, *, labelled: bool = False
) -> Iterator[StoredDecision]:
    """The next decisions behind an event, at most so many; perhaps only those that have a label."""
    sql = _LABELLED if labelled else _ALL
    for *event, external, payload, label in store.connection.execute(sql, (project, after, limit)):
        yield StoredDecision(Event(*event), external, payload, label)
