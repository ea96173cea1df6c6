"""Every write sent one to five times, out of order, cut after it was sent: one effect each."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import threading

from service_bench import made_up, settings_of
from service_server import ThreadedServer, make_service

from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.events import Kind, unpack
from steelyard.service.writer.verify import verify_project

REQUESTS = int(os.environ.get("STEELYARD_SERVICE_REQUESTS", "2000"))
THREADS = 8


def cut(url, path, token, key, body):
    """Send a whole request and hang up without reading the answer."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as sock:
        head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
        head += f"Content-Type: application/json\r\nIdempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
        sock.sendall(head.encode() + body)


class Sender:
    """One connection; a write is (path, token, key, body)."""

    def __init__(self, url):
        self.url = url
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)

    def send(self, path, token, key, body):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
        self.connection.request("POST", path, body, headers)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())


def in_threads(url, writes, source):
    """Send the writes from several threads; what each was answered, by key."""
    source.shuffle(writes)
    said: dict[str, list] = {}
    lock = threading.Lock()

    def work(part, seed):
        sender, own = Sender(url), random.Random(seed)
        for write in part:
            if own.random() < 0.1:
                cut(url, *write)
                continue
            found = sender.send(*write)
            with lock:
                said.setdefault(write[2], []).append(found)
        sender.connection.close()

    threads = [threading.Thread(target=work, args=(writes[n::THREADS], n)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def test_one_effect_each(folder):
    source = random.Random(4)
    tokens = make_service(folder, settings=settings_of(budget=REQUESTS, expected_rows=REQUESTS))
    rows = max(50, REQUESTS // 8)
    bodies = {f"row-{n}": json.dumps({"row": made_up(source, n % 3 == 0)}).encode() for n in range(rows)}
    with ThreadedServer(folder) as server:
        writes = [
            ("/v1/p/decide", tokens["producer"], key, body)
            for key, body in bodies.items()
            for _ in range(source.randrange(1, 6))
        ]
        said = in_threads(server.url, writes, source)
        sender = Sender(server.url)
        decided = {key: sender.send("/v1/p/decide", tokens["producer"], key, bodies[key])[1] for key in bodies}
        for key, answers in said.items():
            assert all(found == (200, decided[key]) for found in answers), key
        asked = [made["id"] for made in decided.values() if made["ask"]]
        answers = [
            (
                "/v1/p/answers",
                tokens["annotator"],
                f"answer-{item}",
                json.dumps([{"item": item, "label": "good"}]).encode(),
            )
            for item in asked
            for _ in range(source.randrange(1, 6))
        ]
        sender.connection.close()
        said = in_threads(server.url, list(answers), source)
        sender = Sender(server.url)  # the first would be closed by now: many answers take longer than it may idle
        for write in {write[2]: write for write in answers}.values():
            status, made = sender.send(*write)
            assert status == 200
            for found in said.get(write[2], []):
                assert (found[0], found[1]["answers"]) == (200, made["answers"])
        sender.connection.close()
    store = SQLiteStore(folder, readonly=True)
    head = store.project("p")
    verify_project(store, head)
    events = list(store.events(head.id, 0))
    store.close()
    decisions = [e for e in events if e.kind == Kind.DECIDE]
    assert len(decisions) == rows
    assert sorted(made["id"] for made in decided.values()) == [e.seq for e in decisions]
    assert 0 < len(asked) == sum(e.kind == Kind.ANSWER for e in events)
    assert sum(unpack(e).ask for e in decisions) == len(asked)
