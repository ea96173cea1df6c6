"""What each event does to the state of a project: a replay, by the functions that the writer calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from ...errors import StateError
from ..log.events import (
    Adjudicate,
    Answer,
    Begin,
    Close,
    Decide,
    Erase,
    Event,
    Fit,
    Kind,
    Outcome,
    Promote,
    Retract,
    Set,
    SetChampion,
    SetShadow,
    Skip,
    Upgrade,
    payload_digest,
    unpack,
)
from ..log.records import unpack_cells
from ..log.settings import ProjectSettings
from .answering import adjudicate, answer, close, retract, skip
from .champion import ChampionNumbers
from .changing import change, promote, set_champion, set_shadow
from .deciding import Decided, decide, decide_many, note_source
from .fitting import note_fit
from .state import Rows, State

BLOCK = 1000  # decisions that are computed again at once


class DivergedReplayError(StateError):
    """A replay that computes something else than the log says."""

    def __init__(self, seq: int, field: str, logged: object, computed: object) -> None:
        super().__init__(f"event {seq} must replay to the same bit; {field} was {logged!r} and is {computed!r} now.")
        self.seq, self.field, self.logged, self.computed = seq, field, logged, computed


class ErasedRowError(StateError):
    """A decision that cannot be computed again: its row is gone."""


def begin(event: Event) -> State:
    """The state after the first event of a log that began with nothing learned."""
    body = unpack(event)
    if not isinstance(body, Begin):
        raise StateError(f"a log must begin with its settings; event {event.seq} is of kind {event.kind}.")
    if body.start is not None:
        raise StateError("a log that began with a history must have the state it began with; it is not there.")
    settings = msgspec.convert(body.settings, ProjectSettings)
    settings.validate()
    state = State(settings)
    state.seq, state.renewed = event.seq, (event.at, 0)
    return state


def apply(state: State, event: Event, payload: bytes | None, rows: Rows) -> None:
    """One event of a log, by the functions that made it; raises DivergedReplayError where the outcome differs."""
    if event.seq != state.seq + 1:
        raise StateError(f"event {state.seq + 1} must follow event {state.seq}; got {event.seq}.")
    body = unpack(event)
    item = event.item if event.item is not None else -1
    if isinstance(body, Decide):
        _replay_decision(state, event, body, payload)
    elif isinstance(body, Answer):
        done = answer(state, item, event.actor, body.label, event.seq)
        _compare(event.seq, ("settled", "learned"), (body.settled, body.learned), done)
    elif isinstance(body, Skip):
        skip(state, item, event.actor, event.seq)
    elif isinstance(body, Retract):
        retract(state, body.answer, event.actor, item, rows)
    elif isinstance(body, Close):
        close(state, item)
    elif isinstance(body, Adjudicate):
        _compare(event.seq, ("learned",), (body.learned,), (adjudicate(state, item, body.label, rows),))
    elif isinstance(body, Set):
        change(state, body.changes, rows, event.seq, event.at, renews=event.actor == 0)
    elif isinstance(body, Fit):
        note_fit(state, event.seq, body.a, body.b, body.labels)
    elif isinstance(body, SetShadow):
        set_shadow(state, body.slot, body.settings, rows, event.seq)
    elif isinstance(body, Promote):
        promote(state, body.slot, event.seq)
    elif isinstance(body, SetChampion):
        set_champion(state, body.sha256, body.name, event.seq)
    elif isinstance(body, Outcome):
        state.outcomes += 1
    elif isinstance(body, Erase):
        raise StateError(
            f"a replay must begin behind event {event.seq}, which erased rows; its checkpoint is not there."
        )
    elif not isinstance(body, Upgrade):
        raise StateError(f"event {event.seq} must be one of a running project; got kind {Kind(event.kind).name}.")
    state.seq = event.seq


def apply_all(
    state: State,
    history: Iterable[tuple[Event, bytes | None]],
    rows: Rows,
    look: Callable[[Event], None] | None = None,
) -> None:
    """Events of a log in their order; ``look`` sees each that is no decision before it is applied.

    Decisions that follow each other are computed and compared together: between two labels the weights stay.
    """
    waiting: list[tuple[Event, bytes]] = []
    for event, payload in history:
        if event.kind == Kind.DECIDE and payload is not None:
            waiting.append((event, payload))
            if len(waiting) == BLOCK:
                _replay_decisions(state, waiting, rows)
                waiting = []
            continue
        _replay_decisions(state, waiting, rows)
        waiting = []
        if look is not None:
            look(event)
        apply(state, event, payload, rows)
    _replay_decisions(state, waiting, rows)


_OUTCOME = attrgetter(*Decided._fields)


def _replay_decisions(state: State, decisions: Sequence[tuple[Event, bytes]], rows: Rows) -> None:
    """The same as :func:`apply` of each."""
    while decisions:
        first = decisions[0][0].seq
        whole = first == state.seq + 1 and decisions[-1][0].seq == state.seq + len(decisions)
        payloads = [payload for _, payload in decisions]
        found = decide_many(state, first, payloads, [event.at for event, _ in decisions]) if whole else []
        if not found:
            for event, payload in decisions:
                apply(state, event, payload, rows)
            return
        count = len(found)
        bodies = [unpack(event) for event, _ in decisions[:count]]
        digests = [payload_digest(payload) for payload in payloads[:count]]
        if [body.digest for body in bodies] != digests or list(map(_OUTCOME, bodies)) != found:
            for seq, body, digest, computed in zip(itertools.count(first), bodies, digests, found, strict=False):
                _compare_decision(seq, body, digest, computed)
        for body in bodies:
            note_source(state, body.source, body.offset)
        state.seq += count
        decisions = decisions[count:]


def _compare_decision(seq: int, logged: Decide, digest: bytes, found: Decided) -> None:
    if digest != logged.digest:
        raise DivergedReplayError(seq, "the digest of the row", logged.digest.hex(), digest.hex())
    _compare(seq, Decided._fields, _OUTCOME(logged), found)


def _replay_decision(state: State, event: Event, body: Decide, payload: bytes | None) -> None:
    if payload is None:
        raise ErasedRowError(f"event {event.seq} must have its row; it is not there.")
    digest = payload_digest(payload)
    if digest != body.digest:
        raise DivergedReplayError(event.seq, "the digest of the row", body.digest.hex(), digest.hex())
    weighed = None if state.champion is None else ChampionNumbers(body.score, body.answer, body.expected)
    _compare_decision(event.seq, body, digest, decide(state, event.seq, unpack_cells(payload), event.at, weighed))
    note_source(state, body.source, body.offset)


def _compare(seq: int, names: tuple[str, ...], logged: tuple[Any, ...], computed: tuple[Any, ...]) -> None:
    for name, was, now in zip(names, logged, computed, strict=True):
        if was != now:
            raise DivergedReplayError(seq, name, was, now)
