"""The store on PostgreSQL: the same statements as on SQLite, one writing leader, and standbys that take over.

A leader holds an advisory lock on its connection and has raised the epoch. Every transaction of a writer begins by
locking the row of that epoch: writers follow each other, and one whose epoch is past writes nothing any more.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from ...errors import StateError
from ..log.events import Event
from .sqlite import READER_MS, SCHEMA, SQLiteStore

FIRST_SCHEMA = 2  # there was no PostgreSQL before
LOCK = 0x57EE1  # of the leader, in the database
PAGE = 5000  # events read at a time
BEAT = 1.0  # seconds
SILENCE = 10.0  # seconds without a beat after which a leader is taken for dead
PATIENCE = 30.0  # seconds to wait for a database that is away
FATAL = 70


@cache
def _translated(sql: str) -> str:
    named = re.sub(r" INDEXED BY \w+", "", sql)  # it finds indexes by itself
    return named.replace("%", "%%").replace("?", "%s")


class Rows:
    """What a statement found, as apsw gives it."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        self._rows = cursor.fetchall() if cursor.description is not None else []
        self._next = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        left, self._next = self._rows[self._next :], len(self._rows)
        return left

    def fetchone(self) -> Any:
        """The next row; None if there is none."""
        if self._next >= len(self._rows):
            return None
        self._next += 1
        return self._rows[self._next - 1]

    @property
    def get(self) -> Any:
        """The one value of the one row, or the row; None if there is none."""
        if not self._rows:
            return None
        return self._rows[0][0] if len(self._rows[0]) == 1 else self._rows[0]


class PostgresConnection:
    """A connection that takes the statements written for SQLite; ``lost`` is called when the database has gone."""

    def __init__(self, url: str, lost: Callable[[], None] | None = None) -> None:
        self.raw = psycopg.connect(url, autocommit=True, connect_timeout=10)
        self._lost, self._changes, self._total = lost, 0, 0

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run a statement."""
        try:
            cursor = self.raw.execute(_translated(sql), tuple(values)) if values else self.raw.execute(sql)
        except psycopg.OperationalError:
            if self._lost is not None:
                self._lost()
            raise
        found = Rows(cursor)
        self._note(sql, cursor.rowcount)
        return found

    def executemany(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of some values."""
        with self.raw.cursor() as cursor:
            cursor.executemany(_translated(sql), [tuple(one) for one in values])
            self._note(sql, cursor.rowcount)

    def _note(self, sql: str, count: int) -> None:
        if not sql.startswith("SELECT"):
            self._changes = max(0, count)
            self._total += self._changes

    def changes(self) -> int:
        """Rows that the last statement changed."""
        return self._changes

    def total_changes(self) -> int:
        """Rows that were changed in all."""
        return self._total

    def __enter__(self) -> None:
        self.raw.execute("SAVEPOINT part")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.raw.execute("ROLLBACK TO SAVEPOINT part")
        self.raw.execute("RELEASE SAVEPOINT part")

    def close(self) -> None:
        """Close it."""
        self.raw.close()


