"""What the owner sees of a project now, in numbers and in words; read beside the event loop and kept for a moment."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ...report.amounts import money, percent, rounded
from ..database.sqlite import SQLiteStore
from ..database.store import OPEN_QUESTIONS
from ..log.events import Answer, Decide, Event, Kind, unpack
from ..log.records import RecordReader, cell_text
from ..log.settings import ProjectSettings
from ..writer.snapshot import Snapshot
from .agreement import krippendorff_alpha
from .drift import DriftReply, drift
from .live import LEAST_MISTAKES, CurveReply, EstimateReply, EstimatesReply, curve, estimates, spread_of
from .paired import ShadowsReply, shadow_comparisons
from .what_if import WhatIfReply, what_if

FRESH = 1.0  # seconds for which an overview is shown again
CURVE_FRESH = 5.0
LATEST = 8  # decisions
MOST_DISPUTES = 20  # shown
LOOKED_BACK = 5000  # events in which the seconds of answers are looked for
_EVENT = "SELECT seq, kind, at, item, actor, body, chain FROM event"


class PersonLine(msgspec.Struct, frozen=True):
    """What a person has done; ``seconds``: the median of the last answers, if their page said it.

    ``agreement``: of their answers to questions that others answered too, the share that became the label.
    """

    name: str
    answers: int
    skips: int
    seconds: float | None
    agreement: float | None = None


class LatestLine(msgspec.Struct, frozen=True):
    """A decision of just now, with the first fields of its row."""

    id: int
    t: int
    decision: str
    ask: bool
    label: str | None
    row: str


class LiveReply(msgspec.Struct, frozen=True):
    """A project now. ``oldest``: seconds the oldest question waits; ``lasts``: the row till which the budget lasts.

    ``disputes``: questions whose votes are in and differ. ``agreement``: Krippendorff's alpha of the last ``shared``
    questions that more than one person has answered.
    ``words`` says all of it as the owner page does.
    """

    project: str
    events: int
    rows: int
    budget: int
    spent: int
    reserved: int
    open: int
    oldest: float | None
    lasts: int | None
    estimates: EstimatesReply
    people: list[PersonLine]
    latest: list[LatestLine]
    disputes: list[int]
    agreement: float | None
    shared: int
    words: dict[str, str]


def overview(store: SQLiteStore, slug: str, snapshot: Snapshot, now: int) -> LiveReply:
    """Everything, as of a commit."""
    head = store.project(slug)
    assert head is not None
    oldest = store.connection.execute(
        f"SELECT at FROM event WHERE project = ? AND seq = (SELECT min(q.item) {OPEN_QUESTIONS})",
        (head.id, head.id),
    ).get
    waits = None if oldest is None else max(0.0, (now - oldest) / 1e6)
    sql = f"SELECT q.item {OPEN_QUESTIONS} AND q.state = 3 ORDER BY q.item LIMIT ?"
    disputes = [row[0] for row in store.connection.execute(sql, (head.id, MOST_DISPUTES))]
    votes = _shared_answers(store, head.id, snapshot.seq)
    made = LiveReply(
        project=slug,
        events=snapshot.seq,
        rows=snapshot.rounds,
        budget=snapshot.limit,
        spent=snapshot.spent,
        reserved=snapshot.reserved,
        open=snapshot.open,
        oldest=waits,
        lasts=lasts_till(snapshot),
        estimates=estimates(store, head.id, snapshot),
        people=_people(store, head.id, snapshot.seq, votes),
        latest=_latest(store, head.id, snapshot),
        disputes=disputes,
        agreement=krippendorff_alpha([label for _, label, _ in one] for one in votes.values()),
        shared=len(votes),
        words={},
    )
    return msgspec.structs.replace(made, words=words(made, snapshot))


def lasts_till(snapshot: Snapshot) -> int | None:
    """The row till which the budget lasts at the present pace; None if it is gone, or nothing was asked yet."""
    settings, t = snapshot.settings, snapshot.rounds
    left = snapshot.limit - snapshot.spent - snapshot.reserved
    if left <= 0:
        return None
    if settings.pace:
        return int(t + max(settings.expected_rows - t, t // 4))
    asked = snapshot.spent + snapshot.reserved
    return t + round(left * t / asked) if asked else None


Votes = dict[int, list[tuple[int, int, int | None]]]  # by item: person, answer, and the label it got


def _shared_answers(store: SQLiteStore, project: int, head: int) -> Votes:
    """The answers to questions that more than one person has answered, of the last events."""
    sql = (
        "SELECT a.item, a.person, a.label, q.label FROM answer a"
        " JOIN question q ON q.project = a.project AND q.item = a.item"
        " WHERE a.project = ? AND a.label IS NOT NULL AND a.item > ?"
    )
    found: Votes = {}
    for item, person, label, settled in store.connection.execute(sql, (project, head - LOOKED_BACK)):
        found.setdefault(item, []).append((person, label, settled))
    return {item: votes for item, votes in found.items() if len(votes) > 1}


def _agreements(votes: Votes) -> dict[int, float]:
    """By person, the share of such answers that became the label."""
    kept: dict[int, list[bool]] = {}
    for answers in votes.values():
        for person, label, settled in answers:
            if settled is not None:
                kept.setdefault(person, []).append(label == settled)
    return {person: statistics.fmean(found) for person, found in kept.items()}


def _people(store: SQLiteStore, project: int, head: int, votes: Votes) -> list[PersonLine]:
    seconds: dict[int, list[float]] = {}
    sql = f"{_EVENT} WHERE project = ? AND seq > ? AND kind = ? ORDER BY seq"
    for row in store.connection.execute(sql, (project, head - LOOKED_BACK, int(Kind.ANSWER))):
        event = Event(*row)
        body = unpack(event)
        assert isinstance(body, Answer)
        if body.seconds is not None:
            seconds.setdefault(event.actor, []).append(body.seconds)
    sql = (
        "SELECT a.person, p.name, count(a.label), count(*) - count(a.label) FROM answer a"
        " LEFT JOIN person p ON p.id = a.person WHERE a.project = ? GROUP BY a.person, p.name ORDER BY 3 DESC, a.person"
    )
    rows: list[Any] = store.connection.execute(sql, (project,)).fetchall()
    agreements = _agreements(votes)
    return [
        PersonLine(
            name or "?",
            answers,
            skips,
            statistics.median(seconds[person]) if person in seconds else None,
            agreements.get(person),
        )
        for person, name, answers, skips in rows
    ]


def _latest(store: SQLiteStore, project: int, snapshot: Snapshot) -> list[LatestLine]:
    sql = (
        "SELECT e.seq, e.kind, e.at, e.item, e.actor, e.body, e.chain, i.payload, q.label FROM event e"
        " JOIN item i ON i.project = e.project AND i.id = e.seq"
        " LEFT JOIN question q ON q.project = e.project AND q.item = e.seq"
        " WHERE e.project = ? AND e.seq > ? AND e.kind = 3 ORDER BY e.seq DESC LIMIT ?"
    )
    settings: ProjectSettings = snapshot.settings
    reader, found = RecordReader(settings), []
    for *event, payload, label in store.connection.execute(sql, (project, snapshot.seq - LOOKED_BACK, LATEST)):
        made = unpack(Event(*event))
        assert isinstance(made, Decide)
        cells = [cell for cell in (reader.record(payload) or {}).values() if cell not in (None, "")]
        row = " · ".join(_short(cell) for cell in cells[:4])
        known = None if label is None else settings.labels[label]
        found.append(LatestLine(event[0], made.t + 1, settings.labels[made.answer], made.ask, known, row))
    return found


def _short(cell: Any) -> str:
    if isinstance(cell, float):  # six digits, but all of those before the point: dates and numbers of cards have more
        cell = float(f"{cell:.6g}") if abs(cell) < 1e5 else float(round(cell))
    text = cell_text(cell)
    return text if len(text) <= 24 else text[:23] + "…"


# -- the same in words -----------------------------------------------------------------------------------------------


def words(live: LiveReply, snapshot: Snapshot) -> dict[str, str]:
    """What the page says, by place."""
    settings: ProjectSettings = snapshot.settings
    found, left = live.estimates, live.budget - live.spent - live.reserved
    made = {
        "rows": count_in_words(live.rows, "row"),
        "spent": f"{live.spent:,} of {live.budget:,}",
        "waiting": f"{live.open:,} waiting",
        "left": f"{left:,} left to ask for",
        "queue": "no question waits"
        if not live.open
        else f"{live.open:,} open, the oldest for {duration(live.oldest or 0.0)}",
        "lasts": _lasting(live, settings),
        "disputed": f"{len(live.disputes):,} disputed" if live.disputes else "none disputed",
        "agreement": _agreeing(live),
        "covers": _covered(live, snapshot),
        "cost_note": _support_in_words(found, settings),
        "saved_note": "against the cheapest constant answer",
    }
    made |= _number("cost", found.cost, lambda value, spread: money(value, spread))
    made |= _number("saved", found.saved, lambda value, spread: percent(value, live.rows))
    if found.saved.reason is not None:
        made["saved_note"] = ""
    made["title"] = f"{made['cost']} a row" if found.cost.reason is None else made["rows"]
    return made


def count_in_words(number: int, name: str) -> str:
    """So many of something."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _agreeing(live: LiveReply) -> str:
    if live.agreement is None:
        return ""
    return f"Agreement (Krippendorff's alpha) on {count_in_words(live.shared, 'question')}: {live.agreement:.2f}"


