"""Answering a request that was carried out before as the first time."""

from __future__ import annotations

from typing import Any

import msgspec

from ...database.store import Refusals, StoredRequest
from ..jobs import (
    AnswerJob,
    AnswerReply,
    AnswersReply,
    DecideJob,
    DecisionReply,
    EraseJob,
    EraseReply,
    EventReply,
    Job,
    Problem,
    RefusedError,
    RowToDecide,
)
from ..projects import Project
from .decide import ID_REUSED, logged_decision

_MESSAGES = {
    "never_asked": "the item must be one whose label was asked for; it was not.",
    "already_answered": "the question must be open and new to the person; it was answered.",
    "closed": "the question must be open; it was closed without a label.",
    "unknown_class": "the label must be one of the project's classes; it is not.",
    "id_reused": ID_REUSED,
    "disputed": "the question must be open; all its votes are in, and an owner decides.",
    "bad_row": "the row must fit the project's columns; it did not.",
}


def said_before(project: Project, job: Job, stored: StoredRequest) -> Any:
    """The first answer once more; only what is left of the budget is the present one."""
    left = project.state.budget.left
    if isinstance(job, DecideJob):
        return _decisions_before(project, job, stored)
    assert stored.reply is not None
    if isinstance(job, EraseJob):
        return msgspec.msgpack.decode(stored.reply, type=EraseReply)
    if isinstance(job, AnswerJob):
        return AnswersReply([_answer_before(said) for said in msgspec.msgpack.decode(stored.reply)], left)
    return EventReply(msgspec.msgpack.decode(stored.reply, type=EventReply).event, left)


def _answer_before(said: dict[str, Any]) -> AnswerReply | Problem:
    return Problem(**said) if "error" in said else AnswerReply(**said)


def _decisions_before(project: Project, job: DecideJob, stored: StoredRequest) -> list[DecisionReply | RefusedError]:
    refused: dict[int, RefusedError] = {}
    if stored.refused is not None:
        for position, status, code, where in msgspec.msgpack.decode(stored.refused, type=Refusals):
            row = job.rows[position]
            if isinstance(row, RefusedError) and row.code == code:
                refused[position] = row
            else:
                refused[position] = RefusedError(status, code, _MESSAGES.get(code, code), where)
    sql = "SELECT id FROM item WHERE project = ? AND id >= ? AND id < ? AND external IS NULL ORDER BY id"
    span = (project.id, stored.first, stored.first + stored.size)
    unnamed = iter([row[0] for row in project.store.connection.execute(sql, span)])
    if any(isinstance(row, RowToDecide) and row.external is not None for row in job.rows):
        _check_none_erased(project, span)
    replies: list[DecisionReply | RefusedError] = []
    for position, row in enumerate(job.rows):
        if position in refused:
            replies.append(refused[position])
        elif isinstance(row, RefusedError):
            replies.append(row)
        elif row.external is None:
            replies.append(logged_decision(project, next(unnamed)))
        else:
            item = project.store.item_of(project.id, row.external)
            if item is None:  # decided by an earlier request, and erased since
                raise _erased()
            replies.append(logged_decision(project, item))
    return replies


def _check_none_erased(project: Project, span: tuple[int, int, int]) -> None:
    """Raise if a row of a request was erased whose rows have ids: an erased row has lost its own."""
    sql = "SELECT 1 FROM item WHERE project = ? AND id >= ? AND id < ? AND payload IS NULL"
    if project.store.connection.execute(sql, span).fetchone() is not None:
        raise _erased()


def _erased() -> RefusedError:
    return RefusedError(409, "erased", "the rows of the request must still be there; some were erased.", "")
