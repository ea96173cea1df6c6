"""The owner's pages in Chromium: both themes, three widths, by keyboard, live, and closed while nobody looks."""

from __future__ import annotations

import base64
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tools"))
pytest.importorskip("apsw", reason="apsw is not installed")
pytest.importorskip("starlette", reason="starlette is not installed")
from service_bench import Bench, made_up, settings_of  # noqa: E402
from service_champion import bytes_of, fitted  # noqa: E402
from service_server import ThreadedServer, code_for, make_person, make_service  # noqa: E402

from steelyard.service.database.sqlite import SQLiteStore  # noqa: E402
from steelyard.service.writer.clock import Clock  # noqa: E402
from steelyard.service.writer.jobs import AnswerJob  # noqa: E402

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
LIVE = "document.getElementById('state').textContent === 'live'"
THEMES = [(width, scheme) for width in (1200, 390, 320) for scheme in ("light", "dark")]


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(prefix="owner-pages-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def fill(folder: Path, rows: int, unit: float = 1.0) -> None:
    """A project with labels enough for a number, and texts that want to be scripts."""
    columns = {"x": "number", "y": "number", HOSTILE[:40]: "shown"}
    told = {"columns": columns, "question": HOSTILE, "guide": HOSTILE, "costs": {"fn": 3 * unit, "fp": unit}}
    bench = Bench(folder, settings_of(budget=250, expected_rows=500, update="CSOGD2(0.1)", **told), clock=Clock())
    source = random.Random(0)
    for _ in range(rows):
        truth = source.random() < 0.3
        (made,) = bench.decide(made_up(source, truth) | {HOSTILE[:40]: HOSTILE})
        if made.ask:
            bench.run(AnswerJob("p", 2, answers=[(made.id, "fraud" if truth else "good", 1.5)]))
    bench.store.close()


def check(found) -> None:
    for one, (width, scheme) in zip(found, THEMES, strict=True):
        assert one["said"] == [], (width, scheme, one["said"])
        assert one["foreign"] == []
        assert one["violations"] == []
        assert one["wide"] <= width, f"{width} px, {scheme}: the page is {one['wide']} px wide"
        for result in one["results"]:
            assert result in (None, [], True), (width, scheme, result)


def look(visit_pages, server, folder, person, steps):
    """The same steps in every theme and width; a link is good once, so each visit gets its own."""
    found = []
    for visit in THEMES:
        one = {"code": code_for(folder, person), "width": visit[0], "scheme": visit[1], "steps": steps}
        found += visit_pages({"url": server.url, "visits": [one]})
    check(found)


def test_empty_full_and_error(visit_pages, folder):
    fill(folder, 500)
    make_service(folder, slug="empty")
    person = make_person(folder, "Ada", {"p": "owner", "empty": "owner"})
    fits = "document.documentElement.scrollWidth <= innerWidth"
    steps = [
        ["goto", "/p/p"],
        ["wait", LIVE],
        ["wait", "!!document.querySelector('.uplot canvas')"],
        ["axe"],
        ["eval", fits],
    ]
    steps += [["eval", "document.querySelector('[data-word=cost_note]').textContent.startsWith('nominal 95%')"]]
    steps += [["goto", "/p/p/settings"], ["axe"], ["eval", fits], ["goto", "/p/p/decisions/2"], ["axe"], ["eval", fits]]
    steps += [["eval", "!document.querySelector('main img, main script')"]]
    steps += [
        ["goto", "/p/empty"],
        ["axe"],
        ["eval", fits],
        ["goto", "/p/p/decisions/1"],
        ["axe"],
        ["goto", "/p/none"],
        ["axe"],
    ]
    with ThreadedServer(folder) as server:
        look(visit_pages, server, folder, person, steps)


def test_numbers_move_and_the_feed_is_closed_while_the_tab_is_hidden(visit_pages, folder):
    tokens = make_service(folder)
    person = make_person(folder, "Ada", {"p": "owner"})
    with ThreadedServer(folder) as server:
        producer = server.client(tokens["producer"])
        producer.decide({"x": 1.0, "y": 2.0})
        hide = (
            "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s});"
            " document.dispatchEvent(new Event('visibilitychange')); true"
        )
        decide = (
            "fetch('/v1/p/decide', {method: 'POST', headers: {'Content-Type': 'application/json', 'Idempotency-Key':"
            " String(Math.random()), 'X-CSRF-Token': document.querySelector('meta[name=csrf]').content},"
            " body: JSON.stringify({row: {x: 1, y: 2}})}).then((r) => r.ok)"
        )
        rows = "document.querySelector('[data-word=rows]').textContent === '%d rows'"
        steps = [["goto", "/p/p"], ["wait", LIVE], ["eval", decide], ["wait", rows % 2], ["axe"]]
        steps += [["eval", hide % "true"], ["wait", "document.getElementById('state').textContent !== 'live'"]]
        steps += [["eval", decide], ["eval", "new Promise((r) => setTimeout(() => r(true), 1500))"], ["eval", rows % 2]]
        steps += [["eval", hide % "false"], ["wait", LIVE], ["wait", rows % 3]]
        visit = {"code": code_for(folder, person), "steps": steps}
        (found,) = visit_pages({"url": server.url, "visits": [visit]})
        assert (found["said"], found["foreign"], found["violations"]) == ([], [], [])
        assert all(result in (None, [], True) for result in found["results"]), found["results"]


@pytest.mark.parametrize("unit", [0.001, 5000.0])
def test_costs_have_their_digits_whatever_they_are_counted_in(visit_pages, folder, unit):
    """The picture and what-if say the same number as the card above them, in digits of its size."""
    fill(folder, 500, unit)
    person = make_person(folder, "Ada", {"p": "owner"})
    card = "document.querySelector('[data-word=%s]').textContent"
    steps = [["goto", "/p/p"], ["wait", "!!document.querySelector('.uplot canvas')"], ["eval", card % "cost"]]
    steps += [
        ["eval", card % "cost_band"],
        ["eval", card % "saved"],
        ["eval", "document.getElementById('curve-said').textContent"],
    ]
    steps += [
        ["click", "#what-if button"],
        ["wait", "document.getElementById('if-said').textContent.includes('unchanged')"],
    ]
    steps += [["eval", "document.getElementById('if-said').textContent"], ["axe"]]
    with ThreadedServer(folder) as server:
        visit = {"code": code_for(folder, person), "steps": steps}
        (found,) = visit_pages({"url": server.url, "visits": [visit]})
    cost, band, saved, curve, what_if, axe = [result for result in found["results"] if result is not None]
    assert unit / 10 < float(cost.replace(",", "")) < unit
    assert f": {cost} at row" in curve
    assert what_if.startswith(f"Cost a row {cost} ({band}); saved {saved} (")
    assert axe == []


def test_an_owner_who_was_logged_out_is_told_so(visit_pages, folder):
    tokens = make_service(folder)
    person = make_person(folder, "Ada", {"p": "owner"})
    out = (
        "fetch('/logout', {method: 'POST',"
        " headers: {'X-CSRF-Token': document.querySelector('meta[name=csrf]').content}})"
        ".then(() => (dispatchEvent(new Event('pagehide')), dispatchEvent(new Event('pageshow')), true))"
    )
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
        steps = [["goto", "/p/p"], ["wait", LIVE], ["eval", out]]
        steps += [["wait", "document.getElementById('state').textContent === 'you are logged out; log in again'"]]
        steps += [["axe"], ["click", "#state a"], ["eval", "location.search === '?next=%2Fp%2Fp'"]]
        visit = {"code": code_for(folder, person), "steps": steps}
        (found,) = visit_pages({"url": server.url, "visits": [visit]})
        assert all(result in (None, [], True) for result in found["results"]), found["results"]


def test_settings_are_changed_by_keyboard_and_refusals_are_said(visit_pages, folder):
    make_service(folder)
    person = make_person(folder, "Ada", {"p": "owner"})
    typed = [["press", "Control+a"], ["type", "70"], ["press", "Enter"]]
    said = "document.getElementById('%s').textContent.includes('%s')"
    with ThreadedServer(folder) as server:
        steps = [["goto", "/p/p/settings"], ["eval", "document.querySelector('[name=budget]').focus(), true"], *typed]
        steps += [["wait", said % ("saved", "Saved as event 2: budget")], ["axe"]]
        steps += [["eval", "document.querySelector('[name=query]').focus(), true"]]
        steps += [["press", "Control+a"], ["type", "AskAll"], ["press", "Enter"]]
        steps += [["wait", said % ("refused", "query must be AskAsymmetric or AskSymmetric")], ["axe"]]
        visit = {"code": code_for(folder, person), "width": 320, "scheme": "dark", "steps": steps}
        (found,) = visit_pages({"url": server.url, "visits": [visit]})
        assert all(result in (None, [], True) for result in found["results"]), found["results"]
        assert found["wide"] <= 320
        end = time.monotonic() + 30
        while server.service.runtime.snapshot("p").limit != 70:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_an_owner_asks_what_if_judges_and_erases(visit_pages, folder):
    fill(folder, 300)
    person = make_person(folder, "Ada", {"p": "owner"})
    store = SQLiteStore(folder)
    asked = store.tables(1)["question"][0][0]
    store.close()
    submit = "document.querySelector('%s').requestSubmit(%s), true"
    said = "document.querySelector('%s').textContent.includes('%s')"
    steps = [["goto", "/p/p"], ["wait", "document.getElementById('lights').textContent.includes('needs 3,000 rows')"]]
    steps += [["eval", "document.querySelector('#what-if [name=fn]').value = '20', true"]]
    steps += [["eval", submit % ("#what-if", "")], ["wait", said % ("#if-said", "learning unchanged")], ["axe"]]
    steps += [["goto", f"/p/p/decisions/{asked}"]]
    steps += [["eval", submit % ("form.judge", "document.querySelector('form.judge button[value=good]')")]]
    steps += [["wait", said % ("form.judge [role=status]", "Decided: good")], ["axe"]]
    steps += [["eval", "document.querySelector('form.erase input[type=checkbox]').click(), true"]]
    steps += [["eval", submit % ("form.erase", "")], ["wait", said % ("form.erase [role=status]", f"Erased: {asked}")]]
    steps += [["axe"], ["goto", f"/p/p/decisions/{asked}"], ["wait", said % ("main", "It was erased")], ["axe"]]
    with ThreadedServer(folder) as server:
        visit = {"code": code_for(folder, person), "width": 390, "steps": steps}
        (found,) = visit_pages({"url": server.url, "visits": [visit]})
        assert (found["said"], found["foreign"], found["violations"]) == ([], [], [])
        assert all(result in (None, [], True) for result in found["results"]), found["results"]
        assert found["wide"] <= 390


def test_an_owner_begins_promotes_and_ends_a_shadow_and_a_champion(visit_pages, folder):
    fill(folder, 300)
    person, reader = (make_person(folder, name, {"p": name}) for name in ("owner", "reader"))
    said = "document.getElementById('%s').textContent.includes('%s')"
    press = "document.querySelector('#shadows button[aria-label^=%s]').click(), true"
    begin = "document.getElementById('new-shadow').requestSubmit(), true"
    steps = [["goto", "/p/p"], ["wait", said % ("deciding", "CSOGD2(0.1) decides")]]
    steps += [["eval", "document.querySelector('#new-shadow [name=update]').value = 'Nothing()', true"]]
    steps += [["eval", begin], ["wait", said % ("shadows-said", "update must be one of")], ["axe"]]
    steps += [["eval", "document.querySelector('#new-shadow [name=update]').value = 'AROW(r=10)', true"]]
    steps += [["eval", begin], ["wait", said % ("shadows", "AROW(r=10)too few labels to say")], ["axe"]]
    steps += [["eval", press % "promote"], ["wait", said % ("deciding", "AROW(r=10) decides")]]
    steps += [["wait", said % ("shadows", "CSOGD2(0.1)")], ["axe"]]
    steps += [["eval", press % "end"], ["wait", said % ("shadows", "No shadow.")], ["axe"]]
    given = (
        "const files = new DataTransfer(); files.items.add(new File([Uint8Array.from(atob('%s'), (c) =>"
        " c.charCodeAt(0))], 'm.steelyard')); document.querySelector('#new-champion input').files = files.files;"
        " document.getElementById('new-champion').requestSubmit(); true"
    )
    steps += [["eval", "(() => { " + given % "AAAA" + " })(), true"], ["wait", said % ("shadows-said", "the model")]]
    raw = base64.b64encode(bytes_of(fitted(), folder)).decode()
    steps += [["eval", "(() => { " + given % raw + " })(), true"], ["wait", said % ("deciding", "m.steelyard decides")]]
    steps += [["wait", said % ("shadows", "AROW(r=10)too few labels")], ["axe"]]
    steps += [["eval", "document.querySelector('#shadows button').click(), true"]]
    steps += [["wait", said % ("deciding", "AROW(r=10) decides")], ["axe"]]
    seen = [["goto", "/p/p"], ["wait", said % ("deciding", "AROW(r=10) decides")]]
    seen += [["eval", "!document.getElementById('new-shadow') && !document.querySelector('#shadows button')"], ["axe"]]
    with ThreadedServer(folder) as server:
        for who, acts in ((person, steps), (reader, seen)):
            visit = {"code": code_for(folder, who), "width": 390, "steps": acts}
            (found,) = visit_pages({"url": server.url, "visits": [visit]})
            assert (found["said"], found["foreign"], found["violations"]) == ([], [], [])
            assert all(result in (None, [], True) for result in found["results"]), found["results"]
            assert found["wide"] <= 390
        state = server.service.runtime.writer.projects["p"].state
        assert (state.settings.update, state.shadows, state.model) == ("AROW(r=10)", {}, 4)


def test_without_a_connection_the_page_says_so(visit_pages, folder):
    tokens = make_service(folder)
    person = make_person(folder, "Ada", {"p": "owner"})
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"x": 1.0, "y": 2.0})
        steps = [["goto", "/p/p"], ["wait", LIVE], ["offline", True]]
        steps += [["eval", "dispatchEvent(new Event('pagehide')), true"]]
        steps += [["wait", "document.getElementById('state').textContent === 'no connection; trying again'"], ["axe"]]
        visit = {"code": code_for(folder, person), "steps": steps}
        (found,) = visit_pages({"url": server.url, "visits": [visit]})
        assert all(result in (None, [], True) for result in found["results"]), found["results"]
