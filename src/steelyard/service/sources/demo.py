"""A project that runs by itself: rows without end, and a simulated person who answers until somebody takes over."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...data import load_dataset
from ...validation.values import check_choice
from ..database.sqlite import SQLiteStore
from ..database.store import OPEN_QUESTIONS
from ..http.console import say
from ..http.runtime import Runtime
from ..log.records import SALT_BYTES, Cell, pack_cells
from ..log.settings import ProjectSettings
from ..people.accounts import add_person, give_role, make_link, people
from ..writer.jobs import AnswerJob, DecideJob, RefusedError, RowToDecide, StoreJob
from ..writer.projects import add_project
from .payments import demo_settings, payment

RATE = 20.0  # rows a second
TICK = 0.1  # seconds
THINKING = 1.0  # seconds the simulated person looks at a question at least
SPACING = 0.3  # and between two answers
ALONE = 60.0  # seconds after which somebody who took over counts as gone
DIGEST_EVERY = 5.0
PERSON = "simulated person"
VISITOR = "you"
LAST = 300  # rows whose true cost is shown
DEMOS = ("payments", "german")
Row = tuple[dict[str, Cell], str]


class Source(NamedTuple):
    """Where rows come from: row ``n`` and its label, or None behind the last one."""

    slug: str
    settings: ProjectSettings
    row: Callable[[int], Row | None]
    about: str


def source_of(name: str) -> Source:
    """A demo by its name."""
    check_choice("--demo", name, DEMOS)
    return _payments() if name == "payments" else _german()


def _payments() -> Source:
    def row(n: int) -> Row:
        made = payment(n)
        return made.record, made.label

    about = (
        "Made-up card payments, 20 a second. One in ten is a fraud; a fraud that passes costs 10, a good one stopped 1."
    )
    return Source("payments", demo_settings(), row, about)


def _german() -> Source:
    rows, labels = load_dataset("german")
    order = np.random.default_rng(0).permutation(len(labels))
    names = [f"x{j}" for j in range(1, rows.shape[1] + 1)]

    def row(n: int) -> Row | None:
        if n >= len(order):
            return None
        record: dict[str, Cell] = dict(zip(names, map(float, rows[order[n]]), strict=True))
        return record, "bad" if labels[order[n]] == labels.max() else "good"

    settings = ProjectSettings(
        question="Is this applicant a bad risk?",
        classes=["good", "bad"],
        positive="bad",
        costs={"fn": 5.0, "fp": 1.0},
        columns=dict.fromkeys(names, "number"),
        budget=300,
        expected_rows=len(order),
    )
    return Source(
        "german", settings, row, "The bundled German credit data, 1,000 rows, 20 a second; a bad risk costs 5."
    )


def prepare(store: SQLiteStore, source: Source, *, at: int) -> str:
    """Make the project and its people, unless they are there; the code of a link for whoever watches."""
    with store.transaction():
        if store.project(source.slug) is None:
            add_project(store, source.slug, source.settings, at=at)
        known = {one.name: one.id for one in people(store)}
        if PERSON not in known:
            add_person(store, PERSON, at=at)
        if VISITOR not in known:
            known[VISITOR] = add_person(store, VISITOR, at=at)
            give_role(store, known[VISITOR], "_service", "owner", given=True, at=at)
        return make_link(store, known[VISITOR], at=at)


class Demo:
    """Sends the rows and answers the questions of a running service, through the writer as everybody does."""

    def __init__(self, source: Source, command: str) -> None:
        self.source, self.command = source, command
        self.digest = ""
        self.ended = False
        self.person = 0
        self._watched = False
        self._known: deque[tuple[bool, float]] = deque(maxlen=LAST)  # what the rows are in truth, and what they cost

    async def run(self, runtime: Runtime) -> None:
        """Until it is cancelled."""
        slug = self.source.slug
        await runtime.loaded(slug)
        self.person = next(one.id for one in people(runtime.store) if one.name == PERSON)
        runtime.overviews.extra[slug] = self.words
        self.digest = await digest_of(runtime, slug)
        say(f"goes on at {self.digest}" if runtime.snapshot(slug).rounds else f"begins at {self.digest}")
        async with asyncio.TaskGroup() as tasks:
            for task in (self._send, self._answer, self._take_digests):
                tasks.create_task(task(runtime))

    def words(self) -> dict[str, str]:
        """What the page says about the demo."""
        labelling = "You are labelling. The simulated person waits, and goes on a minute after you have stopped."
        if self.ended:
            banner = "All rows were sent; the demo is over."
        else:
            banner = labelling if self._watched else "A simulated person is labelling."
        return {
            "demo_about": self.source.about,
            "demo_banner": banner,
            "demo_button": "Go on labelling" if self._watched else "Take over",
            "demo_truth": self.truth(),
            "demo_command": self.command,
            "demo_digest": self.digest,
        }

    def truth(self) -> str:
        """What the last rows cost in truth, which only the generator knows."""
        if len(self._known) < LAST:
            return ""
        matrix, share = self.source.settings.cost_matrix(), sum(positive for positive, _ in self._known) / LAST
        cost, constant = (
            sum(cost for _, cost in self._known) / LAST,
            min(share * matrix[1, 0], (1 - share) * matrix[0, 1]),
        )
        said = f"{cost:.2f} a row; the cheapest constant answer costs {constant:.2f}"
        return f"In truth, which only the generator knows, the last {LAST} rows cost {said}."

    def _note(self, made: list[Row], replies: list[Any]) -> None:
        labels, matrix = self.source.settings.labels, self.source.settings.cost_matrix()
        for (_, label), reply in zip(made, replies, strict=True):
            true = labels.index(label)
            self._known.append((true == 1, float(matrix[true, labels.index(reply.decision)])))

    # -- rows --------------------------------------------------------------------------------------------------------

    async def _send(self, runtime: Runtime) -> None:
        slug, loop = self.source.slug, asyncio.get_running_loop()
        columns = [name for name, kind in self.source.settings.columns.items() if kind != "ignored"]
        due = loop.time()
        while True:
            first = runtime.snapshot(slug).rounds
            count = min(int((loop.time() - due) * RATE), int(RATE))  # what was missed while it slept is not made up for
            made = [one for n in range(first, first + count) if (one := self.source.row(n)) is not None]
            rows: list[RowToDecide | RefusedError] = [
                _to_decide(f"row {first + n}", [one[0].get(name) for name in columns]) for n, one in enumerate(made)
            ]
            self.ended = count > 0 and not rows
            if rows and (replies := await _tried(runtime, DecideJob(slug, 0, rows=rows, size=len(rows)))) is not None:
                self._note(made, replies)
                due = max(due + len(rows) / RATE, loop.time() - 1.0)
            await asyncio.sleep(TICK)

    # -- answers -----------------------------------------------------------------------------------------------------

    async def _answer(self, runtime: Runtime) -> None:
        slug, store = self.source.slug, runtime.store
        head = store.project(slug)
        assert head is not None
        sql = (
            "SELECT w.item, i.external, e.at FROM"
            f" (SELECT q.item, q.project {OPEN_QUESTIONS} AND q.state = 0 ORDER BY q.item LIMIT 50) w"
            " JOIN item i ON i.project = w.project AND i.id = w.item"
            " JOIN event e ON e.project = w.project AND e.seq = w.item ORDER BY w.item"
        )
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(SPACING)
            slept, last = loop.time() - last, loop.time()
            left = max(1, int(min(slept, 1.0) / SPACING))  # on a busy machine rows catch up, and so do answers
            self._watched = bool(runtime.leases.seen_within(slug, ALONE) - {self.person})
            if self._watched:
                continue
            now = runtime.clock.now()
            waiting: list[Any] = store.connection.execute(sql, (head.id,)).fetchall()
            for item, external, at in waiting:
                label, seconds = self._label(external), (now - at) / 1e6
                if label is None or seconds < THINKING or not runtime.leases.take(slug, self.person, [item], 1):
                    continue
                await _tried(runtime, AnswerJob(slug, self.person, answers=[(item, label, SPACING)]))
                runtime.leases.drop(slug, item)
                left -= 1
                if not left:
                    break

    def _label(self, external: str | None) -> str | None:
        """What the simulated person says to a row of ours; nothing to others."""
        if external is None or not external.startswith("row ") or not external[4:].isdigit():
            return None
        made = self.source.row(int(external[4:]))
        return None if made is None else made[1]

    # -- the digest --------------------------------------------------------------------------------------------------

    async def _take_digests(self, runtime: Runtime) -> None:
        while True:
            await asyncio.sleep(DIGEST_EVERY)
            self.digest = await digest_of(runtime, self.source.slug)


async def digest_of(runtime: Runtime, slug: str) -> str:
    """The last event and a digest of every bit that decides what happens next, taken in the writer's own thread."""

    def taken(store: SQLiteStore, at: int) -> str:
        return state_in_words(runtime.writer.projects[slug].state)

    made: str = await runtime.run(StoreJob("", 0, act=taken))
    return made


def state_in_words(state: Any) -> str:
    """Where a project stands."""
    return f"event {state.seq:,}, state {state.digest()[:16]}"


def _to_decide(external: str, cells: list[Cell]) -> RowToDecide:
    return RowToDecide(cells, pack_cells(os.urandom(SALT_BYTES), cells), external)


async def _tried(runtime: Runtime, job: Any) -> Any:
    """What was answered; None for a full queue or disk, which is no reason to stop."""
    try:
        return await runtime.run(job)
    except RefusedError:
        return None
