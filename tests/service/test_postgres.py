"""The same service on a real PostgreSQL: one leader ever, standbys that take over, and nothing lost.

The long run: STEELYARD_SERVICE_LEADER_KILLS=100 STEELYARD_SERVICE_RESTARTS=50 pytest tests/service/test_postgres.py
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from http.client import HTTPException
from importlib.util import find_spec

import pytest
from postgres_server import Postgres, programs
from service_bench import Bench, made_up, settings_of, snapshot_of
from service_champion import bytes_of, crowned, fitted
from service_server import ServerProcess, call, free_port, make_service

from steelyard.errors import InvalidInputError, StateError
from steelyard.service.commands import log
from steelyard.service.commands.log import run_backup, run_export, run_restore, run_verify
from steelyard.service.database import postgres as postgres_store
from steelyard.service.database.copies import TABLES
from steelyard.service.database.places import open_place, place_of, shown_place
from steelyard.service.database.sqlite import SCHEMA, SQLiteStore
from steelyard.service.numbers.overview import overview
from steelyard.service.numbers.paired import shadow_comparisons
from steelyard.service.people.accounts import add_person, give_role, make_link, people, set_active
from steelyard.service.writer.jobs import (
    AdjudicateJob,
    AnswerJob,
    EraseJob,
    ExpireJob,
    PromoteJob,
    RetractJob,
    SetJob,
    ShadowJob,
)
from steelyard.service.writer.verify import verify_project

MISSING = [name for name, found in (("PostgreSQL", programs()), ("psycopg", find_spec("psycopg"))) if found is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
KILLS = int(os.environ.get("STEELYARD_SERVICE_LEADER_KILLS", "3"))
RESTARTS = int(os.environ.get("STEELYARD_SERVICE_RESTARTS", "2"))
SILENCE = 3.0
EXTRA = f"import steelyard.service.server.standby\nsteelyard.service.server.standby.SILENCE = {SILENCE}"


@pytest.fixture(scope="module")
def postgres():
    server = Postgres()
    yield server
    server.close()


def acts(bench):
    """A bit of everything."""
    source = random.Random(5)
    bench.run(ShadowJob("p", 1, slot=2, settings={"update": "CSOGD2(0.3)"}, key="shadow"))
    for n in range(70):
        (made,) = bench.decide(made_up(source, n % 3 == 0), ids=[f"id-{n}"], key=f"k{n}")
        if made.ask and n % 7:
            done = bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[n % 3 == 0], 1.0)], key=f"a{n}"))
            if n % 5 == 0:
                bench.run(RetractJob("p", 2, answer=done.answers[0].answer))
                bench.run(AdjudicateJob("p", 1, item=made.id, label="good"))
    bench.decide(made_up(random.Random(5), True), ids=["id-0"])
    bench.run(SetJob("p", 1, changes={"costs": {"fn": 4, "fp": 1}}, expected=1))
    bench.run(EraseJob("p", 1, ids=("id-3",)))
    bench.run(PromoteJob("p", 1, slot=2))
    bench.clock.advance(20 * 86400)
    bench.run(ExpireJob("p", 0))
    bench.restart()
    return bench


def test_it_is_the_same_service_as_on_a_file(postgres, folder):
    url = postgres.database()
    here, there = acts(Bench(folder, settings_of())), acts(Bench(open_place(url), settings_of()))
    assert there.state.digest() == here.state.digest()
    assert there.store.tables(1) == here.store.tables(1)
    assert [e[:5] for e in there.store.events(1, 0)] == [e[:5] for e in here.store.events(1, 0)]
    assert verify_project(there.store, there.store.project("p")).gap is not None
    assert overview(there.store, "p", snapshot_of(there), 0) == overview(here.store, "p", snapshot_of(here), 0)
    compared = [shadow_comparisons(bench.store, 1, snapshot_of(bench)) for bench in (here, there)]
    assert compared[0] == compared[1]
    assert there.store.clean()
    for name in TABLES:
        assert there.store.columns(name) == here.store.columns(name)
    with pytest.raises(Exception, match="append-only"):
        there.store.connection.execute("UPDATE event SET at = 0")
    for bench in (here, there):
        with bench.store.transaction():
            person = add_person(bench.store, "Ann", at=1)
            give_role(bench.store, person, "p", "owner", given=True, at=1)
            give_role(bench.store, person, "p", "owner", given=True, at=1)
            set_active(bench.store, person, False, at=1)
            make_link(bench.store, person, at=1)
    assert people(there.store) == people(here.store)
    here.store.close()
    there.store.close()


def test_somebody_who_reads_does_not_hold_the_leader_up_after_an_erasure(postgres, monkeypatch):
    monkeypatch.setattr(postgres_store, "READER_MS", 50)
    url = postgres.database()
    bench = Bench(open_place(url), settings_of())
    made = bench.decide(*({"x": n, "y": -n} for n in range(5)))
    bench.run(EraseJob("p", 1, items=(made[0].id,)))
    reader = open_place(url, readonly=True)
    reader.connection.execute("BEGIN")
    assert reader.payloads(1, [made[0].id]) == {made[0].id: None}
    assert not bench.store.clean()
    assert bench.store.unclean
    bench.decide({"x": 1.0, "y": 1.0})
    reader.connection.execute("ROLLBACK")
    assert bench.store.clean()
    assert not bench.store.unclean
    reader.close()
    bench.store.close()


def test_a_champion_on_a_database(postgres, folder):
    bench = Bench(open_place(postgres.database()), settings_of())
    crowned(bench, bytes_of(fitted(), folder))
    bench.decide(*({"x": n, "y": -n} for n in range(5)))
    bench.restart()
    bench.decide({"x": 1.0, "y": None})
    assert verify_project(bench.store, bench.store.project("p")).weighed == 6
    bench.store.close()


def test_a_database_of_an_earlier_schema_is_brought_up(postgres):
    url = postgres.database()
    bench = Bench(open_place(url), settings_of())
    bench.decide({"x": 1, "y": 2})
    bench.store.connection.execute("DROP TABLE shadow_answer")
    bench.store.connection.execute("DROP TABLE model")
    bench.store.connection.execute("DROP INDEX event_change")
    bench.store.connection.execute("UPDATE meta SET value = '2' WHERE name = 'schema'")
    bench.store.close()
    assert run_verify(url, None, None) == 0
    bench.store = open_place(url)
    bench.restart()
    assert bench.store.connection.execute("SELECT value FROM meta WHERE name = 'schema'").get == str(SCHEMA)
    bench.run(ShadowJob("p", 1, slot=1, settings={"update": "CSOGD2(0.3)"}))
    bench.decide({"x": 1, "y": 2})
    verify_project(bench.store, bench.store.project("p"))
    bench.store.close()


def test_a_log_is_verified_as_of_one_moment(postgres, monkeypatch, capsys):
    """While it is read the service goes on: its next rows must not look like a log that was broken."""
    url = postgres.database()
    bench = Bench(open_place(url), settings_of())
    bench.decide({"x": 1, "y": 2})
    verify = log.verify_service

    def meanwhile(store):
        bench.decide({"x": 2, "y": 1})
        return verify(store)

    monkeypatch.setattr(log, "verify_service", meanwhile)
    assert run_verify(url, None, None) == 0, capsys.readouterr().err
    assert "p  events 2 " in capsys.readouterr().out
    assert bench.state.seq == 3
    bench.store.close()


def test_a_backup_is_a_file_that_goes_anywhere(postgres, folder, capsys):
    url = postgres.database()
    bench = acts(Bench(open_place(url), settings_of()))
    digest = bench.state.digest()
    bench.store.close()
    assert run_backup(url, folder / "copy.sqlite") == 0
    assert run_restore(folder / "copy.sqlite", folder / "here") == 0
    other = postgres.database()
    assert run_restore(folder / "copy.sqlite", other) == 0
    with pytest.raises(InvalidInputError, match="empty"):
        run_restore(folder / "copy.sqlite", other)
    people_alone = postgres.database()
    store = open_place(people_alone)  # as a first start leaves it
    with store.transaction():
        add_person(store, "ann", at=1)
    store.close()
    with pytest.raises(InvalidInputError, match="empty"):
        run_restore(folder / "copy.sqlite", people_alone)
    assert capsys.readouterr().out.count(digest) == 3
    assert run_verify(url, "p", None) == 0
    with (folder / "out.jsonl").open("w") as out:
        run_export(url, "p", out)
    assert len((folder / "out.jsonl").read_text().splitlines()) == 70
    store = open_place(other)
    assert Bench(store, settings_of()) if store.project("p") is None else store.new_project("q") == 2
    store.connection.execute("SELECT 1")
    store.close()


def test_a_stale_leader_writes_nothing(postgres):
    url = postgres.database()
    first, second = (open_place(url) for _ in range(2))
    bench = Bench(first, settings_of())
    assert first.lead("http://first")
    assert not second.lead("http://second")
    assert second.leader()[0] == "http://first"
    bench.decide({"x": 1, "y": 2})
    before = count_rows(second)
    second.begin()  # as a takeover does whose predecessor's connection still lives
    second.connection.execute("UPDATE project SET epoch = epoch + 1 WHERE id = 0")
    second.commit()
    with pytest.raises(StateError, match="taken over"):
        bench.decide({"x": 1, "y": 2})
    with pytest.raises(StateError, match="taken over"), first.transaction():
        add_person(first, "nobody", at=1)
    assert count_rows(second) == before
    second.dismiss()
    with pytest.raises(Exception, match=r"terminat|closed"):
        first.connection.execute("SELECT 1")
    assert second.lead("http://second")
    assert second.epoch == 3
    first.close()
    second.close()


def test_a_text_with_a_zero_is_unknown_and_ends_nothing(postgres):
    """PostgreSQL takes none, and the writer takes an error of its store for the end."""
    url = postgres.database()
    tokens = make_service(url)
    server = ServerProcess(url, free_port(), extra=EXTRA)
    assert server.start()
    try:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.url}
        assert call(server.url, "POST", "/login", body=b"name=a%00&password=b", headers=form)[0] == 401
        key = {"Idempotency-Key": "1"}
        erased = call(server.url, "POST", "/v1/p/erase", token=tokens["owner"], body={"ids": ["a\0"]}, headers=key)
        assert (erased[0], erased[2]["error"]) == (409, "unknown_item")
        role = {"project": "a\0", "role": "reader"}
        assert call(server.url, "POST", "/v1/people/1/role", token=tokens["desk"], body=role)[0] == 422
        assert call(server.url, "GET", "/v1/p/summary", token=tokens["reader"])[0] == 200
    finally:
        server.kill(signal.SIGTERM)
        server.close()


def test_a_failed_transaction_is_not_taken_for_a_commit(postgres):
    store = open_place(postgres.database())
    store.begin()
    with pytest.raises(Exception, match="does not exist"):
        store.connection.execute("SELECT nothing FROM nowhere")
    with pytest.raises(StateError, match="ROLLBACK"):
        store.commit()
    store.close()


def test_addresses():
    with pytest.raises(InvalidInputError, match="postgresql://"):
        place_of(None, "mysql://u:secret@h/d")
    assert shown_place("postgresql://u:secret@h/d") == "postgresql://h/d"


def count_rows(store: SQLiteStore) -> dict[str, int]:
    return {name: store.connection.execute(f"SELECT count(*) FROM {name}").get for name in TABLES}


class Pair:
    """Two processes on one database, and a client that sends each row under its id until somebody has answered."""

    def __init__(self, url, tokens):
        self.tokens = tokens
        self.servers = [ServerProcess(url, free_port(), extra=EXTRA) for _ in range(2)]
        self.stopping = threading.Event()
        self.decided: dict[str, dict] = {}
        self.sent = self.target = 0
        self.thread = threading.Thread(target=self._load)

    def leader(self) -> int:
        """Which of the two leads, once one does."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for n, server in enumerate(self.servers):
                try:
                    if call(server.url, "GET", "/ready")[0] == 200:
                        return n
                except (OSError, HTTPException):
                    continue
            time.sleep(0.05)
        raise AssertionError("nobody leads")

    def _load(self):
        source = random.Random(2)
        while not self.stopping.is_set():
            self.sent += 1
            name = f"row-{self.sent}"
            body = {"row": made_up(source, self.sent % 3 == 0), "id": name}
            while not self.stopping.is_set():
                server = self.servers[self.target]
                try:
                    status, headers, said = call(
                        server.url, "POST", "/v1/p/decide", token=self.tokens["producer"], body=body
                    )
                except (OSError, HTTPException):
                    status, headers, said = 0, {}, None
                if status == 200:
                    self.decided[name] = said
                    break
                assert status in (0, 503), (status, said)
                if said and said["error"] == "standby":
                    assert headers["leader"] == said["where"]
                self.target = 1 - self.target
                time.sleep(0.02)

    def close(self):
        self.stopping.set()
        self.thread.join(60)
        for server in self.servers:
            server.close()