class PostgresStore(SQLiteStore):
    """The database at an address."""

    def __init__(self, url: str, *, readonly: bool = False, lost: Callable[[], None] | None = None) -> None:
        self.url, self.path = url, Path()
        self.connection: Any = PostgresConnection(url, lost)
        self.epoch: int | None = None  # of a leader
        self.unclean, self.erasures, self.rewritten = False, 0, False
        if readonly:
            self.connection.execute("SET default_transaction_read_only = on")
        else:
            self.connection.execute("SET synchronous_commit = on")  # whatever the server's default is
            self._make_schema()
            self.unclean = self.connection.execute("SELECT 1 FROM meta WHERE name = 'unclean'").fetchone() is not None

    def _make_schema(self) -> None:
        """Bring the database to the present schema; refuse one that is newer."""
        run = self.connection
        run.execute("BEGIN")
        run.execute(f"SELECT pg_advisory_xact_lock({LOCK + 1})")  # two first starts follow each other
        known = run.execute("SELECT to_regclass('meta') IS NOT NULL").get
        version = int(run.execute("SELECT value FROM meta WHERE name = 'schema'").get) if known else 0
        folder = files(__package__) / "schema" / "postgres"
        for number in range(max(version + 1, FIRST_SCHEMA), SCHEMA + 1):  # all of them in one transaction
            run.raw.execute((folder / f"{number:04d}.sql").read_text(encoding="utf-8"))
        if version < SCHEMA:
            run.execute(
                "INSERT INTO meta (name, value) VALUES ('schema', ?) ON CONFLICT (name) DO UPDATE"
                " SET value = excluded.value",
                (str(SCHEMA),),
            )
        run.execute("COMMIT")
        if version > SCHEMA:
            raise StateError(f"the database must have schema {SCHEMA} or older; got {version}. Use a newer version.")

    # -- one writer --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction; writers follow each other, and one that is no leader any more is refused."""
        self.connection.execute("BEGIN")
        epoch = self.connection.execute("SELECT epoch FROM project WHERE id = 0 FOR UPDATE").get
        if self.epoch is not None and epoch != self.epoch:
            self.rollback()
            raise StateError(
                f"the leader must be of epoch {epoch}; this one is of {self.epoch}: another has taken over."
            )

    def begin_reading(self) -> None:
        """Begin a transaction that sees one moment; by default each statement would see its own."""
        self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def shorten_log(self) -> None:
        """A database sees to its own log."""

    def commit(self) -> None:
        """End the transaction; PostgreSQL answers the COMMIT of a failed one with a silent rollback."""
        said = self.connection.raw.execute("COMMIT").statusmessage
        if said != "COMMIT":
            raise StateError(f"the transaction must be committed; the database answered {said}.")

    def lead(self, url: str) -> bool:
        """Become the leader, reached at this address; False if there is one."""
        if not self.connection.execute(f"SELECT pg_try_advisory_lock({LOCK})").get:
            return False
        self.epoch = None
        self.begin()
        self.epoch = self.connection.execute("UPDATE project SET epoch = epoch + 1 WHERE id = 0 RETURNING epoch").get
        self.connection.execute(
            "INSERT INTO leader (one, url, beat) VALUES (1, ?, clock_timestamp())"
            " ON CONFLICT (one) DO UPDATE SET url = excluded.url, beat = excluded.beat",
            (url,),
        )
        self.commit()
        return True

    def leader(self) -> tuple[str, float]:
        """Where the leader is reached, and for how many seconds it has been silent."""
        sql = "SELECT url, extract(epoch FROM clock_timestamp() - beat)::float8 FROM leader"
        found = self.connection.execute(sql).fetchone()
        return ("", 0.0) if found is None else (found[0], found[1])

    def dismiss(self) -> None:
        """Cut the connection of a leader that is silent: its lock is free then, and its commits fail."""
        self.connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks"
            " WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"
            f" AND objid = {LOCK} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )

    # -- reading, a part at a time -----------------------------------------------------------------------------------

    def events(self, project: int, after: int, upto: int | None = None) -> Iterator[Event]:
        """Events in their order."""
        last = 2**62 if upto is None else upto
        while True:
            page = list(super().events(project, after, min(last, after + PAGE)))
            yield from page
            if not page or page[-1].seq >= last:
                return
            after = page[-1].seq

    def history(self, project: int, after: int, upto: int | None = None) -> Iterator[tuple[Event, bytes | None]]:
        """Events in their order, each with the stored row of a decision."""
        last = 2**62 if upto is None else upto
        while True:
            page = list(super().history(project, after, min(last, after + PAGE)))
            yield from page
            if not page or page[-1][0].seq >= last:
                return
            after = page[-1][0].seq

    in_postgres = True

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns."""
        sql = "SELECT column_name FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position"
        return [row[0] for row in self.connection.execute(sql, (table,))]

    def stream(self, sql: str) -> Iterable[Any]:
        """Rows that need not fit into memory."""
        with self.connection.raw.cursor(name="part") as cursor:
            cursor.execute(sql)
            yield from cursor

    def numbers_follow(self) -> None:
        """After a copy: new projects and people get numbers behind those that are there."""
        for table in ("project", "person"):
            top = f"SELECT coalesce(max(id), 0) + 1 FROM {table}"
            self.connection.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), ({top}), false)")

    def clean(self) -> bool:
        """Write the tables anew, without what was erased. The database's own log is the matter of whoever runs it.

        False if somebody is still reading them, or the disk is full. To wait longer would have all readers wait, too.
        """
        run = self.connection.raw
        try:
            run.execute(f"SET lock_timeout = {READER_MS}")
            for table in ("item", "training_example", "checkpoint"):
                run.execute(f"VACUUM FULL {table}")
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DiskFull):
            return False
        finally:
            run.execute("SET lock_timeout = 0")
        self.connection.execute("DELETE FROM meta WHERE name = 'unclean'")
        self.unclean = False
        return True


def open_patiently(url: str, seconds: float = PATIENCE) -> PostgresStore:
    """The store, once the database answers; raises StateError if it does not within so many seconds."""
    end, wait = time.monotonic() + seconds, 0.1
    while True:
        try:
            return PostgresStore(url)
        except psycopg.OperationalError as error:
            if time.monotonic() + wait > end:
                raise StateError(
                    f"the database must answer within {seconds:.0f} seconds; it does not: {error}"
                ) from None
            time.sleep(wait)
            wait = min(2 * wait, 2.0)


class Heartbeat:
    """Shows that the leader lives; ends the process if it is no leader any more, or the database has gone."""

    def __init__(self, url: str, epoch: int) -> None:
        self._connection, self._epoch = PostgresConnection(url), epoch
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        sql = "UPDATE leader SET beat = clock_timestamp() FROM project WHERE project.id = 0 AND project.epoch = ?"
        while not self._stop.wait(BEAT):
            try:
                self._connection.execute(sql, (self._epoch,))
                left = self._connection.changes() != 1
            except psycopg.Error:
                left = True
            if left and not self._stop.is_set():
                give_up("the database has gone, or another process leads")

    def stop(self) -> None:
        """End; the connection is closed."""
        self._stop.set()
        self._thread.join()
        self._connection.close()


def give_up(why: str = "the database has gone") -> None:
    """End the process: what it holds in memory may be ahead of the database. A start goes on from the log."""
    print(f"steelyard: {why}; start again", file=sys.stderr, flush=True)
    os._exit(FATAL)
