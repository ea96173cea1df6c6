"""The pages of whoever runs a project: who may see them, what they say, and that nothing in them is read as a page."""

from __future__ import annotations

import gzip
import re

import pytest
from service_bench import settings_of
from service_server import ThreadedServer, make_person, make_service, visit

from steelyard.active import draw
from steelyard.service.log.events import Decide
from steelyard.service.pages.owner import _three_digits, moment, why_asked
from steelyard.service.pages.page import static_files

HOSTILE = "<script>alert(1)</script>\"'&"
COLUMNS = {"x": "number", "note": "text"}


@pytest.fixture
def served(folder):
    settings = settings_of(columns=COLUMNS, question=HOSTILE, guide=HOSTILE, budget=20, hash_bits=8)
    tokens = make_service(folder, settings=settings)
    people = {name: make_person(folder, name, {"p": name}) for name in ("owner", "annotator", "producer", "reader")}
    with ThreadedServer(folder) as server:
        yield server, tokens, lambda name: visit(server, folder, people[name])


def test_before_the_first_row_the_page_says_how_to_send_one(served):
    server, _, visitor = served
    status, _, raw = visitor("owner").page("/p/p")
    text = raw.decode()
    assert status == 200
    assert "No rows yet" in text
    assert f"{server.url}/v1/p/decide" in text
    assert "Idempotency-Key: $(date +%s%N)" in text  # typed twice, it sends two rows
    assert "&#34;note&#34;:&#34;some words&#34;" in text


def test_owner_page_decision_and_settings(served):
    server, tokens, visitor = served
    producer, annotator = server.client(tokens["producer"]), server.client(tokens["annotator"])
    made = [producer.decide({"x": n, "note": HOSTILE}) for n in range(6)]
    asked = next(one for one in made if one["ask"])
    annotator.answer(asked["item"] if "item" in asked else asked["id"], "fraud")
    owner = visitor("owner")
    status, headers, raw = owner.page("/p/p")
    text = raw.decode()
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "too few labels to say" in text
    assert "nominal 95%" not in re.sub(r'<p id="curve-said".*', "", text)
    _, _, raw = owner.page(f"/p/p/decisions/{asked['id']}")
    decision = raw.decode()
    assert "Asked: chance 1" in decision
    assert "answered: fraud; learned as training example 1" in decision
    _, _, raw = owner.page("/p/p/settings")
    assert 'name="costs.fn"' in raw.decode()
    for page in (text, decision, raw.decode()):
        assert "<script>alert" not in page
    status, _, reply = owner.send("PATCH", "/v1/p/settings", {"budget": 30}, {"If-Match": "1"})
    assert (status, reply["settings"]["budget"]) == (200, 30)
    assert "budget = 30" in owner.page("/p/p/settings")[2].decode()


def test_expected_costs_are_written_out():
    assert [_three_digits(cost) for cost in (0.44, 1234.5, 0.0, 51234.0)] == ["0.440", "1,230", "0.00", "51,200"]


def test_fields_hold_every_digit(folder):
    """They are sent back as they stand: with six digits, changing one cost would change the other."""
    tokens = make_service(
        folder, settings=settings_of(costs={"fn": 1234567.25, "fp": 0.123456789}, threshold=-0.123456789)
    )
    person = make_person(folder, "Ada", {"p": "owner"})
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
        ada = visit(server, folder, person)
        settings, owner, label = (ada.page(path)[2].decode() for path in ("/p/p/settings", "/p/p", "/p/p/label"))
    for page in (settings, owner):
        assert re.search(r'name="(?:costs\.)?fn"[^>]* value="1234567.25"', page)
        assert re.search(r'name="(?:costs\.)?fp"[^>]* value="0.123456789"', page)
    assert 'name="threshold" step="any" required value="-0.123456789"' in owner
    assert "fn 1234567.25 (fraud taken for good)" in label


