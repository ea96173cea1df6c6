"""The client by itself: threads that share it, rows that cannot be sent, and answers of what is no service."""

from __future__ import annotations

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from service_bench import settings_of
from service_server import ThreadedServer, make_service

from steelyard.client import Client, ServiceError


@pytest.fixture
def answering():
    """A server of a function from path and body to status and body."""
    servers = []

    def begin(reply):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                status, said = reply(self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))))
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def do_GET(self):
                self.do_POST()

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield begin
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


def test_threads_share_a_client(answering):
    both = threading.Barrier(2, timeout=60)

    def reply(path, body):
        both.wait()  # answered once the other thread has asked, too
        return 200, json.dumps({"id": json.loads(body)["row"]["x"]}).encode()

    with Client(answering(reply), "sy_t", "p", patience=0.0) as client:
        found = {}

        def decide(first):
            found.update({n: client.decide({"x": n})["id"] for n in range(first, first + 20)})

        threads = [threading.Thread(target=decide, args=(first,)) for first in (0, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {n: n for n in range(40)}


def test_the_connection_of_a_thread_ends_with_it(answering):
    with Client(answering(lambda *_: (200, b"{}")), "sy_t", "p") as client:
        client.decide({"x": 1})
        for _ in range(3):
            thread = threading.Thread(target=client.summary)
            thread.start()
            thread.join()
        assert len(client._open) == 1
    client.decide({"x": 1})  # a closed client begins anew
    client.close()


UNUSABLE = [math.nan, -math.inf, np.float32("nan"), np.array([1.0, 2.0]), "half \ud83d of one", b"bytes", object(), 1j]


def test_a_row_that_cannot_be_sent_has_its_error_in_its_place(folder):
    tokens = make_service(folder, settings=settings_of(columns={"x": "number", "c": "category"}, hash_bits=8))
    rows = [{"x": 1.0}, *({"x": 2.0, "c": value} for value in UNUSABLE), {"x": "text"}, {"x": 3.0, "c": "\U0001f9fe"}]
    with ThreadedServer(folder) as server:
        client = server.client(tokens["producer"])
        found = list(client.decide_many(rows))
        assert ["error" in one for one in found] == [False, *[True] * len(UNUSABLE), True, False]
        assert [one["where"] for one in found[1:-2]] == ["row.c"] * len(UNUSABLE)
        assert found[1]["message"] == "field 'c' must be a finite number, a text, True, False or None; got nan."
        assert [one["t"] for one in found if "t" in one] == [0, 1]
        assert [one["error"] for one in client.decide_many([{"x": math.nan}] * 501)] == ["bad_row"] * 501
        assert next(client.decide_many([{"x": 1.0}], ids=[b"1"]))["where"] == "id"
        with pytest.raises(ValueError, match=r"^field 'x' must be a finite number, .*; got inf"):
            client.decide({"x": math.inf})
        assert server.client(tokens["reader"]).summary()["rows"] == 2


def test_numbers_of_numpy_are_sent_as_they_are(folder):
    tokens = make_service(folder)
    row = np.array([3, -4])
    with ThreadedServer(folder) as server:
        made = server.client(tokens["producer"]).decide({"x": row[0], "y": np.float32(0.5)})
        assert server.client(tokens["reader"])._request("GET", f"decisions/{made['id']}")["row"] == {"x": 3, "y": 0.5}


@pytest.mark.parametrize("said", [b'"not found"', b'["a"]', b"7", b"<html>", b""])
def test_what_is_no_answer_of_a_service_is_said(answering, said):
    with (
        Client(answering(lambda *_: (404, said)), "sy_t", "p") as client,
        pytest.raises(ServiceError) as error,
    ):
        client.summary()
    assert (error.value.status, error.value.error) == (404, "no_json")


def test_news_may_be_waited_for_longer_than_an_answer(answering):
    page = b'{"events": [{"seq": 4}], "after": 4}'
    with Client(answering(lambda *_: (200, page)), "sy_t", "p", timeout=5.0) as client:
        assert next(client.follow(after=3, wait=30)) == {"seq": 4}
        assert client._connection().sock.gettimeout() == 35.0
        client.summary()
        assert client._connection().sock.gettimeout() == 5.0
