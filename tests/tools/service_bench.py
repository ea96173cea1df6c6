"""A project without server: settings, rows and the acts on them, for the tests of the service."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from steelyard.service.database.checkpoints import pack_state
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.events import Kind, unpack
from steelyard.service.log.records import BadRecordError, pack_cells
from steelyard.service.log.settings import ProjectSettings
from steelyard.service.replay.state import State
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.jobs import DecideJob, RefusedError, RowToDecide
from steelyard.service.writer.projects import create_project, load_project
from steelyard.service.writer.snapshot import Snapshot, shadow_heads
from steelyard.service.writer.tasks.carry_out import carry_out
from steelyard.service.writer.verify import verify_project

TWO = {"classes": ["good", "fraud"], "costs": {"fn": 10, "fp": 1}, "update": "AROW(r=10)"}
THREE = {"classes": ["a", "b", "c"], "costs": [[0, 1, 5], [2, 0, 1], [3, 1, 0]], "update": "CSOGD1(eta=0.2)"}


def settings_of(**changes) -> ProjectSettings:
    base = TWO | {"columns": {"x": "number", "y": "number"}, "budget": 50, "expected_rows": 300}
    return ProjectSettings(**(base | changes))


class HandClock(Clock):
    """Moves only when told to."""

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self.seconds, self.since_boot = wall, 1000.0
        super().__init__()

    def wall(self) -> float:
        return self.seconds

    def boot(self) -> float:
        return self.since_boot

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        self.since_boot += seconds


class Bench:
    """One project; each call is one transaction."""

    def __init__(self, place: Path | SQLiteStore, settings: ProjectSettings, clock: Clock | None = None) -> None:
        self.clock = clock or HandClock()
        self.store = SQLiteStore(place) if isinstance(place, Path) else place
        create_project(self.store, "p", settings, at=self.clock.now())
        self.project = load_project(self.store, self.store.project("p"))
        self.labels = settings.labels

    @property
    def state(self):
        return self.project.state

    def restart(self) -> None:
        self.project = load_project(self.store, self.store.project("p"))

    def run(self, job):
        self.store.begin()
        self.project.note_time(self.clock.now())
        try:
            return carry_out(self.project, job)
        except RefusedError as error:
            return error
        finally:
            self.project.flush()
            self.store.commit()

    def row(self, record, external=None):
        try:
            cells, missing, unknown = self.project.reader.read(record)
            return RowToDecide(cells, pack_cells(os.urandom(16), cells), external, missing, unknown)
        except BadRecordError as error:
            return RefusedError(422, "bad_row", str(error), error.where)

    def decide(self, *records, key=None, digest=b"d", ids=None):
        ids = ids or [None] * len(records)
        rows = [self.row(record, i) for record, i in zip(records, ids, strict=True)]
        return self.run(DecideJob("p", 1, key=key, digest=digest, rows=rows, size=len(rows)))


def snapshot_of(bench: Bench) -> Snapshot:
    """What readers may know of the project now."""
    state, budget = bench.state, bench.state.budget
    counts = {"limit": budget.limit, "spent": budget.spent, "reserved": budget.reserved}
    counts |= {"seq": state.seq, "rounds": state.learner.n_rounds_, "reach": state.reach, "open": len(state.open_rows)}
    told = {"model": 1, "settings_seq": 1, "settings": state.settings, "outcomes": 0, "missing": 0, "unknown": 0}
    return Snapshot(**counts, **told, shadows=shadow_heads(state), champion=state.champion, replaced=state.fit_after[0])


def packed_earlier(state: State) -> bytes:
    """A checkpoint as an earlier version wrote it: questions and training examples as text, too."""
    arrays = load(pack_state(state))
    head = json.loads(arrays.pop("head").tobytes())
    del arrays["questions"], arrays["training"], head["plain"]["more_votes"], head["plain"]["others"]
    head["plain"]["questions"] = state.questions.to_lists()
    head["plain"]["training"] = state.training.examples.to_lists()
    return save(arrays | {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)})


def made_up(source: random.Random, truth: bool) -> dict[str, float]:
    return {"x": source.gauss(2.0 * truth, 1.0), "y": source.gauss(-1.0 * truth, 1.0)}


def recount(folder):
    """Decisions, labels and budget, from the log alone."""
    store = SQLiteStore(folder, readonly=True)
    head = store.project("p")
    verified = verify_project(store, head)
    assert load_project(store, head).state.digest() == verified.digest
    decisions, labels, asked, closed = {}, {}, 0, 0
    for event in store.events(head.id, 0):
        body = unpack(event)
        if event.kind == Kind.DECIDE:
            decisions[event.seq] = body
            asked += body.ask
        elif event.kind == Kind.ANSWER:
            assert event.item not in labels, "answered twice"
            labels[event.item] = body.settled
        elif event.kind == Kind.CLOSE:
            closed += 1
    (most, spent, reserved) = store.tables(head.id)["budget"][0]
    externals = dict(store.connection.execute("SELECT external, id FROM item WHERE external IS NOT NULL").fetchall())
    store.close()
    assert spent == len(labels)
    assert reserved == asked - len(labels) - closed
    assert spent + reserved <= most
    return decisions, labels, externals