def test_leaders_come_and_go_and_nothing_is_lost(postgres):
    url = postgres.database()
    tokens = make_service(url, settings=settings_of(budget=100_000, expected_rows=300_000))
    pair = Pair(url, tokens)
    servers = pair.servers
    assert servers[0].start()
    assert not servers[1].start()  # it says that it waits
    status, headers, said = call(servers[1].url, "POST", "/v1/p/decide", body={"row": {}}, token=tokens["producer"])
    assert (status, said["error"], headers["leader"]) == (503, "standby", servers[0].url)
    assert call(servers[1].url, "GET", "/health")[0] == 200
    assert call(servers[1].url, "GET", "/ready")[0] == 503
    pair.thread.start()
    source = random.Random(0)

    for _ in range(KILLS):
        time.sleep(source.uniform(0.1, 0.4))
        n = pair.leader()
        assert servers[n].kill() == -signal.SIGKILL
        assert pair.leader() == 1 - n
        assert not servers[n].start()
    for _ in range(RESTARTS):
        time.sleep(source.uniform(0.1, 0.4))
        n = pair.leader()
        postgres.stop()
        assert servers[n].end() == 70  # the leader cannot know what was committed
        postgres.start()
        servers[n].start()
        pair.leader()
    n = pair.leader()
    time.sleep(0.2)
    pair.stopping.set()
    pair.thread.join(60)
    servers[n].send(signal.SIGSTOP)  # it is asleep, and its connection lives
    late: list[object] = []  # what a request says that was sent to it meanwhile

    def ask_late():
        try:
            late.append(
                call(servers[n].url, "POST", "/v1/p/decide", token=tokens["producer"], body={"row": {}, "id": "late"})
            )
        except (OSError, HTTPException) as error:
            late.append(error)

    waiting = threading.Thread(target=ask_late)
    waiting.start()
    end = time.monotonic() + 60
    while call(servers[1 - n].url, "GET", "/ready")[0] != 200:
        assert time.monotonic() < end
        time.sleep(0.1)
    store = open_place(url, readonly=True)
    before = count_rows(store)
    servers[n].send(signal.SIGCONT)
    assert servers[n].end() == 70
    assert count_rows(store) == before  # the stale leader wrote 0 rows
    assert servers[1 - n].kill(signal.SIGTERM) == 0
    waiting.join(60)
    assert isinstance(late[0], Exception), late  # no answer without a commit
    pair.close()
    verify_project(store, store.project("p"))
    externals = dict(store.connection.execute("SELECT external, id FROM item WHERE external IS NOT NULL").fetchall())
    decisions = [event for event in store.events(1, 0) if event.kind == 3]
    assert len(decisions) == len(externals)  # none was applied twice
    assert len(pair.decided) > 3 * KILLS
    for name, said in pair.decided.items():
        assert externals[name] == said["id"]  # none was lost
    store.close()
