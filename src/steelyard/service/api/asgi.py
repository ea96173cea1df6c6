"""The ASGI entrance: Host, limits and headers for every request; deciding and answering without a framework."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

import msgspec

from ..http.deadline import STATUS_LINE, WHOLE, Answer, Begin
from ..http.routes import ANNOTATOR, PRODUCER, SentAnswers, SentRows
from ..http.runtime import (
    BATCH_BYTES,
    MOST_ROWS,
    SINGLE_BYTES,
    Headers,
    Runtime,
    SentRow,
    body_digest,
    checked_key,
    decoded,
)
from ..people.access import Grant
from ..writer.jobs import AnswerJob, DecideJob, Problem, RefusedError, RowToDecide

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Found = dict[bytes, bytes]  # the headers of a request by their names
Said = tuple[Any, bool]  # the reply, and whether it was given before
Build = Callable[[str, Found, Grant, bytes], DecideJob | AnswerJob]

DIRECT_BYTES = 64 * 1024  # of a body that is taken whatever it holds


class RawRows(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to decide of which one cannot be used: each is read by itself, so that it does not harm the others."""

    rows: list[msgspec.Raw]


_ROW = msgspec.json.Decoder(SentRow)
_ROWS = msgspec.json.Decoder(SentRows)
_RAW_ROWS = msgspec.json.Decoder(RawRows)
_ANSWERS = msgspec.json.Decoder(SentAnswers)
_ENCODER = msgspec.json.Encoder()
_FIXED = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
_OK = STATUS_LINE[200] + b"".join(b"%b: %b\r\n" % one for one in _FIXED) + b"content-length: %d\r\n"


