"""The page on which people answer questions."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..http.routes import ANNOTATOR
from ..log.settings import ProjectSettings
from ..writer.projects import first_event
from .page import member, page, page_route, runtime_of, visitor


def label_routes() -> list[Route]:
    """The one page."""
    return [page_route("/p/{project}/label", label)]


async def label(request: Request) -> Response:
    """One question after the other; the script fetches them and sends what is answered."""
    grant = await member(request, ANNOTATOR)
    runtime, session = runtime_of(request), visitor(request)
    snapshot = runtime.snapshot(grant.slug)
    settings = snapshot.settings
    head = runtime.store.project(grant.slug)
    assert head is not None
    first = first_event(runtime.store, head)
    given = {
        "project": grant.slug,
        "log": first.chain.hex(),  # another folder at the same address must not be sent this one's answers
        "person": session.person,
        "question": settings.question,
        "guide": settings.guide,
        "classes": list(settings.classes),
        "positive": settings.labels[-1] if len(settings.classes) == 2 else None,
        "columns": [{"name": name, "kind": kind} for name, kind in runtime.reader(grant.slug).columns.items()],
        "stake": stake(settings),
        "undo": settings.undo,
        "budget": snapshot.limit,
        "spent": snapshot.spent,
        "waiting": snapshot.open,
    }
    shown: dict[str, Any] = {"given": msgspec.json.encode(given).decode(), "settings": settings, "counts": snapshot}
    return page(request, "label.html", slug=grant.slug, role=grant.role, **shown)


def stake(settings: ProjectSettings) -> str:
    """What a mistake costs, in a sentence."""
    matrix, labels = settings.cost_matrix(), settings.labels
    if len(labels) == 2:
        fn, fp = matrix[1, 0] - matrix[1, 1], matrix[0, 1] - matrix[0, 0]
        kinds = f"{labels[1]} taken for {labels[0]}", f"{labels[0]} taken for {labels[1]}"
        return f"fn {_price(fn)} ({kinds[0]}), fp {_price(fp)} ({kinds[1]})"
    true, said = divmod(int(matrix.argmax()), len(labels))
    return f"at most {_price(matrix.max())} ({labels[true]} taken for {labels[said]})"


def _price(value: float) -> str:
    """A cost as it was typed; a difference of two without the noise of its last bits."""
    return f"{value:.13g}"
