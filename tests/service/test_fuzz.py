"""Requests made up from the service's own description: no 500, answers as described, nothing changed by a refusal."""

from __future__ import annotations

import os

import pytest
from service_bench import settings_of
from service_server import ThreadedServer, call, make_service

from steelyard.service.http.routes import ROUTES

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

CASES = int(os.environ.get("STEELYARD_SERVICE_CASES", "1000"))
ROLES = ("owner", "annotator", "producer", "reader", "metrics", "desk")
TEXT_ROUTES = ("/v1/{project}/live", "/metrics", "/v1/{project}/export.jsonl", "/v1/{project}/export.csv")


def test_made_up_requests(folder):
    tokens = make_service(folder, settings=settings_of(columns={"x": "number", "c": "category"}, hash_bits=6))
    with ThreadedServer(folder) as server:
        producer = server.client(tokens["producer"])
        for n in range(20):
            producer.decide({"x": n, "c": "a"})
        _, _, described = call(server.url, "GET", "/openapi.json")
        described["servers"] = [{"url": server.url}]
        schema = schemathesis.openapi.from_dict(described)
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) == len(ROUTES)
        statuses: set[int] = set()
        for operation in operations:
            statuses |= fuzz(operation, server, tokens, max(1, CASES // len(operations)))
    assert {200, 403, 404, 422} <= statuses


def fuzz(operation, server, tokens, count):
    """So many made-up cases of a route; the statuses that came."""
    seen: set[int] = set()
    reader = server.client(tokens["reader"])
    refusals = {"missing_cells", "unknown_fields"}

    def state():
        return {name: value for name, value in reader.summary().items() if name not in refusals}

    @settings(max_examples=count, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(data=st.data(), role=st.sampled_from(ROLES), here=st.sampled_from([True] * 5 + [False]))
    def run(data, role, here):
        case = data.draw(operation.as_strategy())
        if here and "project" in (case.path_parameters or {}):
            case.path_parameters["project"] = "p"
        if "wait" in (case.query or {}):
            case.query["wait"] = 0
        if operation.path.endswith("/live"):
            case.query = dict(case.query or {}) | {"count": 1, "after": 0}
        headers = dict(case.headers or {}) | {"Authorization": f"Bearer {tokens[role]}"}
        case.headers = headers
        before = state()
        response = case.call(base_url=server.url, timeout=60)
        seen.add(response.status_code)
        assert response.status_code < 500, response.text
        if response.status_code >= 400 and operation.path not in TEXT_ROUTES:
            assert set(response.json()) == {"error", "message", "where"}
            assert state() == before
        elif operation.path not in TEXT_ROUTES:
            case.validate_response(response, checks=[schemathesis.checks.CHECKS.get_one("response_schema_conformance")])

    run()
    return seen