def test_a_matrix_of_costs_is_shown_in_the_order_of_the_classes(folder):
    """That is how it is sent back, whatever class is the positive one."""
    told = {"classes": ["fraud", "good"], "positive": "fraud", "costs": [[0, 10], [1, 0]]}
    make_service(folder, settings=settings_of(**told, question="Is it fraud?\nLook at the hour."))
    person = make_person(folder, "Ada", {"p": "owner"})
    with ThreadedServer(folder) as server:
        settings = visit(server, folder, person).page("/p/p/settings")[2].decode()
    assert ">Is it fraud?\nLook at the hour.</textarea>" in settings  # a field of one line would join the two
    found = re.findall(r'name="costs\.(\d)\.(\d)".*? value="([^"]+)" aria-label="([^"]+)"', settings)
    assert found == [
        ("0", "0", "0", "is fraud, decided fraud"),
        ("0", "1", "10", "is fraud, decided good"),
        ("1", "0", "1", "is good, decided fraud"),
        ("1", "1", "0", "is good, decided good"),
    ]


def test_who_may_see_what(served):
    server, tokens, visitor = served
    made = server.client(tokens["producer"]).decide({"x": 1.0, "note": "a"})
    expected = {"owner": (200, 200, 200), "reader": (200, 200, 403), "annotator": (403,) * 3, "producer": (403,) * 3}
    for name, statuses in expected.items():
        one = visitor(name)
        paths = ("/p/p", f"/p/p/decisions/{made['id']}", "/p/p/settings")
        assert tuple(one.page(path)[0] for path in paths) == statuses, name
        assert one.page("/p/other")[0] == 404


@pytest.mark.parametrize("item", ["1", "999999", "0", "x", "9" * 30, "-1"])
def test_a_decision_that_is_not_there(served, item):
    _, _, visitor = served
    assert visitor("owner").page(f"/p/p/decisions/{item}")[0] == 404


def test_the_owner_page_is_small_and_asks_nobody_else(served):
    server, tokens, visitor = served
    server.client(tokens["producer"]).decide({"x": 1.0, "note": "a"})
    raw = visitor("owner").page("/p/p")[2]
    names = re.findall(r'(?:href|src)="/static/[0-9a-f]+/([\w.]+)"', raw.decode())
    assert {"uPlot.iife.min.js", "owner.js", "tokens.css"} <= set(names)
    names += ["amounts.js", "session.js"]
    size = len(gzip.compress(raw)) + sum(len(static_files()[name].packed) for name in set(names))
    assert size <= 60_000, f"{size} bytes"
    for file in [raw, *(static_files()[name].plain for name in names if not name.startswith("uPlot"))]:
        assert not re.search(rb"(?:src|href|url|fetch|EventSource)\W{1,3}(?:https?:)?//", file)


def test_why_a_label_was_asked_for():
    told = {"t": 4, "model": 1, "score": 0.1, "answer": 0, "digest": b""}
    settings = settings_of()
    said = [
        why_asked(Decide(chance=chance, sampled=sampled, ask=ask, **told), settings)
        for chance, sampled, ask in ((0.5, False, True), (0.05, True, True), (0.05, True, False), (0.0, False, False))
    ]
    thrown = f"draw {draw(settings.seed, 4):.3g}"
    assert said == [
        f"Asked: chance 0.5, {thrown}, near the boundary",
        f"Asked: chance 0.05, {thrown}, a sample of all rows",
        f"Not asked: chance 0.05, {thrown}",
        "Not asked: the budget was spent",
    ]
    for query in ("AskAll()", "AskFirst()", "AskRandom(0.5)"):  # they look at no score
        blind = settings_of(query=query, pace=False)
        asked = Decide(chance=1.0, sampled=False, ask=True, **told)
        assert why_asked(asked, blind) == f"Asked: chance 1, {thrown}, a sample of all rows"
    assert moment(1_700_000_000_000_000) == "2023-11-14 22:13:20"
