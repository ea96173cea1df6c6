"""Rows and answers that need no task of their own: on the wire they are like any other request."""

from __future__ import annotations

import gc
import json
import re
import socket
import time

import pytest
from service_bench import settings_of
from service_server import ThreadedServer, call, make_service
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from steelyard.service.api.asgi import DIRECT_BYTES, Entrance
from steelyard.service.http.deadline import DirectCycle
from steelyard.service.writer.jobs import Job


@pytest.fixture
def served(folder):
    columns = {"x": "number", "y": "number", "note": "shown"}
    tokens = make_service(folder, settings=settings_of(columns=columns, query="AskAll", pace=False, budget=500))
    with ThreadedServer(folder) as server:
        yield server, tokens


@pytest.fixture
def taken_directly(monkeypatch):
    """The requests that are taken directly."""
    taken, direct = [], Entrance.direct

    def noted(self, target, sent):
        found = direct(self, target, sent)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(Entrance, "direct", noted)
    return taken


def connected(server):
    host, port = server.url.removeprefix("http://").split(":")
    sock = socket.create_connection((host, int(port)))
    sock.settimeout(30)
    return sock


def decide(server, tokens, key, row=None, *, version="1.1", more=""):
    body = json.dumps({"row": row or {"x": 1.0, "y": 2.0}})
    head = f"POST /v1/p/decide HTTP/{version}\r\nHost: {server.url.removeprefix('http://')}\r\n{more}"
    head += f"Authorization: Bearer {tokens['producer']}\r\nContent-Type: application/json\r\n"
    return f"{head}Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize("wish", ["Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", "Upgrade: websocket\r\n"])
def test_a_wish_for_another_protocol_is_passed_over(served, taken_directly, wish, caplog):
    """Java's client sends one with every first request, also with a body."""
    server, tokens = served
    more = f"Connection: Upgrade, HTTP2-Settings\r\n{wish}"
    requests = [decide(server, tokens, f"k{n}", more=more if n % 2 else "") for n in range(6)]
    with connected(server) as sock:
        for request in requests[:2]:
            sock.sendall(request)
            assert replies(sock, 1)[0][0] == 200
        sock.sendall(b"".join(requests[2:4]))
        assert [reply[0] for reply in replies(sock, 2)] == [200, 200]
        for request in requests[4:]:
            for half in (request[:-9], request[-9:]):
                sock.sendall(half)
                time.sleep(0.05)
            assert replies(sock, 1)[0][0] == 200
    assert call(server.url, "GET", "/v1/p/summary", token=tokens["reader"])[2]["rows"] == 6
    assert caplog.records == []


def replies(sock, count):
    """Status, headers and body of as many replies; None where the connection ends before."""
    found, data = [], b""
    while len(found) < count:
        head, end, rest = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if end and (length is None or len(rest) >= int(length[1])):
            size = 0 if length is None else int(length[1])
            found.append((int(head.split()[1]), head, rest[:size]))
            data = rest[size:]
            continue
        more = sock.recv(65536)
        if not more:
            return [*found, None]
        data += more
    return found


def test_requests_behind_each_other_are_answered_in_their_order(served, taken_directly):
    server, tokens = served
    health = f"GET /health HTTP/1.1\r\nHost: {server.url.removeprefix('http://')}\r\n\r\n".encode()
    with connected(server) as sock:
        sent = [decide(server, tokens, f"k{n}", {"x": 1.0 * n, "y": 0.0}) for n in range(4)]
        sock.sendall(sent[0] + sent[1] + health + sent[2] + sent[3])
        found = replies(sock, 5)
    assert [status for status, _, _ in found] == [200] * 5
    rows = [json.loads(body) for _, _, body in (found[:2] + found[3:])]
    assert [row["t"] for row in rows] == [0, 1, 2, 3]
    assert taken_directly[0] is True  # and the others as uvicorn handles what comes too early


def test_a_body_in_pieces_is_one_request(served, taken_directly):
    server, tokens = served
    whole = decide(server, tokens, "pieces")
    with connected(server) as sock:
        for n in range(0, len(whole), 40):
            sock.sendall(whole[n : n + 40])
            time.sleep(0.01)
        ((status, _, body),) = replies(sock, 1)
    assert (status, json.loads(body)["t"]) == (200, 0)
    assert taken_directly == [True]


@pytest.mark.parametrize(
    ("version", "more", "stays", "directly"),
    [
        ("1.1", "", True, True),
        ("1.1", "Connection: close\r\n", False, True),
        ("1.0", "", False, True),
        ("1.0", "Connection: keep-alive\r\n", False, True),
        ("1.1", "Content-Type: application/json; charset=utf-8\r\n", True, False),  # the first of each name counts
    ],
)
def test_the_connection_stays_as_the_request_says(served, taken_directly, version, more, stays, directly):
    server, tokens = served
    with connected(server) as sock:
        sock.sendall(decide(server, tokens, "one", version=version, more=more))
        ((status, head, _),) = replies(sock, 1)
        assert status == 200
        assert (b"connection: close" in head) is not stays
        if stays:
            sock.sendall(decide(server, tokens, "two"))
            assert replies(sock, 1)[0][0] == 200
        else:
            assert sock.recv(10) == b""
    assert taken_directly[0] is directly


