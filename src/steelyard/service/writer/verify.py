"""Proving from the log alone that a data folder is whole."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...errors import StateError, SteelyardError
from ...validation.values import invalid
from ..database.sqlite import SQLiteStore
from ..database.store import ProjectHead
from ..log.events import Decide, Kind, unpack
from ..log.records import Cell, unpack_cells
from ..log.settings import changed_settings
from ..replay.reducer import DivergedReplayError
from .champion_model import Champion, read_champion
from .projects import check_chain, first_settings, rebuilt_tables, recomputed_before, replayed

BROKEN = 3  # exit code: the log does not replay
SAME_NUMBER = 1e-9  # what machines may differ by
AT_ONCE = 1000  # rows that a champion is asked about


class Verified(NamedTuple):
    """A project that was computed again: its head to note elsewhere, and the digest of its state."""

    slug: str
    events: int
    chain: str
    digest: str
    since: int  # the event from which decisions were computed again
    gap: tuple[int, int] | None = None  # the events that cannot be computed again
    why: str = ""
    weighed: int = 0  # decisions of champions that were computed again
    not_weighed: int = 0  # and that were not, because their model or their row is not held


def verify_service(store: SQLiteStore) -> Verified:
    """The log of who may do what."""
    head = store.project_by_id(0)
    assert head is not None
    check_chain(store, head, 0)
    return Verified(head.slug, head.head, head.chain.hex(), "", 1)


def verify_project(store: SQLiteStore, head: ProjectHead) -> Verified:
    """Chain, decisions and tables of a project; raises StateError where they do not agree."""
    check_chain(store, head, 0)
    try:
        state, since = replayed(store, head)
    except StateError:
        raise
    except SteelyardError as error:
        raise StateError(f"the log of {head.slug} must replay; {error}") from error
    stored = store.tables(head.id)
    for name, rows in rebuilt_tables(state).items():
        if stored[name] != rows:
            differing = sorted(map(repr, set(map(repr, stored[name])) ^ set(map(repr, rows))))
            raise StateError(f"table {name} of {head.slug} must be what the log says; it is not: {differing[:2]}.")
    gap, why = _gap(store, head, since)
    weighed = check_champions(store, head)
    return Verified(head.slug, head.head, head.chain.hex(), state.digest(), since, gap, why, *weighed)


def check_champions(store: SQLiteStore, head: ProjectHead) -> tuple[int, int]:
    """Decisions of champions that were computed again, and that could not be; raises where one differs."""
    if not store.last_of_kind(head.id, (Kind.CHAMPION,)):
        return 0, 0
    settings = first_settings(store, head)
    champion: Champion | None = None
    decides = False
    waiting: list[tuple[int, Decide, list[Cell]]] = []
    done = left = 0
    for event, payload in store.history(head.id, 1):
        if event.kind == Kind.DECIDE:
            if decides and champion is not None and payload is not None:
                waiting.append((event.seq, unpack(event), unpack_cells(payload)))
            left += decides and (champion is None or payload is None)
        if event.kind in (Kind.SET, Kind.CHAMPION) or len(waiting) == AT_ONCE:
            done += _check_weighed(champion, waiting)
            waiting = []
        if event.kind == Kind.SET:
            settings = changed_settings(settings, unpack(event).changes)
            champion = None if champion is None else Champion(champion.model, settings)
        elif event.kind == Kind.CHAMPION:
            digest = unpack(event).sha256
            raw = None if digest is None else store.model(digest)
            decides = digest is not None
            champion = None if raw is None else read_champion(raw, settings)
    return done + _check_weighed(champion, waiting), left


def _check_weighed(champion: Champion | None, decisions: list[tuple[int, Decide, list[Cell]]]) -> int:
    if champion is None or not decisions:
        return 0
    found = champion.weigh([cells for _, _, cells in decisions])
    for (seq, logged, _), now in zip(decisions, found, strict=True):
        same = math.isclose(logged.score, now.score, rel_tol=SAME_NUMBER, abs_tol=SAME_NUMBER)
        if logged.expected is not None and now.expected is not None and same:
            same = math.isclose(logged.expected, now.expected, rel_tol=SAME_NUMBER, abs_tol=SAME_NUMBER)
        if not same or (logged.answer != now.answer and abs(now.score) > SAME_NUMBER):
            was = (logged.score, logged.answer, logged.expected)
            raise DivergedReplayError(seq, "what the champion said", was, tuple(now))
    return len(decisions)


def _gap(store: SQLiteStore, head: ProjectHead, since: int) -> tuple[tuple[int, int] | None, str]:
    """The events that cannot be computed again, and why; what is before them was."""
    if since <= 1:
        return None, ""
    if not any(event.kind == Kind.ERASE for event in store.events(head.id, 1, since)):
        return (1, since), "computed by another version"
    return (recomputed_before(store, head) + 1, since), "rows were erased"


def check_noted(store: SQLiteStore, heads: list[ProjectHead], noted: str) -> None:
    """Raise unless a head (SEQ:CHAIN) that was noted elsewhere is part of one of these logs."""
    seq, _, chain = noted.partition(":")
    if not (seq.isascii() and seq.isdigit() and len(seq) <= 18):
        raise invalid("--head", "be SEQ:CHAIN, as `steelyard service verify` prints it", noted)
    events = [store.event(head.id, int(seq)) for head in heads]
    if not any(event is not None and event.chain.hex() == chain.lower() for event in events):
        slugs = " or ".join(head.slug for head in heads)
        raise StateError(f"the log of {slugs} must contain the noted head {noted}; it does not.")
