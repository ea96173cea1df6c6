"""Slow heads, bodies and readers are cut on time while others are served."""

from __future__ import annotations

import contextlib
import os
import socket
import time

import pytest
from service_bench import settings_of
from service_server import ThreadedServer, call, make_service

from steelyard.service.http.deadline import DeadlineProtocol

SLOW = int(os.environ.get("STEELYARD_SERVICE_SLOW", "60"))


@pytest.fixture
def quick_deadlines(monkeypatch):
    """The same timers, shorter."""
    for name in ("head_seconds", "body_seconds", "reader_seconds"):
        monkeypatch.setattr(DeadlineProtocol, name, 1.0)


def is_cut(sock: socket.socket, seconds: float) -> bool:
    """Whether the server ends the connection, within so many seconds."""
    sock.settimeout(0.5)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if not sock.recv(65536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def drips(sock: socket.socket, seconds: float) -> bool:
    """Send a byte now and then; whether the server ends the connection."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            sock.sendall(b"a")
        except OSError:
            return True
        time.sleep(0.2)
    return False


def test_slow_senders_are_cut_and_others_served(folder, quick_deadlines):
    tokens = make_service(folder)
    with ThreadedServer(folder) as server, contextlib.ExitStack() as held:
        host, port = server.url.removeprefix("http://").split(":")
        kinds = [
            b"",  # silence
            b"GET /heal",  # half of a head
            b"GET /health HTTP/1.1\r\nX-A: ",  # a head that never ends
            f"POST /v1/p/decide HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {tokens['producer']}\r\n"
            "Content-Type: application/json\r\nIdempotency-Key: a\r\nContent-Length: 100\r\n\r\n{".encode(),
        ]
        socks = []
        for n in range(SLOW):
            sock = held.enter_context(socket.create_connection((host, int(port))))
            sock.sendall(kinds[n % len(kinds)])
            socks.append(sock)
        assert call(server.url, "GET", "/health")[0] == 200
        dripping = held.enter_context(socket.create_connection((host, int(port))))
        dripping.sendall(kinds[2])
        assert drips(dripping, 30)
        assert all(is_cut(sock, 30) for sock in socks)
        assert call(server.url, "GET", "/v1/p/summary", token=tokens["reader"])[2]["rows"] == 0


@pytest.mark.parametrize("requests", [1, 3])
def test_a_reader_that_sleeps_is_cut(folder, quick_deadlines, caplog, requests):
    tokens = make_service(folder, settings=settings_of(columns={"x": "number", "note": "shown"}))
    with ThreadedServer(folder) as server:
        list(server.client(tokens["producer"]).decide_many([{"x": 1, "note": "n" * 5000}] * 2000))
        host, port = server.url.removeprefix("http://").split(":")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((host, int(port)))
        head = f"GET /v1/p/export.jsonl HTTP/1.1\r\nHost: {host}:{port}\r\n"
        sock.sendall(f"{head}Authorization: Bearer {tokens['reader']}\r\n\r\n".encode() * requests)
        connections = server.service.server.server_state.connections
        end = time.monotonic() + 30
        while not connections and time.monotonic() < end:
            time.sleep(0.01)
        while connections and time.monotonic() < end:
            time.sleep(0.1)
            for client in server.clients:
                client.close()
        assert not connections, "the sleeping reader is still there"
        assert call(server.url, "GET", "/health")[0] == 200
        sock.close()
    assert [record.getMessage() for record in caplog.records] == []  # it is no error of the service


def test_heads_have_a_size(folder):
    make_service(folder)
    with ThreadedServer(folder) as server:
        for headers in ({f"X-{n}": "a" for n in range(40)}, {"X-A": "a" * 9000}):
            with pytest.raises(OSError, match=r"\S|^$"):
                call(server.url, "GET", "/health", headers=headers)
        assert call(server.url, "GET", "/health")[0] == 200
