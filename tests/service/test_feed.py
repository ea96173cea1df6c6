"""Server-sent events: one message for each news, none without, and an end when somebody must go."""

from __future__ import annotations

import http.client
import json
import time

from service_bench import settings_of
from service_server import ThreadedServer, call, make_service

from steelyard.service.api import feed
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.people.access import revoke_token
from steelyard.service.writer.clock import Clock

LIMIT = 60  # seconds: hang protection


class Follower:
    """An open feed."""

    def __init__(self, server, token, *, query="", **headers):
        self.connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        sent = {"Authorization": f"Bearer {token}"} | headers
        self.connection.request("GET", f"/v1/p/live{query}", headers=sent)
        self.response = self.connection.getresponse()

    def message(self):
        """The next message as its fields; None at the end."""
        fields = {}
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "data" in fields:
                return int(fields["id"]), json.loads(fields["data"])
        return None

    def close(self):
        self.connection.close()


def test_a_feed_tells_news_and_goes_on_where_it_was(folder):
    tokens = make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        producer = server.client(tokens["producer"])
        producer.decide({"x": 1.0, "y": 2.0})
        follower = Follower(server, tokens["reader"])
        assert follower.response.status == 200
        assert follower.response.headers["content-type"].startswith("text/event-stream")
        assert follower.response.headers["x-accel-buffering"] == "no"
        number, live = follower.message()
        assert (live["rows"], live["words"]["rows"]) == (1, "1 row")
        assert number == live["events"]
        producer.decide({"x": 1.0, "y": 2.0})
        assert follower.message()[1]["rows"] == 2
        follower.close()
        back = Follower(server, tokens["reader"], **{"Last-Event-ID": str(number)})
        assert back.message()[1]["rows"] == 2
        back.close()
        once = Follower(server, tokens["reader"], query="?count=1")
        assert once.message()[1]["rows"] == 2
        assert once.message() is None
        once.close()
        assert call(server.url, "GET", "/v1/p/live", token=tokens["producer"])[0] == 403


def test_a_feed_ends_with_its_token_and_with_the_server(folder, monkeypatch):
    monkeypatch.setattr(feed, "EVERY", 0.05)
    tokens = make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        producer = server.client(tokens["producer"])
        producer.decide({"x": 1.0, "y": 2.0})
        follower, other = Follower(server, tokens["reader"]), Follower(server, tokens["owner"])
        assert follower.message() is not None
        assert other.message() is not None
        store = SQLiteStore(folder)
        revoke_token(store, tokens["reader"].split("_")[1], at=Clock().now())
        store.close()
        end = time.monotonic() + LIMIT
        producer.decide({"x": 1.0, "y": 2.0})
        while follower.message() is not None:  # a token that was looked up is believed for a second
            assert time.monotonic() < end, "the feed outlives its token"
            producer.decide({"x": 1.0, "y": 2.0})
        assert server.service.server is not None
    while other.message() is not None:
        pass  # the stopping server has ended it, else this waits for ever
    for one in (follower, other):
        one.close()


def test_there_are_only_so_many_feeds(folder, monkeypatch):
    monkeypatch.setattr(feed, "MOST_FEEDS", 2)
    tokens = make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
        first, second = Follower(server, tokens["reader"]), Follower(server, tokens["reader"])
        assert first.message() is not None
        assert second.message() is not None
        assert call(server.url, "GET", "/v1/p/live", token=tokens["reader"])[0] == 429
        for one in (first, second):
            one.close()


def test_curves_are_served(folder):
    tokens = make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        status, _, curve = call(server.url, "GET", "/v1/p/curves", token=tokens["reader"])
        assert (status, curve["rows"], curve["waiting"]) == (200, [], 0)
