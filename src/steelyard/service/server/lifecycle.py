"""The running service: lock, store, writer, HTTP, timers; started and stopped as one."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import apsw
import uvicorn

from ...errors import StateError
from ...files import lock_file
from ..api.application import Api
from ..api.asgi import Entrance
from ..database.places import Place, open_place
from ..database.sqlite import DATABASE, SQLiteStore, open_database
from ..http.console import say
from ..http.deadline import DeadlineProtocol
from ..http.runtime import Runtime
from ..pages.page import page_refused
from ..pages.site import site_routes
from ..writer.clock import Clock
from ..writer.group_commit import Writer
from ..writer.jobs import ExpireJob, RefusedError, RenewJob, RetainJob

MOST_CONNECTIONS = 512
KEEP_ALIVE = 75
STOP_SECONDS = 10
EXPIRE_EVERY = 60.0
BUSY_MS = 50
LOOK_EVERY, QUIET = 0.2, 5  # seconds between two looks at the write-ahead log; looks without news before it is emptied
UVICORN: dict[str, Any] = {
    "http": DeadlineProtocol,
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "proxy_headers": False,  # else X-Forwarded-For is believed from loopback
    "server_header": False,
    "date_header": False,
    "limit_concurrency": MOST_CONNECTIONS,
    "timeout_keep_alive": KEEP_ALIVE,
    "timeout_graceful_shutdown": STOP_SECONDS,
}
DEFAULT_PORTS = {"http": 80, "https": 443}
IN_USE = 4  # exit code: another server holds the folder
Beside = Callable[[Runtime], Coroutine[Any, Any, None]]


class FolderInUseError(StateError):
    """Another server holds the folder."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold a data folder for the length of the block; raises FolderInUseError naming the holder."""
    held = lock_file(folder / DATABASE)
    try:
        held.__enter__()
    except StateError as error:
        raise FolderInUseError(str(error)) from None
    try:
        yield
    finally:
        held.__exit__(None, None, None)


class LogKeeper:
    """Moves the write-ahead log into the database from a connection of its own: a little at a time, all when idle.

    What is left of a long one the writer moves itself (:meth:`SQLiteStore.shorten_log`), most of it being done here.
    Only a log that nobody writes to is emptied: to cut the file takes the lock of the writer, for tens of milliseconds.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._stop = path, threading.Event()
        self._thread = threading.Thread(target=self._run, name="wal", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection = open_database(self._path)
        connection.set_busy_timeout(BUSY_MS)  # emptying the log holds writers up while it waits for a reader
        log, seen, quiet = Path(f"{self._path}-wal"), None, 0
        while not self._stop.wait(LOOK_EVERY):
            with suppress(apsw.BusyError, apsw.FullError):  # the next look will do
                # Differs after commits of other connections; the length does not where frames are written over.
                written = connection.pragma("data_version")
                quiet = quiet + 1 if written == seen else 0
                if not quiet:
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                elif quiet >= QUIET and log.stat().st_size:
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                seen = written
        connection.close()

    def stop(self) -> None:
        """End, and leave an empty write-ahead log."""
        self._stop.set()
        self._thread.join()


class Keeper(Protocol):
    """What runs beside the writer until it is stopped."""

    def stop(self) -> None:
        """End."""


def keeper_of(place: Place, store: SQLiteStore) -> Keeper:
    """Beside a file its write-ahead log is kept short; beside a database the leader shows that it lives."""
    if isinstance(place, Path):
        return LogKeeper(store.path)
    from ..database.postgres import Heartbeat, PostgresStore

    assert isinstance(store, PostgresStore)
    assert store.epoch is not None
    return Heartbeat(place, store.epoch)


class Service:
    """A data folder, or the database whose leader ``store`` is, being served."""

    def __init__(
        self,
        place: Place,
        sock: socket.socket,
        *,
        names: tuple[str, ...] = (),
        clock: Clock | None = None,
        secure: bool = False,
        proxied: bool = False,
        store: SQLiteStore | None = None,
    ) -> None:
        self.place, self.sock, self.clock, self._store = place, sock, clock or Clock(), store
        self.secure, self.proxied = secure, proxied
        address, port = sock.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        self.port = port
        scheme = "https" if secure and not proxied else "http"
        self.url = f"{scheme}://{shown}:{port}"
        self.hosts = {f"{shown}:{port}", f"localhost:{port}", *names}
        if port == DEFAULT_PORTS[scheme]:  # which clients leave out
            self.hosts |= {shown, "localhost"}
        self.runtime: Runtime | None = None
        self.server: uvicorn.Server | None = None

    def run(self, *, tls: tuple[str, str] | None = None, ready: Any = None, beside: Beside | None = None) -> None:
        """:meth:`serve` in an event loop of its own, uvloop's where there is one."""
        factory = self._config(None, None).get_loop_factory()
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(self.serve(tls=tls, ready=ready, beside=beside))

    async def serve(
        self, *, tls: tuple[str, str] | None = None, ready: Any = None, beside: Beside | None = None
    ) -> None:
        """Serve until SIGTERM or SIGINT; then finish the queue and keep checkpoints. ``beside`` runs along with it."""
        store = self._store or open_place(self.place)
        keeper = keeper_of(self.place, store)  # before the replay, which may take long
        writer = Writer(store, self.clock)
        reached = {"port": self.port, "secure": self.secure, "proxied": self.proxied}
        self.runtime = Runtime(self.place, writer, self.clock, self.hosts, **reached)
        writer.start()
        app = Api(self.runtime).app(site_routes(self.runtime), page_refused)
        app.state.runtime = self.runtime
        entrance = Entrance(self.runtime, app)
        self.server = uvicorn.Server(self._config(entrance, tls))
        self.runtime.stopping = lambda: self.server is not None and self.server.should_exit
        tasks = [asyncio.create_task(self._expire())]
        if beside is not None:
            tasks.append(asyncio.create_task(beside(self.runtime)))
            tasks[-1].add_done_callback(_say_failure)
        if ready is not None:
            asyncio.get_running_loop().call_soon(ready)
        try:
            with signals_outlived():
                await self.server.serve(sockets=[self.sock])
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(writer.stop)
            await asyncio.to_thread(keeper.stop)
            self.runtime.store.close()
            self.runtime.overviews.close()
            if isinstance(self.place, Path):
                store.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            store.close()

    def _config(self, app: Any, tls: tuple[str, str] | None) -> uvicorn.Config:
        certificate, key = tls or (None, None)
        return uvicorn.Config(app, **UVICORN, ssl_certfile=certificate, ssl_keyfile=key)

    async def _expire(self) -> None:
        """Close questions and erase rows whose time is over, and renew budgets, while the clock can be trusted."""
        assert self.runtime is not None
        said = 0.0
        while True:
            if self.clock.trusted():
                for slug in list(self.runtime.writer.projects):
                    for job in (ExpireJob(slug, 0), RenewJob(slug, 0), RetainJob(slug, 0)):
                        try:
                            await self.runtime.run(job)
                        except RefusedError:
                            continue  # busy or stopping: the next round will do
            elif time.monotonic() - said > 60:
                said = time.monotonic()
                say("the wall clock has jumped: no question is closed until it is back, or a restart")
            await asyncio.sleep(EXPIRE_EVERY)


def _say_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        traceback.print_exception(task.exception())


@contextmanager
def signals_outlived() -> Iterator[None]:
    """uvicorn stops at a signal and then raises it again; the queue has still to be finished after that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def bind(address: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made
