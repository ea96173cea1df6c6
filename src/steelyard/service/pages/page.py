"""What all pages share: who is looking, how a page is rendered, its headers, and the files it loads."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..http.runtime import Runtime
from ..log.records import cell_text
from ..people.access import Grant, Session
from ..writer.jobs import RefusedError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # under no-referrer Chromium sends `Origin: null` for a form, and login breaks
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
FOR_EVER = "public, max-age=31536000, immutable"
SHARED = ("tokens.css", "uPlot.min.css", "uPlot.iife.min.js")  # of the report: one look for all pages
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
NOTES = {  # what a page may say about the act that led to it
    "password": "Your password is set. All other sessions have ended.",
    "logged-out": "You are logged out. Answers in the outbox of this browser stay there until you log in again.",
}
Handler = Callable[[Request], Awaitable[Response]]


class StaticFile(NamedTuple):
    """A file that pages load, plain and compressed."""

    kind: str
    plain: bytes
    packed: bytes


@cache
def static_files() -> dict[str, StaticFile]:
    """Every file of static/, and what is shared with the report; read once."""
    here, report = files(__package__) / "static", files("steelyard") / "report" / "assets"
    raw = {file.name: file.read_bytes() for file in here.iterdir() if file.name.rpartition(".")[2] in _KINDS}
    raw |= {name: (report / name).read_bytes() for name in SHARED}
    return {
        name: StaticFile(_KINDS[name.rpartition(".")[2]], text, gzip.compress(text, 9, mtime=0))
        for name, text in sorted(raw.items())
    }


@cache
def static_digest() -> str:
    """Of all these files: it stands in their addresses, so a browser keeps them until one of them changes."""
    total = sha256()
    for name, file in static_files().items():
        total.update(name.encode() + b"\0" + sha256(file.plain).digest())
    return total.hexdigest()[:16]


async def static(request: Request) -> Response:
    """One of these files."""
    file = static_files().get(request.path_params["name"])
    if file is None or request.path_params["digest"] != static_digest():
        raise HTTPException(404)
    headers = HEADERS | {"cache-control": FOR_EVER, "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers=headers | {"content-encoding": "gzip"}, media_type=file.kind)
    return Response(file.plain, headers=headers, media_type=file.kind)


@cache
def templates() -> Environment:
    """The pages; whatever is put into them is escaped."""
    made = Environment(
        loader=PackageLoader(__package__, "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["exact"] = cell_text  # a field sends back what it holds, so no digit may be missing
    made.globals["static"] = lambda name: f"/static/{static_digest()}/{name}"
    return made


def runtime_of(request: Request) -> Runtime:
    """The running service."""
    found: Runtime = request.app.state.runtime
    return found


def page(request: Request, template: str, /, *, status: int = 200, **context: Any) -> Response:
    """A page from its template; ``session`` is who looks (None: nobody), ``note`` what it says at its head."""
    runtime = runtime_of(request)
    session = runtime.session(request.scope["headers"])
    note = request.query_params.get("note", "")
    shared = {
        "session": session,
        "owns_service": session is not None and runtime.access.owns_service(session.person),
        "path": request.url.path,
        "note": None if note == "logged-out" and session is not None else NOTES.get(note),
    }
    text = templates().get_template(template).render(shared | context)
    runtime.metrics.statuses[status] += 1
    return Response(text, status, HEADERS, "text/html")


def visitor(request: Request) -> Session:
    """Who is logged in; raises RefusedError 401 if nobody is."""
    session = runtime_of(request).session(request.scope["headers"])
    if session is None:
        raise RefusedError(401, "no_session", "you must be logged in; you are not.")
    return session


async def member(request: Request, roles: tuple[str, ...]) -> Grant:
    """What the visitor may do in the project of the address: 401, 404 and 403 as for every route."""
    runtime, slug = runtime_of(request), request.path_params["project"]
    grant = runtime.allow_session(request.scope["headers"], visitor(request), slug, roles, request.method)
    await runtime.loaded(slug)
    return grant


def page_route(path: str, handler: Handler, methods: tuple[str, ...] = ("GET",)) -> Route:
    """A route whose refusals are pages: nobody logged in leads to the login, everything else is said."""

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(request)
        except RefusedError as error:
            if error.status == 401 and request.method == "GET":
                query = f"?{request.url.query}" if request.url.query else ""
                return RedirectResponse(f"/login?next={quote(request.url.path + query, safe='')}", 303, HEADERS)
            return error_page(request, error.status, error.message)

    return Route(path, endpoint, methods=list(methods))


_TITLES = {403: "Not allowed", 404: "Not found", 405: "Not possible", 429: "Too many tries"}


def error_page(request: Request, status: int, message: str) -> Response:
    """What was wrong, in words."""
    words = message[:1].upper() + message[1:]
    return page(request, "error.html", status=status, title=_TITLES.get(status, "Refused"), message=words)


async def page_refused(request: Request, error: Exception) -> Response:
    """For an address that is not there, or a method it has not; one that ends in a slash leads to that without it."""
    path = request.url.path
    if path.endswith("/") and path.strip("/") and request.method in ("GET", "HEAD"):
        return RedirectResponse(f"/{path.strip('/')}", 303, HEADERS)  # a path alone: a proxy may speak https
    status = 405 if isinstance(error, HTTPException) and error.status_code == 405 else 404
    words = "This address takes another method." if status == 405 else "There is nothing at this address."
    return error_page(request, status, words)
