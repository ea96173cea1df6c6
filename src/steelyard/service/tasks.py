"""Carrying out one request: check the key, change the state, log it, say what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from .._version import __version__
from ..errors import InvalidInputError, SteelyardError
from ..online import NUMERICS
from .events import (
    Adjudicate,
    Answer,
    Close,
    Decide,
    Erase,
    Fit,
    Outcome,
    Promote,
    Retract,
    Set,
    SetChampion,
    SetShadow,
    Skip,
    unpack,
)
from .expected import expected_costs
from .jobs import (
    AdjudicateJob,
    AnswerJob,
    AnswerReply,
    AnswersReply,
    ChampionJob,
    CloseJob,
    DecideJob,
    DecisionReply,
    EraseJob,
    EraseReply,
    EventReply,
    ExpireJob,
    Job,
    OutcomeJob,
    Problem,
    PromoteJob,
    RefusedError,
    RenewJob,
    RetainJob,
    RetractJob,
    RowToDecide,
    SetJob,
    SettingsReply,
    ShadowJob,
)
from .projects import Project
from .questions import ConflictError, QuestionState
from .records import SALT_BYTES
from .reducer import SECOND, Decided
from .settings import DAY, MOST_LABELS, changed_settings
from .store import StoredRequest

Refusals = list[tuple[int, int, str, str]]
_MESSAGES = {
    "never_asked": "the item must be one whose label was asked for; it was not.",
    "already_answered": "the question must be open and new to the person; it was answered.",
    "closed": "the question must be open; it was closed without a label.",
    "unknown_class": "the label must be one of the project's classes; it is not.",
    "id_reused": "the id must stand for one row; it was sent with another one before.",
    "disputed": "the question must be open; all its votes are in, and an owner decides.",
    "bad_row": "the row must fit the project's columns; it did not.",
}


def carry_out(project: Project, job: Job) -> Any:
    """Do it once; raises RefusedError if it cannot be done, and then nothing has changed."""
    if job.key is not None:
        stored = project.request(job.actor, job.key)
        if stored is not None:
            if stored.digest != job.digest:
                hint = "Make a new key for each request."
                raise RefusedError(409, "key_reused", f"the key must stand for one request; it does not. {hint}")
            job.replayed = True
            return _said_before(project, job, stored)
    if type(job) is Job:
        return None  # only that the project be loaded
    if isinstance(job, DecideJob):
        return _decide(project, job)
    if isinstance(job, AnswerJob):
        return _fitted(project, _answer(project, job))
    if isinstance(job, ExpireJob):
        return _expire(project)
    if isinstance(job, SetJob):
        return _set(project, job)
    if isinstance(job, (ShadowJob, PromoteJob, ChampionJob)):
        return _change_models(project, job)
    if isinstance(job, EraseJob):
        return _erase(project, job)
    if isinstance(job, RetainJob):
        return _retain(project)
    if isinstance(job, RenewJob):
        return _renew(project)
    return _fitted(project, _one_event(project, job))


def _keep(project: Project, job: Job, first: int, size: int, refused: Refusals, reply: bytes | None = None) -> None:
    if job.key is None:
        return
    packed = msgspec.msgpack.encode(refused) if refused else None
    project.changes.requests.append(
        (job.actor, job.key, StoredRequest(job.digest, first, size, packed, reply), project.at)
    )
    project.new_keys.add((job.actor, job.key))


# -- decisions -------------------------------------------------------------------------------------------------------


def single_and_new(project: Project, job: Job) -> bool:
    """Whether a request decides one row under a key that nobody has used; some of them can be decided at once."""
    return (
        type(job) is DecideJob
        and job.single
        and project.state.decides_many
        and (job.key is None or (job.actor, job.key) in project.unused_keys)
    )


def decide_singles(project: Project, jobs: Sequence[DecideJob]) -> list[list[DecisionReply]]:
    """Carry out the first of some requests of one row each, as :func:`carry_out` would; none: they must go alone."""
    keys = [(job.actor, job.key) for job in jobs if job.key is not None]
    if len(jobs) < 2 or len(set(keys)) != len(keys) or not project.new_keys.isdisjoint(keys):
        return []
    rows = _new_rows(project, [job.rows[0] for job in jobs])
    item = project.state.seq + 1
    made = project.decide_many(rows, [job.actor for job in jobs]) if len(rows) > 1 else []
    for job, n in zip(jobs, range(len(made)), strict=False):
        _keep(project, job, item + n, 1, [])
    return [[_reply(project, item + n, one)] for n, one in enumerate(made)]


def _decide(project: Project, job: DecideJob) -> list[DecisionReply | RefusedError]:
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
    _keep(project, job, first, project.state.seq + 1 - first, refused)
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
        raise RefusedError(409, "id_reused", _MESSAGES["id_reused"], "id")
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


# -- answers ---------------------------------------------------------------------------------------------------------


def _answer(project: Project, job: AnswerJob) -> AnswersReply:
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
    _keep(project, job, first, size, refused, msgspec.msgpack.encode(replies))
    return AnswersReply(replies, project.state.budget.left)


def _one_answer(project: Project, job: AnswerJob, item: int, label: str | None, seconds: float | None) -> AnswerReply:
    state, seq = project.state, project.state.seq + 1
    try:
        if label is None:
            return _skip(project, job, item)
        code = _code(project, label)
        made = state.answer(item, job.actor, code, seq)
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
    skipped = state.skip(item, job.actor, seq)
    project.emit(Skip(), item=item, actor=job.actor)
    voted = {person for person, (label, _) in state.questions[item].votes.items() if label is None}
    closed = skipped >= state.settings.skips or job.present <= voted
    if closed:
        state.close(item)
        project.emit(Close(reason="skips"), item=item, actor=job.actor)
    project.touch(item)
    return AnswerReply(item, seq, None, False, closed)


# -- single acts -----------------------------------------------------------------------------------------------------


def _one_event(project: Project, job: Job) -> EventReply:
    try:
        if isinstance(job, RetractJob):
            seq = _retract(project, job)
        elif isinstance(job, AdjudicateJob):
            seq = _adjudicate(project, job)
        elif isinstance(job, CloseJob):
            project.state.close(job.item)
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
    _keep(project, job, seq, 1, [], msgspec.msgpack.encode(reply))
    return reply


def _retract(project: Project, job: RetractJob) -> int:
    project.flush()
    event = project.store.event(project.id, job.answer)
    if event is None or event.item is None or event.actor != job.actor:
        raise RefusedError(409, "not_yours", "the answer must stand and be the person's own; it is not.", "answer")
    project.state.retraction(job.answer, job.actor, event.item)
    if project.at > event.at + project.state.settings.undo * SECOND:
        raise RefusedError(
            409, "too_late", "the answer must be younger than the time for undoing; it is not.", "answer"
        )
    project.state.retract(job.answer, job.actor, event.item, project.rows)
    seq = project.emit(Retract(answer=job.answer), item=event.item, actor=job.actor)
    project.touch(event.item, withdrawn=True)
    return seq


def _adjudicate(project: Project, job: AdjudicateJob) -> int:
    label = _code(project, job.label)
    project.flush()
    learned = project.state.adjudicate(job.item, label, project.rows)
    seq = project.emit(Adjudicate(label=label, learned=learned), item=job.item, actor=job.actor)
    project.touch(job.item)
    return seq


def _outcome(project: Project, job: OutcomeJob) -> int:
    """A label that came unasked; for an open question it is an answer."""
    label = _code(project, job.label)
    question = project.state.questions.get(job.item)
    if question is not None and question.state is QuestionState.OPEN and job.actor not in question.votes:
        seq = project.state.seq + 1
        made = project.state.answer(job.item, job.actor, label, seq)
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


def _set(project: Project, job: SetJob) -> SettingsReply:
    state = project.state
    if job.expected != state.settings_seq:
        message = f"If-Match must be {state.settings_seq}, the event of the present settings; got {job.expected}."
        raise RefusedError(409, "changed_meanwhile", message, "If-Match")
    try:
        changed_settings(state.settings, job.changes)
    except (SteelyardError, TypeError, ValueError, OverflowError) as error:
        raise RefusedError(422, "bad_settings", str(error), "settings") from None
    try:
        seq = _change(project, job.changes, job.actor)
    except InvalidInputError as error:
        raise RefusedError(422, "bad_settings", str(error), "settings") from None
    return SettingsReply(seq, msgspec.to_builtins(state.settings))


def _change(project: Project, changes: dict[str, Any], actor: int) -> int:
    """Change settings that were checked, and log it; the event. Nobody (0) renews the budget."""
    state = project.state
    project.flush()
    project.save_checkpoint()
    state.change(changes, project.rows, state.seq + 1, project.at, renews=actor == 0)
    seq = project.emit(Set(changes=changes, library=__version__, numerics=NUMERICS), item=None, actor=actor)
    budget = state.budget
    project.changes.budget = (budget.limit, budget.spent, budget.reserved)
    return seq


def _change_models(project: Project, job: ShadowJob | PromoteJob | ChampionJob) -> EventReply:
    """Begin, end or promote a shadow; have a champion decide, or the learner again."""
    state = project.state
    project.flush()
    project.save_checkpoint()
    body: SetShadow | Promote | SetChampion
    try:
        if isinstance(job, ShadowJob):
            state.set_shadow(job.slot, job.settings, project.rows, state.seq + 1)
            body = SetShadow(slot=job.slot, settings=job.settings)
        elif isinstance(job, ChampionJob):
            state.set_champion(job.sha256, job.name, state.seq + 1)
            body = SetChampion(sha256=job.sha256, name=job.name)
            if job.sha256 is not None:
                project.store.save_model(job.sha256, job.body)
        else:
            state.promote(job.slot, state.seq + 1)
            body = Promote(slot=job.slot)
    except ConflictError as error:
        raise RefusedError(409, error.code, str(error), "slot") from None
    except InvalidInputError as error:
        raise RefusedError(422, "bad_model", str(error), "settings") from None
    reply = EventReply(project.emit(body, item=None, actor=job.actor), state.budget.left)
    _keep(project, job, reply.event, 1, [], msgspec.msgpack.encode(reply))
    return reply


def _renew(project: Project) -> int:
    """Renew the budget if it is time; by how many labels."""
    changes = project.state.renewal(project.at)
    if changes is None or changes["budget"] > MOST_LABELS:
        return 0
    before = project.state.budget.limit
    _change(project, changes, 0)
    return project.state.budget.limit - before


def _fitted(project: Project, reply: Any) -> Any:
    """After an answer: where labels have grown enough, what scores mean is fitted again."""
    state = project.state
    if state.fit_due() and (pair := state.fit()) is not None:
        labels = state.budget.spent - state.fit_after[1]
        seq = project.emit(Fit(a=pair[0], b=pair[1], labels=labels), item=None, actor=0)
        state.note_fit(seq, *pair, labels)
    return reply


def _expire(project: Project) -> int:
    """Close every question whose time is over; how many."""
    due = [item for item in project.state.open_rows if project.state.questions[item].expires <= project.at]
    for item in sorted(due):
        project.state.close(item)
        project.emit(Close(reason="age"), item=item, actor=0)
        project.touch(item)
    return len(due)


# -- erasing ---------------------------------------------------------------------------------------------------------


def _erase(project: Project, job: EraseJob) -> EraseReply:
    """Erase rows; open questions about them are closed first."""
    project.flush()
    items = sorted({*job.items, *(_item_named(project, name) for name in job.ids)})
    stored = project.store.payloads(project.id, items)
    for item in items:
        if item not in stored:
            raise RefusedError(409, "unknown_item", f"item {item} must be one that was decided; it was not.", "items")
        if stored[item] is None:
            raise RefusedError(409, "erased", f"item {item} must still have its row; it was erased.", "items")
    for item in items:
        question = project.state.questions.get(item)
        if question is not None and question.waits:
            project.state.close(item)
            project.emit(Close(reason="erased"), item=item, actor=job.actor)
            project.touch(item)
    for item in items:
        project.emit(Erase(reason="owner"), item=item, actor=job.actor)
    project.erase(items, set())
    reply = EraseReply(items, project.state.seq)
    _keep(project, job, reply.event, 1, [], msgspec.msgpack.encode(reply))
    return reply


def _item_named(project: Project, name: str) -> int:
    item = project.store.item_of(project.id, name)
    if item is None:
        raise RefusedError(409, "unknown_item", f"id {name[:100]!r} must be one that was sent; it was not.", "ids")
    return item


def _retain(project: Project) -> int:
    """Erase what was kept as long as the settings say, by whole days, so one event a day does; how many rows."""
    settings, today = project.state.settings, project.at - project.at % (DAY * SECOND)
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
        project.emit(Erase(reason="age", upto=upto, training=training), item=None, actor=0)
        project.erase([item for item, _ in found], {item for item, learned in found if learned and item > training})
    return len(found)


# -- the same request again ------------------------------------------------------------------------------------------


def _said_before(project: Project, job: Job, stored: StoredRequest) -> Any:
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
            assert item is not None
            replies.append(logged_decision(project, item))
    return replies


def _check_none_erased(project: Project, span: tuple[int, int, int]) -> None:
    """Raise if a row of a request was erased whose rows have ids: an erased row has lost its own."""
    sql = "SELECT 1 FROM item WHERE project = ? AND id >= ? AND id < ? AND payload IS NULL"
    if project.store.connection.execute(sql, span).fetchone() is not None:
        raise RefusedError(409, "erased", "the rows of the request must still be there; some were erased.", "")
