"""What happens to somebody who labels hundreds a day: two tabs, a slow network, a double press, a late undo."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="needs apsw: pip install 'steelyard[serve]'")

from service_place import CLOSED, EMPTY, KEPT, READY, ROW, SAVED, Place, Visits, seen, served

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
