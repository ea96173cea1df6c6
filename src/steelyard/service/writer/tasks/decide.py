"""Deciding the rows of a request, each once, and saying what was decided."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import SteelyardError
from ...database.store import Refusals
from ...log.events import Decide, unpack
from ...log.records import SALT_BYTES
from ...replay.deciding import Decided
from ...replay.expected import expected_costs
from ..jobs import DecideJob, DecisionReply, Job, RefusedError, RowToDecide
from ..projects import Project

ID_REUSED = "the id must stand for one row; it was sent with another one before."


def single_and_new(project: Project, job: Job) -> bool:
    """Whether a request decides one row under a key that nobody has used; some of them can be decided at once."""
    return (
        type(job) is DecideJob
        and job.single
        and project.state.decides_many
        and (job.key is None or (job.actor, job.key) in project.unused_keys)
    )


def decide_singles(project: Project, jobs: Sequence[DecideJob]) -> list[list[DecisionReply]]:
    """Carry out the first of some requests of one row each, as :func:`decide_rows` would; none: they must go alone."""
    keys = [(job.actor, job.key) for job in jobs if job.key is not None]
    if len(jobs) < 2 or len(set(keys)) != len(keys) or not project.new_keys.isdisjoint(keys):
        return []
    rows = _new_rows(project, [job.rows[0] for job in jobs])
    item = project.state.seq + 1
    made = project.decide_many(rows, [job.actor for job in jobs]) if len(rows) > 1 else []
    for job, n in zip(jobs, range(len(made)), strict=False):
        project.save_request(job, item + n, 1, [])
    return [[_reply(project, item + n, one)] for n, one in enumerate(made)]


def decide_rows(project: Project, job: DecideJob) -> list[DecisionReply | RefusedError]:
    """What was decided about each row of a request, or why it was not."""
    first = project.state.seq + 1
    replies: list[DecisionReply | RefusedError] = []
    refused: Refusals = []
    project.weigh([row for row in job.rows if isinstance(row, RowToDecide)])
    alone = 0 if project.state.decides_many and len(job.rows) > 1 else len(job.rows)  # up to here one by one
    while len(replies) < len(job.rows):
        position = len(replies)
        if position >= alone:
            together = _new_rows(project, job.rows[position:])
            made = project.decide_many(together, [job.actor] * len(together)) if len(together) > 1 else []
            item = project.state.seq + 1 - len(made)
            replies += [_reply(project, item + n, one) for n, one in enumerate(made)]
            alone = position + max(1, len(together)) if not made else 0
            continue
        try:
            replies.append(_decide_row(project, job.rows[position], job.actor))
        except RefusedError as error:
            if job.single:
                raise
            refused.append((position, error.status, error.code, error.where))
            replies.append(error)
    project.save_request(job, first, project.state.seq + 1 - first, refused)
    return replies


def _new_rows(project: Project, rows: Sequence[RowToDecide | RefusedError]) -> list[RowToDecide]:
    """The first of some rows that are neither refused nor known by their id."""
    found: list[RowToDecide] = []
    ids: set[str] = set()
    for row in rows:
        if isinstance(row, RefusedError):
            break
        if row.external is not None:
            if row.external in ids or _known_item(project, row.external) is not None:
                break
            ids.add(row.external)
        found.append(row)
    return found


def _decide_row(project: Project, row: RowToDecide | RefusedError, actor: int) -> DecisionReply:
    if isinstance(row, RefusedError):
        raise row
    if row.external is not None:
        item = _known_item(project, row.external)
        if item is not None:
            return _decided_before(project, item, row)
    if project.state.champion is not None and row.weighed is None:
        message = "the champion must be able to decide the row; it is not. Look at its columns."
        raise RefusedError(422, "bad_row", message, "row")
    try:
        item, made = project.decide(row, actor)
    except SteelyardError as error:
        raise RefusedError(422, "bad_row", str(error), "row") from None
    return _reply(project, item, made)


def _known_item(project: Project, external: str) -> int | None:
    if external in project.new_ids:
        project.flush()
    return project.store.item_of(project.id, external)


def _decided_before(project: Project, item: int, row: RowToDecide) -> DecisionReply:
    kept = project.store.payloads(project.id, [item])[item]
    if kept is None or kept[SALT_BYTES:] != row.payload[SALT_BYTES:]:
        raise RefusedError(409, "id_reused", ID_REUSED, "id")
    return logged_decision(project, item)


def logged_decision(project: Project, item: int) -> DecisionReply:
    """What was answered about an item, from the log."""
    event = project.store.event(project.id, item)
    assert event is not None
    body = unpack(event)
    assert isinstance(body, Decide)
    return _reply(project, item, body)


def _reply(project: Project, item: int, made: Decided | Decide) -> DecisionReply:
    label = project.state.labels[made.answer]
    cost = made.expected
    if cost is None and project.state.fits:
        expected = expected_costs(project.state.fits, item, made.score)
        cost = None if expected is None else expected[made.answer]
    return DecisionReply(item, made.t, label, made.score, cost, made.chance, made.ask, made.model)
