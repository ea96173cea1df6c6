"""Proving from the log alone that a data folder is whole."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import StateError, SteelyardError
from .events import Kind
from .projects import check_chain, rebuilt_tables, recomputed_before, replayed
from .sqlite import SQLiteStore
from .store import ProjectHead


class Verified(NamedTuple):
    """A project that was computed again: its head to note elsewhere, and the digest of its state."""

    slug: str
    events: int
    chain: str
    digest: str
    since: int  # the event from which decisions were computed again
    gap: tuple[int, int] | None = None  # the events that cannot be computed again
    why: str = ""


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
    return Verified(head.slug, head.head, head.chain.hex(), state.digest(), since, gap, why)


def _gap(store: SQLiteStore, head: ProjectHead, since: int) -> tuple[tuple[int, int] | None, str]:
    """The events that cannot be computed again, and why; what is before them was."""
    if since <= 1:
        return None, ""
    if not any(event.kind == Kind.ERASE for event in store.events(head.id, 1, since)):
        return (1, since), "computed by another version"
    return (recomputed_before(store, head) + 1, since), "rows were erased"


def check_noted(store: SQLiteStore, head: ProjectHead, noted: str) -> None:
    """Raise unless a head (SEQ:CHAIN) that was noted elsewhere is part of this log."""
    seq, _, chain = noted.partition(":")
    event = store.event(head.id, int(seq)) if seq.isdigit() else None
    if event is None or event.chain.hex() != chain.lower():
        raise StateError(f"the log of {head.slug} must contain the noted head {noted}; it does not.")
