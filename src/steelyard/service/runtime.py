"""What every request handler needs: the writer, the tokens, a reading connection, and the checks before a job."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from .access import AccessBook, Grant
from .clock import Clock
from .jobs import Job, RefusedError, RowToDecide
from .leases import Leases
from .metrics import Metrics
from .records import SALT_BYTES, BadRecordError, Cell, RecordReader, pack_cells
from .sqlite import SQLiteStore
from .writer import Snapshot, Writer

LEAST_DISK = 256 * 2**20  # bytes that must be free for a write
SINGLE_BYTES = 256 * 1024
BATCH_BYTES = 16 * 2**20
MOST_ROWS = 2000  # of a batch
MOST_ANSWERS = 100
_KEY = re.compile(rb"[\x20-\x7e]{1,64}\Z")
_PLACE = re.compile(r" - at `([^`]*)`")

Headers = list[tuple[bytes, bytes]]


class SentRow(msgspec.Struct, forbid_unknown_fields=True):
    """A row to decide; ``id`` is the sender's own name for it."""

    row: dict[str, Cell]
    id: str | None = None


class SentAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A label for an item; null skips it."""

    item: int
    label: str | None
    seconds: float | None = None


class Runtime:
    """Shared by all requests of one server; everything but the writer's thread runs in the event loop."""

    def __init__(self, folder: Path, writer: Writer, clock: Clock, hosts: Iterable[str]) -> None:
        self.folder, self.writer, self.clock = folder, writer, clock
        self.hosts = frozenset(host.lower().encode() for host in hosts)
        self.store = SQLiteStore(folder, readonly=True)
        self.access = AccessBook(self.store)
        self.leases, self.metrics = Leases(), Metrics()
        self.least_disk = LEAST_DISK
        self._readers: dict[str, RecordReader] = {}
        self._disk = (0.0, 0)
        self._committed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        writer.deliver = self._deliver

    # -- the writer --------------------------------------------------------------------------------------------------

    def _deliver(self, outcomes: list[tuple[Job, Any]]) -> None:
        self._loop.call_soon_threadsafe(self._delivered, outcomes)

    def _delivered(self, outcomes: list[tuple[Job, Any]]) -> None:
        for job, outcome in outcomes:
            if job.deliver is not None:
                job.deliver(outcome)
        self._committed.set()
        self._committed = asyncio.Event()

    async def run(self, job: Job) -> Any:
        """Have a job carried out; its outcome, once it is on the disk."""
        if self.free_disk() < self.least_disk:
            message = f"the disk must have {self.least_disk} bytes free; it has not. Free some space."
            raise RefusedError(507, "disk_full", message)
        future: asyncio.Future[Any] = self._loop.create_future()
        job.deliver = lambda outcome: None if future.done() else future.set_result(outcome)
        self.writer.submit(job)
        outcome = await future
        if isinstance(outcome, RefusedError):
            raise outcome
        return outcome

    async def next_commit(self, seconds: float) -> None:
        """Wait for the next commit, at most so long."""
        try:
            await asyncio.wait_for(self._committed.wait(), seconds)
        except TimeoutError:
            return

    def clock_ends(self, seconds: float) -> Callable[[], float]:
        """A function that tells how much of so many seconds is left."""
        end = time.monotonic() + seconds
        return lambda: end - time.monotonic()

    def free_disk(self) -> int:
        """Bytes that are free where the data lie, looked up once a second."""
        now = time.monotonic()
        if now - self._disk[0] > 1.0:
            self._disk = (now, shutil.disk_usage(self.folder).free)
        return self._disk[1]

    # -- before a job ------------------------------------------------------------------------------------------------

    def allow(self, headers: Headers, slug: str, roles: tuple[str, ...]) -> Grant:
        """The grant of a request, or its refusal: 401 without a valid token, 404 elsewhere, 403 in another role."""
        grant = self.access.grant(header(headers, b"authorization"), self.clock.now())
        if grant is None:
            message = "the request must carry a valid token; it does not. Send: Authorization: Bearer sy_..."
            raise RefusedError(401, "no_token", message, "Authorization")
        if grant.slug != slug:
            raise RefusedError(404, "not_found", "the address must be one the token may see; it is not.")
        if grant.role not in roles:
            message = f"the token must have the role {' or '.join(roles)}; it has {grant.role}."
            raise RefusedError(403, "wrong_role", message, "Authorization")
        if grant.role == "annotator":
            self.leases.see(slug, grant.person)
        return grant

    def snapshot(self, slug: str) -> Snapshot:
        """The project as of the last commit."""
        found = self.writer.snapshots.get(slug)
        if found is None:
            raise RefusedError(404, "not_found", "the project must exist; it does not.")
        return found

    async def loaded(self, slug: str) -> Snapshot:
        """The project as of the last commit; one that was made since the start is loaded first."""
        if slug not in self.writer.snapshots:
            await self.run(Job(slug, 0, size=0))
        return self.snapshot(slug)

    def reader(self, slug: str) -> RecordReader:
        """How records of a project are read; its columns never change."""
        found = self._readers.get(slug)
        if found is None:
            found = self._readers[slug] = RecordReader(self.snapshot(slug).settings)
        return found

    def row(self, slug: str, sent: SentRow) -> RowToDecide:
        """A row that was sent, read and packed; raises RefusedError naming the column."""
        external = sent.id
        if external is not None and not (0 < len(external) <= 200 and external.isprintable()):
            raise RefusedError(422, "bad_id", "id must be 1 to 200 printable characters; it is not.", "id")
        try:
            cells, missing, unknown = self.reader(slug).read(sent.row)
            payload = pack_cells(os.urandom(SALT_BYTES), cells)
        except BadRecordError as error:
            raise RefusedError(422, "bad_row", str(error), error.where) from None
        return RowToDecide(cells, payload, external, missing, unknown)


def header(headers: Headers, name: bytes) -> bytes | None:
    """The value of a header; None if it is not there."""
    for key, value in headers:
        if key == name:
            return value
    return None


def key_of(headers: Headers, *, needed: bool = True) -> str | None:
    """The Idempotency-Key; raises if it is needed and missing."""
    found = header(headers, b"idempotency-key")
    if found is None:
        if needed:
            message = "the request must have a key, or every row its id. Send: Idempotency-Key: <a new random text>"
            raise RefusedError(400, "no_key", message, "Idempotency-Key")
        return None
    if not _KEY.match(found):
        message = "the key must be 1 to 64 printable ASCII characters; it is not."
        raise RefusedError(400, "bad_key", message, "Idempotency-Key")
    return found.decode("ascii")


def body_digest(path: str, body: bytes) -> bytes:
    """What tells two requests under one key apart."""
    return blake2b(path.encode("utf-8", "replace") + b"\n" + body, digest_size=16).digest()


def decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """The body as its Struct; 400 if it is no JSON, 422 if it is not of that form."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        where = place.group(1).removeprefix("$").removeprefix(".") if place else ""
        raise RefusedError(422, "bad_body", f"the body must have the documented form; {error}.", where) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(400, "no_json", f"the body must be JSON; {error}.", "") from None
