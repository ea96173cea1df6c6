"""What `steelyard service verify`, `backup`, `restore` and `export` do."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import TextIO

import apsw

from ...errors import StateError
from ...validation.values import invalid
from ..database.copies import copy_tables
from ..database.decisions import decisions_behind
from ..database.places import Place, open_existing, open_place, shown_place
from ..database.sqlite import DATABASE, SQLiteStore, make_schema, open_backup, open_database
from ..log.events import unpack
from ..log.records import RecordReader
from ..people.access import SERVICE
from ..writer.verify import BROKEN, Verified, check_noted, verify_project, verify_service
from .reading import read_project

PAGE = 1000  # decisions read together


def run_verify(data: Place, project: str | None, noted: str | None) -> int:
    """Compute everything again from the log alone; exit code 0 if all agrees, else 3."""
    try:
        with closing(open_existing(data, readonly=True)) as store:
            verified = _verified(store, project, noted)
    except StateError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    except apsw.Error as error:
        print(f"steelyard: {shown_place(data)} must hold a whole database; {error}", file=sys.stderr)
        return BROKEN
    for found in verified:
        print(
            f"{found.slug}  events {found.events}  head {found.events}:{found.chain}  state {found.digest or '-'}  ok"
        )
        if found.gap is not None:
            first, last = found.gap
            print(f"{found.slug}  events {first} to {last} were not computed again: {found.why}")
        if found.weighed or found.not_weighed:
            said = f"{found.slug}  decisions of champions: {found.weighed} computed again"
            print(f"{said}, {found.not_weighed} not (model or row not held)" if found.not_weighed else said)
    return 0


def _verified(store: SQLiteStore, project: str | None, noted: str | None) -> list[Verified]:
    """The log of the service and those of projects, at one moment; raises StateError where one does not agree."""
    store.begin_reading()
    heads = [head for head in store.projects() if project in (None, head.slug)]
    if project not in (None, SERVICE) and not heads:
        raise invalid("--project", "exist", project)
    if noted is not None:
        service = store.project_by_id(0)
        assert service is not None
        check_noted(store, [service, *heads] if project in (None, SERVICE) else heads, noted)
    return [verify_service(store), *(verify_project(store, head) for head in heads)]


def run_backup(data: Place, target: Path) -> int:
    """Copy the database while it may be in use, then verify the copy; of PostgreSQL the copy is an SQLite file, too."""
    if target.exists():
        raise invalid("the backup", "be a new file", str(target))
    if not target.absolute().parent.is_dir():
        raise invalid("the backup", "lie in a folder that exists", str(target))
    part = target.with_name(f"{target.name}.part")  # a half copy must not pass for a backup
    part.unlink(missing_ok=True)
    with closing(open_existing(data, readonly=True)) as source:  # as it is: also one of an earlier schema
        try:
            _copy(source, part)
        except apsw.Error as error:
            part.unlink(missing_ok=True)
            raise invalid("the backup", "be written", str(target), f"It was not: {error}.") from None
    part.rename(target)
    return _verify_file(target)


def _copy(source: SQLiteStore, target: Path) -> None:
    """All tables, as of one moment."""
    if source.in_postgres:
        copied = SQLiteStore.__new__(SQLiteStore)
        copied.path, copied.connection = target, open_database(target)
        make_schema(copied.connection)
        copy_tables(source, copied)
        copied.connection.pragma("journal_mode", "delete")
        copied.close()
        return
    _copy_pages(source.connection, target)


def _copy_pages(source: apsw.Connection, target: Path) -> None:
    with closing(apsw.Connection(str(target))) as copy:
        with copy.backup("main", source, "main") as backup:
            backup.step()  # all pages of one moment: in parts it would begin again at every commit of the server
        copy.pragma("journal_mode", "delete")


def _verify_file(path: Path) -> int:
    store = SQLiteStore.__new__(SQLiteStore)
    store.path, store.connection = path, open_database(path, readonly=True)
    try:
        for found in [*(verify_project(store, head) for head in store.projects()), verify_service(store)]:
            print(f"{found.slug}  head {found.events}:{found.chain}  state {found.digest or '-'}  ok")
    except (StateError, apsw.Error) as error:
        print(f"steelyard: {error}", file=sys.stderr)
        return BROKEN
    finally:
        store.close()
    return 0


def run_restore(source: Path, data: Place) -> int:
    """Put a backup into an empty place."""
    if isinstance(data, str):
        return _restore_into_database(source, data)
    part = data / f"{DATABASE}.part"  # a server would take half of it for a whole one
    if data.exists() and {*data.iterdir()} - {part}:
        raise invalid("--data", "be an empty folder", str(data))
    if not source.is_file():
        raise invalid("the backup", "be a file", str(source))
    with closing(open_backup(source)) as kept:
        data.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        try:
            _copy_pages(kept, part)
        except apsw.Error as error:
            part.unlink(missing_ok=True)
            raise invalid("--data", "have room for the backup", str(data), f"It was not restored: {error}.") from None
    part.rename(data / DATABASE)
    return _verify_file(data / DATABASE)


def _restore_into_database(source: Path, url: str) -> int:
    if not source.is_file():
        raise invalid("the backup", "be a file", str(source))
    kept = SQLiteStore.__new__(SQLiteStore)
    kept.path, kept.connection = source, open_backup(source)
    store = open_place(url)
    try:
        service = store.project_by_id(0)
        if store.projects() or service is None or service.head:  # people and tokens stand in the log of the service
            raise invalid("--database", "be an empty database", shown_place(url))
        copy_tables(kept, store)
    finally:
        kept.close()
        store.close()
    return run_verify(url, None, None)


def run_export(data: Place, project: str, out: TextIO) -> None:
    """Every decision of a project as JSON lines, from the folder itself."""
    with read_project(data, project) as (store, head, settings):
        labels, reader = settings.labels, RecordReader(settings)
        after = 0
        while page := list(decisions_behind(store, head.id, after, PAGE)):
            for event, external, payload, label in page:
                made = unpack(event)
                line = {"id": event.seq, "external": external, "at": event.at, "t": made.t}
                line |= {"decision": labels[made.answer], "score": made.score, "chance": made.chance, "ask": made.ask}
                line |= {"model": made.model, "label": None if label is None else labels[label]}
                out.write(json.dumps(line | {"row": reader.record(payload)}) + "\n")
            after = page[-1].event.seq
