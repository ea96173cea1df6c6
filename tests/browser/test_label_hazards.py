"""What happens to somebody who labels hundreds a day: two tabs, a slow network, a double press, a late undo."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="needs apsw: pip install 'steelyard[serve]'")

from service_place import CLOSED, CUT, EMPTY, KEPT, READY, ROW, SAVED, Place, Visits, seen, served

from steelyard.client import Client

SAID = "document.getElementById('said').innerText"
WAITING = "document.querySelector('[data-waiting]').dataset.waiting"
FIRST = "document.querySelector('#fields dd').textContent"
LABEL = ["goto", "/p/p/label"]


def test_two_tabs_of_one_person_ask_nothing_twice(place: Place) -> None:
    place.push(*[ROW | {"amount": float(i)} for i in range(4)])
    steps = [LABEL, READY, ["tab", 1], LABEL, READY, ["eval", FIRST], ["tab", 0], ["press", "a"]]
    steps += [["wait", f"{SAVED} == 1"], ["tab", 1], ["wait", f"{SAID}.includes('Answered in another tab.')"]]
    steps += [["eval", FIRST], ["press", "x"], ["wait", f"{SAVED} == 2"], ["tab", 0], ["wait", f"{SAVED} == 2"]]
    steps += [["eval", FIRST], ["eval", SAID]]
    first, next_one, other, said = seen(place.visit(place.annotator, *steps))
    assert (first, next_one, other) == ("0", "1", "2")
    assert "settled by others" not in said


def test_an_answer_that_another_tab_has_sent_can_be_undone(place: Place) -> None:
    """Its own way to the service is slow; the other tab sends what waits, and tells the number."""
    place.push(ROW)
    cut = """window.fetch = ((real) => (url, options) => String(url).endsWith('/answers')
      ? Promise.reject(new TypeError('cut')) : real(url, options))(fetch)"""
    steps = [["tab", 1], LABEL, READY, ["tab", 0], LABEL, READY, ["eval", cut], ["press", "a"]]
    steps += [["wait", f"{KEPT} == 1"], ["tab", 1], ["reload"], ["wait", f"{WAITING} == 0 && {SAVED} == 1"]]
    steps += [["tab", 0], ["wait", f"{WAITING} == 0 && {SAVED} == 1"], ["press", "u"], READY]
    steps += [["wait", f"{SAVED} == 0 && {WAITING} == 0"], ["eval", SAID]]
    assert "Cannot be undone" not in seen(place.visit(place.annotator, *steps))[-1]


def test_a_request_without_an_answer_is_sent_again(place: Place) -> None:
    """A phone that changes its network leaves a connection behind on which nothing ever comes."""
    place.push(ROW)
    hang = """(() => {
      const real = window.fetch, timeout = AbortSignal.timeout.bind(AbortSignal);
      AbortSignal.timeout = (most) => timeout(most / 200);
      let first = true;
      window.fetch = (url, options) => {
        if (!first || !String(url).endsWith('/answers')) return real(url, options);
        first = false;
        const { signal } = options;
        return new Promise((_, refuse) => signal?.addEventListener('abort', () => refuse(signal.reason)));
      };
    })()"""
    steps = [LABEL, READY, ["eval", hang], ["press", "a"], ["wait", f"{SAVED} == 1 && {WAITING} == 0"]]
    place.visit(place.annotator, *steps)


def test_the_second_half_of_a_double_press_answers_nothing(place: Place) -> None:
    place.push(*[ROW | {"amount": float(i)} for i in range(3)])
    twice = """(() => {
      for (const detail of [1, 2]) document.querySelector('#answers .positive').dispatchEvent(
        new MouseEvent('click', { bubbles: true, detail }));
    })()"""
    clock = "(window.at = performance.now() + 1000, performance.now = () => window.at, null)"
    later = ["eval", "(window.at += 300, null)"]
    steps = [LABEL, READY, ["eval", clock], ["eval", twice], ["wait", f"{SAVED} == 1"], ["eval", FIRST], later]
    steps += [["click", "#answers .positive"], ["wait", f"{SAVED} == 2"], ["eval", FIRST]]
    assert seen(place.visit(place.annotator, *steps)) == ["1", "2"]


def test_an_undo_that_the_service_would_refuse_is_not_offered(tmp_path: Path, visit_pages: Visits) -> None:
    undo = "(({disabled, textContent}) => [disabled, textContent])(document.getElementById('undo'))"
    with served(tmp_path, visit_pages, undo=0) as place:
        place.push(ROW, ROW | {"amount": 7.0})
        steps = [LABEL, READY, ["press", "a"], ["wait", f"{SAVED} == 1 && {WAITING} == 0"], ["eval", undo]]
        steps += [["press", "u"], ["eval", FIRST], ["eval", SAID]]
        button, shown, said = seen(place.visit(place.annotator, *steps))
    assert button == [True, "Uundo"]
    assert shown == "7"
    assert "saved too long ago to be undone" in said


def test_a_key_does_what_its_button_says(place: Place) -> None:
    """Backspace takes back, unless somebody has given it to a class."""
    place.push(ROW)
    chosen = "document.querySelector('[data-action=\"class 1\"]').focus()"
    steps = [LABEL, READY, ["press", "?"], ["eval", chosen], ["press", "Backspace"], ["press", "Escape"], CLOSED]
    steps += [["press", "Backspace"], ["wait", f"{SAVED} == 1"], EMPTY]
    place.visit(place.annotator, *steps)


def test_a_logged_out_page_counts_what_waits(place: Place) -> None:
    place.push(ROW, ROW)
    out = """fetch('/logout', {method: 'POST', headers:
      {'X-CSRF-Token': document.querySelector('meta[name=csrf]').content}}).then(() => null)"""
    steps = [
        LABEL,
        READY,
        ["eval", out],
        ["press", "a"],
        ["wait", f"{SAID}.includes('1 answer waits in this browser')"],
    ]
    place.visit(place.annotator, *steps)


COUNTS = "document.getElementById('counts').textContent"


def test_what_others_hold_waits_and_what_they_answer_is_spent(place: Place) -> None:
    place.push(ROW)
    with Client(place.server.url, place.tokens["annotator"], "p") as other:
        (held,) = other.questions()
    elsewhere = f"""fetch('/v1/p/answers', {{method: 'POST',
      body: JSON.stringify([{{item: {held["item"]}, label: 'good'}}]),
      headers: {{Authorization: 'Bearer {place.tokens["annotator"]}', 'Content-Type': 'application/json',
        'Idempotency-Key': 'k'}}}}).then((answer) => answer.status)"""
    said = "document.getElementById('empty-said').textContent"
    steps = [LABEL, ["wait", f"{said}.startsWith('No question waits for you; 1 waits for somebody else.')"]]
    steps += [["eval", COUNTS], ["eval", elsewhere], ["wait", f"{COUNTS} === '1 of 50 spent, 0 waiting'"]]
    assert seen(place.visit(place.annotator, *steps)) == ["0 of 50 spent, 1 waiting", 200]


def test_an_answer_can_be_undone_after_a_reload(place: Place) -> None:
    place.push(*[ROW | {"amount": float(i)} for i in range(3)])
    undo = "document.getElementById('undo').innerText.includes('was fraud')"
    kept = "JSON.stringify({...sessionStorage})"
    steps = [LABEL, READY, ["press", "a"], ["wait", f"{SAVED} == 1 && {WAITING} == 0"], ["reload"], READY]
    steps += [["eval", undo], ["eval", FIRST], ["eval", kept], ["press", "u"], ["wait", f"{FIRST} == '0'"]]
    steps += [["press", "x"], ["wait", f"{SAVED} == 1 && {WAITING} == 0"]]
    steps += [["wait", f"{COUNTS} === '1 of 50 spent, 2 waiting'"], ["eval", FIRST]]
    offered, shown, stored, then = seen(place.visit(place.annotator, *steps))
    assert (offered, shown, then) == (True, "1", "1")
    assert "Cardhaus" not in stored


def test_the_outbox_counts_what_outlasts_the_page(place: Place) -> None:
    """An answer is on the disk of the browser a moment after its press; who leaves before that has to give it again."""
    place.push(ROW, ROW | {"amount": 1.0})
    hold = """(() => {
      const add = IDBObjectStore.prototype.add;
      window.held = true;
      IDBObjectStore.prototype.add = function (...given) {
        const store = this, request = add.apply(store, given);
        (function again() { if (window.held) store.count().onsuccess = again; })();
        return request;
      };
    })()"""
    steps = [LABEL, READY, ["eval", CUT], ["eval", hold], ["press", "a"], ["wait", f"{FIRST} == '1'"]]
    steps += [["eval", KEPT], ["eval", "(window.held = false, null)"], ["wait", f"{KEPT} == 1"]]
    assert seen(place.visit(place.annotator, *steps)) == ["0"]
