"""What the writer is asked to do, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..replay.champion import ChampionNumbers

Deliver = Callable[[Any], None]


class RefusedError(Exception):
    """A request, or one row of it, that changes nothing; as an HTTP answer says it."""

    def __init__(self, status: int, code: str, message: str, where: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.where = status, code, message, where


class Problem(msgspec.Struct, frozen=True):
    """Every refusal: a code, a sentence, and the place in what was sent."""

    error: str
    message: str
    where: str


class DecisionReply(msgspec.Struct, frozen=True):
    """What was decided about a row. ``ask`` and ``chance`` are query and query_probability of the library."""

    id: int
    t: int
    decision: str
    score: float
    expected_cost: float | None
    chance: float
    ask: bool
    model: int


class AnswerReply(msgspec.Struct, frozen=True):
    """What an answer did; ``answer`` is the number to take it back by.

    ``decision`` is what the service had decided, where the project shows it.
    """

    item: int
    answer: int
    settled: str | None
    learned: bool
    closed: bool
    decision: str | None = None


class AnswersReply(msgspec.Struct, frozen=True):
    """The answers in their order, and the labels that may still be asked for."""

    answers: list[Any]  # AnswerReply, or Problem in the place of one that was refused
    left: int


class EventReply(msgspec.Struct, frozen=True):
    """An act that was carried out, by the number of its event, and the labels that may still be asked for."""

    event: int
    left: int


class EraseReply(msgspec.Struct, frozen=True):
    """The items whose rows were erased, and the last event that says so.

    Backups that were made before still hold them.
    """

    items: list[int]
    event: int


class SettingsReply(msgspec.Struct, frozen=True):
    """The settings, and the event that said them."""

    seq: int
    settings: dict[str, Any]


@dataclass(slots=True)
class RowToDecide:
    """A row, read and packed; ``external`` is the sender's own id."""

    cells: list[Any]
    payload: bytes
    external: str | None = None
    missing: int = 0
    unknown: int = 0
    source: bytes | None = None  # the followed file it comes from, and
    offset: int | None = None  # where its line ends there
    weighed: ChampionNumbers | None = None  # by the champion, and
    weighed_by: tuple[bytes, int] | None = None  # by which, at the costs of which settings


@dataclass(slots=True)
class Job:
    """Something to do to a project, for an actor; the key makes it happen once."""

    project: str
    actor: int
    key: str | None = None
    digest: bytes = b""
    deliver: Deliver | None = None
    replayed: bool = False
    size: int = 1
    weight: int = 0  # bytes


@dataclass(slots=True)
class DecideJob(Job):
    """Rows to decide; a refused one stands in its place."""

    rows: list[RowToDecide | RefusedError] = field(default_factory=list)
    single: bool = False


@dataclass(slots=True)
class AnswerJob(Job):
    """(item, label or None for a skip, seconds) by one person; ``present``: people who might answer instead."""

    answers: list[tuple[int, str | None, float | None]] = field(default_factory=list)
    present: frozenset[int] = frozenset()


@dataclass(slots=True)
class RetractJob(Job):
    """Take an own answer back."""

    answer: int = 0


@dataclass(slots=True)
class CloseJob(Job):
    """Close a question without a label."""

    item: int = 0


@dataclass(slots=True)
class AdjudicateJob(Job):
    """An owner's label."""

    item: int = 0
    label: str = ""


@dataclass(slots=True)
class EraseJob(Job):
    """Erase the rows of items, named by their numbers or by the sender's own ids."""

    items: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(slots=True)
class RetainJob(Job):
    """Erase the rows that were kept as long as the settings say."""


@dataclass(slots=True)
class OutcomeJob(Job):
    """A label that came unasked."""

    item: int = 0
    label: str = ""
    origin: str = ""


@dataclass(slots=True)
class SetJob(Job):
    """Change settings, if they are still those of event ``expected``."""

    changes: dict[str, Any] = field(default_factory=dict)
    expected: int = 0


@dataclass(slots=True)
class ShadowJob(Job):
    """Begin a shadow in a slot, or end it (None)."""

    slot: int = 0
    settings: dict[str, Any] | None = None


@dataclass(slots=True)
class PromoteJob(Job):
    """Make a shadow the learner."""

    slot: int = 0


@dataclass(slots=True)
class ChampionJob(Job):
    """Have a model decide, by its digest, name and file; or the learner again (None)."""

    sha256: bytes | None = None
    name: str = ""
    body: bytes = b""


@dataclass(slots=True)
class ExpireJob(Job):
    """Close the questions whose time is over."""


@dataclass(slots=True)
class RenewJob(Job):
    """Renew the budget, if it is time."""


@dataclass(slots=True)
class StoreJob(Job):
    """A change outside any project's log: people, sessions, a new project. ``act`` gets the store and the time."""

    act: Callable[[Any, int], Any] = lambda store, at: None
