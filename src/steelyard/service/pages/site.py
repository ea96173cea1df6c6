"""All pages of the service."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..http.runtime import Runtime
from ..people.access import SERVICE
from .label import label_routes
from .login import Login
from .owner import owner_routes
from .page import page, page_route, runtime_of, static, visitor


def site_routes(runtime: Runtime) -> list[Route]:
    """The routes of all pages, and of the files they load."""
    return [
        Route("/static/{digest}/{name}", static),
        page_route("/", start),
        page_route("/new", new),
        *Login(runtime).routes(),
        *owner_routes(),
        *label_routes(),
    ]


async def start(request: Request) -> Response:
    """The projects one may see."""
    session, runtime = visitor(request), runtime_of(request)
    found = []
    for head in runtime.store.projects():
        roles = runtime.access.roles(session.person, head.slug)[1]
        if roles:
            found.append({"slug": head.slug, "roles": sorted(roles), "snapshot": await runtime.loaded(head.slug)})
    return page(request, "start.html", projects=found, service=SERVICE)


async def new(request: Request) -> Response:
    """A new project from a file; for owners of the service."""
    session, runtime = visitor(request), runtime_of(request)
    runtime.allow_session(request.scope["headers"], session, SERVICE, ("owner",), request.method)
    return page(request, "new.html")
