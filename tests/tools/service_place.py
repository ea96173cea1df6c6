"""A service with a project, an owner and an annotator, as the tests of its pages visit it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from service_bench import settings_of
from service_server import ThreadedServer, code_for, make_person, make_service

from steelyard.client import Client

Visits = Callable[[Any], list[dict[str, Any]]]
COLUMNS = {"amount": "number", "merchant": "category", "hour": "number", "message": "text", "note": "shown"}
LETTER = "\n".join(f"line {i} of a long letter" for i in range(80))
ROW = {"amount": 249.0, "merchant": "Cardhaus", "hour": 3, "message": "your parcel is held\npay fee", "note": "kept"}
READY = ["wait", "!document.getElementById('fields').hidden"]
EMPTY = ["wait", "document.getElementById('empty-said').textContent.startsWith('No question waits')"]
CLOSED = ["wait", "!document.querySelector('dialog[open]')"]  # the browser closes it a moment after Escape
SAVED = "document.querySelector('[data-saved]').dataset.saved"
KEPT = "document.querySelector('[data-kept]').dataset.kept"  # by the browser, so that they outlive the page
ASKING = {"columns": COLUMNS, "hash_bits": 8, "query": "AskAll()", "pace": False, "question": "Is this fraud?"}
LOG_OUT = """fetch('/logout', {method: 'POST', headers:
  {'X-CSRF-Token': document.querySelector('meta[name=csrf]').content}}).then((answer) => answer.status)"""
CUT = """window.fetch = ((real) => (url, options) => String(url).endsWith('/answers')
  ? Promise.reject(new TypeError('cut')) : real(url, options))(fetch)"""


class Place:
    """A server with a project, its owner and an annotator."""

    def __init__(self, folder: Path, server: ThreadedServer, tokens: dict[str, str], run: Visits) -> None:
        self.folder, self.server, self.tokens, self.run = folder, server, tokens, run
        self.owner = make_person(folder, "ann", {"_service": "owner"})
        self.annotator = make_person(folder, "bob", {"p": "annotator"})

    def push(self, *rows: dict[str, Any], project: str = "p", token: str | None = None) -> None:
        with Client(self.server.url, token or self.tokens["producer"], project) as client:
            for row in rows:
                assert client.decide(row)["ask"]

    def visit(self, person: int | None, *steps: list[Any], **more: Any) -> dict[str, Any]:
        """One visit, without a word on the console, a violated policy or a request to elsewhere."""
        code = None if person is None else code_for(self.folder, person)
        (found,) = self.run({"url": self.server.url, "visits": [{"code": code, "steps": steps, **more}]})
        assert found["said"] == []
        assert found["foreign"] == []
        assert found["violations"] == []
        return found


@contextmanager
def served(folder: Path, run: Visits, **changes: Any) -> Iterator[Place]:
    """A place whose project has other settings too; it asks about every row."""
    tokens = make_service(folder, settings=settings_of(**ASKING | changes))
    with ThreadedServer(folder) as server:
        yield Place(folder, server, tokens, run)


def seen(found: dict[str, Any]) -> list[Any]:
    """What a visit's looks have found."""
    return [result for result in found["results"] if result is not None]
