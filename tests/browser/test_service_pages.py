"""The pages of the service in Chromium: nothing sent is ever executed, everybody can use them, nothing is fetched from
elsewhere, and the whole way works without a mouse."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("apsw", reason="needs apsw: pip install 'steelyard[serve]'")

from service_bench import settings_of
from service_place import ASKING, CLOSED, CUT, EMPTY, KEPT, LETTER, LOG_OUT, READY, ROW, SAVED, Place, Visits, served
from service_server import call, code_for, make_person, visit

from steelyard.client import Client
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.events import Kind, unpack
from steelyard.service.people.accounts import add_person
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.projects import create_project

STRINGS: list[str] = json.loads((Path(__file__).parent / "hostile_strings.json").read_text(encoding="utf-8"))


@pytest.fixture
def place(tmp_path: Path, visit_pages: Visits) -> Iterator[Place]:
    with served(tmp_path, visit_pages, guide="Gift cards\n  at night") as made:
        yield made


def test_everybody_can_use_every_page(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("row_id,amount,label\na,1,good\nb,2,fraud\n")
    bad = tmp_path / "bad.csv"
    bad.write_text("a,a\n1,2\n")
    looks = [{"width": 1200, "scheme": "light"}, {"width": 320, "scheme": "dark"}]  # colours do not depend on width
    for look in looks:
        pages: list[list[Any]] = [["axe"]]
        found = place.visit(None, ["goto", "/login"], *pages, **look)
        errors = [["goto", "/nothing"], ["axe"], ["goto", "/p/other/label"], ["axe"]]
        steps = [["goto", "/"], ["axe"], ["goto", "/people"], ["axe"], ["goto", "/p/p/label"], EMPTY, ["axe"], *errors]
        steps += [["goto", "/new"], ["axe"], ["upload", "#file", str(bad)]]
        steps += [["wait", "document.getElementById('file-said').classList.contains('bad')"], ["axe"]]
        steps += [["upload", "#file", str(file)], ["wait", "!document.getElementById('form').hidden"], ["axe"]]
        more = place.visit(place.owner, *steps, **look)
        assert [r for r in found["results"] + more["results"] if r] == []
        assert (found["wide"], more["wide"]) == (look["width"], look["width"])
    place.push(*[ROW | {"message": LETTER}] * len(looks))
    for look in looks:
        full = [
            ["goto", "/p/p/label"],
            READY,
            ["axe"],
            ["press", "g"],
            ["axe"],
            ["press", "Escape"],
            CLOSED,
            ["press", "?"],
            ["axe"],
        ]
        lost = [["press", "Escape"], CLOSED, ["eval", "document.querySelector('meta[name=csrf]').content"]]
        found = place.visit(place.annotator, *full, *lost, **look)
        assert [r for r in found["results"][:-1] if r] == []
        assert found["wide"] == look["width"]
    gone = [["goto", "/p/p/label"], READY, ["offline", True], ["press", "x"], ["axe"], ["offline", False]]
    gone += [["eval", LOG_OUT]]
    gone += [["press", "x"], ["wait", "document.getElementById('said').innerText.includes('logged out')"], ["axe"]]
    found = place.visit(place.annotator, *gone)
    assert [r for r in found["results"] if r] == [204]


def test_a_spent_budget_is_said_and_short_rows_have_their_buttons_near(tmp_path: Path, visit_pages: Visits) -> None:
    gap = """(() => { const low = document.getElementById('fields').getBoundingClientRect().bottom;
      return document.getElementById('answers').getBoundingClientRect().top - low; })()"""
    with served(tmp_path, visit_pages, budget=1) as place:
        place.push(ROW)
        steps = [["goto", "/p/p/label"], READY, ["eval", gap], ["press", "x"]]
        steps += [["wait", "document.getElementById('empty-said').textContent.includes('all labels are spent')"]]
        found = place.visit(place.annotator, *steps, width=1200, height=900)
    assert 0 <= next(r for r in found["results"] if r is not None) < 300


def test_long_text_scrolls_while_the_buttons_stay_in_sight(place: Place) -> None:
    place.push(ROW | {"message": LETTER}, ROW)
    seen = """(() => {
      const words = document.querySelector('.words'), buttons = [...document.querySelectorAll('#answers button')];
      return { lines: words.textContent.split('\\n').length, style: getComputedStyle(words).whiteSpace,
        scrolls: words.scrollHeight > words.clientHeight,
        low: Math.max(...buttons.map((b) => b.getBoundingClientRect().bottom)) - innerHeight,
        small: buttons.filter((b) => b.getBoundingClientRect().height < 44).length };
    })()"""
    for width, height in ((1200, 900), (390, 844), (320, 568), (600, 450)):  # the last: 1200 px at 200%
        found = place.visit(place.annotator, ["goto", "/p/p/label"], READY, ["eval", seen], width=width, height=height)
        shown = found["results"][-1]
        assert (shown["lines"], shown["style"], shown["scrolls"], shown["small"]) == (80, "pre-wrap", True, 0)
        assert shown["low"] <= 0


def test_many_classes_leave_the_question_whole_and_skip_and_undo_in_sight(tmp_path: Path, visit_pages: Visits) -> None:
    names = [
        *(f"class {n}" for n in range(10)),
        "complaint about a delivery",
        "another department, please forward",
        "none",
    ]
    told = {"classes": names, "positive": None, "costs": None, "update": None, "question": "Which desk?\nOne only."}
    seen = """(() => {
      const question = document.getElementById('question'), low = [...document.querySelectorAll('#skip, #undo')];
      const words = [...document.querySelectorAll('#answers bdi')].map((one) => {
        const range = document.createRange(), text = one.firstChild, at = text.data.indexOf('department');
        if (at < 0) return 1;
        range.setStart(text, at), range.setEnd(text, at + 'department'.length);
        return range.getClientRects().length;
      });
      return { cut: question.scrollHeight - question.clientHeight, pieces: Math.max(...words),
        ordered: low[0].getBoundingClientRect().x < low[1].getBoundingClientRect().x,
        seen: low.every((one) => one.contains(document.elementFromPoint(one.getBoundingClientRect().x + 9,
          one.getBoundingClientRect().y + 9))) };
    })()"""
    with served(tmp_path, visit_pages, **told) as place:
        place.push(ROW | {"message": LETTER})
        for width, height in ((1200, 700), (390, 844)):
            steps = [["goto", "/p/p/label"], READY, ["eval", seen], ["axe"]]
            found = place.visit(place.annotator, *steps, width=width, height=height)["results"]
            assert found[-2:] == [{"cut": 0, "pieces": 1, "ordered": True, "seen": True}, []], width


def test_the_whole_way_without_a_mouse(place: Place) -> None:
    place.push(*[ROW | {"amount": float(i)} for i in range(5)])
    first = "document.querySelector('#fields dd').textContent"
    saved = lambda n: ["wait", f"{SAVED} == {n}"]  # noqa: E731
    lines_of_undo = """(() => {
      const word = document.createRange(), text = document.evaluate("//*[@id='undo']//text()[contains(., 'undo')]",
        document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
      word.setStart(text, 0), word.setEnd(text, "undo:".length);
      return word.getClientRects().length;
    })()"""
    steps = [["goto", "/p/p/label"], READY, ["press", "a"], ["press", "x"], saved(2), ["eval", first]]
    steps += [["eval", lines_of_undo]]
    steps += [["press", "u"], ["eval", first], saved(1), ["press", "a"], saved(2)]
    steps += [
        ["press", "g"],
        ["eval", "document.getElementById('guide').open"],
        ["press", "x"],
        ["press", "Escape"],
        CLOSED,
    ]
    steps += [["eval", "document.getElementById('guide').open"], ["press", "Space"], saved(3)]
    # keys can be changed: fraud by "f"; and switched off
    steps += [["press", "?"], ["eval", "document.querySelector('[data-action=\"class 1\"]').focus()"], ["press", "f"]]
    steps += [["press", "Escape"], CLOSED, ["press", "a"], ["eval", SAVED], ["press", "f"], saved(4)]
    steps += [["press", "?"], ["eval", "document.getElementById('keys-on').focus()"], ["press", "Space"]]
    steps += [["press", "Escape"], CLOSED, ["press", "f"], ["press", "x"], ["press", "Space"], ["eval", SAVED]]
    steps += [["reload"], READY, ["press", "f"], ["eval", "document.querySelector('[data-waiting]').dataset.waiting"]]
    steps += [["eval", "document.querySelector('#answers .positive').focus()"], ["press", "Enter"], saved(1), EMPTY]
    found = place.visit(place.annotator, *steps, width=320)
    assert [r for r in found["results"] if r is not None] == ["2", 1, "1", True, False, "3", "4", "0"]
    store = SQLiteStore(place.folder, readonly=True)
    votes = [(item, label) for item, _, label, _ in store.tables(1)["answer"]]
    assert [label for _, label in votes] == [1, 1, None, 1, 1]
    store.close()


def test_a_key_counts_as_soon_as_a_dialog_is_closed(place: Place) -> None:
    """A loaded browser takes the focus out of a closed dialog only with its next picture."""
    place.push(ROW)
    close = """(() => {
      const dialog = document.querySelector('dialog[open]');
      dialog.querySelector('input').focus();
      dialog.close();
      return document.activeElement.id;
    })()"""
    steps = [["goto", "/p/p/label"], READY, ["press", "?"], ["eval", close], ["press", "a"], ["wait", f"{SAVED} == 1"]]
    found = place.visit(place.annotator, *steps)
    assert "item" in found["results"]


def test_offline_answers_wait_and_hold_no_row(place: Place) -> None:
    place.push(*[ROW | {"amount": 7654321.25 + i} for i in range(4)])
    waiting = "document.querySelector('[data-waiting]').dataset.waiting"
    steps = [["goto", "/p/p/label"], READY, ["offline", True], ["press", "a"], ["press", "x"]]
    steps += [["wait", f"{KEPT} == 2"], ["eval", waiting]]
    steps += [["eval", "document.getElementById('said').innerText"], ["eval", kept_entries()]]
    steps += [["eval", "document.cookie"]]
    steps += [["offline", False], ["wait", f"{waiting} == 0"], ["eval", SAVED]]
    found = place.visit(place.annotator, *steps)
    results = [r for r in found["results"] if r is not None]
    assert results[0] == "2"
    assert "0 saved · 2 in the outbox, sending when online" in results[1]
    assert [sorted(entry) for entry in results[2]] == [
        ["item", "key", "kind", "label", "log", "n", "person", "seconds", "tried"]
    ] * 2
    assert not any(value in json.dumps(results[2]) for value in ("Cardhaus", "parcel", "765432"))
    assert results[3] == ""  # the session's cookie cannot be read by a script
    assert results[4] == "2"


def test_an_answer_right_behind_its_undo_takes_the_place_of_the_first(place: Place) -> None:
    """Two keys within one turn of the page, on an answer that is saved: first taken back, then answered anew."""
    place.push(ROW)
    at_once = """(() => {
      for (const key of ["u", "x"]) document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    })()"""
    waiting = "document.querySelector('[data-waiting]').dataset.waiting"
    steps = [["goto", "/p/p/label"], READY, ["press", "a"], ["wait", f"{SAVED} == 1 && {waiting} == 0"]]
    steps += [["eval", at_once], ["wait", f"{SAVED} == 1 && {waiting} == 0"]]
    steps += [["eval", "document.getElementById('said').innerText"]]
    found = place.visit(place.annotator, *steps)
    assert "settled by others" not in found["results"][-1]
    store = SQLiteStore(place.folder, readonly=True)
    head = store.project("p")
    assert head is not None
    events = [(Kind(event.kind), unpack(event)) for event in store.events(head.id, 0)]
    store.close()
    said = [(kind, getattr(body, "label", None)) for kind, body in events if kind in (Kind.ANSWER, Kind.RETRACT)]
    assert said == [(Kind.ANSWER, said[0][1]), (Kind.RETRACT, None), (Kind.ANSWER, said[2][1])]
    assert said[0][1] != said[2][1]


def test_what_was_taken_back_before_a_reload_is_not_counted_below_nothing(place: Place) -> None:
    place.push(ROW)
    waiting = "document.querySelector('[data-waiting]').dataset.waiting"
    steps = [["goto", "/p/p/label"], READY, ["press", "a"], ["wait", f"{SAVED} == 1 && {waiting} == 0"]]
    steps += [["eval", CUT.replace("/answers", "/retract")], ["press", "u"], ["wait", f"{KEPT} == 1"]]
    steps += [["goto", "/p/p/label"], ["wait", f"{waiting} == 0"], READY, ["eval", SAVED]]
    assert place.visit(place.annotator, *steps)["results"][-1] == "0"


def test_fetching_anew_says_whether_it_did(place: Place) -> None:
    place.push(ROW)
    said = "document.getElementById('said').innerText.includes('%s')"
    steps = [["goto", "/p/p/label"], READY, ["offline", True], ["press", "r"], ["wait", said % "cannot be reached"]]
    steps += [["offline", False], ["press", "r"], ["wait", said % "Fetched anew."]]
    place.visit(place.annotator, *steps)


def test_a_browser_that_cannot_keep_answers_is_asked_nothing(place: Place) -> None:
    """A store of a later version stands for one that cannot be opened; what is handed out here nobody could answer."""
    place.push(ROW)
    later = """new Promise((resolve) => {
      indexedDB.open('steelyard-outbox', 2).onsuccess = (event) => { event.target.result.close(); resolve(true); };
    })"""
    steps = [["goto", "/people"], ["eval", later], ["goto", "/p/p/label"]]
    steps += [["wait", "document.getElementById('empty-said').textContent.includes('cannot keep answers')"]]
    steps += [["press", "r"], ["press", "a"], ["eval", "document.getElementById('fields').hidden"]]
    assert place.visit(place.annotator, *steps)["results"][-1] is True
    annotator = Client(place.server.url, place.tokens["annotator"], "p")
    assert len(annotator.questions()) == 1
    annotator.close()


def test_a_logout_that_failed_is_said(place: Place) -> None:
    """Somebody else has logged in on the same browser: the page of the one before must not say that nobody is in."""
    eve = make_person(place.folder, "eve", {"p": "annotator"})
    other = f"""fetch('/login/link', {{method: 'POST', headers: {{'Content-Type': 'application/json'}},
      body: JSON.stringify({{code: '{code_for(place.folder, eve)}'}})}}).then((answer) => answer.status)"""
    said = "document.querySelector('[role=alert]').textContent"
    steps = [["goto", "/people"], ["eval", other], ["click", "#log-out"]]
    steps += [["wait", "!!document.querySelector('[role=alert]')"], ["eval", said], ["axe"]]
    steps += [["eval", "location.pathname"], ["reload"], ["click", "#log-out"], ["wait", "location.search.length > 0"]]
    steps += [["eval", "document.querySelector('.note[role=status]:not([hidden])').textContent"]]
    found = [r for r in place.visit(place.annotator, *steps)["results"] if r is not None]
    assert found[:1] + found[2:4] == [204, [], "/people"]
    assert found[1].startswith("Somebody has logged in here since")
    assert found[4].startswith("You are logged out")


def kept_entries() -> str:
    """What the outbox holds, as a script reads it."""
    return """new Promise((resolve) => {
      indexedDB.open('steelyard-outbox', 1).onsuccess = (event) => {
        const all = event.target.result.transaction('entries').objectStore('entries').getAll();
        all.onsuccess = () => resolve(all.result);
      };
    })"""


def test_another_person_neither_sees_nor_sends_an_outbox(place: Place) -> None:
    place.push(*[ROW | {"amount": float(i)} for i in range(6)])
    eve = make_person(place.folder, "eve", {"p": "annotator"})
    waiting = "document.querySelector('[data-waiting]').dataset.waiting"
    # bob's answers cannot leave: the way to /answers is cut; then eve logs in on the same browser
    cut = CUT
    steps = [["goto", "/p/p/label"], READY, ["eval", cut], ["press", "a"], ["press", "a"]]
    steps += [["wait", f"{KEPT} == 2"], ["eval", waiting]]
    steps += [
        ["goto", f"/login#{code_for(place.folder, eve)}"],
        ["click", "#use-link"],
        ["wait", "location.pathname === '/'"],
    ]
    steps += [["goto", "/p/p/label"], READY, ["eval", waiting], ["press", "x"], ["wait", f"{SAVED} == 1"]]
    steps += [["eval", kept_entries()]]
    found = place.visit(place.annotator, *steps)
    results = [r for r in found["results"] if r is not None]
    assert results[:2] == ["2", "0"]
    assert [entry["person"] for entry in results[2]] == [place.annotator] * 2
    store = SQLiteStore(place.folder, readonly=True)
    assert {person for _, person, _, _ in store.tables(1)["answer"]} == {eve}
    store.close()


def test_nothing_that_was_sent_is_executed(place: Place, tmp_path: Path) -> None:
    assert len(STRINGS) == len(set(STRINGS)) == 300
    store, now = SQLiteStore(place.folder), Clock().now()
    columns = {"n": "number"} | {name.strip(): "text" if i % 2 else "shown" for i, name in enumerate(STRINGS)}
    texts = {"question": "\n".join(STRINGS)[:9000], "guide": "\n".join(STRINGS)[9000:18000]}
    slugs = []
    for at in range(0, 300, 50):
        slugs.append(f"hostile-{at}")
        made = {"classes": STRINGS[at : at + 50], "costs": None, "update": None} | texts
        create_project(store, slugs[-1], settings_of(**ASKING | made | {"columns": columns}), at=now)
    with store.connection:
        for name in STRINGS:
            add_person(store, name.strip(), at=now)
    store.close()
    owner = visit(place.server, place.folder, place.owner)
    row = {name: STRINGS[(i + 1) % 300] + "\n" + STRINGS[(i + 2) % 300] for i, name in enumerate(columns) if i}
    for slug in slugs:
        status, _, said = owner.send("POST", f"/v1/{slug}/decide", {"row": row | {"n": 1}, "id": STRINGS[7]})
        assert (status, said["ask"]) == (200, True)
    file = tmp_path / "hostile.csv"
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(columns)
        writer.writerows([[i, *STRINGS[i:], *STRINGS[:i]] for i in range(3)])
    steps: list[list[Any]] = []
    for slug in slugs:
        steps += [["goto", f"/p/{slug}/label"], READY, ["press", "d"], ["eval", FOREIGN], ["eval", SHOWN]]
        steps += [
            ["press", "g"],
            ["press", "Escape"],
            CLOSED,
            ["press", "?"],
            ["press", "Escape"],
            CLOSED,
            ["press", "1"],
        ]
        steps += [["wait", f"{SAVED} == 1"], ["eval", "document.getElementById('undo').innerText"]]
    steps += [["goto", "/people"], ["eval", FOREIGN], ["goto", "/"], ["eval", FOREIGN], ["goto", "/new"]]
    steps += [["upload", "#file", str(file)], ["wait", "!document.getElementById('form').hidden"], ["eval", FOREIGN]]
    steps += [
        ["goto", f"/{quote(text, safe='')}?note={quote(text, safe='')}"] for text in STRINGS[::30] if "%" not in text
    ]
    steps += [["goto", f"/login?next={quote(text, safe='')}"] for text in STRINGS[::30]]
    found = place.visit(place.owner, *steps)
    results = [r for r in found["results"] if r is not None]
    for at in range(6):
        foreign, shown, _ = results[3 * at : 3 * at + 3]
        assert foreign == 0
        assert shown == 301
    assert results[18:21] == [0, 0, 0]


FOREIGN = """document.querySelectorAll('main :is(img, script, iframe, object, embed, video, style, link, base, math,'
  + ' template, svg, plaintext, xmp, [onload], [onerror], [onfocus], [style])').length"""
SHOWN = "document.querySelectorAll('#fields dt').length"


def test_a_project_by_dropping_a_file(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "Some Payments.csv"
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(["row_id", "amount", "message", "clerk", "label"])
        writer.writerows(
            [
                [f"r{i}", i / 4, f'say "hi",\n{i} of many words', f"c{i % 3}", "fraud" if i % 5 == 0 else "good"]
                for i in range(1203)
            ]
        )
    cost = "[...document.querySelectorAll('#costs input')].map((i) => [i.getAttribute('aria-label'), i.value])"
    steps = [["goto", "/new"], ["upload", "#file", str(file)], ["wait", "!document.getElementById('form').hidden"]]
    steps += [["eval", "[...document.querySelectorAll('#columns select')].map((s) => s.value)"], ["eval", cost]]
    steps += [["choose", "#columns tr:nth-child(4) select", "shown"], ["fill", "#question", "Fraud?"]]
    steps += [["fill", "[aria-label='is fraud, decided good']", "10"], ["fill", "#budget", "120"], ["click", "#make"]]
    steps += [["wait", "document.getElementById('said').innerText.includes('1,203 rows decided')"]]
    steps += [
        ["click", "#to-label"],
        ["wait", "document.getElementById('fields') && !document.getElementById('fields').hidden"],
    ]
    steps += [
        ["eval", "[...document.querySelectorAll('#fields dt')].map((d) => d.textContent)"],
        ["eval", "document.querySelector('.words').textContent"],
    ]
    found = place.visit(place.owner, *steps)
    kinds, costs, fields, words = [r for r in found["results"] if r is not None]
    assert kinds == ["ignored", "number", "text", "category", "ignored"]
    assert [value for _, value in costs] == ["0", "1", "1", "0"]
    assert fields == ["amount", "message", "clerk"]
    assert re.fullmatch(r'say "hi",\n\d+ of many words', words)
    owner = visit(place.server, place.folder, place.owner)
    settings = owner.send("GET", "/v1/some-payments/settings")[2]["settings"]
    assert (settings["classes"], settings["positive"], settings["costs"]) == (
        ["good", "fraud"],
        "fraud",
        [[0, 1], [10, 0]],
    )
    rows = [json.loads(line) for line in owner.send("GET", "/v1/some-payments/export.jsonl")[2].splitlines()]
    assert [row["external"] for row in rows] == [f"r{i}" for i in range(1203)]
    assert rows[6]["row"] == {"amount": 1.5, "message": 'say "hi",\n6 of many words', "clerk": "c0"}
    status, _, said = owner.send("POST", "/v1/projects", {"project": "some-payments", "settings": settings})
    assert (status, "be new" in said["message"]) == (422, True)
    assert owner.send("POST", "/v1/projects", {"project": "x", "settings": settings | {"budget": -1}})[0] == 422
    annotator = visit(place.server, place.folder, place.annotator)
    assert annotator.page("/new")[0] == 404


def test_a_file_that_was_cut_off_is_sent_on_and_its_costs_are_changed_on_the_page(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "calls.csv"
    lines = [f"{i},{'late' if i % 5 == 0 else 'good'}" for i in range(1203)]
    file.write_text("\n".join(["seconds,label", *lines]) + "\n")
    cut = """window.fetch = ((real) => {
      let batches = 0;
      return (url, options) => {
        if (!String(url).endsWith('/batch') || ++batches !== 2) return real(url, options);
        return Promise.resolve(Response.json({error: 'x', message: 'made up.'}, {status: 413}));
      };
    })(fetch)"""
    said = "document.getElementById('said').innerText.includes('%s')"
    dear = "[aria-label='is late, decided good']"
    steps = [["goto", "/new"], ["upload", "#file", str(file)], ["wait", "!document.getElementById('form').hidden"]]
    steps += [["choose", "#columns select", "shown"], ["choose", "#target", ""], ["choose", "#target", "label"]]
    steps += [["eval", "document.querySelector('#columns select').value"], ["choose", "#columns select", "number"]]
    steps += [["fill", dear, ""], ["click", "#make"], ["eval", "document.activeElement.getAttribute('aria-label')"]]
    steps += [
        ["fill", dear, "10"],
        ["eval", cut],
        ["click", "#make"],
        ["wait", said % "not all rows are sent: made up"],
    ]
    steps += [["axe"], ["eval", "document.getElementById('make').textContent"], ["click", "#make"]]
    steps += [
        ["wait", said % "1,203 rows decided"],
        ["goto", "/p/calls/settings"],
        ["fill", "[name='costs.1.0']", "7.125"],
    ]
    steps += [["click", "#settings button"], ["wait", "document.getElementById('saved').innerText.includes('costs')"]]
    found = [r for r in place.visit(place.owner, *steps, ["axe"])["results"] if r is not None]
    assert found == ["shown", "is late, decided good", [], "Send the rest", []]
    owner = visit(place.server, place.folder, place.owner)
    assert owner.send("GET", "/v1/calls/settings")[2]["settings"]["costs"] == [[0, 1], [7.125, 0]]
    rows = [json.loads(line)["row"] for line in owner.send("GET", "/v1/calls/export.jsonl")[2].splitlines()]
    assert rows == [{"seconds": i} for i in range(1203)]


def test_the_label_page_is_small(place: Place) -> None:
    bob = visit(place.server, place.folder, place.annotator)
    text = bob.page("/p/p/label")[2]
    loaded = re.findall(rb'(?:href|src)="(/static/[^"]+)"', text)
    total, todo, seen = len(gzip.compress(text)), [path.decode() for path in loaded], set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        body = call(place.server.url, "GET", path)[2]
        total += len(gzip.compress(body))
        folder = path.rpartition("/")[0]
        todo += [f"{folder}/{name.decode()}" for name in re.findall(rb'from "\./([\w.]+)"', body)]
    assert len(seen) >= 7
    assert total <= 25_000
