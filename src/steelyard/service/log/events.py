"""The events of a project's log: one Struct a kind, its bytes, and the chain that ties each to all before it."""

from __future__ import annotations

import struct
from enum import IntEnum
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from ...errors import StateError

CHAIN_BYTES = 16
NO_CHAIN = bytes(CHAIN_BYTES)
_HEAD = struct.Struct("<qqqqqq")


class Kind(IntEnum):
    """What an event is; the numbers stand in the log and never change."""

    BEGIN = 1
    SET = 2
    DECIDE = 3
    ANSWER = 4
    SKIP = 5
    RETRACT = 6
    ADJUDICATE = 7
    CLOSE = 8
    OUTCOME = 9
    SHADOW = 10
    PROMOTE = 11
    CHAMPION = 12
    ERASE = 13
    UPGRADE = 14
    ACCESS = 15
    FIT = 16


class _Body(msgspec.Struct, array_like=True, frozen=True, kw_only=True):
    version: int = 1


class Begin(_Body, frozen=True):
    """A project begins: its settings, and what computes its decisions."""

    settings: dict[str, Any]
    start: bytes | None
    library: str
    numerics: int


class Set(_Body, frozen=True):
    """Settings change: those that do, and nothing else. Written by nobody (actor 0) it renews the budget."""

    changes: dict[str, Any]
    library: str
    numerics: int


class Decide(_Body, frozen=True):
    """A row is decided. ``sampled``: its chance was the floor. ``digest``: of the payload under its salt.

    Where a champion decides, ``score``, ``answer`` and ``expected`` are facts that a replay takes as they are.
    """

    t: int
    model: int
    score: float
    answer: int
    chance: float
    sampled: bool
    ask: bool
    digest: bytes
    expected: float | None = None  # what the champion expects its answer to cost
    source: bytes | None = None  # the followed file it came from (see sources/tail.py), and
    offset: int | None = None  # where its line ends there


class Answer(_Body, frozen=True):
    """A person's label; the label it settled, and the number of the training example, if it did."""

    label: int
    seconds: float | None
    settled: int | None
    learned: int | None


class Skip(_Body, frozen=True):
    """A person has skipped the question."""


class Retract(_Body, frozen=True):
    """The answer that is taken back, by the number of its event."""

    answer: int


class Adjudicate(_Body, frozen=True):
    """An owner's label, whatever the answers say; the number of the training example."""

    label: int
    learned: int


class Close(_Body, frozen=True):
    """A question is closed without a label: age, skips or owner."""

    reason: str


class Outcome(_Body, frozen=True):
    """A label that came unasked: kept and shown, not learned from."""

    label: int
    origin: str


class SetShadow(_Body, frozen=True):
    """A shadow of these settings begins in a slot, in the place of one that was there; None: it ends."""

    slot: int
    settings: dict[str, Any] | None


class Promote(_Body, frozen=True):
    """The shadow of a slot is the learner from here on, and the learner the shadow."""

    slot: int


class SetChampion(_Body, frozen=True):
    """A model decides from here on, by the SHA-256 of its file; None: the learner does."""

    sha256: bytes | None
    name: str


class Erase(_Body, frozen=True):
    """Rows are erased: that of the event's item, or what was kept long enough (``reason`` is then "age").

    By age go the rows up to event ``upto`` that no open question needs, and up to ``training`` also those the model has
    learned from; 0: none.
    """

    reason: str
    upto: int = 0
    training: int = 0


class Upgrade(_Body, frozen=True):
    """Decisions are computed by another version from here on."""

    before: int
    after: int


FIT_VERSION = 2


class Fit(_Body, frozen=True):
    """The pair behind expected costs (see replay/expected.py): a fact, since sums differ by a bit between machines.

    ``version`` says by which rule (see replay/fitting.py), so that `verify` computes it as it was computed.
    """

    a: float
    b: float
    labels: int


class Access(_Body, frozen=True):
    """Who may do what has changed."""

    who: str
    what: str


BODIES: dict[int, type[_Body]] = {
    Kind.BEGIN: Begin,
    Kind.SET: Set,
    Kind.DECIDE: Decide,
    Kind.ANSWER: Answer,
    Kind.SKIP: Skip,
    Kind.RETRACT: Retract,
    Kind.ADJUDICATE: Adjudicate,
    Kind.CLOSE: Close,
    Kind.OUTCOME: Outcome,
    Kind.SHADOW: SetShadow,
    Kind.PROMOTE: Promote,
    Kind.CHAMPION: SetChampion,
    Kind.ERASE: Erase,
    Kind.UPGRADE: Upgrade,
    Kind.ACCESS: Access,
    Kind.FIT: Fit,
}
KIND_OF: dict[type[_Body], int] = {body: int(kind) for kind, body in BODIES.items()}
_ENCODER = msgspec.msgpack.Encoder()
_DECODERS = {kind: msgspec.msgpack.Decoder(body) for kind, body in BODIES.items()}


class Event(NamedTuple):
    """One line of the log; ``at`` in microseconds, UTC."""

    seq: int
    kind: int
    at: int
    item: int | None
    actor: int
    body: bytes
    chain: bytes


def pack(body: _Body) -> bytes:
    """The bytes of a body."""
    return _ENCODER.encode(body)


def unpack(event: Event) -> Any:
    """The body of an event; raises StateError if it is none."""
    decoder = _DECODERS.get(event.kind)
    if decoder is None:
        raise StateError(f"event {event.seq} must be of a known kind; got {event.kind}. Use a newer version.")
    try:
        return decoder.decode(event.body)
    except msgspec.MsgspecError as error:
        raise StateError(f"event {event.seq} must hold a body of its kind; {error}.") from None


def chain(previous: bytes, project: int, event: tuple[int, int, int, int | None, int, bytes]) -> bytes:
    """BLAKE2b-128 over the chain so far and (seq, kind, at, item, actor, body)."""
    seq, kind, at, item, actor, body = event
    head = _HEAD.pack(project, seq, kind, at, -1 if item is None else item, actor)
    return blake2b(previous + head + body, digest_size=CHAIN_BYTES).digest()


def payload_digest(payload: bytes) -> bytes:
    """The digest by which a decision names its payload (whose first 16 bytes are a random salt)."""
    return blake2b(payload, digest_size=CHAIN_BYTES).digest()
