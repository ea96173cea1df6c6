"""All routes but the hot ones, on Starlette."""

from __future__ import annotations

import asyncio
import csv
import io
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ...validation.text import safe_cell
from ..database.decisions import decisions_behind
from ..database.store import OPEN_QUESTIONS
from ..http.replies import NO_STORE, body_of, carried_out, json_reply, number_of, problem_reply
from ..http.routes import (
    READER,
    ROUTES,
    DecisionsReply,
    EventsReply,
    LeaseReply,
    LoggedDecision,
    LoggedEvent,
    QuestionReply,
    QuestionsReply,
    RouteInfo,
    SentCount,
    SentErasure,
    SentLabel,
    SentOutcome,
    StatusReply,
    SummaryReply,
    openapi,
)
from ..http.runtime import Runtime, decoded, header
from ..log.events import Decide, Event, Kind, unpack
from ..people.access import SERVICE, Grant
from ..people.leases import LEASE
from ..writer.jobs import (
    AdjudicateJob,
    CloseJob,
    EraseJob,
    Job,
    OutcomeJob,
    RefusedError,
    RetractJob,
    SetJob,
    SettingsReply,
)
from .desk import Desk
from .feed import Feeds
from .model_desk import ModelDesk

PAGE = 1000  # rows of a page at most
LONGEST_WAIT = 60  # seconds
LOOK_EVERY = 1.0  # seconds between two looks whether the service is being stopped
MOST_QUESTIONS = 20
MOST_ERASED = 1000  # rows in one request
MOST_LOOKED_AT = 1000  # of the open ones, for those that nobody holds
_NEXT = (
    f"SELECT q.item {OPEN_QUESTIONS} AND q.state = 0 AND NOT EXISTS (SELECT 1 FROM answer a"
    " WHERE a.project = q.project AND a.item = q.item AND a.person = ?)"
    f" ORDER BY q.item LIMIT {MOST_LOOKED_AT}"
)
_COUNT = msgspec.json.Decoder(SentCount)
_LABEL = msgspec.json.Decoder(SentLabel)
_ERASURE = msgspec.json.Decoder(SentErasure)
_OUTCOME = msgspec.json.Decoder(SentOutcome)
_CHANGES = msgspec.json.Decoder(dict[str, Any])
Handler = Callable[[Request, Exception], Awaitable[Response]]