class Entrance:
    """Answers the three hot routes itself and hands everything else to ``rest``."""

    def __init__(self, runtime: Runtime, rest: App) -> None:
        self.runtime, self.rest = runtime, rest
        self._routes = {"decide": self._decide, "decide/batch": self._decide_batch, "answers": self._answers}
        self._direct: dict[str, tuple[Build, tuple[str, ...]]] = {
            "decide": (self._decide_job, PRODUCER),
            "answers": (self._answer_job, ANNOTATOR),
        }
        self._targets: dict[bytes, tuple[Build, tuple[str, ...], str, str]] = {}  # two for each project

    # -- without a task ----------------------------------------------------------------------------------------------

    def direct(self, target: bytes, sent: Headers) -> Begin | None:
        """What takes the body of a POST that nothing has to be awaited for but its commit; None: any other one.

        That is one row, or answers, of a program with a token; what is wrong with it is found out in either way.
        """
        known = self._targets.get(target) or self._target(target)
        if known is None:
            return None
        slug = known[2]
        headers = dict(reversed(sent))  # the first of each name
        length = headers.get(b"content-length", b"")
        if (
            headers.get(b"host") not in self.runtime.hosts
            or headers.get(b"content-type") != b"application/json"
            or b"authorization" not in headers
            or not (length.isdigit() and int(length) <= DIRECT_BYTES)
        ):
            return None
        snapshot = self.runtime.writer.snapshots.get(slug)
        if snapshot is None or snapshot.champion is not None:
            return None
        return partial(self._begin, *known, headers)

    def _target(self, target: bytes) -> tuple[Build, tuple[str, ...], str, str] | None:
        """What a target stands for, if it is that of a project; noted, so that it is taken apart once."""
        _, *parts = target.decode("latin-1").split("/", 3)
        if len(parts) != 3 or parts[0] != "v1" or parts[2] not in self._direct:
            return None
        if parts[1] not in self.runtime.writer.snapshots:
            return None
        found = (*self._direct[parts[2]], parts[1], "/".join(("", *parts)))
        self._targets[target] = found
        return found

    def _begin(
        self, build: Build, roles: tuple[str, ...], slug: str, path: str, headers: Found, body: bytes, answer: Answer
    ) -> None:
        try:
            job = build(path, headers, self.runtime.allow_token(headers[b"authorization"], slug, roles), body)
            self.runtime.submit(job, partial(self._finish, answer, job))
        except RefusedError as error:
            self._finish(answer, None, error)

    def _finish(self, answer: Answer, job: DecideJob | AnswerJob | None, outcome: Any) -> None:
        if job is None or isinstance(outcome, RefusedError):
            status, reply, replayed = outcome.status, _problem(outcome), False
        else:
            status, reply, replayed = 200, self._said(job, outcome), job.replayed
        body = _ENCODER.encode(reply)
        self.runtime.metrics.statuses[status] += 1
        answer(_head(status, len(body), replayed), body)

    def _said(self, job: DecideJob | AnswerJob, outcome: Any) -> Any:
        """What a job of one row, or of answers, replies when it has been carried out."""
        if isinstance(job, DecideJob):
            return outcome[0]
        for item, _, _ in job.answers:
            self.runtime.leases.drop(job.project, item)
        return outcome

    # -- by a task ---------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return None
        headers = dict(reversed(scope["headers"]))  # the first of each name
        try:
            if headers.get(b"host", b"").lower() not in self.runtime.hosts:
                message = "Host must be a name of this service; it is not."
                raise RefusedError(421, "wrong_host", message, "Host")
            _, *parts = scope["path"].split("/", 3)
            route = self._routes.get(parts[2]) if len(parts) == 3 and parts[0] == "v1" else None
            if route is None or scope["method"] != "POST":
                return await self.rest(scope, receive, send)
            status, reply, replayed = 200, *await route(scope, headers, parts[1], receive)
        except RefusedError as error:
            status, reply, replayed = error.status, _problem(error), False
        return await self.reply(scope, send, status, _ENCODER.encode(reply), replayed)

    async def _decide(self, scope: Scope, headers: Found, slug: str, receive: Receive) -> Said:
        grant = self._allow(scope, headers, slug, PRODUCER)
        body = await read_body(headers, receive, SINGLE_BYTES)
        await self.runtime.loaded(slug)
        job = self._decide_job(scope["path"], headers, grant, body)
        await self.runtime.weigh(slug, job.rows)
        return self._said(job, await self.runtime.run(job)), job.replayed

    def _decide_job(self, path: str, headers: Found, grant: Grant, body: bytes) -> DecideJob:
        sent = _sent_row(body)
        row = self.runtime.row(grant.slug, sent)
        key = checked_key(headers.get(b"idempotency-key"), needed=sent.id is None)
        digest = body_digest(path, body) if key is not None else b""
        return DecideJob(grant.slug, grant.person, key, digest, rows=[row], single=True, weight=len(body))

    async def _decide_batch(self, scope: Scope, headers: Found, slug: str, receive: Receive) -> Said:
        runtime = self.runtime
        grant = self._allow(scope, headers, slug, PRODUCER)
        body = await read_body(headers, receive, BATCH_BYTES)
        sent = _sent_rows(body)
        if not 1 <= len(sent) <= MOST_ROWS:
            message = f"rows must be 1 to {MOST_ROWS}; got {len(sent)}."
            raise RefusedError(422, "bad_body", message, "rows")
        await runtime.loaded(slug)
        rows: list[RowToDecide | RefusedError] = []
        named = True
        for read in sent:
            try:
                one = read if isinstance(read, SentRow) else _sent_row(read)
                named = named and one.id is not None
                rows.append(runtime.row(slug, one))
            except RefusedError as error:
                rows.append(RefusedError(422, error.code, error.message, error.where))
        await runtime.weigh(slug, rows)
        key = checked_key(headers.get(b"idempotency-key"), needed=not named)
        job = DecideJob(slug, grant.person, key, body_digest(scope["path"], body), rows=rows)
        job.size, job.weight = len(rows), len(body)
        made = await runtime.run(job)
        return [_problem(reply) if isinstance(reply, RefusedError) else reply for reply in made], job.replayed

    async def _answers(self, scope: Scope, headers: Found, slug: str, receive: Receive) -> Said:
        grant = self._allow(scope, headers, slug, ANNOTATOR)
        body = await read_body(headers, receive, SINGLE_BYTES)
        await self.runtime.loaded(slug)
        job = self._answer_job(scope["path"], headers, grant, body)
        return self._said(job, await self.runtime.run(job)), job.replayed

    def _answer_job(self, path: str, headers: Found, grant: Grant, body: bytes) -> AnswerJob:
        sent = decoded(_ANSWERS, body)
        key = checked_key(headers.get(b"idempotency-key"))
        job = AnswerJob(grant.slug, grant.person, key, body_digest(path, body), size=len(sent), weight=len(body))
        job.answers = [(one.item, one.label, one.seconds) for one in sent]
        if any(one.label is None for one in sent):  # only a skip asks who else could answer
            job.present = self.runtime.leases.present(grant.slug) | {grant.person}
        return job

    def _allow(self, scope: Scope, headers: Found, slug: str, roles: tuple[str, ...]) -> Grant:
        token = headers.get(b"authorization")
        if token is not None:
            return self.runtime.allow_token(token, slug, roles)
        return self.runtime.allow(scope["headers"], slug, roles)

    async def reply(self, scope: Scope, send: Send, status: int, body: bytes, replayed: bool) -> None:
        """Send an answer; the first time and again it is the same but for one header."""
        self.runtime.metrics.statuses[status] += 1
        whole = scope["extensions"].get(WHOLE) if "extensions" in scope else None
        if whole is not None and whole(_head(status, len(body), replayed), body):
            return
        await send({"type": "http.response.start", "status": status, "headers": _headers(status, len(body), replayed)})
        await send({"type": "http.response.body", "body": body})


