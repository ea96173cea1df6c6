"""An HTTP protocol that cuts whoever sends or reads too slowly, and takes some requests without a task.

uvicorn itself waits for ever.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

__all__ = ["STATUS_LINE", "WHOLE", "DeadlineProtocol"]

HEAD_SECONDS = 5.0  # from the connection, or the first byte of a request, to the end of its head
BODY_SECONDS = 30.0  # from there to the end of the body
READER_SECONDS = 30.0  # for which a client may leave what it asked for unread
MOST_HEADERS = 32
MOST_HEADER_BYTES = 8192
WHOLE = "steelyard.whole"  # the extension of a request's scope that sends head and body in one piece

Answer = Callable[[bytes, bytes], None]  # takes a head (status line and headers, each with its line end) and a body
Begin = Callable[[bytes, Answer], None]  # takes the body of a request
Direct = Callable[[bytes, list[tuple[bytes, bytes]]], Begin | None]


def _send_whole(found: ref[RequestResponseCycle], head: bytes, body: bytes) -> bool:
    """Send a whole answer by one write, as uvicorn would by two; False if it must be sent the ordinary way.

    ``found`` is the request, which holds this function in its scope: by a strong reference every request would be a
    cycle that only the collector frees. ``head``: status line and headers, each with its line end.
    """
    cycle = found()
    if cycle is None or cycle.flow.write_paused or cycle.disconnected or cycle.response_started:
        return False
    cycle.response_started = cycle.response_complete = True
    _write(cycle, cycle.transport, head, body)
    cycle.message_event.set()
    cycle.on_response()
    return True


def _write(cycle: RequestResponseCycle | DirectCycle, transport: asyncio.Transport, head: bytes, body: bytes) -> None:
    last = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    transport.write(head + last + body)
    if not cycle.keep_alive:
        transport.close()


class DirectCycle:
    """A request without a task, in the place of uvicorn's cycle: what its protocol looks at, and nothing else."""

    __slots__ = ("begin", "body", "disconnected", "keep_alive", "response_complete")

    def __init__(self, begin: Begin, keep_alive: bool) -> None:
        self.begin: Begin | None = begin
        self.keep_alive = keep_alive
        self.body = b""
        self.disconnected = self.response_complete = False

    @property
    def message_event(self) -> DirectCycle:
        """Nobody waits for its body."""
        return self

    def set(self) -> None:
        """Something has come, or nothing will."""


class DeadlineProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a timer for each of the three; whoever is late is disconnected.

    An app may have a method ``direct``, which gets the target and the headers of a POST and says what takes its body;
    None for the ordinary way. Scope, task and the waiting in it cost more than all that is done for a row or an answer.
    """

    head_seconds, body_seconds, reader_seconds = HEAD_SECONDS, BODY_SECONDS, READER_SECONDS
    _sending: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _between = True  # no byte of the next request has come
    _in_body = False  # its head has come
    _head_bytes = 0  # that came of a head behind the piece it began in
    _piece = 0  # bytes that came last
    _data = b""  # the same, while they are read
    _in_pieces = False  # they continue a head that came in part

    def connection_made(self, transport: Any) -> None:
        """The head must come."""
        self._earlier: deque[RequestResponseCycle] = deque()  # unanswered when another request came behind them
        self._app_direct: Direct | None = getattr(self.app, "direct", None)
        super().connection_made(transport)
        self._await(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._stop_sending()
        self._stop_reading()
        for cycle in self._earlier:  # uvicorn tells the newest alone; the one that is answered would go on writing
            cycle.disconnected = cycle.disconnected or not cycle.response_complete
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The first byte of a request begins its time; one that comes whole, as most do, needs no timer."""
        self._in_pieces = not (self._between or self._in_body)
        self._between, self._piece, self._data = False, len(data), data
        super().data_received(data)
        self._data = b""
        if self._between:
            self._stop_sending()
            return
        if self._in_pieces and not self._in_body:
            self._head_bytes += self._piece
            if self._head_bytes > MOST_HEADER_BYTES:
                self._abort()
        if self._sending is None and not self.transport.is_closing():
            self._await(self.body_seconds if self._in_body else self.head_seconds)

    def _should_upgrade(self) -> bool:
        """Whether the parser has stopped at a head that asks for another protocol, as some clients do by habit."""
        return bool(self.parser.get_method() != b"CONNECT")

    def handle_websocket_upgrade(self) -> None:
        """Read such a request on without that wish, of which a server need not take notice: its body comes behind."""
        stopped = sys.exception()
        assert isinstance(stopped, httptools.HttpParserUpgrade)
        rest = self._data[stopped.args[0] :]
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        lines += [b"%b: %b" % (name, value) for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        HttpToolsProtocol.data_received(self, b"\r\n".join([*lines, b"", b""]) + rest)

    def on_message_begin(self) -> None:
        """A request begins, perhaps behind another one that came with it."""
        self._between, self._head_bytes = False, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The body must come, in a time of its own; heads have a size, looked at once and not at every header."""
        self._stop_sending()
        small = self._piece <= MOST_HEADER_BYTES and not self._in_pieces  # as most requests are, with their bodies
        size = 0 if small else sum(len(name) + len(value) for name, value in self.headers)
        if len(self.headers) > MOST_HEADERS or size > MOST_HEADER_BYTES:
            self._abort()
            raise ValueError("the head of a request is too large")  # ends the parsing: nobody is asked
        self._in_body, before = True, self.cycle
        begin = self._direct(before)
        if begin is not None:
            keep_alive = self.parser.should_keep_alive() and self.parser.get_http_version() != "1.0"
            self.cycle = DirectCycle(begin, keep_alive)  # type: ignore[assignment]
            return
        super().on_headers_complete()
        if before is not None and not before.response_complete:
            while self._earlier and self._earlier[0].response_complete:
                self._earlier.popleft()
            self._earlier.append(before)

    def _direct(self, before: RequestResponseCycle | None) -> Begin | None:
        """What takes the body of the request whose head has come; None: the ordinary way.

        That is also the way of whoever does not read: there would be no end to what is kept for them.
        """
        direct = self._app_direct
        if (
            direct is None
            or self.expect_100_continue
            or self.flow.write_paused
            or (before is not None and not before.response_complete)
            or (self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency)
            or self.parser.get_method() != b"POST"
            or self.parser.should_upgrade()
        ):
            return None
        return direct(self.url, self.headers)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.scope["extensions"] = {WHOLE: partial(_send_whole, ref(cycle))}  # type: ignore[dict-item]
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        cycle = self.cycle
        if isinstance(cycle, DirectCycle):
            cycle.body = cycle.body + body if cycle.body else body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it is here."""
        self._between, self._in_body = True, False
        cycle = self.cycle
        if not isinstance(cycle, DirectCycle) or cycle.begin is None:  # that of an earlier request, behind a wish
            super().on_message_complete()
            return
        begin, cycle.begin = cycle.begin, None
        try:
            begin(cycle.body, partial(self._answer, cycle))
        except Exception as error:  # else the parser takes it for a mistake of the sender
            self.logger.error("a request could not be started", exc_info=error)
            self._abort()

    def _answer(self, cycle: DirectCycle, head: bytes, body: bytes) -> None:
        if not cycle.disconnected:
            cycle.response_complete = True
            _write(cycle, self.transport, head, body)
            self.on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.reader_seconds, self._abort)

    def resume_writing(self) -> None:
        """It does."""
        self._stop_reading()
        super().resume_writing()

    def _await(self, seconds: float) -> None:
        self._stop_sending()
        self._sending = self.loop.call_later(seconds, self._abort)

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _abort(self) -> None:
        self.transport.abort()
