"""Reading beside the writer: what is looked up takes as long as what is found, and nobody else waits."""

from __future__ import annotations

import csv
import io
import json
import random
import threading

import pytest
from service_bench import Bench, made_up, settings_of, snapshot_of
from service_server import ThreadedServer, call, make_service

from steelyard.service.api import application
from steelyard.service.commands.log import run_export
from steelyard.service.database.decisions import decisions_behind
from steelyard.service.database.store import CHANGES
from steelyard.service.log.events import Kind
from steelyard.service.numbers import overview as overviews
from steelyard.service.numbers.live import labelled
from steelyard.service.numbers.overview import overview
from steelyard.service.writer.jobs import AnswerJob


@pytest.fixture
def traced(folder):
    """A project with labels and open questions, and the plans of all that is asked of its database."""
    bench, source = Bench(folder, settings_of(query="AskAll()", pace=False)), random.Random(0)
    for n in range(60):
        (made,) = bench.decide(made_up(source, n % 3 == 0), ids=[f"row {n}"])
        if made.ask and n < 40:
            bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[n % 3 == 0], None)]))
    plans: list[str] = []
    run = bench.store.connection
    explained = set()

    def explain(cursor, sql, values):
        if sql.startswith("SELECT") and sql not in explained:
            explained.add(sql)
            plans.extend(row[3] for row in run.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())
        return True

    run.exec_trace = explain
    yield bench, plans
    run.exec_trace = None


def test_open_questions_are_found_without_a_look_at_those_that_have_ended(traced):
    bench, plans = traced
    snapshot, number = snapshot_of(bench), bench.project.id
    assert overview(bench.store, "p", snapshot, 0).open == 10
    found = bench.store.connection.execute(application._NEXT, (number, 7)).fetchall()
    assert [item for (item,) in found] == sorted(bench.state.open_rows)
    assert labelled(bench.store, number, snapshot).end == min(bench.state.open_rows) - 1
    of_questions = [plan for plan in plans if "SEARCH q " in plan and "item=?" not in plan]
    assert len(of_questions) == 4
    assert all("USING INDEX question_open" in plan for plan in of_questions)


def test_what_was_changed_is_found_without_a_look_at_all_events(traced):
    bench, plans = traced
    found = bench.store.connection.execute(
        f"SELECT seq, kind {CHANGES} ORDER BY seq DESC LIMIT 50", (bench.project.id,)
    )
    assert found.fetchall() == [(1, Kind.BEGIN)]
    assert plans == ["SEARCH event USING INDEX event_change (project=?)"]


def test_labelled_decisions_are_found_without_a_look_at_all_decisions(traced):
    bench, plans = traced
    number, labels = bench.project.id, {q.item: q.label for q in bench.state.questions.values() if q.label is not None}
    found = list(decisions_behind(bench.store, number, 0, 1000, labelled=True))
    assert {one.event.seq: one.label for one in found} == labels
    behind = [one for one in decisions_behind(bench.store, number, 0, 1000) if one.label is not None]
    assert behind == found
    first = next(plan for plan in plans if "SEARCH" in plan)
    assert first.startswith("SEARCH q USING PRIMARY KEY (project=? AND item>?)")


def test_others_are_answered_while_estimates_are_computed(folder, monkeypatch):
    tokens = make_service(folder)
    begun, end, compute = threading.Event(), threading.Event(), overviews._READ["estimates"]

    def slowly(*given):
        begun.set()
        assert end.wait(60)
        return compute(*given)

    monkeypatch.setitem(overviews._READ, "estimates", slowly)
    said = []
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
        reader = threading.Thread(target=lambda: said.append(server.client(tokens["reader"]).estimates()))
        reader.start()
        assert begun.wait(60)
        assert call(server.url, "GET", "/v1/p/summary", token=tokens["reader"])[2]["rows"] == 1
        end.set()
        reader.join()
    assert said[0]["cost"]["reason"] == "too few labels to say"


def test_the_command_exports_what_the_route_does(folder):
    tokens = make_service(folder)
    with ThreadedServer(folder) as server:
        producer, out = server.client(tokens["producer"]), io.StringIO()
        made = producer.decide({"x": 1.0, "y": 2.0}, id="ordre 4711 é")
        producer.decide({"x": 2.0})
        server.client(tokens["owner"]).answer(made["id"], "good")
        lines = call(server.url, "GET", "/v1/p/export.jsonl", token=tokens["reader"])[2].splitlines()
        run_export(folder, "p", out)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert rows == [json.loads(line) for line in lines]
    assert [(row["external"], row["label"]) for row in rows] == [("ordre 4711 é", "good"), (None, None)]


def test_a_column_that_is_called_as_one_of_ours_is_told_apart_in_an_export(folder):
    columns = {"id": "shown", "label": "shown", "x": "number", "row.id": "shown"}
    tokens = make_service(folder, settings=settings_of(columns=columns))
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"id": "theirs", "label": "l", "x": 1.0, "row.id": "other"})
        table = call(server.url, "GET", "/v1/p/export.csv", token=tokens["reader"])[2].decode()
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["id"], row["label"], row["x"]) == ("2", "", "1.0")
    assert (row["row.row.id"], row["row.label"], row["row.id"]) == ("theirs", "l", "other")
    assert len(row) == table.partition("\r\n")[0].count(",") + 1
