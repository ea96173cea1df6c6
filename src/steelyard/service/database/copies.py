"""All tables of one store into another, whatever database each is in."""

from __future__ import annotations

from itertools import islice

from .sqlite import SQLiteStore

TABLES = (
    "meta",
    "project",
    "event",
    "item",
    "request",
    "question",
    "answer",
    "training_example",
    "shadow_answer",
    "model",
    "budget",
    "checkpoint",
    "person",
    "role",
    "token",
    "session",
    "link",
)
AT_ONCE = 1000  # rows


def copy_tables(source: SQLiteStore, target: SQLiteStore) -> None:
    """Copy everything as of one moment into a store that has nothing yet, in one transaction."""
    read, write = source.connection, target.connection
    source.begin_reading()
    target.begin()
    try:
        for name in TABLES:
            columns = [column for column in source.columns(name) if column in target.columns(name)]
            if not columns:
                continue  # a backup of an earlier schema
            if name == "project":
                write.execute("DELETE FROM project")
            marks, listed = ", ".join("?" * len(columns)), ", ".join(columns)
            where = " WHERE name <> 'schema'" if name == "meta" else ""
            sql = f"INSERT INTO {name} ({listed}) VALUES ({marks})"
            order = ", ".join(str(n + 1) for n in range(min(3, len(columns))))
            rows = iter(source.stream(f"SELECT {listed} FROM {name}{where} ORDER BY {order}"))
            while part := list(islice(rows, AT_ONCE)):
                write.executemany(sql, part)
        target.numbers_follow()
        target.commit()
    except BaseException:
        target.rollback()
        raise
    finally:
        read.execute("ROLLBACK")
