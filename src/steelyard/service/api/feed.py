"""Server-sent events: the overview of a project whenever there is news, at most once a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import msgspec
from starlette.responses import StreamingResponse

from ..http.runtime import Runtime
from ..numbers.overview import LiveReply
from ..writer.jobs import RefusedError

MOST_FEEDS = 64
EVERY = 1.0  # seconds between two messages at least
HEARTBEAT = 15.0  # seconds without news after which a feed shows that it lives
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "x-accel-buffering": "no"}


class Feeds:
    """The open feeds of a server; a browser has six connections an origin, so pages close theirs in hidden tabs."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, self.open = runtime, 0

    def follow(self, slug: str, allowed: Callable[[], object], *, after: int, count: int | None) -> StreamingResponse:
        """A feed of a project behind event ``after``; ends after ``count`` messages, and when it is not allowed."""
        if self.open >= MOST_FEEDS:
            raise RefusedError(429, "too_many_feeds", f"fewer than {MOST_FEEDS} feeds must be open. Close a tab.")
        return StreamingResponse(
            self._messages(slug, allowed, after, count), media_type="text/event-stream", headers=HEADERS
        )

    async def _messages(
        self, slug: str, allowed: Callable[[], object], after: int, count: int | None
    ) -> AsyncIterator[bytes]:
        runtime, sent = self.runtime, 0
        self.open += 1
        try:
            yield b"retry: 2000\n\n"
            spoken = time.monotonic()
            while not runtime.stopping() and (count is None or sent < count):
                if runtime.snapshot(slug).seq <= after:
                    await runtime.next_commit(EVERY)
                    if time.monotonic() - spoken >= HEARTBEAT:
                        spoken = time.monotonic()
                        yield b": nothing new\n\n"
                    continue
                allowed()
                live = await runtime.overviews.live(slug)
                after, sent, spoken = max(after + 1, live.events), sent + 1, time.monotonic()
                yield message(live)
                if count is None or sent < count:
                    await asyncio.sleep(EVERY)
        except RefusedError:
            return  # the session or token has ended
        finally:
            self.open -= 1


def message(live: LiveReply) -> bytes:
    """One event of a feed; its id is what a browser sends as Last-Event-ID when it comes back."""
    return b"id: %d\nevent: live\ndata: %s\n\n" % (live.events, msgspec.json.encode(live))