def _number(name: str, found: EstimateReply, shown: Callable[[float, float], str]) -> dict[str, str]:
    if found.value is None or found.low is None or found.high is None:
        return {name: "–", f"{name}_band": found.reason or ""}
    spread = spread_of(found.low, found.high)
    low, high = shown(found.low, spread), shown(found.high, spread)
    return {name: shown(found.value, spread), f"{name}_band": f"{low} to {high}"}


def _support_in_words(found: EstimatesReply, settings: ProjectSettings) -> str:
    kind = costliest_kind(settings)
    seen = f"{found.costly_mistakes:,} {kind} among {found.labels:,} labels, worth {rounded(found.effective_size, 0)}"
    if found.cost.reason is not None:
        return f"{seen}; a number needs {LEAST_MISTAKES} and 30"
    return f"{found.level}, for one look; {seen}"


def costliest_kind(settings: ProjectSettings) -> str:
    """The name of the mistake that costs most."""
    matrix, labels = settings.cost_matrix(), settings.labels
    pairs = [(matrix[i, j], i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    most = max(cost for cost, _, _ in pairs)
    costliest = [(i, j) for cost, i, j in pairs if cost == most]
    if len(costliest) > 1:
        return "mistakes"
    (i, j) = costliest[0]
    return f"“{labels[i]}” taken for “{labels[j]}”"


def _lasting(live: LiveReply, settings: ProjectSettings) -> str:
    if live.budget - live.spent - live.reserved <= 0 and settings.renew is not None:
        return f"the budget is used up; {settings.renew} are added"
    if live.budget - live.spent - live.reserved <= 0:
        return f"the budget is gone: the numbers speak up to row {live.estimates.rounds:,}"
    if live.lasts is None:
        return "nothing was asked yet"
    if live.rows >= settings.expected_rows:
        return f"more rows than you expected: lasts till about row {live.lasts:,}"
    return f"lasts till about row {live.lasts:,}"


def _covered(live: LiveReply, snapshot: Snapshot) -> str:
    found = live.estimates
    said = f"speaks about the first {found.rounds:,} of {live.rows:,} rows"
    waiting = snapshot.reach - found.rounds
    if waiting and live.open:
        said += f"; {waiting:,} wait for {count_in_words(live.open, 'label')}"
    if found.unanswered:
        said += f"; {percent(found.unanswered, live.rows)} of the questions got no label"
    return said


def duration(seconds: float) -> str:
    """A time as one says it."""
    for size, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {name}"
    return f"{int(seconds)} s"


_READ: dict[str, Callable[[SQLiteStore, int, Snapshot], Any]] = {
    "curve": curve,
    "drift": drift,
    "estimates": estimates,
    "shadows": shadow_comparisons,
}


class Overviews:
    """Overviews of all projects, each computed at most once a second, on a connection and in a thread of their own."""

    def __init__(self, store: SQLiteStore, snapshot: Callable[[str], Snapshot], now: Callable[[], int]) -> None:
        self._store, self._snapshot, self._now = store, snapshot, now
        self._kept: dict[tuple[str, str], tuple[float, int, Any]] = {}
        self._one_at_a_time = threading.Lock()
        self.extra: dict[str, Callable[[], dict[str, str]]] = {}  # further words, by project

    def close(self) -> None:
        """Close the connection."""
        self._store.close()

    async def live(self, slug: str) -> LiveReply:
        """The project now."""
        made: LiveReply = await asyncio.to_thread(self._look, "live", slug, FRESH)
        return made

    async def curve(self, slug: str) -> CurveReply:
        """Its cost over time."""
        made: CurveReply = await asyncio.to_thread(self._look, "curve", slug, CURVE_FRESH)
        return made

    async def drift(self, slug: str) -> DriftReply:
        """Whether its rows are still what they were."""
        made: DriftReply = await asyncio.to_thread(self._look, "drift", slug, CURVE_FRESH)
        return made

    async def estimates(self, slug: str) -> EstimatesReply:
        """What its decisions cost."""
        made: EstimatesReply = await asyncio.to_thread(self._look, "estimates", slug, 0.0)  # of the last commit
        return made

    async def shadows(self, slug: str) -> ShadowsReply:
        """What other models would have cost."""
        made: ShadowsReply = await asyncio.to_thread(self._look, "shadows", slug, 0.0)  # who promotes sees it at once
        return made

    async def what_if(self, slug: str, **changes: float | None) -> WhatIfReply:
        """What it would cost at other prices or another threshold."""
        return await asyncio.to_thread(self._what_if, slug, changes)

    def _what_if(self, slug: str, changes: dict[str, float | None]) -> WhatIfReply:
        with self._one_at_a_time:
            return what_if(self._store, self._number(slug), self._snapshot(slug), **changes)

    def _number(self, slug: str) -> int:
        head = self._store.project(slug)
        assert head is not None
        return head.id

    def _look(self, what: str, slug: str, fresh: float) -> Any:
        with self._one_at_a_time:
            snapshot, moment = self._snapshot(slug), time.monotonic()
            kept = self._kept.get((what, slug))
            if kept is not None and (moment - kept[0] < fresh or (what != "live" and kept[1] == snapshot.seq)):
                return kept[2]
            if what == "live":
                found = overview(self._store, slug, snapshot, self._now())
                more = self.extra[slug]() if slug in self.extra else {}
                made: Any = msgspec.structs.replace(found, words=found.words | more)
            else:
                made = _READ[what](self._store, self._number(slug), snapshot)
            self._kept[what, slug] = (moment, snapshot.seq, made)
            return made
