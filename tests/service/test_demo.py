"""The demo: rows flow, a simulated person answers until somebody takes over, and it goes on at the same bit."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from service_server import ThreadedServer, call, visit

from steelyard.cli.service import serve
from steelyard.errors import InvalidInputError
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.sources import demo as demo_module
from steelyard.service.sources.demo import PERSON, VISITOR, Demo, prepare, source_of
from steelyard.service.writer.clock import Clock


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(demo_module, "RATE", 400.0)
    monkeypatch.setattr(demo_module, "TICK", 0.02)
    monkeypatch.setattr(demo_module, "THINKING", 0.0)
    monkeypatch.setattr(demo_module, "SPACING", 0.01)
    monkeypatch.setattr(demo_module, "DIGEST_EVERY", 0.1)


def prepared(folder, name="payments"):
    source, store = source_of(name), SQLiteStore(folder)
    prepare(store, source, at=Clock().now())
    ids = dict(store.connection.execute("SELECT name, id FROM person"))
    person, watcher = ids[PERSON], ids[VISITOR]
    store.close()
    return source, person, watcher


def wait_until(true, seconds=120):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_rows_flow_and_a_simulated_person_answers_until_somebody_takes_over(folder):
    source, person, watcher = prepared(folder)
    demo = Demo(source, "steelyard serve --demo")
    with ThreadedServer(folder, beside=demo.run) as server:
        runtime = server.service.runtime
        wait_until(lambda: runtime.snapshot("payments").rounds > 320 and runtime.snapshot("payments").spent > 10)
        sql = "SELECT DISTINCT person FROM answer"
        wait_until(lambda: demo.truth())
        assert demo.words()["demo_banner"] == "A simulated person is labelling."
        assert "the last 300 rows cost" in demo.truth()
        one = visit(server, folder, watcher)
        page = one.page("/p/payments")[2].decode()
        assert "A simulated person is labelling." in page
        assert 'href="/p/payments/label"><span data-word="demo_button">Take over' in page
        assert "Stop it and start it again: it goes on at the same bit" in page
        assert one.send("POST", "/v1/payments/questions/next", {"count": 1})[0] in (200, 204)
        wait_until(lambda: "You are labelling" in demo.words()["demo_banner"])
        assert demo.words()["demo_button"] == "Go on labelling"
        stood = runtime.snapshot("payments").spent
        rows = runtime.snapshot("payments").rounds
        wait_until(lambda: runtime.snapshot("payments").rounds > rows + 100)
        assert runtime.snapshot("payments").spent <= stood + 1, "one answer may have been on its way"
        assert [row[0] for row in runtime.store.connection.execute(sql)] == [person]
        status, _, asked = one.send("POST", "/v1/payments/questions/next", {"count": 1})
        if status == 200:
            answer = [{"item": asked["questions"][0]["item"], "label": "good"}]
            assert one.send("POST", "/v1/payments/answers", answer, {"Idempotency-Key": "k"})[0] == 200


def test_it_goes_on_at_the_same_bit(folder, capsys):
    source, _, _ = prepared(folder)
    with ThreadedServer(folder, beside=Demo(source, "c").run) as server:
        wait_until(lambda: server.service.runtime.snapshot("payments").rounds > 100)
    stopped = demo_module.state_in_words(server.service.runtime.writer.projects["payments"].state)
    rows = server.service.runtime.snapshot("payments").rounds
    again = Demo(source, "c")
    with ThreadedServer(folder, beside=again.run) as server:
        wait_until(lambda: server.service.runtime.snapshot("payments").rounds > rows + 20)
    said = capsys.readouterr().out
    assert f"goes on at {stopped}" in said
    store = SQLiteStore(folder)
    ids = [row[0] for row in store.connection.execute("SELECT external FROM item ORDER BY id")]
    store.close()
    assert ids == [f"row {n}" for n in range(len(ids))], "each row once, in order, over the restart"


def test_german_ends_with_its_rows(folder, monkeypatch):
    monkeypatch.setattr(demo_module, "RATE", 4000.0)
    source, _, watcher = prepared(folder, "german")
    assert source.row(1000) is None
    demo = Demo(source, "c")
    with ThreadedServer(folder, beside=demo.run) as server:
        wait_until(lambda: demo.ended)
        assert server.service.runtime.snapshot("german").rounds == 1000
        assert "demo is over" in visit(server, folder, watcher).page("/p/german")[2].decode()
        assert call(server.url, "GET", "/health")[0] == 200


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--data", {"data": Path("desk")}),
        ("--database", {"database": "postgresql://db/desk"}),
        ("--bind", {"bind": "0.0.0.0"}),
        ("--host-name", {"host_name": ["desk:80"]}),
        ("--behind-proxy", {"behind_proxy": "https://desk.example.org"}),
        ("--tls", {"tls": ("cert.pem", "key.pem")}),
    ],
)
def test_what_a_demo_has_no_use_for_is_not_passed_over(option, given, monkeypatch):
    monkeypatch.setattr("steelyard.service.commands.serve.run_demo", lambda *_: pytest.fail("it was served"))
    with pytest.raises(InvalidInputError, match=f"{option} must be left out with --demo"):
        serve(demo=True, **given)


def test_an_unknown_demo_is_refused():
    with pytest.raises(InvalidInputError, match="--demo must"):
        source_of("loans")
