"""Erasing rows, by an owner's wish or because they were kept long enough."""

from __future__ import annotations

import msgspec

from ....errors import InvalidInputError
from ...log.events import Close, Erase
from ...log.settings import DAY
from ...replay.answering import close
from ...replay.state import SECOND
from ..jobs import EraseJob, EraseReply, RefusedError
from ..projects import Project


def erase_rows(project: Project, job: EraseJob) -> EraseReply:
    """Erase rows; open questions about them are closed first."""
    project.flush()
    items = sorted({*job.items, *(_item_named(project, name) for name in job.ids)})
    stored = project.store.payloads(project.id, items)
    for item in items:
        if item not in stored:
            raise RefusedError(409, "unknown_item", f"item {item} must be one that was decided; it was not.", "items")
        if stored[item] is None and project.store.example_row(project.id, item) is None:
            raise RefusedError(409, "erased", f"item {item} must still have its row; it was erased.", "items")
    try:
        project.forget(items, set())
    except InvalidInputError as error:  # weights that would leave the range of numbers
        raise RefusedError(422, "not_learnable", str(error), "items") from None
    for item in items:
        question = project.state.questions.get(item)
        if question is not None and question.waits:
            close(project.state, item)
            project.emit(Close(reason="erased"), item=item, actor=job.actor)
            project.touch(item)
    for item in items:
        project.emit(Erase(reason="owner"), item=item, actor=job.actor)
    project.erase(items, set())
    reply = EraseReply(items, project.state.seq)
    project.save_request(job, reply.event, 1, [], msgspec.msgpack.encode(reply))
    return reply


def _item_named(project: Project, name: str) -> int:
    item = project.store.item_of(project.id, name)
    if item is None:
        raise RefusedError(409, "unknown_item", f"id {name[:100]!r} must be one that was sent; it was not.", "ids")
    return item


def retain(project: Project) -> int:
    """Erase what was kept as long as the settings say, by whole days, so one event a day does; how many rows.

    By the clock: events may be ahead of it after a jump, and what is erased does not come back.
    """
    settings, today = project.state.settings, project.now - project.now % (DAY * SECOND)
    if (today, settings.keep_payloads, settings.keep_training_rows) == project.retained:
        return 0  # to look for rows takes as long as there are rows
    project.retained = today, settings.keep_payloads, settings.keep_training_rows
    upto, training = (
        0
        if (seconds := settings.kept_seconds(name)) is None
        else project.store.last_decision(project.id, project.state.seq, today - seconds * SECOND)
        for name in ("keep_payloads", "keep_training_rows")
    )
    if not upto and not training:
        return 0
    project.flush()
    found = project.store.erasable(project.id, upto, training)
    if found:
        items, kept = [item for item, _ in found], {item for item, learned in found if learned and item > training}
        try:
            project.forget(items, kept)
        except InvalidInputError:  # without them the others cannot be learned: the model keeps what it was given
            training, kept = 0, {item for item, learned in found if learned}
            project.forget(items, kept)
        project.emit(Erase(reason="age", upto=upto, training=training), item=None, actor=0)
        project.erase(items, kept)
    return len(found)
