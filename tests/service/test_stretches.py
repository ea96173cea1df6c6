"""Rows decided and replayed in stretches: bit for bit what one by one gives, and the first difference is named."""

from __future__ import annotations

import random

import pytest
from service_bench import THREE, Bench, settings_of

from steelyard.service import reducer
from steelyard.service.jobs import AnswerJob, DecisionReply, RefusedError
from steelyard.service.projects import replayed
from steelyard.service.reducer import DivergedReplayError, State

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
    decide_many = State.decide_many

    def counted(state, item, payloads, times):
        made = decide_many(state, item, payloads, times)
        sizes.append(len(made))
        return made

    monkeypatch.setattr(State, "decide_many", counted)
    monkeypatch.setattr(State, "decide", None)  # no row is decided alone
    monkeypatch.setattr(reducer, "BLOCK", 64)
    state, _ = replayed(bench.store, bench.store.project("p"))
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
