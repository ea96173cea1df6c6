"""What every request handler needs: the writer, the tokens, a reading connection, and the checks before a job."""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..database.places import Place, open_place
from ..database.sqlite import SQLiteStore
from ..log.records import SALT_BYTES, BadRecordError, Cell, RecordReader, pack_cells
from ..numbers.metrics import Metrics
from ..numbers.overview import Overviews
from ..people.access import IDLE, AccessBook, Grant, Session
from ..people.leases import Leases
from ..writer.champion_model import Champion, read_champion
from ..writer.clock import Clock
from ..writer.group_commit import Writer
from ..writer.jobs import Job, RefusedError, RowToDecide, StoreJob
from ..writer.projects import weigh_rows
from ..writer.snapshot import Snapshot

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

    item: Annotated[int, msgspec.Meta(gt=0, lt=2**62)]
    label: str | None
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e9)] | None = None


class Runtime:
    """Shared by all requests of one server; everything but the writer's thread runs in the event loop."""

    def __init__(
        self,
        place: Place,
        writer: Writer,
        clock: Clock,
        hosts: Iterable[str],
        *,
        port: int = 0,
        secure: bool = False,
        proxied: bool = False,
    ) -> None:
        self.place, self.writer, self.clock = place, writer, clock
        self.secure, self.proxied = secure, proxied  # reached by https; a proxy tells the address
        self.cookie = f"{'__Host-' if secure else ''}steelyard-{port}"  # loopback's cookies are shared by all ports
        self.hosts = frozenset(host.lower().encode() for host in hosts)
        self.store = open_reader(place)
        self.access = AccessBook(self.store)
        self.leases, self.metrics = Leases(), Metrics()
        self.overviews = Overviews(open_reader(place), self.snapshot, clock.now)
        self.stopping: Callable[[], bool] = lambda: False
        self.least_disk = LEAST_DISK
        self._readers: dict[str, RecordReader] = {}
        self._champions: dict[str, tuple[tuple[bytes, int], Champion]] = {}
        self._disk = (0.0, 0)
        self._salt = Salts()
        self._seen: dict[bytes, int] = {}
        self._waking = self._at_work = False  # the writer is about to be woken; it has been, and has not answered yet
        self._committed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        writer.deliver = self._deliver

    # -- the writer --------------------------------------------------------------------------------------------------

    def _deliver(self, outcomes: list[tuple[Job, Any]]) -> None:
        self._loop.call_soon_threadsafe(self._delivered, outcomes)

    def _delivered(self, outcomes: list[tuple[Job, Any]]) -> None:
        for job, outcome in outcomes:
            deliver, job.deliver = job.deliver, None  # which may hold the job
            try:
                if deliver is not None:
                    deliver(outcome)
            except Exception:  # an answer that cannot be sent must not keep the others from theirs
                traceback.print_exc()
        self._at_work = False
        self._wake_soon()  # behind the answers
        self._committed.set()
        self._committed = asyncio.Event()

    def submit(self, job: Job, deliver: Callable[[Any], None]) -> None:
        """Have a job carried out; ``deliver`` gets its outcome, or its refusal, once it is on the disk."""
        if self.free_disk() < self.least_disk:
            message = f"the disk must have {self.least_disk} bytes free; it has not. Free some space."
            raise RefusedError(507, "disk_full", message)
        job.deliver = deliver
        self.writer.submit(job, alone=False)
        self._wake_soon()

    async def run(self, job: Job) -> Any:
        """Have a job carried out; its outcome, once it is on the disk."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.submit(job, lambda outcome: None if future.done() else future.set_result(outcome))
        outcome = await future
        if isinstance(outcome, RefusedError):
            raise outcome
        return outcome

    def _wake_soon(self) -> None:
        """Have the writer begin once this turn of the event loop is over, behind all requests that came with it."""
        if not self._waking and not self._at_work:
            self._waking = True
            self._loop.call_soon(self._wake_writer)

    def _wake_writer(self) -> None:
        self._waking = False
        self._at_work = self.writer.wake()

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
        """Bytes that are free where the data lie, looked up once a second; a database sees to its own disk."""
        now = time.monotonic()
        if now - self._disk[0] > 1.0:
            self._disk = (now, shutil.disk_usage(self.place).free if isinstance(self.place, Path) else sys.maxsize)
        return self._disk[1]

    # -- before a job ------------------------------------------------------------------------------------------------

    def allow(self, headers: Headers, slug: str, roles: tuple[str, ...], method: str = "POST") -> Grant:
        """The grant of a request, or its refusal: 401 without token or session, 404 elsewhere, 403 in another role."""
        sent = header(headers, b"authorization")
        session = self.session(headers) if sent is None else None
        if session is not None:
            return self.allow_session(headers, session, slug, roles, method)
        return self.allow_token(sent, slug, roles)

    def allow_token(self, sent: bytes | None, slug: str, roles: tuple[str, ...]) -> Grant:
        """The same for the value of an Authorization header."""
        grant = self.access.grant(sent, self.clock.now)
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

    # -- people ------------------------------------------------------------------------------------------------------

    def allow_session(
        self, headers: Headers, session: Session, slug: str, roles: tuple[str, ...], method: str = "GET"
    ) -> Grant:
        """The same for somebody who is logged in; a write must also come from a page of this service."""
        if method not in ("GET", "HEAD"):
            self.check_write(headers, session)
        project, held = self.access.roles(session.person, slug)
        if not held:
            raise RefusedError(404, "not_found", "the address must be one you may see; it is not.")
        role = next((role for role in roles if role in held), None)
        if role is None:
            message = f"you must have the role {' or '.join(roles)}; you have {' and '.join(sorted(held))}."
            raise RefusedError(403, "wrong_role", message)
        if role == "annotator":
            self.leases.see(slug, session.person)
        return Grant("", session.person, project, slug, role, b"", None, 0)

    def session(self, headers: Headers) -> Session | None:
        """Who is logged in, by the cookie."""
        wanted = self.cookie + "="
        for name, value in headers:
            if name == b"cookie":
                for part in value.decode("latin-1").split(";"):
                    if part.strip().startswith(wanted):
                        found = self.access.session(part.strip().removeprefix(wanted), self.clock.now())
                        if found is not None:
                            self._note_seen(found)
                        return found
        return None

    def _note_seen(self, session: Session) -> None:
        """Now and then write down that a session is in use; it must not end while somebody works."""
        now = self.clock.now()
        if now - session.seen < IDLE // 100 or now - self._seen.get(session.id, 0) < IDLE // 100:
            return
        if len(self._seen) > 10_000:
            self._seen.clear()
        self._seen[session.id] = now
        sql = "UPDATE session SET seen = ? WHERE id = ?"
        try:
            self.writer.submit(StoreJob("", 0, act=lambda store, at: store.connection.execute(sql, (now, session.id))))
        except RefusedError:
            self._seen.pop(session.id)  # busy: the next request will do

    def check_write(self, headers: Headers, session: Session) -> None:
        """Raise unless a write by cookie comes from a page of this service."""
        self.check_origin(headers)
        sent = header(headers, b"x-csrf-token") or b""
        if not hmac.compare_digest(sent, session.csrf.encode()):
            message = "the request must carry the value its page was given; it does not. Load the page again."
            raise RefusedError(403, "no_csrf", message, "X-CSRF-Token")

    def check_origin(self, headers: Headers) -> None:
        """Raise unless the request says that it comes from this very origin; saying nothing is not enough."""
        own = (b"https://" if self.secure else b"http://") + (header(headers, b"host") or b"").lower()
        site = header(headers, b"sec-fetch-site")
        if header(headers, b"origin") != own or site not in (None, b"same-origin"):
            message = "the request must come from a page of this service; it does not."
            raise RefusedError(403, "wrong_origin", message, "Origin")

    def address(self, scope: Any) -> str:
        """Where a request comes from; behind a proxy what that one proxy has seen."""
        if self.proxied:  # it may add to the header that came, or send another one behind it
            headers: Headers = scope["headers"]
            said = [value for name, value in headers if name == b"x-forwarded-for"] or [b""]
            return said[-1].decode("latin-1").rpartition(",")[2].strip()
        return str((scope.get("client") or ("",))[0])

    async def change(self, act: Callable[[SQLiteStore, int], Any]) -> Any:
        """Have people, sessions or projects changed; its outcome, once it is on the disk."""
        return await self.run(StoreJob("", 0, act=act))

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
            payload = pack_cells(self._salt(), cells)
        except BadRecordError as error:
            raise RefusedError(422, "bad_row", str(error), error.where) from None
        return RowToDecide(cells, payload, external, missing, unknown)

    async def weigh(self, slug: str, rows: Iterable[RowToDecide | RefusedError]) -> None:
        """Where a champion decides, have it look at rows before they enter the queue, in a thread."""
        snapshot = self.snapshot(slug)
        if snapshot.champion is None:
            return
        by = (snapshot.champion.sha256, snapshot.settings_seq)
        known = self._champions.get(slug)
        if known is None or known[0] != by:
            raw = self.store.model(snapshot.champion.sha256)
            if raw is None:
                return  # the writer says what is wrong
            known = by, await asyncio.to_thread(read_champion, raw, snapshot.settings)
            self._champions[slug] = known
        sent = [row for row in rows if isinstance(row, RowToDecide)]
        if sent:
            await asyncio.to_thread(weigh_rows, known[1], by, sent)


def open_reader(place: Place) -> SQLiteStore:
    """A connection for reading; where a database has gone, the process ends as its writer would."""
    if isinstance(place, Path):
        return open_place(place, readonly=True)
    from ..database.postgres import give_up

    return open_place(place, readonly=True, lost=give_up)


class Salts:
    """Random bytes for payloads, fetched from the system for many at once."""

    def __init__(self) -> None:
        self._bytes, self._used = b"", 0

    def __call__(self) -> bytes:
        """Bytes that nobody else was given."""
        if self._used == len(self._bytes):
            self._bytes, self._used = os.urandom(256 * SALT_BYTES), 0
        self._used += SALT_BYTES
        return self._bytes[self._used - SALT_BYTES : self._used]


def header(headers: Headers, name: bytes) -> bytes | None:
    """The value of a header; None if it is not there."""
    for key, value in headers:
        if key == name:
            return value
    return None


def key_of(headers: Headers, *, needed: bool = True) -> str | None:
    """The Idempotency-Key; raises if it is needed and missing."""
    return checked_key(header(headers, b"idempotency-key"), needed=needed)


def checked_key(found: bytes | None, *, needed: bool = True) -> str | None:
    """The same for the value of the header."""
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


def decoded(decoder: msgspec.json.Decoder[Any], body: bytes | msgspec.Raw) -> Any:
    """The body as its Struct; 400 if it is no JSON, 422 if it is not of that form."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        where = place.group(1).removeprefix("$").removeprefix(".") if place else ""
        raise RefusedError(422, "bad_body", f"the body must have the documented form; {error}.", where) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(400, "no_json", f"the body must be JSON; {error}.", "") from None
