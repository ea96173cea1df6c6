"""Under a steady load the write-ahead log does not grow for ever."""

from __future__ import annotations

import random
import threading
from types import SimpleNamespace

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


class Looks(threading.Event):
    """The pauses of a keeper, which end when the test says so: no commit that a busy disk holds up is a pause."""

    def __init__(self):
        super().__init__()
        self.wanted, self.over = threading.Semaphore(0), threading.Semaphore(0)

    def wait(self, timeout=None):
        self.over.release()
        self.wanted.acquire()
        return self.is_set()

    def set(self):
        super().set()
        self.wanted.release()

    def look(self):
        """Have the keeper look once, and wait until it has."""
        self.over.acquire()
        self.wanted.release()
        self.over.acquire()
        self.over.release()


def test_it_is_emptied_when_nobody_writes_and_only_then(folder, writer, monkeypatch):
    looks = Looks()
    monkeypatch.setattr(lifecycle, "threading", SimpleNamespace(Event=lambda: looks, Thread=threading.Thread))
    decide(writer, 300)
    length = log_pages(folder)
    keeper = LogKeeper(writer.store.path)
    lengths = []
    for _ in range(600):
        decide(writer, 1)
        looks.look()
        lengths.append(log_pages(folder))
    assert min(lengths) >= length > 0  # it has begun anew many times, which leaves its length as it is
    for _ in range(lifecycle.QUIET - 1):
        looks.look()
    assert log_pages(folder) == lengths[-1]
    for _ in range(100):  # one that finds the database busy leaves it to the next
        looks.look()
        if not log_pages(folder):
            break
    assert log_pages(folder) == 0
    keeper.stop()
