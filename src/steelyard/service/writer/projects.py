"""A project in the writer's hands: its state, the end of its log, and what the next commit adds."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import msgspec

from ..._version import __version__
from ...errors import InvalidInputError, StateError
from ...online import NUMERICS
from ...validation.values import invalid
from ..database.checkpoints import pack_state, unpack_state
from ..database.sqlite import SQLiteStore, question_row
from ..database.store import Changes, ProjectHead, Refusals, StoredCheckpoint, StoredRequest
from ..log.events import KIND_OF, NO_CHAIN, Begin, Decide, Event, Kind, Upgrade, chain, pack, payload_digest, unpack
from ..log.records import RecordReader, Row
from ..log.settings import Learner, ProjectSettings, check_slug
from ..replay.answering import erase
from ..replay.champion import ChampionNumbers
from ..replay.deciding import Decided, decide, decide_many, note_source
from ..replay.fitting import fit_again
from ..replay.questions import Question, QuestionState
from ..replay.reducer import DivergedReplayError, ErasedRowError, apply_all, begin
from ..replay.state import State
from .champion_model import Champion, read_champion
from .jobs import Job, RowToDecide

SAME_FIT = 1e-9
CHECKED = 1000  # events at the end of a log whose chain is checked at each start


class Project:
    """State, log and pending changes; only the writer's thread touches it."""

    def __init__(self, store: SQLiteStore, head: ProjectHead, state: State) -> None:
        self.store, self.id, self.slug, self.state = store, head.id, head.slug, state
        self.chain = head.chain
        self.at = 0  # of the last event: time never falls
        self.now = 0  # what the clock says; after a jump that has ended it is before the last event
        self.changes = Changes(self.id)
        self.reader = RecordReader(state.settings)
        self.since_checkpoint = 0
        self.retained: tuple[int, str | None, str | None] | None = None  # the day, and how long rows were to be kept
        self.missing = self.unknown = 0
        self.new_ids: dict[str, int] = {}
        self.new_keys: set[tuple[int, str]] = set()
        self.unused_keys: set[tuple[int, str]] = set()  # of those looked up before
        self._champion: tuple[tuple[bytes, int], Champion] | None = None

    # -- adding ------------------------------------------------------------------------------------------------------

    def note_time(self, now: int) -> None:
        """A commit begins at this time of the clock.

        Where events are ahead of it, after a jump that has ended, their time goes on at half the speed of the clock:
        what is due by it comes, if late, and both meet again after a small jump.
        """
        passed = max(0, now - self.now) if self.now else 0
        self.now, self.at = now, max(now, self.at + passed // 2)

    def emit(self, body: Any, *, item: int | None, actor: int) -> int:
        """Add an event; the state has already changed by it."""
        seq, packed, kind = self.state.seq + 1, pack(body), KIND_OF[type(body)]
        self.chain = chain(self.chain, self.id, (seq, kind, self.at, item, actor, packed))
        self.changes.events.append(Event(seq, kind, self.at, item, actor, packed, self.chain))
        self.state.seq = seq
        self.since_checkpoint += 1
        return seq

    def decide(self, row: RowToDecide, actor: int) -> tuple[int, Decided]:
        """Decide a row and log it."""
        seq = self.state.seq + 1
        made = decide(self.state, seq, row.cells, self.at, row.weighed)
        self._log_decision(row, made, actor)
        return seq, made

    def weigh(self, rows: Sequence[RowToDecide]) -> None:
        """Have the champion look at rows that it has not seen, or not at these costs; most were weighed before."""
        champion = self.state.champion
        if champion is None:
            return
        by = (champion.sha256, self.state.settings_seq)
        waiting = [row for row in rows if row.weighed_by != by]
        if not waiting:
            return
        if self._champion is None or self._champion[0] != by:
            raw = self.store.model(champion.sha256)
            if raw is None:
                raise StateError(f"the model {champion.sha256.hex()} of {self.slug} must be held; it is not.")
            self._champion = by, read_champion(raw, self.state.settings)
        weigh_rows(self._champion[1], by, waiting)

    def decide_many(self, rows: Sequence[RowToDecide], actors: Sequence[int]) -> list[Decided]:
        """Decide the first of some rows at once and log them; none if they must be decided one by one."""
        made = decide_many(self.state, self.state.seq + 1, [row.payload for row in rows], [self.at] * len(rows))
        for row, one, actor in zip(rows, made, actors, strict=False):
            self._log_decision(row, one, actor)
        return made

    def _log_decision(self, row: RowToDecide, made: Decided, actor: int) -> None:
        t, model, score, answer, chance, sampled, ask, expected = made
        body = Decide(
            t=t,
            model=model,
            score=score,
            answer=answer,
            chance=chance,
            sampled=sampled,
            ask=ask,
            digest=payload_digest(row.payload),
            expected=expected,
            source=row.source,
            offset=row.offset,
        )
        note_source(self.state, row.source, row.offset)
        seq = self.state.seq + 1
        self.emit(body, item=seq, actor=actor)
        self.changes.items.append((seq, row.external, row.payload))
        self.missing += row.missing
        self.unknown += row.unknown
        if row.external is not None:
            self.new_ids[row.external] = seq
        if ask:
            self.touch(seq, opened_now=True)

    def touch(self, item: int, *, opened_now: bool = False, withdrawn: bool = False) -> None:
        """A question has changed: it is written with the next commit, and the budget with it."""
        question = self.state.questions[item]
        self.changes.questions[item] = question
        if not opened_now:
            self.changes.answered.add(item)
        if withdrawn:
            self.changes.withdrawn.add(item)
        if question.state is QuestionState.SETTLED:
            row = self.state.training.kept_row(item)
            if row is not None:
                self.changes.examples[item] = self.state.encoder.pack(row)

    def note_budget(self) -> None:
        """The budget has changed: it is written with the next commit."""
        budget = self.state.budget
        self.changes.budget = (budget.limit, budget.spent, budget.reserved)

    def look_up(self, keys: Iterable[tuple[int, str]]) -> None:
        """Find out at once which of these keys were never used, before the requests that bring them."""
        by_actor: dict[int, list[str]] = {}
        for actor, key in keys:
            by_actor.setdefault(actor, []).append(key)
        self.unused_keys = set()
        for actor, asked in by_actor.items():
            used = self.store.used_keys(self.id, actor, asked)
            self.unused_keys |= {(actor, key) for key in asked if key not in used}

    def request(self, actor: int, key: str) -> StoredRequest | None:
        """What was carried out under a key."""
        if (actor, key) in self.new_keys:
            self.flush()
        elif (actor, key) in self.unused_keys:
            return None
        return self.store.request(self.id, actor, key)

    def save_request(self, job: Job, first: int, size: int, refused: Refusals, reply: bytes | None = None) -> None:
        """Note what was carried out under the key of a request, so that it is answered alike if it comes again."""
        if job.key is None:
            return
        packed = msgspec.msgpack.encode(refused) if refused else None
        stored = StoredRequest(job.digest, first, size, packed, reply)
        self.changes.requests.append((job.actor, job.key, stored, self.at))
        self.new_keys.add((job.actor, job.key))

    def flush(self) -> None:
        """Put what is pending into the open transaction, where it can be read."""
        if self.changes.questions:
            self.note_budget()
        self.store.add(self.changes)
        self.changes = Changes(self.id)
        self.new_ids.clear()
        self.unused_keys -= self.new_keys
        self.new_keys.clear()

    def rows(self, item: int) -> Row:
        """The row of a training example, from the store."""
        raw = self.store.example_row(self.id, item)
        if raw is None:
            raise StateError(f"item {item} must have the row it was learned with; it is not there.")
        return self.state.encoder.unpack(raw)

    def forget(self, items: list[int], kept: set[int]) -> None:
        """Have the state forget the rows of items; of those in ``kept`` the row that was learned stays.

        Raises InvalidInputError where the others cannot be learned without them; then nothing has changed.
        """
        erase(self.state, items, self.rows, kept=kept)

    def erase(self, items: list[int], kept: set[int]) -> None:
        """Erase rows that the state has forgotten, and keep it: every replay begins there from now on."""
        self.flush()
        self.store.erase(self.id, items, keep_learned=kept)
        self.store.drop_checkpoints(self.id, self.state.seq)
        self.save_checkpoint(pinned=True)

    def save_checkpoint(self, *, pinned: bool = False) -> None:
        """Keep the state up to here, in the open transaction."""
        self.store.save_checkpoint(self.id, self.state.seq, NUMERICS, pack_state(self.state), pinned)
        self.since_checkpoint = 0


def weigh_rows(champion: Champion, by: tuple[bytes, int], rows: Sequence[RowToDecide]) -> None:
    """Note what a champion says about rows; one it cannot decide is left without, and refused later."""
    try:
        found: list[ChampionNumbers | None] = list(champion.weigh([row.cells for row in rows]))
    except InvalidInputError:
        found = [_weighed(champion, row) for row in rows]
    for row, weighed in zip(rows, found, strict=True):
        row.weighed, row.weighed_by = weighed, by


def _weighed(champion: Champion, row: RowToDecide) -> ChampionNumbers | None:
    try:
        return champion.weigh([row.cells])[0]
    except InvalidInputError:
        return None


def create_project(
    store: SQLiteStore, slug: str, settings: ProjectSettings, *, at: int, actor: int = 0, start: State | None = None
) -> int:
    """A new project with its first event, in a transaction of its own; its number."""
    store.begin()
    try:
        project = add_project(store, slug, settings, at=at, actor=actor, start=start)
        store.commit()
    except BaseException:
        store.rollback()
        raise
    return project


def add_project(
    store: SQLiteStore, slug: str, settings: ProjectSettings, *, at: int, actor: int = 0, start: State | None = None
) -> int:
    """The same, in the open transaction; ``start`` is what was learned before the first row."""
    settings.validate()
    settings.check_new()
    State(settings)  # with the width of its rows, which some rules cannot take
    if store.project(check_slug(slug)) is not None:
        raise invalid("project", "be new", slug, "Choose another name.")
    known = None
    if start is not None:
        start.seq = 1
        known = pack_state(start)
    digest = None if known is None else sha256(known).digest()
    body = pack(Begin(settings=msgspec.to_builtins(settings), start=digest, library=__version__, numerics=NUMERICS))
    project = store.new_project(slug)
    linked = chain(NO_CHAIN, project, (1, int(Kind.BEGIN), at, None, actor, body))
    event = Event(1, int(Kind.BEGIN), at, None, actor, body, linked)
    store.add(Changes(project, events=[event], budget=(settings.budget, 0, 0)))
    if known is not None:
        store.save_checkpoint(project, 1, NUMERICS, known, pinned=True)
    return project


# -- starting --------------------------------------------------------------------------------------------------------


def load_project(store: SQLiteStore, head: ProjectHead) -> Project:
    """The state at the end of the log: newest checkpoint, then the events behind it, each compared."""
    check_chain(store, head, max(0, head.head - CHECKED))
    kept = store.newest_checkpoint(head.id, NUMERICS)
    if kept is not None and 1 < kept.upto <= head.head:
        state = _kept_state(store, head, kept)
    else:
        numerics = log_numerics(store, head)
        if numerics != NUMERICS:
            return _upgraded(store, head, numerics)
        state = first_state(store, head)
    state.training.start = _start(store, head)
    project = Project(store, head, state)
    apply_all(state, store.history(head.id, state.seq, head.head), project.rows)
    last = store.event(head.id, head.head)
    project.at = 0 if last is None else last.at
    return project


def _kept_state(store: SQLiteStore, head: ProjectHead, kept: StoredCheckpoint) -> State:
    """The state of a checkpoint, which must be one of this log and of the event it stands at."""
    state = unpack_state(kept.body)
    began = first_settings(store, head)
    same = [*state.settings.columns.items()] == [*began.columns.items()] and state.labels == began.labels
    if state.seq != kept.upto or not same:
        raise StateError(f"the checkpoint of {head.slug} at event {kept.upto} must be of this log; it is of another.")
    return state


def first_state(store: SQLiteStore, head: ProjectHead) -> State:
    """The state after the first event: nothing learned, or what its history gave, which the event vouches for."""
    first = first_event(store, head)
    expected = unpack(first).start
    if expected is None:
        return begin(first)
    kept = store.checkpoint(head.id, 1)
    if kept is None or sha256(kept.body).digest() != expected:
        raise StateError(f"the log of {head.slug} must have the state it began with; it is not there, or changed.")
    state = unpack_state(kept.body)
    state.renewed = (first.at, 0)
    return state


def _start(store: SQLiteStore, head: ProjectHead) -> Learner | None:
    """The learner that relearning goes back to; None where nothing was learned before the first row."""
    return first_state(store, head).learner if unpack(first_event(store, head)).start is not None else None


def first_event(store: SQLiteStore, head: ProjectHead) -> Event:
    """The event that began the project."""
    first = store.event(head.id, 1)
    if first is None:
        raise StateError(f"project {head.slug} must have a log; it is empty.")
    return first


def first_settings(store: SQLiteStore, head: ProjectHead) -> ProjectSettings:
    """The settings that a project began with."""
    return msgspec.convert(unpack(first_event(store, head)).settings, ProjectSettings)


def log_numerics(store: SQLiteStore, head: ProjectHead) -> int:
    """By which numerics the last decisions of a log were computed."""
    last = store.event(head.id, store.last_of_kind(head.id, (Kind.UPGRADE,)))
    return int(unpack(first_event(store, head)).numerics if last is None else unpack(last).after)


def _upgraded(store: SQLiteStore, head: ProjectHead, numerics: int) -> Project:
    """A log of other numerics goes on from a checkpoint at its very end, which every clean stop leaves."""
    kept = store.newest_checkpoint(head.id, numerics)
    if kept is None or kept.upto != head.head:
        raise StateError(
            f"the log of {head.slug} must be of numerics {NUMERICS}, or end at a checkpoint; it is of {numerics}. "
            "Stop it cleanly with the version that wrote it, then start this one."
        )
    project = Project(store, head, _kept_state(store, head, kept))
    project.state.training.start = _start(store, head)
    last = store.event(head.id, head.head)
    project.at = 0 if last is None else last.at
    store.begin()
    project.emit(Upgrade(before=numerics, after=NUMERICS), item=None, actor=0)
    project.flush()
    project.save_checkpoint(pinned=True)
    store.commit()
    return project


def check_chain(store: SQLiteStore, head: ProjectHead, after: int) -> None:
    """Raise unless every event behind ``after`` is tied to the one before it, up to the head."""
    before = store.event(head.id, after)
    previous, seq = (NO_CHAIN if before is None else before.chain), after
    for event in store.events(head.id, after):
        expected = chain(previous, head.id, event[:6])
        if event.seq != seq + 1 or event.chain != expected:
            raise StateError(f"the log of {head.slug} must be unbroken; event {event.seq} does not follow event {seq}.")
        previous, seq = event.chain, event.seq
    if (seq, previous) != (head.head, head.chain):
        raise StateError(f"the log of {head.slug} must end at event {head.head} and its chain; it ends at {seq}.")


def rebuilt_tables(state: State) -> dict[str, list[tuple[Any, ...]]]:
    """The tables that a state stands for."""
    questions = state.questions.values()
    return {
        "question": sorted(question_row(q) for q in questions),
        "answer": sorted((q.item, *vote) for q in questions for vote in q.votes),
        "training_example": sorted(
            (q.n, q.item, q.label, q.score, q.answer, q.chance) for q in questions if q.n is not None
        ),
        "budget": [(state.budget.limit, state.budget.spent, state.budget.reserved)],
        "shadow_answer": sorted((q.item, *other) for q in questions for other in q.others),
    }


def replayed(store: SQLiteStore, head: ProjectHead) -> tuple[State, int]:
    """The log computed again, with rows from nowhere but the log; and the event it was computed from.

    That is the first one; or where a log was upgraded or rows were erased the last time that happened: what came before
    was computed otherwise, or cannot be computed any more.
    """
    first_seq = store.last_of_kind(head.id, (Kind.UPGRADE, Kind.ERASE))
    rows: dict[int, Row] = {}
    if first_seq:
        kept = store.checkpoint(head.id, first_seq)
        if kept is None:
            raise StateError(f"the log of {head.slug} must have the checkpoint at event {first_seq}; it has not.")
        state = _kept_state(store, head, kept)
        for question in settled(state):
            raw = store.example_row(head.id, question.item)
            if raw is not None:
                rows[question.item] = state.encoder.unpack(raw)
    else:
        state = first_state(store, head)
    state.training.start = _start(store, head)
    start = state.seq
    _apply_all(store, head, state, rows)
    return state, start


def _apply_all(store: SQLiteStore, head: ProjectHead, state: State, rows: dict[int, Row]) -> None:
    """Every event behind a state; ``rows`` takes what is learned from."""

    def look(event: Event) -> None:
        if event.kind in (Kind.ANSWER, Kind.ADJUDICATE) and event.item in state.open_rows:
            rows[event.item] = state.open_rows[event.item]
        if event.kind == Kind.FIT:
            _check_fit(state, event)

    with _uncollected():
        apply_all(state, store.history(head.id, state.seq, head.head), rows.__getitem__, look)


@contextmanager
def _uncollected() -> Iterator[None]:
    """A replay makes a few objects an event and no cycles: to look for cycles takes up to half of its time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _check_fit(state: State, event: Event) -> None:
    """A fitted pair must be what is fitted now, up to what machines differ by."""
    body = unpack(event)
    found = fit_again(state, version=body.version)
    for name, logged, now in zip(("a", "b"), (body.a, body.b), found or (None, None), strict=True):
        if now is None or not math.isclose(logged, now, rel_tol=SAME_FIT, abs_tol=SAME_FIT):
            raise DivergedReplayError(event.seq, name, logged, now)


def recomputed_before(store: SQLiteStore, head: ProjectHead) -> int:
    """The last event that can be computed from the first one on, in a log of which rows were erased."""
    if log_numerics(store, head) != NUMERICS or unpack(first_event(store, head)).numerics != NUMERICS:
        return 0
    state = first_state(store, head)
    state.training.start = _start(store, head)
    try:
        _apply_all(store, head, state, {})
    except ErasedRowError:
        return state.seq
    raise StateError(f"the log of {head.slug} must miss a row before the event that erased it; it misses none.")


def settled(state: State) -> list[Question]:
    """The questions that have a label."""
    return [q for q in state.questions.values() if q.state is QuestionState.SETTLED]
