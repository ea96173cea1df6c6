"""Keys of requests are forgotten after seven days, a few at a time, and never because a clock has jumped."""

from __future__ import annotations

import random
from hashlib import sha256
from importlib.util import find_spec

import pytest
from postgres_server import Postgres, programs
from service_bench import HandClock, made_up, settings_of

from steelyard.service.database.places import open_place
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.records import RecordReader, pack_cells
from steelyard.service.writer import old_keys
from steelyard.service.writer.group_commit import Writer, wait_for
from steelyard.service.writer.jobs import DecideJob, RowToDecide
from steelyard.service.writer.old_keys import OldKeys
from steelyard.service.writer.projects import create_project

DAY = 86400
POSTGRES = programs() and find_spec("psycopg")
KINDS = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.skipif(not POSTGRES, reason="not installed: PostgreSQL or psycopg")),
]


@pytest.fixture(params=KINDS)
def store(request, folder):
    server = Postgres() if request.param == "postgres" else None
    store = SQLiteStore(folder) if server is None else open_place(server.database())
    create_project(store, "p", settings_of(), at=0)
    yield store
    store.close()
    if server is not None:
        server.close()


def fill(store, count, at):
    """Requests of several actors, their keys without order, one a second."""
    source, kept = random.Random(1), {}
    with store.transaction():
        for n in range(count):
            request = (1, n % 3, f"{source.getrandbits(64):x}")
            kept[request] = at + n
            values = (*request, b"d", n, 1, None, None, (at + n) * 1_000_000)
            store.connection.execute("INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    return kept


def keys_left(store):
    return {tuple(row) for row in store.connection.execute("SELECT project, actor, key FROM request")}


def test_a_pass_forgets_the_old_ones_and_no_other_a_part_at_a_time(store, monkeypatch):
    monkeypatch.setattr(old_keys, "PART", 16)
    clock = HandClock()
    now = int(clock.seconds)
    requests = fill(store, 300, now - 7 * DAY - 150)
    keys, steps = OldKeys(store, clock), []
    for _ in range(-(-300 // 16)):
        before = len(keys_left(store))
        clock.advance(old_keys.PAUSE)
        with store.transaction():
            keys.forget()
        steps.append(before - len(keys_left(store)))
    left = keys_left(store)
    assert {one for one, at in requests.items() if at >= clock.seconds - 7 * DAY} <= left
    assert left <= {one for one, at in requests.items() if at >= now - 7 * DAY}
    assert max(steps) <= 16
    clock.advance(old_keys.PASS_EVERY - 1)  # between two passes it rests
    with store.transaction():
        keys.forget()
    assert keys_left(store) == left
    clock.advance(1)
    with store.transaction():
        keys.forget()
    assert len(keys_left(store)) == len(left) - 16  # an hour older than all that are left


def test_a_part_is_bounded_however_long_nothing_was_committed(folder, monkeypatch):
    monkeypatch.setattr(old_keys, "PART", 2)
    store, clock = SQLiteStore(folder), HandClock()
    create_project(store, "p", settings_of(), at=0)
    fill(store, 300, int(clock.seconds))
    keys = OldKeys(store, clock)
    clock.advance(30 * DAY)
    with store.transaction():
        keys.forget()
    assert 300 - len(keys_left(store)) == 2 * (1 + old_keys.MOST_PARTS)
    with store.transaction():
        keys.forget()  # at once: nobody has waited for it
    assert 300 - len(keys_left(store)) == 2 * (1 + old_keys.MOST_PARTS)
    store.close()


def decided(writer, key):
    reader = RecordReader(settings_of())
    cells, _, _ = reader.read(made_up(random.Random(0), False))
    payload = pack_cells(b"s" * 16, cells)
    job = DecideJob("p", 1, rows=[RowToDecide(cells, payload)], key=key, digest=sha256(key.encode()).digest())
    return wait_for(writer, job)[0].id


def test_a_request_sent_again_is_known_for_seven_days_also_where_the_clock_jumps(folder):
    store, clock = SQLiteStore(folder), HandClock()
    create_project(store, "p", settings_of(), at=clock.now())
    writer = Writer(store, clock)
    writer.start()
    first = decided(writer, "mine")
    clock.advance(6 * DAY)
    for _ in range(3):
        decided(writer, "other")
        clock.advance(old_keys.PASS_EVERY)
    clock.seconds += 10 * 365 * DAY  # the wall clock alone
    clock.since_boot += old_keys.PASS_EVERY
    for _ in range(3):
        decided(writer, "another")
        clock.advance(old_keys.PASS_EVERY)
    assert decided(writer, "mine") == first
    clock.seconds -= 10 * 365 * DAY
    clock.advance(2 * DAY)
    decided(writer, "one more")  # its commit forgets
    assert decided(writer, "mine") != first
    writer.stop()
    store.close()