def test_whoever_waits_to_be_asked_for_the_body_is_asked(served, taken_directly):
    server, tokens = served
    head, _, body = decide(server, tokens, "patient", more="Expect: 100-continue\r\n").partition(b"\r\n\r\n")
    with connected(server) as sock:
        sock.sendall(head + b"\r\n\r\n")
        assert replies(sock, 1)[0][0] == 100
        sock.sendall(body)
        assert replies(sock, 1)[0][0] == 200
    assert taken_directly == []


def test_a_long_body_is_refused_before_it_comes(served, taken_directly):
    server, tokens = served
    row = {"x": 1.0, "y": 0.0, "note": "n" * DIRECT_BYTES}
    with connected(server) as sock:
        sock.sendall(decide(server, tokens, "long", row))
        assert replies(sock, 1)[0][0] == 422  # by the size of a row
    with connected(server) as sock:
        whole = decide(server, tokens, "longer", row | {"note": "n" * 300_000})
        sock.sendall(whole[:2000])
        assert replies(sock, 1)[0][0] == 413
    assert taken_directly == [False, False]


def test_an_answer_is_taken_as_a_row_is(served, taken_directly):
    server, tokens = served
    made = server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
    done = server.client(tokens["annotator"]).answer(made["id"], "fraud")
    assert (done["settled"], done["learned"]) == ("fraud", True)
    assert taken_directly == [True, True]
    status, _, said = call(
        server.url,
        "POST",
        "/v1/p/answers",
        token=tokens["annotator"],
        body=[{"item": made["id"], "label": "good"}],
        headers={"Idempotency-Key": "again"},
    )
    assert (status, said["error"]) == (409, "already_answered")
    for answers in ([], [{"item": 0, "label": "good"}], [{"item": 1, "label": "good", "seconds": -1}]):
        status, _, said = call(
            server.url,
            "POST",
            "/v1/p/answers",
            token=tokens["annotator"],
            body=answers,
            headers={"Idempotency-Key": "bad"},
        )
        assert (status, said["error"]) == (422, "bad_body")


def test_whoever_has_gone_keeps_nobody_waiting(served):
    server, tokens = served
    for n in range(30):
        with connected(server) as sock:
            sock.sendall(decide(server, tokens, f"gone{n}"))
    made = server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
    reader = server.client(tokens["reader"])
    assert made["t"] + 1 == reader.summary()["rows"] <= 31
    again = [server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0}) for _ in range(3)]
    assert [one["t"] for one in again] == [made["t"] + 1 + n for n in range(3)]


def test_a_fault_in_one_request_harms_no_other(served, monkeypatch, caplog, capfd):
    server, tokens = served
    broken = Entrance._finish

    def fails(self, answer, job, outcome):
        if job is not None and job.key == "faulty":
            raise RuntimeError("a fault behind the commit")
        broken(self, answer, job, outcome)

    monkeypatch.setattr(Entrance, "_finish", fails)
    with connected(server) as sock, connected(server) as other:
        sock.sendall(decide(server, tokens, "faulty"))
        other.sendall(decide(server, tokens, "fine"))
        assert replies(other, 1)[0][0] == 200
    assert "a fault behind the commit" in capfd.readouterr().err
    monkeypatch.setattr(server.service.runtime, "submit", lambda job, deliver: 1 / 0)
    with connected(server) as sock:
        sock.sendall(decide(server, tokens, "before"))
        assert replies(sock, 1) == [None]
    assert "could not be started" in caplog.text
    assert call(server.url, "GET", "/health")[0] == 200


def test_a_request_that_was_answered_is_freed_without_the_collector(served):
    """As a cycle each would wait for it, with its head and body: a fifth of the time of a request."""
    server, tokens = served
    producer, annotator = server.client(tokens["producer"]), server.client(tokens["annotator"])
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            annotator.answer(producer.decide({"x": 1.0, "y": 2.0})["id"], "good")
            list(producer.decide_many([{"x": 1.0, "y": 2.0}] * 2))
        left = [one for one in gc.get_objects() if isinstance(one, (RequestResponseCycle, DirectCycle, Job))]
    finally:
        gc.enable()
    assert len(left) <= 4  # the last one of each connection, and its job


def test_a_server_that_stops_answers_what_it_has_taken(served):
    server, tokens = served
    runtime = server.service.runtime
    with connected(server) as sock:
        held = runtime.writer.store.begin

        def slowly():
            server.service.server.should_exit = True
            time.sleep(0.5)
            held()

        runtime.writer.store.begin = slowly
        sock.sendall(decide(server, tokens, "last"))
        ((status, head, _),) = replies(sock, 1)
        runtime.writer.store.begin = held
        assert status == 200
        assert b"connection: close" in head
