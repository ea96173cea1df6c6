"""What `steelyard service push`, `erase` and `champion` do: through a running service, or in the folder itself."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, nullcontext
from functools import partial
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from queue import Queue
from socket import gaierror
from ssl import SSLError
from typing import IO, Any, TextIO, TypeVar, cast

from ...client import BATCH, Client, ServiceError
from ...errors import InvalidInputError
from ...validation.values import check_count, invalid
from ..database.places import Place, open_existing
from ..database.sqlite import SQLiteStore
from ..log.guess import parse_cell, read_csv
from ..server.lifecycle import IN_USE, FolderInUseError, hold
from ..writer.champion_model import read_champion
from ..writer.clock import Clock
from ..writer.group_commit import Writer, wait_for
from ..writer.jobs import ChampionJob, EraseJob, EraseReply, Job, RefusedError
from .reading import read_project

T = TypeVar("T")


def run_push(
    source: str,
    *,
    url: str,
    token: str | None,
    project: str,
    id_column: str | None,
    texts: list[str],
    out: TextIO,
    patience: float,
) -> int:
    """Send a CSV file or pipe; sent again, it goes on where it stopped. Exit code 0 if every row was decided.

    A file is looked through before its first row is sent: once corrected it is another one, all of whose rows are new.
    The rows of a pipe are sent as they come.
    """
    piped = source == "-"
    key = None if piped else _file_digest(Path(source))
    names: list[str] = []

    def records(rows: Iterator[dict[str, str]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            for option, column in [("--id", id_column), *(("--text", name) for name in texts)]:
                if column is not None and column not in row:
                    raise invalid(option, "be a column of the file", column)
            if id_column is not None:
                names.append(row.pop(id_column))
            yield {name: (cell or None) if name in texts else parse_cell(cell) for name, cell in row.items()}

    if not piped:
        with closing(read_csv(Path(source))) as rows:
            deque(rows, maxlen=0)
    refused = decided = 0
    lines = nullcontext(_piped_rows()) if piped else closing(read_csv(Path(source)))  # another thread ends the pipe's
    with lines as rows, _client(url, token, project, patience) as client:
        for part in _as_they_come(records(rows)) if piped else [records(rows)]:
            ids = None if id_column is None else _following(names)
            replies = client.decide_many(part, ids=ids, key=key)
            while (reply := _said(url, lambda: next(replies, None))) is not None:  # noqa: B023
                refused += "error" in reply
                decided += "error" not in reply
                out.write(json.dumps(reply) + "\n")
            out.flush()
    print(f"{decided} rows decided, {refused} refused", file=sys.stderr)
    return 0 if not refused else 2


def _piped_rows() -> Generator[dict[str, str], None, None]:
    """Of a file of its own where there can be one: a thread that still waits for it does not hold up the end."""
    try:
        source: IO[bytes] = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except (OSError, ValueError):
        source = sys.stdin.buffer
    with source:
        yield from read_csv(source)


def _as_they_come(rows: Iterator[T]) -> Iterator[list[T]]:
    """Rows in lists of those that are there: nobody waits for rows that have not come yet."""
    waiting: Queue[T | BaseException | None] = Queue(BATCH)

    def collect() -> None:
        try:
            for row in rows:
                waiting.put(row)
            waiting.put(None)
        except BaseException as error:
            waiting.put(error)

    threading.Thread(target=collect, daemon=True).start()
    while True:
        found = [waiting.get()]
        while len(found) < BATCH and not waiting.empty():
            found.append(waiting.get())
        *_, last = found
        if last is None or isinstance(last, BaseException):
            found.pop()
        if found:
            yield cast(list[T], found)
        if isinstance(last, BaseException):
            raise last
        if last is None:
            return


def _client(url: str, token: str | None, project: str, patience: float = 60.0) -> Client:
    token = given_token(token)
    try:
        return Client(url, token, project, patience=patience)
    except ValueError:
        raise invalid("--url", "be the address of a service, as http://127.0.0.1:8321", url) from None


def _said(url: str, ask: Callable[[], T]) -> T:
    """What a service answers; what it refuses, and that it cannot be reached, is said as a mistake of the user."""
    try:
        return ask()
    except ServiceError as error:
        if error.error == "key_reused":  # of a file, whose keys are made from its bytes
            hint = "Push it as then: as another file its rows would be decided again."
            raise invalid(
                "the file", "come with the --id and --text with which it was pushed before", "others", hint
            ) from None
        raise InvalidInputError(str(error)) from None
    except (ConnectionError, TimeoutError, HTTPException, SSLError, gaierror) as error:
        raise invalid("--url", "lead to a service that runs", url, f"It cannot be reached: {error}.") from None


def _following(names: list[str]) -> Iterator[str]:
    while names:
        yield names.pop(0)


def _file_digest(path: Path) -> str:
    with path.open("rb") as handle:
        total = sha256()
        while block := handle.read(1 << 20):
            total.update(block)
    return total.hexdigest()[:32]


def run_erase(
    data: Place, project: str, items: list[int], ids: list[str], *, url: str | None, token: str | None
) -> int:
    """Erase rows, through the service at ``url`` or, while none runs, in the folder itself; the exit code."""
    if not items and not ids:
        raise invalid("ITEM", "name the rows to erase, or --id", None)
    for item in items:
        check_count("ITEM", item, at_most=2**62)
    try:
        erased = _erased_by_service(url, token, project, items, ids) if url else _erased_here(data, project, items, ids)
    except FolderInUseError as error:
        hint = "Erase through the running service: --url http://127.0.0.1:8321 --token OWNER"
        print(f"steelyard: {error} {hint}", file=sys.stderr)
        return IN_USE
    except RefusedError as error:
        raise InvalidInputError(str(error)) from None
    print(f"erased: {', '.join(map(str, erased))}. Backups that were made before still hold these rows: see to them.")
    return 0


def _erased_by_service(url: str, token: str | None, project: str, items: list[int], ids: list[str]) -> list[int]:
    with _client(url, token, project) as client:
        return list(_said(url, lambda: client.erase(items=items, ids=ids))["items"])


def _erased_here(data: Place, project: str, items: list[int], ids: list[str]) -> list[int]:
    done: EraseReply = _carried_out_here(data, EraseJob(project, 0, items=tuple(items), ids=tuple(ids)))
    return done.items


def _carried_out_here(data: Place, job: Job) -> Any:
    """What a request does to a folder that nobody serves."""
    open_existing(data).close()
    if isinstance(data, str):
        raise invalid("--url", "be given with --database: the leader does it", None)
    with hold(data):
        store = SQLiteStore(data)
        writer = Writer(store, Clock())
        writer.start()
        try:
            return wait_for(writer, job)
        finally:
            writer.stop()
            if store.unclean and not store.clean():
                said = "somebody reads it, or the disk is full: the files of the folder hold it until the next start"
                print(f"steelyard: {said}", file=sys.stderr)
            store.close()


def run_champion(data: Place, project: str, file: Path | None, *, url: str | None, token: str | None, end: bool) -> int:
    """Have a model decide, or the learner again, through the service at ``url`` or in the folder; the exit code."""
    if (file is None) != end:
        raise invalid("FILE", "name a .steelyard file, unless --end is given", None if file is None else str(file))
    raw = b"" if file is None else file.read_bytes()
    try:
        if url:
            with _client(url, token, project) as client:
                made = client.end_champion if file is None else partial(client.set_champion, raw, name=file.name)
                seq = _said(url, made)["event"]
        else:
            seq = _carried_out_here(data, _champion_job(data, project, file, raw)).event
    except FolderInUseError as error:
        print(f"steelyard: {error} Do it through the service: --url http://127.0.0.1:8321", file=sys.stderr)
        return IN_USE
    except RefusedError as error:
        raise InvalidInputError(str(error)) from None
    print(f"{'the learner' if file is None else file.name} decides from event {seq} on")
    return 0


def _champion_job(data: Place, project: str, file: Path | None, raw: bytes) -> ChampionJob:
    """The job, once the model was held against the project."""
    if file is None:
        return ChampionJob(project, 0)
    with read_project(data, project) as found:
        read_champion(raw, found.settings)
    return ChampionJob(project, 0, sha256=sha256(raw).digest(), name=file.name[:100], body=raw)


def given_token(token: str | None) -> str:
    """The token that was given, or stands in the environment."""
    token = (token or os.environ.get("STEELYARD_TOKEN") or "").strip()
    if not token:
        raise invalid("--token", "be given, or stand in STEELYARD_TOKEN", None)
    if not (token.isascii() and token.isprintable()):  # it is shown to nobody
        raise invalid("--token", "be one that `steelyard service token` has printed", "other characters")
    return token
