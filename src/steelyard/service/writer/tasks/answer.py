"""Answers and other acts on single questions."""

from __future__ import annotations

from typing import Any

import msgspec

from ....errors import InvalidInputError
from ...database.store import Refusals
from ...log.events import FIT_VERSION, Adjudicate, Answer, Close, Fit, Outcome, Retract, Skip
from ...replay.answering import adjudicate, answer, close, retract, retraction, skip
from ...replay.fitting import fit_again, fit_due, note_fit
from ...replay.questions import ConflictError, QuestionState
from ...replay.state import SECOND
from ..jobs import (
    AdjudicateJob,
    AnswerJob,
    AnswerReply,
    AnswersReply,
    CloseJob,
    EventReply,
    Job,
    OutcomeJob,
    Problem,
    RefusedError,
    RetractJob,
)
from ..projects import Project


def answer_all(project: Project, job: AnswerJob) -> AnswersReply:
    """What each answer of a request did, or why it did nothing."""
    first = project.state.seq + 1
    replies: list[AnswerReply | Problem] = []
    refused: Refusals = []
    for position, (item, label, seconds) in enumerate(job.answers):
        try:
            replies.append(_one_answer(project, job, item, label, seconds))
        except RefusedError as error:
            if len(job.answers) == 1:
                raise
            refused.append((position, error.status, error.code, error.where))
            replies.append(Problem(error.code, error.message, f"[{position}].{error.where}"))
    size = project.state.seq + 1 - first
    project.save_request(job, first, size, refused, msgspec.msgpack.encode(replies))
    return AnswersReply(replies, project.state.budget.left)


def _one_answer(project: Project, job: AnswerJob, item: int, label: str | None, seconds: float | None) -> AnswerReply:
    state, seq = project.state, project.state.seq + 1
    try:
        if label is None:
            return _skip(project, job, item)
        code = _code(project, label)
        made = answer(state, item, job.actor, code, seq)
    except ConflictError as error:
        raise RefusedError(409, error.code, str(error), "item") from None
    except InvalidInputError as error:  # weights that would leave the range of numbers
        raise RefusedError(422, "not_learnable", str(error), "item") from None
    body = Answer(label=code, seconds=seconds, settled=made.settled, learned=made.learned)
    project.emit(body, item=item, actor=job.actor)
    project.touch(item)
    shown = state.labels[state.questions[item].answer] if state.settings.show_decision else None
    settled = None if made.settled is None else state.labels[made.settled]
    return AnswerReply(item, seq, settled, made.learned is not None, False, shown)


def _code(project: Project, label: str) -> int:
    labels = project.state.labels
    if label not in labels:
        message = f"the label must be one of {', '.join(map(repr, labels))}; got {label[:100]!r}."
        raise RefusedError(422, "unknown_class", message, "label")
    return labels.index(label)


def _skip(project: Project, job: AnswerJob, item: int) -> AnswerReply:
    state, seq = project.state, project.state.seq + 1
    skipped = skip(state, item, job.actor, seq)
    project.emit(Skip(), item=item, actor=job.actor)
    voted = {person for person, label, _ in state.questions[item].votes if label is None}
    closed = skipped >= state.settings.skips or job.present <= voted
    if closed:
        close(state, item)
        project.emit(Close(reason="skips"), item=item, actor=job.actor)
    project.touch(item)
    return AnswerReply(item, seq, None, False, closed)


def one_event(project: Project, job: Job) -> EventReply:
    """An act on one question: taking back, adjudicating, closing, or a label that came unasked."""
    try:
        if isinstance(job, RetractJob):
            seq = _retract(project, job)
        elif isinstance(job, AdjudicateJob):
            seq = _adjudicate(project, job)
        elif isinstance(job, CloseJob):
            close(project.state, job.item)
            seq = project.emit(Close(reason="owner"), item=job.item, actor=job.actor)
            project.touch(job.item)
        else:
            assert isinstance(job, OutcomeJob)
            seq = _outcome(project, job)
    except ConflictError as error:
        raise RefusedError(409, error.code, str(error), "item") from None
    except InvalidInputError as error:  # weights that would leave the range of numbers
        raise RefusedError(422, "not_learnable", str(error), "item") from None
    reply = EventReply(seq, project.state.budget.left)
    project.save_request(job, seq, 1, [], msgspec.msgpack.encode(reply))
    return reply


def _retract(project: Project, job: RetractJob) -> int:
    project.flush()
    event = project.store.event(project.id, job.answer)
    if event is None or event.item is None or event.actor != job.actor:
        raise RefusedError(409, "not_yours", "the answer must stand and be the person's own; it is not.", "answer")
    retraction(project.state, job.answer, job.actor, event.item)
    if project.at > event.at + project.state.settings.undo * SECOND:
        raise RefusedError(
            409, "too_late", "the answer must be younger than the time for undoing; it is not.", "answer"
        )
    retract(project.state, job.answer, job.actor, event.item, project.rows)
    seq = project.emit(Retract(answer=job.answer), item=event.item, actor=job.actor)
    project.touch(event.item, withdrawn=True)
    return seq


def _adjudicate(project: Project, job: AdjudicateJob) -> int:
    label = _code(project, job.label)
    project.flush()
    learned = adjudicate(project.state, job.item, label, project.rows)
    seq = project.emit(Adjudicate(label=label, learned=learned), item=job.item, actor=job.actor)
    project.touch(job.item)
    return seq


def _outcome(project: Project, job: OutcomeJob) -> int:
    """A label that came unasked; for an open question it is an answer."""
    label = _code(project, job.label)
    question = project.state.questions.get(job.item)
    if question is not None and question.state is QuestionState.OPEN and question.vote_of(job.actor) is None:
        seq = project.state.seq + 1
        made = answer(project.state, job.item, job.actor, label, seq)
        body = Answer(label=label, seconds=None, settled=made.settled, learned=made.learned)
        project.emit(body, item=job.item, actor=job.actor)
        project.touch(job.item)
        return seq
    if not project.changes.items or job.item != project.changes.items[-1][0]:
        project.flush()
        if job.item not in project.store.payloads(project.id, [job.item]):
            raise RefusedError(409, "unknown_item", "the item must be one that was decided; it was not.", "item")
    project.state.outcomes += 1
    return project.emit(Outcome(label=label, origin=job.origin), item=job.item, actor=job.actor)


def fitted(project: Project, reply: Any) -> Any:
    """After an answer: where labels have grown enough, what scores mean is fitted again."""
    state = project.state
    if fit_due(state) and (pair := fit_again(state)) is not None:
        labels = state.budget.spent - state.fit_after[1]
        seq = project.emit(Fit(version=FIT_VERSION, a=pair[0], b=pair[1], labels=labels), item=None, actor=0)
        note_fit(state, seq, *pair, labels)
    return reply


def expire(project: Project) -> int:
    """Close every question whose time is over; how many.

    By the clock; but of questions that were asked at a time ahead of it, in a jump that has ended, by that of events.
    """
    now, waiting = project.now, {item: project.state.questions[item].expires for item in project.state.open_rows}
    due = [item for item, expires in waiting.items() if expires <= now]
    due += [item for item, expires in waiting.items() if now < expires <= project.at and _asked_at(project, item) > now]
    for item in sorted(due):
        close(project.state, item)
        project.emit(Close(reason="age"), item=item, actor=0)
        project.touch(item)
    return len(due)


def _asked_at(project: Project, item: int) -> int:
    event = project.store.event(project.id, item)
    return 0 if event is None else event.at
