"""What the writer and the readers need of a database."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ..log.events import Event
from ..replay.questions import Question

Refusals = list[tuple[int, int, str, str]]  # of a request: position, status, code and place
RequestKey = tuple[int, int, str]  # project, actor and the key that the request came with


class ProjectHead(NamedTuple):
    """A project and how far its log goes."""

    id: int
    slug: str
    head: int
    chain: bytes


class StoredRequest(NamedTuple):
    """What is kept of a request that was carried out, to answer it again."""

    digest: bytes
    first: int
    size: int
    refused: bytes | None
    reply: bytes | None


class StoredCheckpoint(NamedTuple):
    """A state up to an event, as bytes that were checked against their digest."""

    upto: int
    body: bytes


@dataclass
class Changes:
    """What one transaction adds to a project."""

    project: int
    events: list[Event] = field(default_factory=list)
    items: list[tuple[int, str | None, bytes]] = field(default_factory=list)
    requests: list[tuple[int, str, StoredRequest, int]] = field(default_factory=list)  # actor, key, request, at
    questions: dict[int, Question] = field(default_factory=dict)
    answered: set[int] = field(default_factory=set)  # questions whose answers may have changed
    withdrawn: set[int] = field(default_factory=set)  # of them those that may have lost one
    examples: dict[int, bytes] = field(default_factory=dict)  # rows of new training examples, by item
    budget: tuple[int, int, int] | None = None  # limit, spent, reserved


class Store(Protocol):
    """One writer's database, and what readers ask of it."""

    unclean: bool  # something was erased, and files may still hold it
    erasures: int  # since it was opened

    def project(self, slug: str) -> ProjectHead | None:
        """The project of this name."""

    def begin(self) -> None:
        """Begin a transaction."""

    def add(self, changes: Changes) -> None:
        """Put changes into the transaction."""

    def commit(self) -> None:
        """End the transaction; when this returns, it is on the disk."""

    def shorten_log(self) -> None:
        """Between two transactions: see to it that the database's own log does not grow for ever."""

    def events(self, project: int, after: int, upto: int | None = None) -> Iterator[Event]:
        """Events in their order."""

    def payloads(self, project: int, items: Iterable[int]) -> dict[int, bytes | None]:
        """The stored rows of items."""

    def example_row(self, project: int, item: int) -> bytes | None:
        """The row of a training example."""

    def request(self, project: int, actor: int, key: str) -> StoredRequest | None:
        """A request that was carried out under this key."""

    def item_of(self, project: int, external: str) -> int | None:
        """The item that was sent under an id of the sender."""

    def newest_checkpoint(self, project: int, numerics: int) -> StoredCheckpoint | None:
        """The newest checkpoint that is whole and of these numerics."""

    def save_checkpoint(self, project: int, upto: int, numerics: int, body: bytes, pinned: bool) -> None:
        """Keep a state; of those that are not pinned the last three stay."""

    def erase(self, project: int, items: Iterable[int], *, keep_learned: Container[int] = ()) -> None:
        """Forget the rows of items and their names; of those in ``keep_learned`` what was learned stays."""

    def drop_checkpoints(self, project: int, before: int) -> None:
        """Forget the states before an event, but the one the project began with."""

    def clean(self) -> bool:
        """Leave no byte of what was erased in any file; False if that must be tried again later."""

    def tables(self, project: int) -> dict[str, Any]:
        """The rows of the tables that can be rebuilt, for `verify`."""