class Api:
    """The handlers; each is allowed by the table of routes before it runs."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.feeds = Feeds(runtime)
        self._page_refused: Handler | None = None
        self._openapi = msgspec.json.encode(openapi())

    def app(self, pages: Sequence[Route] = (), refused: Handler | None = None) -> Starlette:
        """The application behind the entrance; ``refused`` answers a browser that asks for what is not there."""
        handlers: dict[tuple[str, str], Callable[..., Awaitable[Response]]] = {
            ("POST", "questions/next"): self.next_questions,
            ("POST", "questions/{item}/renew"): self.renew,
            ("POST", "questions/{item}/close"): self.close,
            ("POST", "questions/{item}/adjudicate"): self.adjudicate,
            ("POST", "erase"): self.erase,
            ("POST", "answers/{answer}/retract"): self.retract,
            ("POST", "outcomes"): self.outcome,
            ("GET", "summary"): self.summary,
            ("GET", "estimates"): self.estimates,
            ("GET", "curves"): self.curves,
            ("GET", "whatif"): self.what_if,
            ("GET", "drift"): self.drift,
            ("GET", "live"): self.live,
            ("GET", "decisions"): self.decisions,
            ("GET", "decisions/{item}"): self.decision,
            ("GET", "events"): self.events,
            ("GET", "export.jsonl"): self.export_jsonl,
            ("GET", "export.csv"): self.export_csv,
            ("GET", "settings"): self.settings,
            ("PATCH", "settings"): self.set,
            ("GET", "/health"): self.health,
            ("GET", "/ready"): self.ready,
            ("GET", "/metrics"): self.metrics,
            ("GET", "/openapi.json"): self.openapi,
        }
        handlers |= Desk(self.runtime).handlers() | ModelDesk(self.runtime).handlers()
        routes = []
        for route in ROUTES:
            handler = handlers.get((route.method, route.path.removeprefix("/v1/{project}/")))
            if handler is not None:
                routes.append(Route(route.path, self._guarded(route, handler), methods=[route.method]))
        hot = ("/decide", "/decide/batch", "/answers")  # which the entrance answers itself
        routes += [Route(r.path, self._wrong_method, methods=["POST"]) for r in ROUTES if r.path.endswith(hot)]
        self._page_refused = refused
        made = Starlette(routes=[*routes, *pages], exception_handlers={HTTPException: self._refused})
        made.router.redirect_slashes = False  # it names scheme and host, which behind a proxy are others
        return made

    def _guarded(self, route: RouteInfo, handler: Callable[..., Awaitable[Response]]) -> Any:
        async def endpoint(request: Request) -> Response:
            try:
                if route.roles is None:
                    response = await handler(request)
                else:
                    slug = request.path_params.get("project", SERVICE)
                    grant = self.runtime.allow(request.scope["headers"], slug, route.roles, route.method)
                    if slug != SERVICE:
                        await self.runtime.loaded(slug)
                    response = await handler(request, grant)
            except RefusedError as error:
                response = problem_reply(error)
            self.runtime.metrics.statuses[response.status_code] += 1
            return response

        return endpoint

    async def _wrong_method(self, request: Request) -> Response:
        raise HTTPException(405)

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if self._page_refused is not None and "text/html" in request.headers.get("accept", ""):
            return await self._page_refused(request, error)
        if error.status_code == 405:
            message = f"the method must be one of the address; got {request.method[:20]}. /openapi.json lists them."
            refused = RefusedError(405, "wrong_method", message, "")
        else:
            refused = RefusedError(404, "not_found", "the address must exist; it does not.", "")
        self.runtime.metrics.statuses[refused.status] += 1
        return problem_reply(refused)

    # -- questions ---------------------------------------------------------------------------------------------------

    async def next_questions(self, request: Request, grant: Grant) -> Response:
        """Hand out questions."""
        body, runtime = await body_of(request), self.runtime
        sent = decoded(_COUNT, body) if body else SentCount()
        wish = sent.count
        if not 1 <= wish <= MOST_QUESTIONS:
            raise RefusedError(422, "bad_body", f"count must be 1 to {MOST_QUESTIONS}; got {wish}.", "count")
        runtime.leases.see(grant.slug, grant.person)
        snapshot = runtime.snapshot(grant.slug)
        waiting = (row[0] for row in runtime.store.connection.execute(_NEXT, (grant.project, grant.person)))
        share = runtime.leases.share(grant.slug, MOST_QUESTIONS, snapshot.open)
        taken = runtime.leases.take(grant.slug, grant.person, waiting, min(wish, share), share)
        if not taken and not sent.counts:
            return Response(status_code=204, headers=NO_STORE)
        stored, reader = runtime.store.payloads(grant.project, taken), runtime.reader(grant.slug)
        asked = [
            QuestionReply(item, reader.record(stored[item]) or {}, LEASE, self._why(grant, item)) for item in taken
        ]
        settings, counts = snapshot.settings, (snapshot.limit, snapshot.spent, snapshot.open)
        return json_reply(QuestionsReply(settings.question, settings.guide, list(settings.classes), asked, *counts))

    def _why(self, grant: Grant, item: int) -> str:
        event = self.runtime.store.event(grant.project, item)
        assert event is not None
        made = unpack(event)
        assert isinstance(made, Decide)
        by_score = self.runtime.snapshot(grant.slug).settings.asks_by_score()
        return "boundary" if by_score and not made.sampled else "sample"

    async def renew(self, request: Request, grant: Grant) -> Response:
        """Hold a question longer."""
        item = number_of(request.path_params["item"], "item")
        sql = "SELECT 1 FROM question WHERE project = ? AND item = ? AND state = 0"
        if self.runtime.store.connection.execute(sql, (grant.project, item)).fetchone() is None:
            raise RefusedError(409, "closed", "the question must be open; it is not.", "item")
        if not self.runtime.leases.renew(grant.slug, grant.person, item):
            raise RefusedError(409, "held", "the question must not be held by another person; it is.", "item")
        return json_reply(LeaseReply(LEASE))

    async def close(self, request: Request, grant: Grant) -> Response:
        """Close a question without a label."""
        item = number_of(request.path_params["item"], "item")
        return await self._carried_out(request, CloseJob(grant.slug, grant.person, item=item))

    async def adjudicate(self, request: Request, grant: Grant) -> Response:
        """Decide a question, whatever the answers say."""
        item, body = number_of(request.path_params["item"], "item"), await body_of(request)
        label = decoded(_LABEL, body).label
        return await self._carried_out(request, AdjudicateJob(grant.slug, grant.person, item=item, label=label), body)

    async def erase(self, request: Request, grant: Grant) -> Response:
        """Erase rows for good."""
        body = await body_of(request)
        sent = decoded(_ERASURE, body)
        if not 1 <= len(sent.items) + len(sent.ids) <= MOST_ERASED or not all(0 < item < 2**62 for item in sent.items):
            raise RefusedError(
                422, "bad_body", f"items and ids must be 1 to {MOST_ERASED} rows; they are not.", "items"
            )
        job = EraseJob(grant.slug, grant.person, items=tuple(sent.items), ids=tuple(sent.ids))
        return await self._carried_out(request, job, body)

    async def retract(self, request: Request, grant: Grant) -> Response:
        """Take an own answer back."""
        answer = number_of(request.path_params["answer"], "answer")
        return await self._carried_out(request, RetractJob(grant.slug, grant.person, answer=answer))

    async def outcome(self, request: Request, grant: Grant) -> Response:
        """A label that came unasked."""
        body = await body_of(request)
        sent = decoded(_OUTCOME, body)
        if not 0 < sent.item < 2**62 or len(sent.origin) > 200:
            raise RefusedError(422, "bad_body", "item must be positive and origin have at most 200 characters.", "item")
        job = OutcomeJob(grant.slug, grant.person, item=sent.item, label=sent.label, origin=sent.origin)
        return await self._carried_out(request, job, body)

    async def _carried_out(self, request: Request, job: Job, body: bytes = b"") -> Response:
        return await carried_out(self.runtime, request, job, body)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def summary(self, request: Request, grant: Grant) -> Response:
        """Counts and budget."""
        s = self.runtime.snapshot(grant.slug)
        left = s.limit - s.spent - s.reserved
        counts = (s.limit, s.spent, s.reserved, left, s.open, s.model, s.outcomes, s.missing, s.unknown)
        shown = sum(one.slot > 0 for one in s.shadows), None if s.champion is None else s.champion.name
        return json_reply(SummaryReply(grant.slug, s.seq, s.rounds, *counts, *shown))

    async def estimates(self, request: Request, grant: Grant) -> Response:
        """Cost a row, with its interval."""
        return json_reply(await self.runtime.overviews.estimates(grant.slug))

    async def curves(self, request: Request, grant: Grant) -> Response:
        """Cost a row over time."""
        return json_reply(await self.runtime.overviews.curve(grant.slug))

    async def what_if(self, request: Request, grant: Grant) -> Response:
        """What it would cost at other prices or another threshold."""
        if len(self.runtime.snapshot(grant.slug).settings.classes) != 2:
            raise RefusedError(422, "two_classes", "the project must have two classes; it has more.", "")
        limits = {"fn": (0.0, 1e12), "fp": (0.0, 1e12), "threshold": (-1e12, 1e12)}
        changes = {name: _number(request, name, *ends) for name, ends in limits.items()}
        if changes["fn"] == 0 == changes["fp"]:
            raise RefusedError(422, "bad_query", "fn or fp must be more than 0; both are 0.", "fn")
        return json_reply(await self.runtime.overviews.what_if(grant.slug, **changes))

    async def drift(self, request: Request, grant: Grant) -> Response:
        """Whether rows are still what they were."""
        return json_reply(await self.runtime.overviews.drift(grant.slug))

    async def live(self, request: Request, grant: Grant) -> Response:
        """News of the project, until the reader goes."""
        headers = request.scope["headers"]
        known = request.headers.get("last-event-id", "")
        after = int(known) if known.isascii() and known.isdigit() and len(known) <= 18 else _query(request, "after", 0)
        count = _query(request, "count", 0) or None
        return self.feeds.follow(
            grant.slug, lambda: self.runtime.allow(headers, grant.slug, READER, "GET"), after=after, count=count
        )

    async def decisions(self, request: Request, grant: Grant) -> Response:
        """A page of decisions."""
        after, limit = _query(request, "after", 0), _query(request, "limit", 100, most=PAGE)
        found = self._page(grant, after, limit)
        return json_reply(DecisionsReply(found, found[-1].id if found else after))

    async def decision(self, request: Request, grant: Grant) -> Response:
        """One decision."""
        item = number_of(request.path_params["item"], "item")
        found = self._page(grant, item - 1, 1)
        if not found or found[0].id != item:
            raise RefusedError(404, "not_found", "the item must be one that was decided; it was not.", "item")
        return json_reply(found[0])

    def _page(self, grant: Grant, after: int, limit: int, labelled: bool = False) -> list[LoggedDecision]:
        labels = self.runtime.snapshot(grant.slug).settings.labels
        reader, found = self.runtime.reader(grant.slug), []
        for one in decisions_behind(self.runtime.store, grant.project, after, limit, labelled=labelled):
            event, made = one.event, unpack(one.event)
            assert isinstance(made, Decide)
            known = None if one.label is None else labels[one.label]
            head = (event.seq, one.external, event.at, made.t, labels[made.answer], made.score, made.chance, made.ask)
            found.append(LoggedDecision(*head, made.model, known, reader.record(one.payload)))
        return found

    async def events(self, request: Request, grant: Grant) -> Response:
        """The log behind an event; waits for news if there is none."""
        after, limit = _query(request, "after", 0), _query(request, "limit", 100, most=PAGE)
        wait = _query(request, "wait", 0, most=LONGEST_WAIT)
        if wait and self.runtime.snapshot(grant.slug).seq <= after:
            ends = self.runtime.clock_ends(wait)
            while self.runtime.snapshot(grant.slug).seq <= after and (left := ends()) > 0:
                if self.runtime.stopping():
                    break
                await self.runtime.next_commit(min(left, LOOK_EVERY))
        sql = (
            "SELECT seq, kind, at, item, actor, body, chain FROM event"
            " WHERE project = ? AND seq > ? ORDER BY seq LIMIT ?"
        )
        rows = self.runtime.store.connection.execute(sql, (grant.project, after, limit))
        found = [_logged(Event(*row)) for row in rows]
        return json_reply(EventsReply(found, found[-1].seq if found else after))

    async def export_jsonl(self, request: Request, grant: Grant) -> Response:
        """All rows as JSON lines."""
        pages = self._pages(request, grant)

        async def lines() -> AsyncIterator[bytes]:
            async for page in pages:
                yield b"".join(msgspec.json.encode(one) + b"\n" for one in page)

        return StreamingResponse(lines(), media_type="application/jsonl", headers=NO_STORE)

    async def export_csv(self, request: Request, grant: Grant) -> Response:
        """All rows as CSV, safe to be opened by a spreadsheet."""
        pages, columns = self._pages(request, grant), list(self.runtime.reader(grant.slug).columns)
        names = [name for name in LoggedDecision.__struct_fields__ if name != "row"]

        async def lines() -> AsyncIterator[bytes]:
            yield _csv([_header(names, columns)])
            async for page in pages:
                yield _csv([[*(getattr(d, n) for n in names), *((d.row or {}).get(c) for c in columns)] for d in page])

        return StreamingResponse(lines(), media_type="text/csv", headers=NO_STORE)

    def _pages(self, request: Request, grant: Grant) -> AsyncIterator[list[LoggedDecision]]:
        after = _query(request, "after", 0)
        only = request.query_params.get("only", "all")
        if only not in ("all", "labelled"):
            raise RefusedError(422, "bad_query", "only must be all or labelled; it is not.", "only")

        async def pages() -> AsyncIterator[list[LoggedDecision]]:
            last = after
            while page := self._page(grant, last, PAGE, only == "labelled"):
                last = page[-1].id
                yield page
                await asyncio.sleep(0)  # nothing else makes way for other requests while the reader is fast

        return pages()

    # -- settings and upkeep -----------------------------------------------------------------------------------------

    async def settings(self, request: Request, grant: Grant) -> Response:
        """The settings, and the event that said them."""
        snapshot = self.runtime.snapshot(grant.slug)
        return json_reply(SettingsReply(snapshot.settings_seq, msgspec.to_builtins(snapshot.settings)))

    async def set(self, request: Request, grant: Grant) -> Response:
        """Change settings."""
        changes = decoded(_CHANGES, await body_of(request))
        expected = header(request.scope["headers"], b"if-match")
        if expected is None or not expected.isdigit() or len(expected) > 18:
            message = "the request must say which settings it changes. Send: If-Match: <seq of GET settings>"
            raise RefusedError(400, "no_match", message, "If-Match")
        return json_reply(
            await self.runtime.run(SetJob(grant.slug, grant.person, changes=changes, expected=int(expected)))
        )

    async def health(self, request: Request) -> Response:
        """Alive."""
        return json_reply(StatusReply("alive"))

    async def ready(self, request: Request) -> Response:
        """Whether a write would be taken."""
        full = self.runtime.free_disk() < self.runtime.least_disk
        return json_reply(StatusReply("disk full" if full else "ready"), status=503 if full else 200)

    async def metrics(self, request: Request, grant: Grant) -> Response:
        """Prometheus metrics."""
        if not grant.token:
            raise RefusedError(401, "no_token", "the request must carry a token of _service; it does not.")
        text = self.runtime.metrics.text(self.runtime.writer)
        return Response(text, media_type="text/plain; version=0.0.4", headers=NO_STORE)

    async def openapi(self, request: Request) -> Response:
        """The description of all routes."""
        return Response(self._openapi, media_type="application/json", headers=NO_STORE)


def _logged(event: Event) -> LoggedEvent:
    body = {name: _plain(getattr(made, name)) for made in [unpack(event)] for name in made.__struct_fields__}
    return LoggedEvent(event.seq, Kind(event.kind).name.lower(), event.at, event.item, event.actor, body)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _header(names: list[str], columns: list[str]) -> list[str]:
    """Each name once: a column of the project that is called as one of ours has ``row.`` before it."""
    made = list(names)
    for column in columns:
        name = column
        while name in made or (name != column and name in columns):
            name = f"row.{name}"
        made.append(name)
    return made


def _csv(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([[safe_cell(cell) for cell in row] for row in rows])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _number(request: Request, name: str, least: float, most: float) -> float | None:
    text = request.query_params.get(name)
    if text is None or text == "":
        return None
    try:
        value = float(text) if len(text) <= 40 else math.nan
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise RefusedError(422, "bad_query", f"{name} must be a number from {least:g} to {most:g}; it is not.", name)
    return value


def _query(request: Request, name: str, default: int, *, most: int = 10**18) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise RefusedError(422, "bad_query", f"{name} must be a whole number; it is not.", name)
    return min(int(text), most)
