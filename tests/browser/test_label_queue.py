"""Several people label one queue in browsers of their own, with offline spells, reloads, skips and undo.

``python tests/browser/test_label_queue.py --people 10 --answers 5000 FOLDER`` does it at length; stopped, it goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="needs apsw: pip install 'steelyard[serve]'")
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from browser_scripts import need_browser, run_script
from service_bench import settings_of
from service_server import ThreadedServer, code_for, make_person, make_service

from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.log.events import Kind, unpack
from steelyard.service.writer.verify import verify_project


def asking(budget: int) -> Any:
    """Every row is asked about, as long as the budget lasts."""
    columns = {"n": "shown", "x": "number", "y": "number"}
    return settings_of(columns=columns, query="AskAll()", pace=False, budget=budget, expected_rows=budget)


def label(
    folder: Path, tokens: dict[str, str], people: list[int], goal: int, seed: int, run: Callable[[Any], Any]
) -> list[dict[str, Any]]:
    """Let people label until so many answers are saved; what each of their pages noted."""
    with ThreadedServer(folder) as server:
        producer, source = server.client(tokens["producer"]), random.Random(seed)
        rows = [{"n": i, "x": source.gauss(0, 1), "y": source.gauss(0, 1)} for i in range(goal + 60)]
        list(producer.decide_many(rows))
        codes = [code_for(folder, person) for person in people]
        task = {"url": server.url, "project": "p", "codes": codes, "goal": goal, "seed": seed}
        found: list[dict[str, Any]] = run(task)
    return found


def check(folder: Path, people: list[int], found: list[dict[str, Any]]) -> int:
    """Every "saved" stands in the log once, nobody answered twice, nothing pressed is lost; how many answers."""
    store = SQLiteStore(folder, readonly=True)
    head = store.project("p")
    assert head is not None
    events = {event.seq: event for event in store.events(head.id, 0)}
    labels = settings_labels(store, head)
    standing: dict[tuple[int, int | None], int] = {}
    for seq, event in events.items():
        if event.kind in (Kind.ANSWER, Kind.SKIP):
            assert (event.actor, event.item) not in standing, "answered twice by one person"
            standing[event.actor, event.item] = seq
        elif event.kind == Kind.RETRACT:
            assert standing.pop((event.actor, event.item)) == unpack(event).answer
    for person, page in zip(people, found, strict=True):
        assert page["said"] == []
        assert page["left"] == 0
        ends: dict[int, int] = defaultdict(int)
        refused = {note["item"] for note in page["notes"] if note["kind"] == "refused"}
        last: dict[int, dict[str, Any]] = {}  # what was pressed last on an item
        for note in page["notes"]:
            if note["kind"] == "saved":
                event = events[note["answer"]]
                assert (event.actor, event.item) == (person, note["item"])
                said = None if event.kind == Kind.SKIP else labels[unpack(event).label]
                assert said == note["label"]
            if note["kind"] in ("saved", "refused"):
                ends[note["item"]] += 1
            if note["kind"] == "refused":
                assert note["code"] in ("already_answered", "closed", "not_yours"), note
            if note["kind"] == "undone":
                last[int(re.search(r"(\d+) was", note["text"])[1])] = note  # type: ignore[index]
            if note["kind"] == "kept":
                assert set(note["fields"]) <= {*ENTRY, *BACK}
                if note["entry"] == "answer":
                    last[note["item"]] = note
        for item, note in last.items():
            if note["kind"] == "undone":
                continue
            assert ends[item] or (person, item) in standing, f"answer {item} of {person} was lost"
            if item not in refused:
                event = events[standing[person, item]]
                said = None if event.kind == Kind.SKIP else labels[unpack(event).label]
                assert said == note["label"], f"answer {item} of {person}: another one stands"
    assert verify_project(store, head).events == head.head
    budget = store.tables(head.id)["budget"][0]
    settled = sum(row[1] == 1 for row in store.tables(head.id)["question"])
    assert budget[1] >= settled
    assert budget[1] + budget[2] <= budget[0]
    store.close()
    return len(standing)


ENTRY = ("item", "key", "kind", "label", "log", "person", "seconds", "tried")  # never the row
BACK = ("answer",)


def settings_labels(store: SQLiteStore, head: Any) -> list[str]:
    first = store.event(head.id, 1)
    assert first is not None
    classes: list[str] = unpack(first).settings["classes"]
    return classes


def test_three_people_label_one_queue(tmp_path: Path) -> None:
    need_browser()
    tokens = make_service(tmp_path, settings=asking(400))
    people = [make_person(tmp_path, f"person {i}", {"p": "annotator"}) for i in range(3)]
    found = label(tmp_path, tokens, people, 200, 7, lambda task: run_script("label_queue.js", task))
    assert sum(note["kind"] == "saved" for page in found for note in page["notes"]) >= 200
    assert any(note["kind"] == "retracted" for page in found for note in page["notes"])
    assert check(tmp_path, people, found) > 150


def main() -> None:
    """The same at length, in rounds; what is done stays in the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--answers", type=int, default=5000)
    parser.add_argument("--round", type=int, default=250)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = given.folder / "people.json"
    if not kept.exists():
        tokens = make_service(given.folder, settings=asking(4 * given.answers))
        people = [make_person(given.folder, f"person {i}", {"p": "annotator"}) for i in range(given.people)]
        kept.write_text(json.dumps([tokens, people, 0, 0]))
    tokens, people, done, n = json.loads(kept.read_text())
    while done < given.answers:
        found = label(
            given.folder, tokens, people, given.round, n, lambda task: run_script("label_queue.js", task, 1200)
        )
        check(given.folder, people, found)
        done += sum(note["kind"] == "saved" for page in found for note in page["notes"])
        n += 1
        kept.write_text(json.dumps([tokens, people, done, n]))
        print(f"{done} answers saved, all in the log once", flush=True)


if __name__ == "__main__":
    main()
