"""A second process beside the leader of a database: it says where the leader is, and takes over when that has gone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import psycopg
import uvicorn

from ..database.postgres import SILENCE, PostgresStore, open_patiently
from ..writer.jobs import Problem
from .lifecycle import UVICORN, signals_outlived

EVERY = 0.5  # seconds between two tries


class Standby:
    """Answers every request with 503 and the leader's address until it leads itself."""

    def __init__(self, url: str, address: str) -> None:
        self.url, self.address, self.leader = url, address, ""

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        alive = scope["path"] == "/health"
        message = f"this process waits as standby; the leader is at {self.leader or 'an unknown address'}. Try there."
        body = b'{"status":"standby"}' if alive else msgspec.json.encode(Problem("standby", message, self.leader))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"retry-after", b"1"),
            (b"leader", self.leader.encode("ascii", "replace")),
        ]
        await send({"type": "http.response.start", "status": 200 if alive else 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def wait(self, sock: socket.socket, ready: Callable[[], None]) -> PostgresStore | None:
        """The store of the leader this process has become; None if it was stopped first."""
        store = await asyncio.to_thread(open_patiently, self.url)
        if store.lead(self.address):
            return store
        server = uvicorn.Server(uvicorn.Config(self, **UVICORN))
        self.leader = store.leader()[0]
        ready()
        with signals_outlived():
            serving = asyncio.create_task(server.serve(sockets=[sock.dup()]))
            found = await self._try(store, serving)
            server.should_exit = True
            await serving
        return found

    async def _try(self, store: PostgresStore, serving: asyncio.Task[None]) -> PostgresStore | None:
        while not serving.done():
            try:
                if await asyncio.to_thread(store.lead, self.address):
                    return store
                self.leader, silent = await asyncio.to_thread(store.leader)
                if silent > SILENCE:
                    await asyncio.to_thread(store.dismiss)
            except psycopg.OperationalError:  # the database was started anew
                with contextlib.suppress(psycopg.Error):
                    store.close()
                store = await asyncio.to_thread(open_patiently, self.url)
            await asyncio.wait([serving], timeout=EVERY)
        store.close()
        return None
