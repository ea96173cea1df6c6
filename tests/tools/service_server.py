"""A real server on a free port of loopback, in a thread or as a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import threading
import time
from pathlib import Path

from forked import Forked
from service_bench import settings_of

from steelyard.client import Client
from steelyard.service.database.places import open_place
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.settings import ProjectSettings
from steelyard.service.people.access import ROLES, make_token
from steelyard.service.people.accounts import add_person, give_role, make_link
from steelyard.service.server.lifecycle import Service, bind
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.projects import create_project


def make_service(folder: Path | str, slug: str = "p", settings: ProjectSettings | None = None) -> dict[str, str]:
    """A project with a token for each role."""
    store, now = open_place(folder), Clock().now()
    create_project(store, slug, settings or settings_of(), at=now)
    tokens = {role: make_token(store, slug, role, at=now) for role in ROLES}
    tokens["metrics"] = make_token(store, "_service", "reader", at=now)
    tokens["desk"] = make_token(store, "_service", "owner", at=now)
    store.close()
    return tokens


class ThreadedServer:
    """Serves until the block ends."""

    def __init__(self, folder: Path, clock: Clock | None = None, *, beside=None, **reached: bool) -> None:
        self.service, self.beside = Service(folder, bind("127.0.0.1", 0), clock=clock, **reached), beside
        self.url = self.service.url.replace("https:", "http:")  # what encrypts stands elsewhere
        self.clients: list[Client] = []
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.service.run(ready=self.ready.set, beside=self.beside)

    def __enter__(self):
        self.thread.start()
        assert self.ready.wait(60)
        while not self.service.server.started:
            time.sleep(0.01)
        return self

    def client(self, token: str) -> Client:
        """A client that is closed with the server."""
        self.clients.append(Client(self.url, token, "p"))
        return self.clients[-1]

    def __exit__(self, *error):
        for client in self.clients:
            client.close()
        self.service.server.should_exit = True
        self.thread.join(60)


class Visitor:
    """Somebody with a browser's cookie and the value of its pages."""

    def __init__(self, url: str, cookie: str) -> None:
        self.url, self.cookie = url, cookie
        self.csrf = self.page("/people")[2].decode().partition('name="csrf" content="')[2][:64]

    def page(self, path: str, **more):
        """A page: status, headers, bytes."""
        return call(self.url, "GET", path, headers={"Cookie": self.cookie, "Accept": "text/html"} | more)

    def send(self, method: str, path: str, body=None, headers=None):
        """A write as a page makes it; a header of None is left out."""
        sent = {"Cookie": self.cookie, "Origin": self.url, "X-CSRF-Token": self.csrf, "Sec-Fetch-Site": "same-origin"}
        sent |= headers or {}
        sent = {name: value for name, value in sent.items() if value is not None}
        return call(self.url, method, path, body=body, headers=sent)


def make_person(folder: Path, name: str, roles: dict[str, str]) -> int:
    """A person with a role in each of some projects; the number."""
    store, now = SQLiteStore(folder), Clock().now()
    with store.transaction():
        person = add_person(store, name, at=now)
        for slug, role in roles.items():
            give_role(store, person, slug, role, given=True, at=now)
    store.close()
    return person


def code_for(folder: Path, person: int, clock: Clock | None = None) -> str:
    """The code of a new one-time link."""
    store = SQLiteStore(folder)
    with store.transaction():
        code = make_link(store, person, at=(clock or Clock()).now())
    store.close()
    return code


def visit(server: ThreadedServer, folder: Path, person: int) -> Visitor:
    """Somebody logged in by a link."""
    sent = {"code": code_for(folder, person, server.service.clock)}
    status, headers, _ = call(server.url, "POST", "/login/link", body=sent, headers={"Origin": server.url})
    assert status == 204
    return Visitor(server.url, headers["set-cookie"].partition(";")[0])


PATIENCE = 120.0  # seconds till a server must have ended
SERVE = """
import sys
from pathlib import Path
from steelyard.service.commands.serve import run_serve
{extra}
place = sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1])
sys.exit(run_serve(place, "127.0.0.1", int(sys.argv[2]), [], None, None))
"""


class ServerProcess:
    """``steelyard serve`` as a process that can be killed; each start is a fork of one that has everything imported."""

    def __init__(self, folder: Path | str, port: int, *, extra: str = "") -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._given = SERVE.format(extra=extra), folder, port
        self._process: Forked | None = None

    def start(self) -> bool:
        """Whether it serves; False if it has ended at once."""
        self.close()
        self._process = Forked(*self._given, modules=("steelyard.service.commands.serve",))
        return self._process.stdout.readline().startswith("serving")

    def end(self) -> int:
        """The exit code, once it has ended; a server that does not end is killed, and its code says so."""
        late = threading.Timer(PATIENCE, os.kill, (self._process.pid, signal.SIGKILL))
        late.start()
        try:
            return self._process.wait()
        finally:
            late.cancel()

    def send(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self._process.pid, number)

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.send(number)
        return self.end()

    def close(self) -> None:
        """Close the pipes of the last one, which has ended."""
        if self._process is not None:
            self._process.close()
            self._process = None


_PORTS = itertools.count(10_000 + os.getpid() * 97 % 20_000)  # below those that the system gives out by itself


def free_port() -> int:
    """A port that no connection and no other test gets, while a killed server is started anew on it."""
    for port in _PORTS:
        with contextlib.suppress(OSError), contextlib.closing(bind("127.0.0.1", port)):
            return port
    raise AssertionError("unreachable")


def call(url: str, method: str, path: str, *, token=None, body=None, headers=None):
    """One request: status, headers, JSON or bytes."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    given = dict(headers or {})
    if token:
        given["Authorization"] = f"Bearer {token}"
    sent = body
    if body is not None and not isinstance(body, bytes):
        sent = json.dumps(body).encode()
    if sent is not None:
        given.setdefault("Content-Type", "application/json")
    with contextlib.closing(connection):  # also where the server was killed meanwhile
        connection.request(method, path, sent, given)
        response = connection.getresponse()
        raw = response.read()
    kind = response.headers.get("content-type", "")
    said = json.loads(raw) if raw and kind == "application/json" else raw
    return response.status, {name.lower(): value for name, value in response.getheaders()}, said
