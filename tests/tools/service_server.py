"""A real server on a free port of loopback, in a thread or as a process of its own."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

from service_bench import settings_of

from steelyard.client import Client
from steelyard.service.access import ROLES, make_token
from steelyard.service.clock import Clock
from steelyard.service.people import add_person, give_role, make_link
from steelyard.service.places import open_place
from steelyard.service.projects import create_project
from steelyard.service.server import Service, bind
from steelyard.service.settings import ProjectSettings
from steelyard.service.sqlite import SQLiteStore


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
FORKS = """
import json, os, signal, socket, sys
from pathlib import Path
from steelyard.service.command import run_serve

def serve(place, port, extra, environment):
    os.environ.clear()
    os.environ.update(environment)
    exec(extra, globals())
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(run_serve(place if "://" in place else Path(place), "127.0.0.1", port, [], None, None))
        print("child", child, flush=True)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print("ended", code, flush=True)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that start servers
door = socket.socket(fileno=int(sys.argv[1]))
while True:
    asked, pipes, _, _ = socket.recv_fds(door, 1 << 20, 3)
    if not asked:
        break
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        door.close()
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        serve(*json.loads(asked))
        os._exit(0)
    for pipe in pipes:
        os.close(pipe)
    door.send(b".")
"""


class Forks:
    """A process that has imported the service, once for all tests of a run: what starts servers is forked from it."""

    def __init__(self) -> None:
        self.door, inside = socket.socketpair()
        command = [sys.executable, "-c", FORKS, str(inside.fileno())]
        quiet = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "env": os.environ | {"OMP_NUM_THREADS": "1"},
        }
        self.process = subprocess.Popen(command, pass_fds=[inside.fileno()], **quiet)
        inside.close()

    def ask(self, *given, pipes: list[int]) -> None:
        """Another one, with these ends of pipes for its input, output and errors."""
        socket.send_fds(self.door, [json.dumps(given).encode()], pipes)
        assert self.door.recv(1) == b"."

    def close(self) -> None:
        self.door.close()
        self.process.wait(60)


@cache
def forks() -> Forks:
    made = Forks()
    atexit.register(made.close)
    return made


class ServerProcess:
    """``steelyard serve`` as a process that can be killed; each start is a fork of one that has everything imported."""

    def __init__(self, folder: Path | str, port: int, *, extra: str = "") -> None:
        self.url = f"http://127.0.0.1:{port}"
        (stdin, told), (heard, stdout), (complained, stderr) = os.pipe(), os.pipe(), os.pipe()
        environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
        forks().ask(str(folder), port, extra, environment, pipes=[stdin, stdout, stderr])
        for end in (stdin, stdout, stderr):
            os.close(end)
        self.stdin, self.stdout, self.stderr = os.fdopen(told, "w"), os.fdopen(heard), os.fdopen(complained)
        self.child = 0

    def start(self) -> bool:
        """Whether it serves; False if it has ended at once."""
        self.stdin.write("start\n")
        self.stdin.flush()
        lines = [self.stdout.readline(), self.stdout.readline()]
        self.child = int(next(line for line in lines if line.startswith("child")).split()[1])
        return any(line.startswith("serving") for line in lines)

    def end(self) -> int:
        """The exit code, once it has ended; a server that does not end is killed, and its code says so."""
        late = threading.Timer(PATIENCE, os.kill, (self.child, signal.SIGKILL))
        late.start()
        try:
            while not (line := self.stdout.readline()).startswith("ended"):
                assert line, self.stderr.read()
        finally:
            late.cancel()
        return int(line.split()[1])

    def kill(self, number: int = signal.SIGKILL) -> int:
        os.kill(self.child, number)
        return self.end()

    def close(self) -> None:
        self.stdin.close()
        self.stdout.read()  # until it has ended
        self.stdout.close()
        self.stderr.close()


def free_port() -> int:
    with contextlib.closing(bind("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


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
