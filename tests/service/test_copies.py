"""Tables copied from one store to another: every row, however many are copied at once."""

from __future__ import annotations

import pytest
from service_bench import Bench, settings_of

from steelyard.service.database import copies
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.writer.jobs import AnswerJob
from steelyard.service.writer.verify import verify_project


@pytest.mark.parametrize("at_once", [1, 7, 40, 10_000])
def test_no_row_is_left_behind(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(copies, "AT_ONCE", at_once)
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    bench = Bench(tmp_path / "here", settings_of(query="AskAll()", pace=False, budget=30))
    made = bench.decide(*({"x": n, "y": -n} for n in range(39)))  # with the first event 40 of them
    for one in made[:20]:
        bench.run(AnswerJob("p", 2, answers=[(one.id, "good", None)]))
    target = SQLiteStore(tmp_path / "there")
    copies.copy_tables(bench.store, target)
    for name in copies.TABLES:
        if name != "meta":  # the schema is the target's own
            rows = f"SELECT * FROM {name}"
            assert target.connection.execute(rows).fetchall() == bench.store.connection.execute(rows).fetchall(), name
    assert verify_project(target, target.project("p")).digest == bench.state.digest()
    target.close()
