"""What is kept of a project in a database, whichever it is, and what one transaction adds to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..log.events import Event
from ..replay.questions import Question

# From the index of those that wait alone: by the key of the table all that have ended are looked at before them.
OPEN_QUESTIONS = "FROM question AS q INDEXED BY question_open WHERE q.project = ? AND q.state IN (0, 3)"
# Begin, set, shadow, promote and champion: a log has a few of them among all its decisions.
CHANGES = "FROM event INDEXED BY event_change WHERE project = ? AND kind IN (1, 2, 10, 11, 12)"
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
