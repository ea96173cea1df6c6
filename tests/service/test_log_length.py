"""Under a steady load the write-ahead log does not grow for ever."""

from __future__ import annotations

import random
import time

import pytest
from service_bench import made_up, settings_of

from steelyard.service.database import sqlite
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.records import RecordReader, pack_cells
from steelyard.service.server import lifecycle
from steelyard.service.server.lifecycle import LogKeeper
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.group_commit import Writer, wait_for
from steelyard.service.writer.jobs import DecideJob, RowToDecide
from steelyard.service.writer.projects import create_project
from steelyard.service.writer.verify import verify_project

PAGES = 200


@pytest.fixture
def writer(folder, monkeypatch):
    monkeypatch.setattr(sqlite, "LONG_LOG", PAGES)
    store, settings = SQLiteStore(folder), settings_of()
    create_project(store, "p", settings, at=Clock().now())
    writer = Writer(store, Clock())
    writer.start()
    yield writer
    writer.stop()
    store.close()


def decide(writer, rows, source=random.Random(0)):  # noqa: B008
    reader = RecordReader(settings_of())
    for _ in range(rows):
        cells, _, _ = reader.read(made_up(source, False))
        wait_for(writer, DecideJob("p", 1, rows=[RowToDecide(cells, pack_cells(b"s" * 16, cells))]))


def log_pages(folder):
    return (folder / "service.sqlite-wal").stat().st_size / 4120


def test_the_log_begins_anew_while_rows_come(folder, writer):
    decide(writer, 600)
    assert log_pages(folder) < 2 * PAGES  # each row is a commit of several pages
    verify_project(writer.store, writer.store.project("p"))


def test_a_reader_holds_it_up_and_nobody_else(folder, writer):
    reading = SQLiteStore(folder, readonly=True)
    reading.connection.execute("BEGIN")
    assert reading.project("p") is not None
    decide(writer, 200)
    grown = log_pages(folder)
    assert grown > 2 * PAGES
    reading.connection.execute("COMMIT")
    reading.close()
    decide(writer, 300)
    assert log_pages(folder) < grown + PAGES


def test_it_is_emptied_when_nobody_writes_and_only_then(folder, writer, monkeypatch):
    monkeypatch.setattr(lifecycle, "QUIET", 12)  # 2.4 s: a commit that a busy disk holds up for longer would be a pause
    decide(writer, 300)
    length = log_pages(folder)
    keeper, end = LogKeeper(writer.store.path), time.monotonic() + 3.5
    lengths = []
    while time.monotonic() < end:
        decide(writer, 1)
        lengths.append(log_pages(folder))
    assert min(lengths) >= length > 0  # it has begun anew many times, which leaves its length as it is
    end = time.monotonic() + 30
    while log_pages(folder) and time.monotonic() < end:
        time.sleep(0.1)
    keeper.stop()
    assert log_pages(folder) == 0