def _headers(status: int, length: int, replayed: bool) -> list[tuple[bytes, bytes]]:
    headers = [*_FIXED, (b"content-length", b"%d" % length)]
    if replayed:
        headers.append((b"replayed", b"true"))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    return headers


def _head(status: int, length: int, replayed: bool) -> bytes:
    """Status line and headers as they are sent."""
    if status == 200 and not replayed:
        return _OK % length
    return b"".join([STATUS_LINE[status], *[b"%b: %b\r\n" % one for one in _headers(status, length, replayed)]])


def _problem(error: RefusedError) -> Problem:
    return Problem(error.code, error.message, error.where)


def _sent_rows(body: bytes) -> list[SentRow] | list[msgspec.Raw]:
    """The rows of a batch; unread where one of them cannot be used."""
    try:
        return _ROWS.decode(body).rows
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        rows: list[msgspec.Raw] = decoded(_RAW_ROWS, body).rows
        return rows


def _sent_row(raw: bytes | msgspec.Raw) -> SentRow:
    """A row as it was sent; where one of its values cannot be used, the refusal names the field."""
    try:
        sent: SentRow = decoded(_ROW, raw)
    except RefusedError as error:
        name = _unusable_field(raw) if error.where == "row[...]" else None
        if name is None:
            raise
        message = f"field {name[:100]!r} must be a number, a text, true, false or null; it is not."
        raise RefusedError(error.status, error.code, message, f"row.{name[:100]}") from None
    return sent


def _unusable_field(raw: bytes | msgspec.Raw) -> str | None:
    """The first field of a row whose value is nested or no finite number."""
    try:
        row = json.loads(bytes(raw))["row"]
    except (ValueError, RecursionError):
        return None
    return next((name for name, value in row.items() if not _usable(value)), None)


def _usable(value: object) -> bool:
    return not isinstance(value, list | dict) and not (isinstance(value, float) and not math.isfinite(value))


async def read_body(headers: Found, receive: Receive, limit: int) -> bytes:
    """The body of a request; refused before it is read if it is too long, of unknown length or no JSON."""
    kind = headers.get(b"content-type", b"")
    if kind != b"application/json" and kind.partition(b";")[0].strip().lower() != b"application/json":
        message = "the body must be JSON. Send: Content-Type: application/json"
        raise RefusedError(415, "no_json", message, "Content-Type")
    length = headers.get(b"content-length")
    if length is None or not length.isdigit():
        raise RefusedError(411, "no_length", "the request must say its length. Send: Content-Length", "Content-Length")
    if int(length) > limit:
        raise RefusedError(413, "too_large", f"the body must have at most {limit} bytes; got {int(length)}.", "")
    part = await receive()
    body: bytes = part.get("body", b"")
    if not part.get("more_body", False):
        return body
    parts = [body]
    while part.get("more_body", False):
        part = await receive()
        if part["type"] == "http.disconnect":
            raise RefusedError(400, "cut", "the whole body must come; the connection was cut.", "")
        parts.append(part.get("body", b""))
    return b"".join(parts)
