"""Rows decided and replayed in stretches: bit for bit what one by one gives, and the first difference is named."""

from __future__ import annotations

import gc
import math
import random

import pytest
from service_bench import THREE, Bench, HandClock, settings_of

from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.records import pack_cells
from steelyard.service.replay import reducer
from steelyard.service.replay.reducer import DivergedReplayError
from steelyard.service.writer.group_commit import Writer
from steelyard.service.writer.jobs import AnswerJob, DecideJob, DecisionReply, RefusedError, RowToDecide
from steelyard.service.writer.projects import create_project, replayed
from steelyard.service.writer.verify import verify_project

COLUMNS = {"x": "number", "y": "number"}
PROJECTS = {
    "pace": {"expected_rows": 1500, "budget": 300},
    "no pace": {"pace": False, "query": "AskAsymmetric(c_pos=0.1, c_neg=0.3)", "budget": 40},
    "average": {"pace": False, "query": "AskAsymmetric(c_pos=0.5, c_neg=0.5)", "budget": 30, "after_budget": "average"},
    "unscaled": {"scale": "none", "expected_rows": 900, "budget": 100},
    "three classes": THREE | {"expected_rows": 900, "budget": 100},
    "mixed": {"columns": COLUMNS | {"c": "category"}, "hash_bits": 10, "expected_rows": 900, "budget": 100},
}


def records(settings, rows: int):
    """Whole numbers, missing cells and values that cannot be read among floating point numbers."""
    source = random.Random(5)
    for n in range(rows):
        record = {"x": source.gauss(0, 1), "y": source.gauss(n % 3, 2)}
        if n % 17 == 0:
            record["x"] = source.randrange(9)
        if n % 29 == 0 and settings.scale != "none":
            record["y"] = None
        if n % 101 == 50:
            record["y"] = "text"
        if "c" in settings.columns:
            record["c"] = source.choice("abc")
        yield record


def filled(folder, settings, *, together: int) -> tuple[Bench, list]:
    """A project that got these rows in batches, some asked labels in between, and what was answered."""
    folder.mkdir()
    bench, said = Bench(folder, settings), []
    waiting: list = []
    sent = list(records(settings, 700))
    for first in range(0, len(sent), 100):
        for part in range(first, first + 100, together):
            batch = sent[part : part + together]
            ids = [f"id-{part + n}" if (part + n) % 3 == 0 else None for n in range(len(batch))]
            said += bench.decide(*batch, ids=ids)
        waiting += [one.id for one in said[first:] if isinstance(one, DecisionReply) and one.ask]
        for item in waiting[: len(waiting) // 2]:
            bench.run(AnswerJob("p", 2, answers=[(item, bench.labels[item % 2], None)]))
        waiting = waiting[len(waiting) // 2 :]
    return bench, [one.code if isinstance(one, RefusedError) else one for one in said]


@pytest.mark.parametrize("name", PROJECTS)
def test_a_batch_is_its_rows_one_by_one(tmp_path, name):
    settings = settings_of(**({"columns": COLUMNS} | PROJECTS[name]))
    single, one_by_one = filled(tmp_path / "single", settings, together=1)
    batched, at_once = filled(tmp_path / "batched", settings, together=100)
    assert at_once == one_by_one
    assert batched.state.digest() == single.state.digest()
    assert batched.state.decides_many == (name not in ("three classes", "mixed"))
    for bench in (single, batched):
        state, _ = replayed(bench.store, bench.store.project("p"))
        assert state.digest() == bench.state.digest()


def test_replay_decides_in_stretches(tmp_path, monkeypatch):
    bench, said = filled(tmp_path / "p", settings_of(**PROJECTS["pace"]), together=100)
    sizes: list[int] = []
    decide_many = reducer.decide_many

    def counting(state, item, payloads, times):
        assert not gc.isenabled()  # to look for cycles, of which there are none, would take up to half of the time
        made = decide_many(state, item, payloads, times)
        sizes.append(len(made))
        return made

    monkeypatch.setattr(reducer, "decide_many", counting)
    monkeypatch.setattr(reducer, "decide", None)  # no row is decided alone
    monkeypatch.setattr(reducer, "BLOCK", 64)
    state, _ = replayed(bench.store, bench.store.project("p"))
    assert gc.isenabled()
    assert state.digest() == bench.state.digest()
    assert sum(sizes) == sum(isinstance(one, DecisionReply) for one in said)
    assert max(sizes) == 64


@pytest.mark.parametrize("field", ["score", "chance", "ask", "digest", "t"])
def test_the_first_difference_is_named(tmp_path, field):
    bench, said = filled(tmp_path / "p", settings_of(**PROJECTS["pace"]), together=100)
    decisions = [one.id for one in said if isinstance(one, DecisionReply)]
    wrong = decisions[len(decisions) // 2 + 7]
    run = bench.store.connection
    run.execute("DROP TRIGGER event_stays")
    for item in (wrong, wrong + 1):
        event = bench.store.event(1, item)
        body = reducer.unpack(event)
        was = getattr(body, field)
        other = bytes(16) if field == "digest" else not was if field == "ask" else was + 1
        changed = reducer.msgspec.structs.replace(body, **{field: other})
        packed = reducer.msgspec.msgpack.encode(changed)
        run.execute("UPDATE event SET body = ? WHERE project = 1 AND seq = ?", (packed, item))
    with pytest.raises(DivergedReplayError, match="the digest of the row" if field == "digest" else field) as found:
        replayed(bench.store, bench.store.project("p"))
    assert found.value.seq == wrong
    assert gc.isenabled()


def test_requests_of_one_row_in_one_commit_are_as_if_each_had_its_own(tmp_path):
    """Keys and ids sent again among them, other projects between them, rows that are refused."""
    source = random.Random(3)
    outcomes: list[list] = []
    made_jobs = []
    for n in range(200):
        record = [source.gauss(0.0, 1.0), source.gauss(0.0, 1.0)]
        slug, key, name = "pq"[n % 50 == 20], f"k{n - 7 if n % 31 == 30 else n}", None
        if n % 40 == 25:
            record = [math.inf, 0.0]  # no learner takes it
        if n % 10 == 9:
            name, key = f"id-{n if n % 20 == 9 else n - 10}", key if n % 3 else None
        made_jobs.append((slug, n % 2 + 1, key, record, name))
    for size in (1, 64):
        place = tmp_path / str(size)
        place.mkdir()
        store, clock, said = SQLiteStore(place), HandClock(), []
        for slug in "pq":
            create_project(store, slug, settings_of(), at=clock.now())
        writer = Writer(store, clock, deliver=lambda found, said=said: said.extend(one for _, one in found))
        jobs = [
            DecideJob(
                slug, actor, key, b"d", rows=[RowToDecide(cells, pack_cells(bytes(16), cells), name)], single=True
            )
            for slug, actor, key, cells, name in made_jobs
        ]
        for first in range(0, len(jobs), size):
            writer._carry_out(jobs[first : first + size])
        outcomes.append([one.code if isinstance(one, RefusedError) else one for one in said])
        outcomes[-1] += [job.replayed for job in jobs] + [writer.rows]
        outcomes[-1] += [writer.projects[slug].state.digest() for slug in "pq"]
        for slug in "pq":
            verify_project(store, store.project(slug))
        store.close()
    assert outcomes[0] == outcomes[1]
    assert {"bad_row", "id_reused"} <= {one for one in outcomes[0] if isinstance(one, str)}
