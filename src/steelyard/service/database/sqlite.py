"""The store on SQLite: write-ahead log, every commit synced, one writing connection."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from ...errors import StateError
from ...validation.values import invalid
from ..log.events import NO_CHAIN, Event
from ..replay.questions import Question, QuestionState
from .store import Changes, ProjectHead, RequestKey, StoredCheckpoint, StoredRequest

SCHEMA = 4
FORMAT = 2  # of checkpoints; earlier ones are read, too
BUSY_MS = 5000
READER_MS, AGAIN_MS = 1000, 50  # for readers, when the log is to be emptied: nobody is answered meanwhile
DATABASE = "service.sqlite"
MOST_AT_ONCE = 128  # rows inserted by one statement
LONG_LOG = 16_384  # pages of the write-ahead log (64 MB) beyond which it must begin anew
_KEPT = 3  # checkpoints


def open_database(path: Path, *, readonly: bool = False, vfs: str | None = None) -> apsw.Connection:
    """A connection with the settings that the promises rest on.

    Raises
    ------
    InvalidInputError
        If the file cannot be opened.
    StateError
        If it is no database.
    """
    try:
        return _open_database(path, readonly=readonly, vfs=vfs)
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        hint = f"Look at the rights of the file and its folder: {error}."
        raise invalid("the database", "be a file that can be opened", str(path), hint) from None
    except apsw.NotADBError:
        raise StateError(f"{path} must be the database of a service; it is none, or damaged.") from None


def _open_database(path: Path, *, readonly: bool, vfs: str | None) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=200)
    connection.set_busy_timeout(BUSY_MS)
    if readonly:
        connection.execute("PRAGMA query_only = ON; PRAGMA schema_version")
        return connection
    mode = connection.pragma("journal_mode", "wal")
    if mode != "wal":
        raise StateError(f"{path} must lie on a file system that has write-ahead logs; the mode stays {mode}.")
    connection.execute(
        "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON"
    )
    return connection


def make_schema(connection: apsw.Connection) -> None:
    """Bring the database to the present schema; refuse one that is newer."""
    version = connection.pragma("user_version")
    if version > SCHEMA:
        raise StateError(f"the database must have schema {SCHEMA} or older; got {version}. Use a newer version.")
    folder = files(__package__) / "schema"
    if 0 < version < SCHEMA:
        _keep_copy(connection, version)
    for number in range(version + 1, SCHEMA + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.pragma("user_version") < number:
                connection.execute((folder / f"{number:04d}.sql").read_text(encoding="utf-8"))
                connection.pragma("user_version", number)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def open_backup(path: Path) -> apsw.Connection:
    """A backup that may come from anybody, to be read: whole pages, and our own tables and triggers alone.

    Raises
    ------
    StateError
        If it is no database of ours; a trigger of somebody else would run with each row that is written later.
    """
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF")
        version = connection.pragma("user_version")
        if not 1 <= version <= SCHEMA:
            raise StateError(f"{path} must be a backup of schema 1 to {SCHEMA}; got {version}.")
        if strange := _objects(connection) ^ _objects(_fresh(version)):
            raise StateError(
                f"{path} must hold the tables of schema {version} alone; {sorted(strange)[0][1]!r} differs."
            )
        if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()) != ("ok",):
            raise StateError(f"{path} must be a whole database; {found[0] if found else 'nothing'}.")
    except (apsw.Error, StateError) as error:
        connection.close()
        if isinstance(error, StateError):
            raise
        raise StateError(f"{path} must be a backup of a service; it is no whole database ({error}).") from None
    return connection


def _objects(connection: apsw.Connection) -> set[tuple[str, str, str]]:
    """Tables, indexes and triggers, as they were made; those of SQLite itself left out."""
    sql = "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    return {(str(kind), str(name), str(made)) for kind, name, made in connection.execute(sql)}


def _fresh(version: int) -> apsw.Connection:
    """An empty database in memory as a version made it."""
    made = apsw.Connection(":memory:")
    for number in range(1, version + 1):
        made.execute((files(__package__) / "schema" / f"{number:04d}.sql").read_text(encoding="utf-8"))
    return made


def _keep_copy(connection: apsw.Connection, version: int) -> None:
    """Before the tables change, a copy of the database as it is, beside it."""
    target = Path(f"{connection.filename}.schema-{version}")
    if target.exists():
        return  # of an earlier try
    part = Path(f"{target}.part")
    part.unlink(missing_ok=True)
    copy = apsw.Connection(str(part))
    with copy.backup("main", connection, "main") as backup:
        backup.step()
    copy.close()
    part.rename(target)


class SQLiteStore:
    """The database of a folder."""

    def __init__(self, folder: Path, *, readonly: bool = False, vfs: str | None = None) -> None:
        self.path = folder / DATABASE
        self.connection = open_database(self.path, readonly=readonly, vfs=vfs)
        self.unclean = False  # something was erased, and files may still hold it
        self.erasures = 0  # since it was opened
        self.rewritten = False  # the files, since the last of them
        self._log_pages = 0
        if not readonly:
            make_schema(self.connection)
            self.connection.set_wal_hook(self._note_log)
            self.unclean = self.connection.execute("SELECT 1 FROM meta WHERE name = 'unclean'").fetchone() is not None

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    # -- projects ----------------------------------------------------------------------------------------------------

    def project(self, slug: str) -> ProjectHead | None:
        """The project of this name."""
        if not slug.isprintable():  # PostgreSQL refuses a text that holds a zero
            return None
        return self._head("SELECT id, slug, head, chain FROM project WHERE slug = ?", slug)

    def project_by_id(self, project: int) -> ProjectHead | None:
        """The project of this number."""
        return self._head("SELECT id, slug, head, chain FROM project WHERE id = ?", project)

    def projects(self) -> list[ProjectHead]:
        """All projects but that of the service itself."""
        rows = self.connection.execute("SELECT id, slug, head, chain FROM project WHERE id > 0 ORDER BY id")
        return [ProjectHead(*row) for row in rows]

    def _head(self, sql: str, value: Any) -> ProjectHead | None:
        row = self.connection.execute(sql, (value,)).fetchone()
        return None if row is None else ProjectHead(*row)

    def new_project(self, slug: str) -> int:
        """A project without events; inside a transaction."""
        sql = "INSERT INTO project (slug, head, chain) VALUES (?, 0, ?) RETURNING id"
        return int(self.connection.execute(sql, (slug, NO_CHAIN)).get)

    # -- writing -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction."""
        self.connection.execute("BEGIN IMMEDIATE")

    def begin_reading(self) -> None:
        """Begin a transaction that sees one moment, whatever is written meanwhile."""
        self.connection.execute("BEGIN")

    def commit(self) -> None:
        """End the transaction; when this returns, it is on the disk."""
        self.connection.execute("COMMIT")

    def _note_log(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def shorten_log(self) -> None:
        """Between two transactions: have the write-ahead log begin anew if it has become long.

        That takes a moment in which all of it is in the database, so somebody else can only do it while nobody writes:
        under a steady load the log would grow for ever. If somebody is reading, the next call tries again.
        """
        if self._log_pages < LONG_LOG:
            return
        with suppress(apsw.BusyError, apsw.FullError):
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def rollback(self) -> None:
        """Undo the transaction."""
        self.connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block that is written whole or not at all; it waits for another writer before its first look."""
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def add(self, changes: Changes) -> None:
        """Put changes into the transaction."""
        project, run = changes.project, self.connection
        if changes.events:
            last = changes.events[-1]
            insert_rows(run, "event (project, seq, kind, at, item, actor, body, chain)", project, changes.events)
            first = changes.events[0].seq - 1
            run.execute(
                "UPDATE project SET head = ?, chain = ? WHERE id = ? AND head = ?",
                (last.seq, last.chain, project, first),
            )
            if run.changes() != 1:
                raise StateError(f"the log of project {project} must end at event {first}; another writer went on.")
        if changes.items:
            insert_rows(run, "item (project, id, external, payload)", project, changes.items)
        if changes.requests:
            kept_requests = [(actor, key, *kept, at) for actor, key, kept, at in changes.requests]
            insert_rows(
                run,
                "request (project, actor, key, digest, first, count, refused, reply, at)",
                project,
                kept_requests,
            )
        if changes.questions:
            self._add_questions(project, changes)
        if changes.budget is not None:
            run.execute(
                "INSERT INTO budget (project, most, spent, reserved) VALUES (?, ?, ?, ?) ON CONFLICT (project)"
                " DO UPDATE SET most = excluded.most, spent = excluded.spent, reserved = excluded.reserved",
                (project, *changes.budget),
            )

    def _add_questions(self, project: int, changes: Changes) -> None:
        run, touched = self.connection, changes.questions.values()
        insert_rows(
            run,
            "question (project, item, state, expires, paid, label, reach)",
            project,
            [question_row(q) for q in touched],
            "ON CONFLICT (project, item) DO UPDATE SET state = excluded.state, paid = excluded.paid,"
            " label = excluded.label",
        )
        answered = [q for q in touched if q.item in changes.answered]
        withdrawn = [(project, item) for item in changes.withdrawn]
        run.executemany("DELETE FROM answer WHERE project = ? AND item = ?", withdrawn)
        insert_rows(
            run,
            "answer (project, item, person, label, seq)",
            project,
            [(q.item, *vote) for q in answered for vote in q.votes],
            "ON CONFLICT (project, item, person) DO UPDATE SET label = excluded.label, seq = excluded.seq",
        )
        insert_rows(
            run,
            "training_example (project, n, item, y, x, score, answer, chance)",
            project,
            [
                (q.n, q.item, q.label, changes.examples.get(q.item), q.score, q.answer, q.chance)
                for q in answered
                if q.n is not None
            ],
            "ON CONFLICT (project, item) DO UPDATE SET n = excluded.n, y = excluded.y",
        )
        insert_rows(
            run,
            "shadow_answer (project, item, slot, answer)",
            project,
            [(q.item, *other) for q in touched for other in q.others],
            "ON CONFLICT (project, item, slot) DO NOTHING",
        )

    # -- reading -----------------------------------------------------------------------------------------------------

    def events(self, project: int, after: int, upto: int | None = None) -> Iterator[Event]:
        """Events in their order."""
        sql = (
            "SELECT seq, kind, at, item, actor, body, chain FROM event"
            " WHERE project = ? AND seq > ? AND seq <= ? ORDER BY seq"
        )
        last = 2**62 if upto is None else upto
        for row in self.connection.execute(sql, (project, after, last)):
            yield Event(*row)

    def history(self, project: int, after: int, upto: int | None = None) -> Iterator[tuple[Event, bytes | None]]:
        """Events in their order, each with the stored row of a decision."""
        sql = "SELECT id, payload FROM item WHERE project = ? AND id > ? AND id <= ? ORDER BY id"
        items = iter(self.connection.execute(sql, (project, after, 2**62 if upto is None else upto)))
        item, payload = 0, None
        for event in self.events(project, after, upto):  # both in the order of their keys: no row is searched for
            while event.kind == 3 and item < event.seq:
                item, payload = next(items, (2**62, None))
            yield event, payload if item == event.seq else None

    def last_of_kind(self, project: int, kinds: tuple[int, ...]) -> int:
        """The last event of some kinds that come after decisions; 0 if there is none."""
        places = ", ".join("?" * len(kinds))
        sql = f"SELECT coalesce(max(seq), 0) FROM event WHERE project = ? AND kind > 3 AND kind IN ({places})"
        return int(self.connection.execute(sql, (project, *map(int, kinds))).get)

    def event(self, project: int, seq: int) -> Event | None:
        """One event."""
        return next(self.events(project, seq - 1, seq), None)

    def payloads(self, project: int, items: Iterable[int]) -> dict[int, bytes | None]:
        """The stored rows of items."""
        sql = "SELECT payload FROM item WHERE project = ? AND id = ?"
        found = {}
        for item in items:
            row = self.connection.execute(sql, (project, item)).fetchone()
            if row is not None:
                found[item] = row[0]
        return found

    def example_row(self, project: int, item: int) -> bytes | None:
        """The row of a training example."""
        sql = "SELECT x FROM training_example WHERE project = ? AND item = ?"
        row = self.connection.execute(sql, (project, item)).fetchone()
        return None if row is None else row[0]

    def request(self, project: int, actor: int, key: str) -> StoredRequest | None:
        """A request that was carried out under this key."""
        sql = "SELECT digest, first, count, refused, reply FROM request WHERE project = ? AND actor = ? AND key = ?"
        row = self.connection.execute(sql, (project, actor, key)).fetchone()
        return None if row is None else StoredRequest(*row)

    def used_keys(self, project: int, actor: int, keys: Sequence[str]) -> set[str]:
        """Those of some keys under which a request was carried out."""
        found: set[str] = set()
        for count, first in _sizes(len(keys)):
            places = ", ".join("?" * count)
            sql = f"SELECT key FROM request WHERE project = ? AND actor = ? AND key IN ({places})"
            found.update(row[0] for row in self.connection.execute(sql, (project, actor, *keys[first : first + count])))
        return found

    def forget_requests(self, before: int, after: RequestKey, most: int) -> RequestKey | None:
        """Of the next so many requests behind one, in the order of their keys, forget those older than a time.

        The last one looked at; None if there is none behind it.
        """
        behind = "FROM request WHERE (project, actor, key) > (?, ?, ?)"
        one = f"SELECT project, actor, key {behind} ORDER BY project, actor, key LIMIT 1 OFFSET ?"
        last = self.connection.execute(one, (*after, most - 1)).fetchone()
        if last is None:
            self.connection.execute(f"DELETE {behind} AND at < ?", (*after, before))
        else:
            upto = "AND (project, actor, key) <= (?, ?, ?)"
            self.connection.execute(f"DELETE {behind} {upto} AND at < ?", (*after, *last, before))
        return last

    def item_of(self, project: int, external: str) -> int | None:
        """The item that was sent under an id of the sender."""
        if not external.isprintable():  # as every id is
            return None
        sql = "SELECT id FROM item WHERE project = ? AND external = ?"
        row = self.connection.execute(sql, (project, external)).fetchone()
        return None if row is None else int(row[0])

    # -- models ------------------------------------------------------------------------------------------------------

    def save_model(self, sha256: bytes, body: bytes) -> None:
        """Keep the file of a model, by its digest."""
        sql = "INSERT INTO model (sha256, body) VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING"
        self.connection.execute(sql, (sha256, body))

    def model(self, sha256: bytes) -> bytes | None:
        """The file of a model; None if it is not held."""
        if not self.columns("model"):
            return None  # an earlier schema, only read
        row = self.connection.execute("SELECT body FROM model WHERE sha256 = ?", (sha256,)).fetchone()
        return None if row is None else bytes(row[0])

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def newest_checkpoint(self, project: int, numerics: int) -> StoredCheckpoint | None:
        """The newest checkpoint that is whole and of these numerics."""
        sql = (
            "SELECT upto, body, sha256 FROM checkpoint WHERE project = ? AND format <= ? AND numerics = ?"
            " ORDER BY upto DESC"
        )
        for upto, body, digest in self.connection.execute(sql, (project, FORMAT, numerics)):
            if sha256(body).digest() == digest:
                return StoredCheckpoint(upto, body)
        return None

    def checkpoint(self, project: int, upto: int) -> StoredCheckpoint | None:
        """The checkpoint at an event, if it is there and whole."""
        sql = "SELECT upto, body, sha256 FROM checkpoint WHERE project = ? AND upto = ?"
        row = self.connection.execute(sql, (project, upto)).fetchone()
        whole = row is not None and sha256(row[1]).digest() == row[2]
        return StoredCheckpoint(row[0], row[1]) if whole and row is not None else None

    def save_checkpoint(self, project: int, upto: int, numerics: int, body: bytes, pinned: bool = False) -> None:
        """Keep a state; of those that are not pinned the last three stay, and a pinned one is never replaced."""
        self.connection.execute(
            "INSERT INTO checkpoint (project, upto, format, numerics, body, sha256, pinned)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, upto) DO UPDATE SET format = excluded.format,"
            " numerics = excluded.numerics, body = excluded.body, sha256 = excluded.sha256, pinned = excluded.pinned"
            " WHERE checkpoint.pinned = 0",
            (project, upto, FORMAT, numerics, body, sha256(body).digest(), int(pinned)),
        )
        self.connection.execute(
            "DELETE FROM checkpoint WHERE project = ? AND pinned = 0 AND upto NOT IN"
            " (SELECT upto FROM checkpoint WHERE project = ? AND pinned = 0 ORDER BY upto DESC LIMIT ?)",
            (project, project, _KEPT),
        )

    # -- copying -----------------------------------------------------------------------------------------------------

    in_postgres = False

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns."""
        return [row[1] for row in self.connection.execute(f"PRAGMA table_info({table})")]

    def stream(self, sql: str) -> Iterable[Any]:
        """Rows that need not fit into memory."""
        return self.connection.execute(sql)

    def numbers_follow(self) -> None:
        """After a copy: new projects and people get numbers behind those there are; SQLite's do so by themselves."""

    # -- erasing -----------------------------------------------------------------------------------------------------

    def erase(self, project: int, items: Iterable[int], *, keep_learned: Container[int] = ()) -> None:
        """Forget the rows of items and their names; of those in ``keep_learned`` what was learned stays."""
        named, run = [(project, item) for item in items], self.connection
        run.executemany("UPDATE item SET payload = NULL, external = NULL WHERE project = ? AND id = ?", named)
        learned = [one for one in named if one[1] not in keep_learned]
        run.executemany("UPDATE training_example SET x = NULL WHERE project = ? AND item = ?", learned)
        run.execute("INSERT INTO meta (name, value) VALUES ('unclean', '') ON CONFLICT (name) DO NOTHING")
        self.unclean = True  # and whoever opens it after a crash knows it, too
        self.erasures += 1
        self.rewritten = False

    def drop_checkpoints(self, project: int, before: int) -> None:
        """Forget the states before an event, but the one the project began with."""
        sql = "DELETE FROM checkpoint WHERE project = ? AND upto > 1 AND upto < ?"
        self.connection.execute(sql, (project, before))

    def clean(self) -> bool:
        """Leave no byte of what was erased in any file; False if somebody is still reading it, or the disk is full.

        Deleted bytes are overwritten, but a page that was split keeps copies of its rows in the space that became free,
        so the file is written anew; the write-ahead log has them until it is emptied, and copies that were made before
        the tables changed have them for good. Where a reader keeps the log from being emptied, the next call does that
        alone: to write the file anew again would take its length of the log each time.
        """
        for copy in self.path.parent.glob(f"{self.path.name}.schema-*"):
            copy.unlink()
        patience = AGAIN_MS if self.rewritten else READER_MS
        try:
            if not self.rewritten:
                self.connection.execute("VACUUM")
                self.rewritten = True
            self._empty_log(patience / 1000)
            self.connection.execute("DELETE FROM meta WHERE name = 'unclean'")
        except (apsw.BusyError, apsw.FullError):
            return False
        self.unclean = False
        return True

    def _empty_log(self, seconds: float) -> None:
        """Move the write-ahead log into the file and leave it empty; raises BusyError if others do not let it so long.

        For readers SQLite waits by itself, for somebody else who moves the log it does not.
        """
        end = time.monotonic() + seconds
        self.connection.set_busy_timeout(AGAIN_MS)
        try:
            while True:
                try:
                    self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                    return
                except apsw.BusyError:
                    if time.monotonic() > end:
                        raise
                time.sleep(AGAIN_MS / 10_000)
        finally:
            self.connection.set_busy_timeout(BUSY_MS)

    def last_decision(self, project: int, head: int, at: int) -> int:
        """The last event up to this time; 0 if there is none. Time never falls along the log."""
        return bisect_right(range(1, head + 1), at, key=lambda seq: self._time(project, seq))

    def _time(self, project: int, seq: int) -> int:
        row = self.connection.execute("SELECT at FROM event WHERE project = ? AND seq = ?", (project, seq)).fetchone()
        assert row is not None
        return int(row[0])

    def erasable(self, project: int, upto: int, training: int) -> list[tuple[int, bool]]:
        """Items up to an event that still have something to erase and no open question; whether they were learned.

        What was learned counts up to ``training`` alone.
        """
        sql = (
            "SELECT i.id, x.x IS NOT NULL FROM item i"
            " LEFT JOIN question q ON q.project = i.project AND q.item = i.id"
            " LEFT JOIN training_example x ON x.project = i.project AND x.item = i.id"
            " WHERE i.project = ? AND i.id <= ? AND (q.state IS NULL OR q.state IN (1, 2))"
            " AND ((i.payload IS NOT NULL AND i.id <= ?) OR (x.x IS NOT NULL AND i.id <= ?)) ORDER BY i.id"
        )
        found = self.connection.execute(sql, (project, max(upto, training), upto, training))
        return [(item, bool(learned)) for item, learned in found]

    def tables(self, project: int) -> dict[str, Any]:
        """The rows of the tables that can be rebuilt, for `verify`."""
        selected = {
            "question": "item, state, expires, paid, label, reach FROM question",
            "answer": "item, person, label, seq FROM answer",
            "training_example": "n, item, y, score, answer, chance FROM training_example",
            "budget": "most, spent, reserved FROM budget",
            "shadow_answer": "item, slot, answer FROM shadow_answer",
        }
        return {  # a database that is only read may be of an earlier schema
            name: sorted(self.connection.execute(f"SELECT {sql} WHERE project = ?", (project,)).fetchall())
            if self.columns(name)
            else []
            for name, sql in selected.items()
        }


def insert_rows(
    run: apsw.Connection, table: str, project: int, rows: Sequence[tuple[Any, ...]], conflict: str = ""
) -> None:
    """Insert rows of a project, many by each statement: a step of one lets go of the interpreter and waits for it."""
    for count, first in _sizes(len(rows)):
        row = f"({project:d}" + ", ?" * len(rows[0]) + ")"
        sql = f"INSERT INTO {table} VALUES {', '.join([row] * count)} {conflict}"
        run.execute(sql, tuple(chain.from_iterable(rows[first : first + count])))


def _sizes(total: int) -> Iterator[tuple[int, int]]:
    """Sizes and beginnings of parts of so many rows; only powers of two, so that few statements are prepared."""
    first = 0
    while first < total:
        count = min(MOST_AT_ONCE, 1 << ((total - first).bit_length() - 1))
        yield count, first
        first += count


def question_row(question: Question) -> tuple[int, int, int, int, int | None, int]:
    """A question as its table holds it."""
    label = question.label if question.state is QuestionState.SETTLED else None
    return question.item, int(question.state), question.expires, int(question.paid), label, question.reach
