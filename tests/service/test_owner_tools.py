"""Expected costs, what-if and drift: what an owner may ask of what was decided."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from service_bench import THREE, Bench, made_up, settings_of, snapshot_of
from service_champion import bytes_of, crowned, fitted
from service_server import ThreadedServer, call, make_service

from steelyard.evaluate.drift import stability_index
from steelyard.service.log.events import Fit, Kind, unpack
from steelyard.service.numbers.drift import RECENT, REFERENCE, drift
from steelyard.service.numbers.live import curve, estimates
from steelyard.service.numbers.overview import overview
from steelyard.service.numbers.what_if import what_if
from steelyard.service.replay.expected import FittedPair, expected_costs, fit_pair
from steelyard.service.replay.fitting import fit_again
from steelyard.service.replay.reducer import DivergedReplayError
from steelyard.service.writer.jobs import AnswerJob, EraseJob, RetractJob, SetJob
from steelyard.service.writer.projects import replayed
from steelyard.service.writer.tasks import answer
from steelyard.service.writer.verify import verify_project


def labelled_rows(bench, count, seed=0, answered=True):
    """Rows whose truth is answered at once; the replies, and whether each was a fraud."""
    source, made, truth = random.Random(seed), [], []
    for _ in range(count):
        fraud = source.random() < 0.3
        (one,) = bench.decide({"x": source.gauss(1.2 * fraud, 1.0), "y": source.gauss(-0.5 * fraud, 1.0)})
        made.append(one)
        truth.append(fraud)
        if one.ask and answered:
            bench.run(AnswerJob("p", 2, answers=[(one.id, bench.labels[fraud], None)]))
    return made, np.array(truth)


# -- expected cost ---------------------------------------------------------------------------------------------------


def test_the_pair_undoes_the_way_labels_were_asked():
    draw = np.random.default_rng(0)
    scores = draw.normal(size=200_000)
    positive = draw.random(len(scores)) < 1 / (1 + np.exp(-(-1.0 + 2.0 * scores)))
    chances = np.where(positive, 0.5, 0.05)  # asked by truth itself: a fit without weights is far off
    asked = draw.random(len(scores)) < chances
    a, b = fit_pair(scores[asked], positive[asked], chances[asked])
    assert (a, b) == (pytest.approx(-1.0, abs=0.1), pytest.approx(2.0, abs=0.1))
    plain, _ = fit_pair(scores[asked], positive[asked], np.ones(asked.sum()))
    assert plain > 0.5
    separated = np.arange(-10.0, 10.0)
    a, b = fit_pair(separated, separated >= 0, np.ones(20))
    assert np.isfinite([a, b]).all()
    a, b = fit_pair(np.full(60, 3.0), np.ones(60, bool), np.ones(60))  # one score, one class
    assert np.isfinite([a, b]).all()


def test_expected_costs_come_from_the_last_pair_before_the_decision():
    fits = [FittedPair(10, 0.0, 1.0, 50, [[0, 1], [10, 0]]), FittedPair(20, None, 0.0, 0, [])]
    assert expected_costs(fits, 10, 0.0) is None
    assert expected_costs(fits, 11, 0.0) == [5.0, 0.5]
    assert expected_costs(fits, 21, 0.0) is None


def test_decisions_tell_what_they_are_expected_to_cost_once_there_are_labels(folder):
    settings = settings_of(budget=400, expected_rows=900, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)")
    bench = Bench(folder, settings)
    made, _ = labelled_rows(bench, 900)
    head = bench.store.project("p")
    fits = [event for event in bench.store.events(head.id, 0) if event.kind == Kind.FIT]
    labels = [unpack(event).labels for event in fits]
    assert labels[0] == 50
    assert all(later >= 1.2 * earlier for earlier, later in pairwise(labels))
    assert all((one.expected_cost is None) == (one.id < fits[0].seq) for one in made)
    # on rows that no pair has seen it tells what is paid
    fresh, truth = labelled_rows(bench, 1500, seed=1, answered=False)
    paid = [
        3.0 if t and one.decision == "good" else float(not t and one.decision == "fraud")
        for one, t in zip(fresh, truth, strict=True)
    ]
    assert np.mean([one.expected_cost for one in fresh]) == pytest.approx(np.mean(paid), rel=0.25)
    again = bench.decide(made_up(random.Random(7), True), key="same")
    labelled_rows(bench, 50, seed=2)
    assert bench.decide(made_up(random.Random(7), True), key="same") == again  # as the first time, whatever came since
    bench.restart()
    verify_project(bench.store, head := bench.store.project("p"))
    # a new model's scores mean something else
    bench.run(SetJob("p", 1, changes={"costs": {"fn": 5, "fp": 1}}, expected=1))
    assert bench.decide(made_up(random.Random(8), True))[0].expected_cost is None
    state, _ = replayed(bench.store, bench.store.project("p"))
    assert state.digest() == bench.state.digest()
    assert head.id == 1


def test_a_label_that_was_given_again_counts_once(folder, monkeypatch):
    bench, source = Bench(folder, settings_of(pace=False, query="AskAll()", budget=200)), random.Random(5)

    def label(count, undone):
        for n in range(count):
            (made,) = bench.decide(made_up(source, n % 3 == 0))
            say = AnswerJob("p", 2, answers=[(made.id, bench.labels[n % 4 == 0], None)])
            done = bench.run(say).answers[0]
            if n < undone:
                bench.run(RetractJob("p", 2, answer=done.answer))
                bench.run(say)

    def fits():
        return [unpack(event) for event in bench.store.events(bench.project.id, 0) if event.kind == Kind.FIT]

    label(50, undone=20)
    assert len(bench.state.training.examples) == 70
    rows = bench.store.tables(bench.project.id)["training_example"]
    columns = zip(*((score, y == 1, chance) for _, _, y, score, _, chance in rows), strict=True)
    ((version, labels, *pair),) = [(fit.version, fit.labels, fit.a, fit.b) for fit in fits()]
    assert (version, labels) == (2, 50)
    assert pair == pytest.approx(fit_pair(*(np.array(column) for column in columns)))
    # what was fitted by the rule before is computed again by it
    monkeypatch.setattr(answer, "FIT_VERSION", 1)
    monkeypatch.setattr(answer, "fit_again", lambda state: fit_again(state, version=1))
    label(12, undone=0)
    assert [fit.version for fit in fits()] == [2, 1]
    verify_project(bench.store, bench.store.project("p"))


def test_verify_computes_the_pair_again(folder):
    bench = Bench(folder, settings_of(pace=False, query="AskAll()", budget=200))
    labelled_rows(bench, 55)
    (fit,) = [event for event in bench.store.events(bench.project.id, 0) if event.kind == Kind.FIT]
    body = unpack(fit)
    forged = msgspec.structs.replace(body, b=body.b * (1 + 1e-6))
    assert isinstance(forged, Fit)
    bench.store.connection.execute("DROP TRIGGER event_stays")
    sql = "UPDATE event SET body = ? WHERE kind = 16"
    bench.store.connection.execute(sql, (msgspec.msgpack.encode(forged),))
    with pytest.raises(DivergedReplayError, match="b was"):
        replayed(bench.store, bench.store.project("p"))


def test_three_classes_have_no_expected_cost(folder):
    bench = Bench(folder, settings_of(**THREE, pace=False, query="AskAll()"))
    for n in range(60):
        (made,) = bench.decide(made_up(random.Random(n), n % 2 == 0))
        if made.ask:
            bench.run(AnswerJob("p", 2, answers=[(made.id, "abc"[n % 3], None)]))
    assert bench.decide({"x": 1, "y": 1})[0].expected_cost is None


def test_three_classes_have_numbers_as_soon_as_there_are_labels(folder):
    alike = THREE | {"costs": [[0, 2, 2], [2, 0, 2], [2, 2, 0]], "pace": False, "query": "AskAll()", "budget": 300}
    bench, source = Bench(folder, settings_of(**alike)), random.Random(1)
    paid, matrix = [], bench.state.settings.cost_matrix()
    for _ in range(200):
        true = source.randrange(3)
        (made,) = bench.decide({"x": source.gauss(true, 0.7), "y": source.gauss(-true, 0.7)})
        bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[true], None)]))
        paid.append(matrix[true, bench.labels.index(made.decision)])
    seen = snapshot_of(bench)
    found = estimates(bench.store, bench.project.id, seen)
    assert found.cost.value == pytest.approx(np.mean(paid))
    assert found.saved.value is not None
    assert {found.f1.reason, found.cost_with_answers.reason} == {"two classes only"}
    assert overview(bench.store, "p", seen, 0).estimates == found
    assert curve(bench.store, bench.project.id, seen).cost[-1] == pytest.approx(found.cost.value)


# -- what if ---------------------------------------------------------------------------------------------------------


def test_other_prices_and_another_threshold_cost_what_they_would(folder):
    settings = settings_of(pace=False, query="AskAll()", budget=2000, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)")
    bench = Bench(folder, settings)
    made, truth = labelled_rows(bench, 600)
    seen = snapshot_of(bench)
    scores, said = np.array([one.score for one in made]), np.array([one.decision == "fraud" for one in made])

    def cost(decided, fn, fp):
        return pytest.approx(np.mean(np.where(truth & ~decided, fn, np.where(~truth & decided, fp, 0.0))))

    ask = lambda **changes: what_if(bench.store, bench.project.id, seen, **changes)  # noqa: E731
    assert ask().cost == estimates(bench.store, bench.project.id, seen).cost
    assert ask().cost.value == cost(said, 3, 1)
    assert ask(fn=20.0).cost.value == cost(said, 20, 1)
    assert ask(fp=0.0, fn=2.0).cost.value == cost(said, 2, 0)
    moved = ask(threshold=-0.2, fn=20.0)
    assert moved.cost.value == cost(scores >= -0.2, 20, 1)
    assert (moved.note, moved.threshold) == ("learning unchanged", -0.2)
    never = ask(threshold=-1e9)  # always "fraud": no costly mistake is left to judge by
    assert never.cost.reason == "too few mistakes seen: 0 of 6"


# -- drift -----------------------------------------------------------------------------------------------------------


def test_stability_index():
    draw = np.random.default_rng(0)
    before, same, other = draw.normal(size=2000), draw.normal(size=1000), draw.normal(0.6, 1.0, 1000)
    assert stability_index(before, same) < 0.05
    assert stability_index(before, other) > 0.25
    assert stability_index(["a", "b"] * 1000, ["a", "b"] * 500) < 0.01
    assert stability_index(["a", "b"] * 1000, ["c", "d"] * 500) > 0.25
    assert stability_index([1.0] * 2000, [None] * 1000) > 0.25  # a column that went missing
    assert stability_index([1.0] * 2000, [1.0] * 1000) < 0.01


def test_lights_say_which_column_has_changed_and_when_there_are_too_few_rows(folder):
    bench = Bench(folder, settings_of(budget=600, expected_rows=3000, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)"))
    source = random.Random(0)

    def rows(count, shift):
        records = [made_up(source, source.random() < 0.3) for _ in range(count)]
        made = bench.decide(*(record | {"y": record["y"] + shift} for record in records))
        for one in made:
            if one.ask:
                bench.run(AnswerJob("p", 2, answers=[(one.id, "good", None)]))

    def lights():
        found = drift(bench.store, bench.project.id, snapshot_of(bench))
        return {one.name: one for one in found.lights}, found

    for _ in range(4):
        rows(REFERENCE // 4, 0.0)
    assert {one.light for name, one in lights()[0].items() if name != "cost"} == {"unknown"}
    rows(RECENT, 0.0)
    calm, found = lights()
    assert (found.reference, found.recent) == (REFERENCE, RECENT)
    assert (calm["inputs"].light, calm["inputs"].hint) == ("calm", "")
    rows(RECENT, 3.0)
    changed, found = lights()
    assert changed["inputs"].light == "act"
    assert changed["inputs"].what == "most in y"
    assert found.columns["x"] < 0.1 < 0.25 < found.columns["y"]
    assert changed["inputs"].hint


def test_the_scores_of_another_model_are_no_drift(folder):
    """They lie on another scale: until there are rows enough of the model that decides now, nothing is told."""
    bench, source = Bench(folder, settings_of()), random.Random(0)

    def rows(count):
        for _ in range(count // 500):
            bench.decide(*(made_up(source, source.random() < 0.3) for _ in range(500)))

    def lights():
        found = drift(bench.store, bench.project.id, snapshot_of(bench))
        return {one.name: (one.light, one.what) for one in found.lights}

    rows(REFERENCE)
    crowned(bench, bytes_of(fitted(), folder))
    rows(RECENT)
    early = lights()
    assert early["inputs"][0] == "calm"
    why = "needs 3,000 rows of the model that decides now; 1,000 have come"
    assert early["scores"] == early["asking"] == ("unknown", why)
    rows(REFERENCE)
    assert lights()["scores"] == ("calm", "last 1,000 rows against its first 2,000")


def test_erased_rows_leave_the_lights_that_need_no_rows(folder):
    bench, source = Bench(folder, settings_of()), random.Random(0)
    records = [made_up(source, source.random() < 0.3) for _ in range(REFERENCE + RECENT)]
    made = [one for n in range(0, len(records), 500) for one in bench.decide(*records[n : n + 500])]

    def lights():
        found = drift(bench.store, bench.project.id, snapshot_of(bench))
        return {one.name: (one.light, one.what) for one in found.lights}, found.columns

    whole, columns = lights()
    bench.run(EraseJob("p", 1, items=(made[5].id, made[-5].id)))
    less, still = lights()
    assert less == whole
    assert still == pytest.approx(columns, abs=0.01)
    bench.run(EraseJob("p", 1, items=tuple(one.id for one in made[10 : REFERENCE // 2 + 10])))
    gone, none = lights()
    assert gone["inputs"] == ("unknown", "most of the first rows were erased")
    assert ({name: gone[name] for name in ("scores", "asking")}, none) == (
        {name: whole[name] for name in ("scores", "asking")},
        {},
    )


def test_the_light_of_the_cost_sees_labels_that_became_others(folder):
    bench = Bench(
        folder, settings_of(pace=False, query="AskAsymmetric(1.0, 1.0)", budget=5000, costs={"fn": 3, "fp": 1})
    )
    for part in range(4):
        for n in range(300):
            source = random.Random(1000 * part + n)
            fraud = source.random() < 0.3
            (made,) = bench.decide(made_up(source, fraud))
            if made.ask:
                label = (made.decision == "good") if part == 3 else fraud  # every answer wrong, in the last part
                bench.run(AnswerJob("p", 2, answers=[(made.id, bench.labels[label], None)]))
        light = {one.name: one for one in drift(bench.store, bench.project.id, snapshot_of(bench)).lights}["cost"]
        assert part < 1 or (light.light == "act") == (part == 3), (part, light)
        # an amount stands with its band; where too few mistakes were seen there is none
        amount = r"(\d[\d.,]* \(\d[\d.,]* to \d[\d.,]*\) a row|too few mistakes seen: [0-5] of 6)"
        assert part < 1 or re.fullmatch(f"lately {amount}; before {amount}", light.what), light
        assert part != 3 or "too few" not in light.what


def test_over_http(folder):
    tokens = make_service(folder, settings=settings_of())
    with ThreadedServer(folder) as server:
        server.client(tokens["producer"]).decide({"x": 1, "y": 2})
        get = lambda path: call(server.url, "GET", f"/v1/p/{path}", token=tokens["reader"])  # noqa: E731
        status, _, found = get("whatif?fn=20&threshold=0.5")
        assert (status, found["fn"], found["fp"], found["threshold"]) == (200, 20.0, 1.0, 0.5)
        assert found["cost"]["reason"] == "too few labels to say"
        for query in ("fn=-1", "fn=nan", "fn=x", "fp=1e13", "threshold=inf", "fn=0&fp=0", f"fn={'1' * 50}"):
            assert get(f"whatif?{query}")[0] == 422, query
        status, _, found = get("drift")
        assert (status, {one["light"] for one in found["lights"]}) == (200, {"unknown"})
