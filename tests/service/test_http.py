"""The routes: what they answer, whom they refuse, and that a refusal changes nothing."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from service_bench import made_up, settings_of
from service_server import ThreadedServer, call, make_person, make_service, visit

from steelyard.client import Client, ServiceError
from steelyard.service.api import application
from steelyard.service.commands.log import run_backup, run_restore, run_verify
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.http.routes import ROUTES
from steelyard.service.people.access import make_token, revoke_token
from steelyard.service.server.lifecycle import Service
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.group_commit import wait_for
from steelyard.service.writer.jobs import StoreJob
from steelyard.service.writer.projects import create_project
from steelyard.service.writer.verify import verify_project

COLUMNS = {"x": "number", "y": "number", "c": "category", "note": "shown", "skip": "ignored"}


@pytest.fixture
def served(folder):
    tokens = make_service(folder, settings=settings_of(columns=COLUMNS, hash_bits=8, question="Fraud?"))
    with ThreadedServer(folder) as server:
        yield server, tokens, folder


def verified(folder):
    store = SQLiteStore(folder, readonly=True)
    store.connection.execute("BEGIN")
    found = verify_project(store, store.project("p"))
    store.close()
    return found


def key(n=[0]):  # noqa: B006
    n[0] += 1
    return {"Idempotency-Key": f"key-{n[0]}"}


def test_a_program_can_use_it_whole(served):
    server, tokens, folder = served
    source = random.Random(1)
    producer, annotator = (server.client(tokens[role]) for role in ("producer", "annotator"))
    reader = server.client(tokens["reader"])
    truth = {}
    for _ in range(60):
        y = source.random() < 0.4
        made = producer.decide(made_up(source, y) | {"c": "u", "note": "n"})
        truth[made["id"]] = "fraud" if y else "good"
        for asked in annotator.questions(5):
            assert asked["question"] == "Fraud?"
            assert set(asked["row"]) == {"x", "y", "c", "note"}
            done = annotator.answer(asked["item"], truth[asked["item"]], seconds=2.0)
            assert (done["settled"], done["learned"]) == (truth[asked["item"]], True)
    made = list(producer.decide_many([made_up(source, False)] * 1203))
    assert [m["t"] for m in made] == list(range(60, 1263))
    summary = reader.summary()
    assert (summary["rows"], summary["unknown_fields"]) == (1263, 0)
    assert summary["spent"] + summary["reserved"] + summary["left"] == summary["budget"] == 50
    status, _, page = call(server.url, "GET", "/v1/p/decisions?after=0&limit=3", token=tokens["reader"])
    assert status == 200
    assert [d["t"] for d in page["decisions"]] == [0, 1, 2]
    status, _, one = call(server.url, "GET", f"/v1/p/decisions/{page['decisions'][0]['id']}", token=tokens["reader"])
    assert one == page["decisions"][0]
    events = []
    for event in reader.follow(wait=0):
        events.append(event)
        if event["seq"] == summary["events"]:
            break
    assert [e["seq"] for e in events] == list(range(1, summary["events"] + 1))
    _, _, lines = call(server.url, "GET", "/v1/p/export.jsonl", token=tokens["reader"])
    assert [json.loads(line)["t"] for line in lines.splitlines()] == list(range(1263))
    _, _, table = call(server.url, "GET", "/v1/p/export.csv?only=labelled", token=tokens["reader"])
    assert table.count(b"\r\n") == 1 + summary["spent"]
    estimates = reader.estimates()
    assert estimates["cost"]["value"] is None or estimates["costly_mistakes"] >= 6
    assert verified(folder).events == summary["events"]


def test_requests_that_come_together_and_alone_are_all_answered(served):
    """Those of the event loop wait for a turn of their own, those of other threads do not; none holds up another."""
    server, tokens, folder = served
    runtime = server.service.runtime
    clients = [server.client(tokens["producer"]) for _ in range(4)]
    acted, made = [], []

    def decide(client):
        made.extend(client.decide({"x": 1.0 * n, "y": 0.0})["id"] for n in range(40))

    def act():
        acted.extend(wait_for(runtime.writer, StoreJob("", 0, act=lambda store, at, n=n: n)) for n in range(40))

    threads = [threading.Thread(target=decide, args=(client,)) for client in clients]
    threads += [threading.Thread(target=act) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(acted) == sorted([*range(40)] * 2)
    assert len(set(made)) == 160
    assert runtime.writer.queued == 0
    assert verified(folder).events == 161


def test_keys_of_the_client_rise_with_time(served):
    """So the next one belongs beside the last, and not into a random page of a table of millions."""
    server, tokens, folder = served
    client = server.client(tokens["producer"])
    for _ in range(20):
        client.decide({"x": 1.0, "y": 0.0})
        time.sleep(0.001)
    store = SQLiteStore(folder, readonly=True)
    keys = [row[0] for row in store.connection.execute("SELECT key FROM request ORDER BY first")]
    store.close()
    assert len(set(keys)) == 20
    assert keys == sorted(keys)


def test_ids_that_do_not_suffice_are_an_error_and_send_nothing(served):
    server, tokens, folder = served
    client = server.client(tokens["producer"])
    with pytest.raises(ValueError, match="ids must name every row; got 2, and more rows"):
        list(client.decide_many([{"x": 1.0, "y": 0.0}] * 3, ids=["a", "b"]))
    assert verified(folder).events == 1
    assert len(list(client.decide_many([{"x": 1.0, "y": 0.0}] * 2, ids=["a", "b"]))) == 2


def test_rows_too_long_for_one_request_are_cut_into_several_and_go_on_where_they_stopped(served):
    server, tokens, folder = served
    client, rows = (
        server.client(tokens["producer"]),
        [{"x": 1.0 * n, "y": 0.0, "note": "n" * 50_000} for n in range(400)],
    )
    made = list(client.decide_many(rows, key="file"))
    assert [m["t"] for m in made] == list(range(400))
    assert list(client.decide_many(rows, key="file")) == made
    assert verified(folder).events == 401


def test_a_client_waits_while_the_service_behind_a_proxy_starts_again(monkeypatch):
    said, asked = [502, 504, 503, 429, 200], []

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.headers["Idempotency-Key"], self.rfile.read(int(self.headers["Content-Length"]))))
            status = said[len(asked) - 1]
            body = b'{"id": 2}' if status == 200 else b"<html>Bad Gateway</html>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    monkeypatch.setattr(time, "sleep", lambda _: None)
    proxy = HTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    with Client(f"http://127.0.0.1:{proxy.server_port}", "sy_t", "p") as client:
        assert client.decide({"x": 1.0})["id"] == 2
    with Client(f"http://127.0.0.1:{proxy.server_port}", "sy_t", "p", patience=0.0) as client:
        said.append(502)
        with pytest.raises(ServiceError, match="Bad Gateway"):
            client.decide({"x": 1.0})
    assert len(set(asked[:5])) == 1
    proxy.shutdown()
    proxy.server_close()
    thread.join()


def test_a_request_sent_again_is_answered_as_the_first_time(served):
    server, tokens, _ = served
    body = {"rows": [{"row": {"x": 1, "y": 2}}, {"row": {"x": "no number"}}, {"row": {"x": 3}, "id": "mine"}]}
    once = key()
    first = call(server.url, "POST", "/v1/p/decide/batch", token=tokens["producer"], body=body, headers=once)
    again = call(server.url, "POST", "/v1/p/decide/batch", token=tokens["producer"], body=body, headers=once)
    assert first[0] == again[0] == 200
    assert first[2] == again[2]
    assert "replayed" not in first[1]
    assert again[1]["replayed"] == "true"
    assert [("error" in row) for row in first[2]] == [False, True, False]
    assert "x" in first[2][1]["where"]
    assert "no number" in first[2][1]["message"]
    other = call(server.url, "POST", "/v1/p/decide/batch", token=tokens["producer"], body={"rows": []}, headers=once)
    assert other[0] == 422
    body["rows"].append({"row": {}})
    other = call(server.url, "POST", "/v1/p/decide/batch", token=tokens["producer"], body=body, headers=once)
    assert (other[0], other[2]["error"]) == (409, "key_reused")
    named = call(server.url, "POST", "/v1/p/decide", token=tokens["producer"], body={"row": {"x": 3}, "id": "mine"})
    assert named[2] == first[2][2]
    named = call(server.url, "POST", "/v1/p/decide", token=tokens["producer"], body={"row": {"x": 4}, "id": "mine"})
    assert (named[0], named[2]["error"]) == (409, "id_reused")


BAD = [
    (b"{", 400),
    (b'{"row": {"x": NaN}}', 400),
    (b'{"row": {"x": Infinity}}', 400),
    (b'{"row": {"x": 1e999}}', 422),
    (b'{"row": {"x": {"a": 1}}}', 422),
    (b'{"row": {"x": [1]}}', 422),
    (b'{"row": [1]}', 422),
    (b'{"rows": []}', 422),
    (b'{"row": {"x": "text"}}', 422),
    (b'{"row": {"x": true}}', 422),
    (b'{"row": {"x": 1e101}}', 422),
    (b'{"row": {"x": 1}, "id": ""}', 422),
    (json.dumps({"row": {f"f{i}": 1 for i in range(1001)}}).encode(), 422),
    (json.dumps({"row": {"c": "a" * 66_000}}).encode(), 422),
    (b'{"row": {"c": "\\ud800"}}', 400),
    (b'{"row": {"c": "\xff"}}', 400),
    (b"[" * 100_000, 422),
    (b'{"row": {"c": "' + b"a" * 300_000 + b'"}}', 413),
]


@pytest.mark.parametrize(("body", "status"), BAD, ids=range(len(BAD)))
def test_bad_rows_are_refused_and_change_nothing(served, body, status):
    server, tokens, _ = served
    before = server.client(tokens["reader"]).summary()
    found = call(server.url, "POST", "/v1/p/decide", token=tokens["producer"], body=body, headers=key())
    assert found[0] == status, found[2]
    assert set(found[2]) == {"error", "message", "where"}
    assert server.client(tokens["reader"]).summary() == before


@pytest.mark.parametrize("value", ["[1]", '{"a": 1}', "1e999", "[" * 100_000])
def test_a_value_that_cannot_be_used_is_named_by_its_field(served, value):
    server, tokens, _ = served
    body = b'{"row": {"c": "a", "x": %b}}' % value.encode()
    sent = {"token": tokens["producer"], "headers": key()}
    status, _, said = call(server.url, "POST", "/v1/p/decide", body=body, **sent)
    assert status == 422
    if len(value) < 100:  # what is nested deeper than anybody can read is refused without
        assert said["where"] == "row.x"
        assert "'x'" in said["message"]
        status, _, said = call(server.url, "POST", "/v1/p/decide/batch", body=b'{"rows": [%b]}' % body, **sent)
        assert (status, said[0]["where"]) == (200, "row.x")


def test_the_scheme_of_a_token_may_be_written_small(served):
    server, tokens, _ = served
    for scheme, status in (("Bearer", 200), ("bearer", 200), ("BEARER", 200), ("Basic", 401), ("", 401)):
        sent = {"Authorization": f"{scheme} {tokens['reader']}"}
        assert call(server.url, "GET", "/v1/p/summary", headers=sent)[0] == status


def test_bad_answers_and_headers(served):
    server, tokens, _ = served
    post = lambda path, body, **more: call(server.url, "POST", f"/v1/p/{path}", body=body, **more)  # noqa: E731
    asked = post("decide", {"row": {"x": 1}}, token=tokens["producer"], headers=key())[2]
    assert asked["ask"]
    annotator = {"token": tokens["annotator"], "headers": key()}
    said = post("answers", [{"item": asked["id"], "label": "neither"}], **annotator)
    assert (said[0], said[2]["error"]) == (422, "unknown_class")
    said = post("answers", [{"item": 1, "label": "good"}], **annotator | {"headers": key()})
    assert (said[0], said[2]["error"]) == (409, "never_asked")
    owner = {"token": tokens["owner"], "headers": key()}
    assert post(f"questions/{asked['id']}/close", None, **owner)[0] == 200
    assert post(f"questions/{asked['id']}/close", None, **owner)[1]["replayed"] == "true"
    said = post("answers", [{"item": asked["id"], "label": "good"}], **annotator | {"headers": key()})
    assert (said[0], said[2]["error"]) == (409, "closed")
    assert post("decide", {"row": {}}, token=tokens["producer"])[0] == 400
    assert post("decide", {"row": {}}, token=tokens["producer"], headers={"Idempotency-Key": "a" * 65})[0] == 400
    plain = key() | {"Content-Type": "text/plain"}
    assert post("decide", {"row": {}}, token=tokens["producer"], headers=plain)[0] == 415
    chunked = key() | {"Transfer-Encoding": "chunked"}
    assert post("decide", b"", token=tokens["producer"], headers=chunked)[0] in (400, 411)
    status, _, said = call(server.url, "GET", "/v1/p/decide", token=tokens["producer"])
    assert (status, said["error"]) == (405, "wrong_method")
    assert "got GET" in said["message"]
    assert call(server.url, "GET", "/nothing")[0] == 404
    assert call(server.url, "GET", "/health", headers={"Host": "elsewhere.example"})[0] == 421
    named = server.url.removeprefix("http://").replace("127.0.0.1", "LocalHost")
    assert call(server.url, "GET", "/health", headers={"Host": named})[0] == 200


@pytest.mark.parametrize(
    ("port", "reached", "known"), [(80, {}, True), (443, {"secure": True}, True), (443, {}, False)]
)
def test_a_port_that_clients_leave_out_of_the_host_may_be_left_out(port, reached, known, folder):
    class Bound:
        def getsockname(self):
            return "127.0.0.1", port

    service = Service(folder, Bound(), **reached)
    assert {f"127.0.0.1:{port}", f"localhost:{port}"} <= service.hosts
    assert ({"127.0.0.1", "localhost"} <= service.hosts) == known


def test_settings_change_by_event(served):
    server, tokens, folder = served
    _, _, now = call(server.url, "GET", "/v1/p/settings", token=tokens["owner"])
    patch = lambda body, seq: call(  # noqa: E731
        server.url, "PATCH", "/v1/p/settings", token=tokens["owner"], body=body, headers={"If-Match": str(seq)}
    )
    assert patch({"budget": 60}, now["seq"] + 1)[0] == 409
    status, _, changed = patch({"budget": 60}, now["seq"])
    assert (status, changed["settings"]["budget"]) == (200, 60)
    assert patch({"seed": 3}, changed["seq"])[0] == 422
    assert patch({"budget": "many"}, changed["seq"])[0] == 422
    assert patch({"nothing": 1}, changed["seq"])[0] == 422
    assert patch({"costs": {"fn": -1, "fp": 1}}, changed["seq"])[0] == 422
    assert server.client(tokens["reader"]).summary()["budget"] == 60
    assert verified(folder).events == 2


def test_one_annotators_skip_closes_and_undo_opens(served):
    server, tokens, folder = served
    annotator = server.client(tokens["annotator"])
    producer = server.client(tokens["producer"])
    first, second = producer.decide({"x": 1}), producer.decide({"x": -1})
    assert annotator.answer(first["id"], None)["closed"]
    done = annotator.answer(second["id"], "fraud")
    assert annotator.retract(done["answer"])["left"] == done["left"]
    with pytest.raises(ServiceError, match="stand and be"):
        annotator.retract(done["answer"])
    (asked,) = annotator.questions()
    assert asked["item"] == second["id"]
    renew = lambda item: call(  # noqa: E731
        server.url, "POST", f"/v1/p/questions/{item}/renew", token=tokens["annotator"]
    )
    assert renew(second["id"])[0] == 200
    assert annotator.answer(second["id"], "good")["settled"] == "good"
    assert [renew(item)[0] for item in (second["id"], 999)] == [409, 409]  # there is nothing to hold
    assert producer.outcome(first["id"], "good", origin="chargeback")["event"]
    assert verified(folder).events == 9


def test_who_asks_for_counts_is_told_them_also_where_no_question_waits(served):
    server, tokens, folder = served
    made = server.client(tokens["producer"]).decide({"x": 1})
    other = make_person(folder, "bob", {"p": "annotator"})
    assert len(server.client(tokens["annotator"]).questions()) == 1  # and holds it
    bob = visit(server, folder, other)
    path = "/v1/p/questions/next"
    assert bob.send("POST", path, {})[0] == 204
    status, _, said = bob.send("POST", path, {"counts": True})
    assert (status, said["questions"], said["spent"], said["waiting"]) == (200, [], 0, 1)
    server.client(tokens["annotator"]).answer(made["id"], "good")
    _, _, said = bob.send("POST", path, {"counts": True})
    assert (said["questions"], said["spent"], said["waiting"], said["budget"]) == ([], 1, 0, 50)


def test_an_export_makes_way_for_others_between_its_pages(served, monkeypatch):
    """A reader that takes a page as fast as it is made holds nothing back: without that nobody else is served."""
    server, tokens, _ = served
    list(server.client(tokens["producer"]).decide_many({"x": float(n)} for n in range(20)))
    monkeypatch.setattr(application, "PAGE", 4)
    app, host = application.Api(server.service.runtime).app(), server.url.removeprefix("http://").encode()
    headers = [(b"host", host), (b"authorization", f"Bearer {tokens['reader']}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/v1/p/export.jsonl", "query_string": b"", "headers": headers}

    async def turns_of_others():
        count, sent = 0, []

        async def others():
            nonlocal count
            while True:
                count += 1
                await asyncio.sleep(0)

        async def send(message):
            if message.get("body"):
                sent.append(count)

        task = asyncio.create_task(others())
        await app(scope, asyncio.Event().wait, send)
        task.cancel()
        return sent

    sent = asyncio.run_coroutine_threadsafe(turns_of_others(), server.service.runtime._loop).result(60)
    assert len(sent) == len(set(sent)) == 5


def test_events_wait_for_news(served):
    server, tokens, _ = served
    found = []
    waiting = threading.Thread(
        target=lambda: found.append(call(server.url, "GET", "/v1/p/events?after=1&wait=30", token=tokens["reader"]))
    )
    waiting.start()
    time.sleep(0.2)
    server.client(tokens["producer"]).decide({"x": 1})
    waiting.join(30)
    assert [e["kind"] for e in found[0][2]["events"]] == ["decide"]


def test_who_waits_for_news_is_answered_when_the_service_stops(folder):
    """Else a stop lasts until it gives its followers up, and cuts them."""
    tokens, found = make_service(folder), []
    with ThreadedServer(folder) as server:
        path = "/v1/p/events?after=1&wait=60"
        waiting = threading.Thread(target=lambda: found.append(call(server.url, "GET", path, token=tokens["reader"])))
        waiting.start()
        while not server.service.server.server_state.tasks:
            time.sleep(0.01)
    waiting.join(60)
    assert (found[0][0], found[0][2]) == (200, {"events": [], "after": 1})


def test_a_backup_under_load_is_restored_whole(served, capsys):
    server, tokens, folder = served
    stop = threading.Event()

    def load():
        client = server.client(tokens["producer"])
        while not stop.is_set():
            client.decide({"x": 1.0, "c": "u"})

    loading = threading.Thread(target=load)
    loading.start()
    try:
        assert run_backup(folder, folder / "copy.sqlite") == 0
    finally:
        stop.set()
        loading.join()
    printed = capsys.readouterr().out
    assert run_restore(folder / "copy.sqlite", folder / "restored") == 0
    assert capsys.readouterr().out == printed
    assert run_verify(folder / "restored", "p", printed.split()[2]) == 0
    assert run_verify(folder, None, printed.split()[2]) == 0
    assert run_verify(folder, None, "2:" + "0" * 32) == 3


# Who may call what: 1 allowed, 3 wrong role (403), 0 everybody, m only a token of the service itself.
MATRIX = {  # owner, annotator, producer, reader
    "POST /v1/p/decide": "1313",
    "POST /v1/p/decide/batch": "1313",
    "POST /v1/p/questions/next": "1133",
    "POST /v1/p/questions/2/renew": "1133",
    "POST /v1/p/questions/2/close": "1333",
    "POST /v1/p/questions/2/adjudicate": "1333",
    "POST /v1/p/erase": "1333",
    "POST /v1/p/answers": "1133",
    "POST /v1/p/answers/3/retract": "1133",
    "POST /v1/p/outcomes": "1313",
    "GET /v1/p/summary": "1331",
    "GET /v1/p/estimates": "1331",
    "GET /v1/p/curves": "1331",
    "GET /v1/p/whatif": "1331",
    "GET /v1/p/drift": "1331",
    "GET /v1/p/shadows": "1331",
    "GET /v1/p/live?count=1": "1331",
    "GET /v1/p/decisions": "1331",
    "GET /v1/p/decisions/2": "1331",
    "GET /v1/p/events": "1331",
    "GET /v1/p/export.jsonl": "1331",
    "GET /v1/p/export.csv": "1331",
    "GET /v1/p/settings": "1333",
    "PATCH /v1/p/settings": "1333",
    "POST /v1/p/shadows": "1333",
    "POST /v1/p/promote": "1333",
    "POST /v1/p/champion": "1333",
    "DELETE /v1/p/champion": "1333",
    "POST /v1/projects": "mmmm",
    "POST /v1/projects/guess": "mmmm",
    "GET /v1/people": "mmmm",
    "POST /v1/people": "mmmm",
    "POST /v1/people/5/link": "mmmm",
    "POST /v1/people/5/role": "mmmm",
    "POST /v1/people/5/active": "mmmm",
    "GET /health": "0000",
    "GET /ready": "0000",
    "GET /metrics": "mmmm",
    "GET /openapi.json": "0000",
}


ROLES = ("owner", "annotator", "producer", "reader")
FORGED = {  # what a page of somebody else would send with the cookie of a visitor
    "no value": {"X-CSRF-Token": None},
    "another value": {"X-CSRF-Token": "0" * 64},
    "an empty value": {"X-CSRF-Token": ""},
    "foreign origin": {"Origin": "https://elsewhere.example"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "another scheme": {"Origin": "https://127.0.0.1:{port}"},
    "another name": {"Origin": "http://localhost:{port}"},
    "null origin": {"Origin": "null"},
    "no origin": {"Origin": None},
    "another site": {"Sec-Fetch-Site": "same-site"},
}


def test_access_matrix(folder):
    tokens = make_service(folder)
    store, now = SQLiteStore(folder), Clock().now()
    create_project(store, "q", settings_of(), at=now)
    strangers = {
        "none": None,
        "nonsense": "sy_nothing",
        "expired": make_token(store, "p", "owner", at=now, expires=now - 1),
        "revoked": make_token(store, "p", "owner", at=now),
        "forged": tokens["owner"][:-1] + ("A" if tokens["owner"][-1] != "A" else "B"),
    }
    revoke_token(store, strangers["revoked"].split("_")[1], at=now)
    elsewhere = make_token(store, "q", "owner", at=now)
    store.close()
    listed = {f"{r.method} {r.path}".replace("{project}", "p") for r in ROUTES}
    named = (path.partition("?")[0] for path in MATRIX)
    assert listed == {
        path.replace("/2", "/{item}").replace("/3/", "/{answer}/").replace("/5/", "/{person}/") for path in named
    }
    with ThreadedServer(folder) as server:
        for route, expected in MATRIX.items():
            method, path = route.split()
            body = None if method == "GET" else {}
            for role, kind in zip(ROLES, expected, strict=True):
                status = call(server.url, method, path, token=tokens[role], body=body, headers=key())[0]
                refused = {"1": (401, 403), "0": (401, 403), "3": (), "m": ()}[kind]
                assert status not in refused, (route, role, status)
                assert kind != "3" or status == 403, (route, role, status)
                assert kind != "m" or status == 404, (route, role, status)
            for who, token in strangers.items():
                status = call(server.url, method, path, token=token, body=body, headers=key())[0]
                assert (status == 401) == (expected != "0000"), (route, who, status)
            status = call(server.url, method, path, token=elsewhere, body=body, headers=key())[0]
            assert (status == 404) == (expected != "0000"), (route, "other project", status)
            status = call(server.url, method, path, token=tokens["owner"], headers={"Host": "a.example"})[0]
            assert status == 421, (route, "strange Host", status)
        people = {role: visit(server, folder, make_person(folder, role, {"p": role})) for role in ROLES}
        stranger = visit(server, folder, make_person(folder, "stranger", {"q": "owner"}))
        for route, expected in MATRIX.items():
            method, path = route.split()
            body = None if method == "GET" else {}
            for role, kind in zip(ROLES, expected, strict=True):
                status = people[role].send(method, path, body, headers=key())[0]
                assert status not in {"1": (401, 403), "0": (401, 403), "3": (), "m": ()}[kind], (route, role, status)
                assert kind != "3" or status == 403, (route, role, status)
                assert kind != "m" or status == 404, (route, role, status)
            status = stranger.send(method, path, body, headers=key())[0]
            assert (status == 404) == (expected != "0000"), (route, "other project", status)
            if method == "GET":
                continue
            role = ROLES[expected.find("1") if "1" in expected else 0]
            for what, headers in FORGED.items():
                sent = {
                    name: value.format(port=server.service.port) if value else value for name, value in headers.items()
                }
                before = people["owner"].send("GET", "/v1/p/summary")[2]
                status, _, said = people[role].send(method, path, body, headers=key() | sent)
                assert (status, said["error"]) in ((403, "no_csrf"), (403, "wrong_origin")), (route, what, status)
                assert people["owner"].send("GET", "/v1/p/summary")[2] == before
        status, _, text = call(server.url, "GET", "/metrics", token=tokens["metrics"])
        assert status == 200
        assert b"steelyard_queue_rows" in text


PAGES = {  # owner, annotator, producer, reader: 1 shown, 3 wrong role, m for owners of the service alone
    "/": "1111",
    "/people": "1111",
    "/new": "mmmm",
    "/p/p": "1331",
    "/p/p/label": "1133",
    "/p/p/settings": "1333",
    "/p/p/decisions/2": "1331",
}


def test_access_matrix_of_pages(folder):
    tokens = make_service(folder)
    store, now = SQLiteStore(folder), Clock().now()
    create_project(store, "q", settings_of(), at=now)
    store.close()
    with ThreadedServer(folder) as server:
        assert server.client(tokens["producer"]).decide({"x": 1, "y": 2})["id"] == 2
        people = {role: visit(server, folder, make_person(folder, role, {"p": role})) for role in ROLES}
        stranger = visit(server, folder, make_person(folder, "stranger", {"q": "owner"}))
        desk = visit(server, folder, make_person(folder, "desk", {"_service": "owner"}))
        for path, expected in PAGES.items():
            for role, kind in zip(ROLES, expected, strict=True):
                status = people[role].page(path)[0]
                assert status == {"1": 200, "3": 403, "m": 404}[kind], (path, role, status)
            assert desk.page(path)[0] == 200, path
            hidden = path.startswith("/p/") or path == "/new"
            assert stranger.page(path)[0] == (404 if hidden else 200), path
            status, headers, _ = call(server.url, "GET", path, headers={"Accept": "text/html"})
            assert (status, headers["location"].partition("?")[0]) == (303, "/login"), path
            status, headers, _ = call(server.url, "GET", path, token=tokens["owner"])  # a token opens no page
            assert status == 303, path
        nowhere = [stranger.page("/p/p/label")[2], stranger.page("/p/nothing/label")[2]]
        assert nowhere[0] == nowhere[1]  # no word about whether a project exists
