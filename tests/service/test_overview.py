"""What the owner is told: no number without enough labels, what the budget allows, who has answered."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from service_bench import Bench, made_up, settings_of, snapshot_of

from steelyard import Estimate, Trace, f_score, mean_cost, savings_score
from steelyard.service.log.records import cell_text
from steelyard.service.numbers import live
from steelyard.service.numbers.live import LEAST_MISTAKES, LEAST_SIZE, curve, labelled
from steelyard.service.numbers.overview import _short, costliest_kind, duration, lasts_till, overview
from steelyard.service.writer.jobs import AnswerJob


def run(bench: Bench, rows: int, *, answered: bool = True, seed: int = 0) -> None:
    source = random.Random(seed)
    for _ in range(rows):
        truth = source.random() < 0.3
        (made,) = bench.decide(made_up(source, truth))
        if made.ask and answered:
            bench.run(AnswerJob("p", 2, answers=[(made.id, "fraud" if truth else "good", 1.5)]))


def seen(bench: Bench):
    return overview(bench.store, "p", snapshot_of(bench), bench.clock.now())


def test_before_anything_happened(folder):
    found = seen(Bench(folder, settings_of()))
    assert found.words["cost"] == "–"
    assert found.words["cost_band"] == "too few labels to say"
    assert found.words["queue"] == "no question waits"
    assert (found.people, found.latest, found.oldest) == ([], [], None)
    assert found.words["title"] == "0 rows"


def test_no_number_below_six_costly_mistakes_and_a_nominal_band_above(folder):
    bench = Bench(folder, settings_of(budget=400, expected_rows=900, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)"))
    shown = set()
    for step in range(12):
        run(bench, 60, seed=step)
        found = seen(bench)
        enough = found.estimates.effective_size >= LEAST_SIZE and found.estimates.costly_mistakes >= LEAST_MISTAKES
        assert (found.estimates.cost.value is not None) == enough
        if enough:
            assert found.words["cost_note"].startswith("nominal 95%, for one look")
            assert " to " in found.words["cost_band"]
            shown.add("number")
        elif found.estimates.effective_size >= LEAST_SIZE:
            assert found.words["cost_band"] == f"too few mistakes seen: {found.estimates.costly_mistakes} of 6"
            assert found.words["cost"] == "–"
            shown.add("mistakes")
    assert "number" in shown
    points = curve(bench.store, bench.project.id, snapshot_of(bench))
    assert points.rows == sorted(points.rows)
    assert points.rows[-1] == found.estimates.rounds
    assert points.cost[-1] == pytest.approx(found.estimates.cost.value)
    assert all(low <= cost <= high for low, cost, high in zip(points.low, points.cost, points.high, strict=True))


def test_people_questions_and_decisions(folder):
    bench = Bench(folder, settings_of(query="AskAll", pace=False, budget=20))
    bench.store.connection.execute("INSERT INTO person (id, name, active) VALUES (2, 'Ada', 1)")
    run(bench, 10)
    run(bench, 4, answered=False)
    bench.clock.advance(200)
    found = seen(bench)
    assert [(one.name, one.answers, one.skips, one.seconds) for one in found.people] == [("Ada", 10, 0, 1.5)]
    assert found.words["queue"] == "4 open, the oldest for 3 min"
    assert found.words["covers"] == "speaks about the first 10 of 14 rows; 4 wait for 4 labels"
    assert [one.t for one in found.latest] == [14, 13, 12, 11, 10, 9, 8, 7]
    assert [one.label is None for one in found.latest[:5]] == [True] * 4 + [False]


def test_how_long_the_budget_lasts(folder):
    settings = settings_of(budget=300, expected_rows=3000)
    shown = {"settings": settings, "limit": 300, "spent": 100, "reserved": 10}
    assert lasts_till(SimpleNamespace(rounds=1000, **shown)) == 3000
    assert lasts_till(SimpleNamespace(rounds=4000, **shown)) == 5000
    assert lasts_till(SimpleNamespace(rounds=4000, **shown | {"spent": 290})) is None
    plain = settings_of(budget=300, expected_rows=3000, pace=False)
    assert lasts_till(SimpleNamespace(rounds=110, **shown | {"settings": plain})) == 110 + 190


def test_when_the_budget_is_gone_the_numbers_keep_to_the_rows_they_speak_of(folder):
    """Labels that are asked behind the plan have tiny chances: one of them must not outweigh all before it."""
    bench = Bench(folder, settings_of(budget=100, expected_rows=300, costs={"fn": 3, "fp": 1}, update="CSOGD2(0.1)"))
    run(bench, 300)
    worth = seen(bench).estimates.effective_size
    run(bench, 3000, seed=1)
    found = seen(bench)
    assert bench.state.budget.left == 0
    assert found.estimates.effective_size >= 0.9 * worth
    assert found.estimates.rounds < bench.state.reach
    assert found.words["lasts"] == f"the budget is gone: the numbers speak up to row {found.estimates.rounds:,}"
    whole = labelled(bench.store, bench.project.id, snapshot_of(bench))
    weights = 1 / np.array(
        [row[5] for row in bench.store.tables(bench.project.id)["training_example"] if row[1] <= bench.state.seq]
    )
    assert weights.sum() ** 2 / (weights**2).sum() < found.estimates.effective_size
    assert len(whole.trace.y) < 100


def test_words_for_times_and_mistakes():
    assert [duration(s) for s in (3, 150, 7300, 200_000)] == ["3 s", "2 min", "2 h", "2 d"]
    assert costliest_kind(settings_of()) == "“fraud” taken for “good”"
    assert costliest_kind(settings_of(costs=None)) == "mistakes"


def test_the_band_of_what_is_saved_is_that_of_the_cost_turned_round():
    """A constant that costs 2 a row: each share of it is half the cost, and the skew is the cost's."""
    saved = Estimate(0.6, 0.1, 50.0, 60, 1000, "hajek")
    found, cost = live.saved_interval(saved, 0.8, 10.0), Estimate(0.8, 0.2, 50.0, 60, 1000, "hajek")
    band = cost.interval(costliest=10.0)
    assert (found.value, found.low, found.high) == pytest.approx((0.6, 1 - band.high / 2, 1 - band.low / 2))
    assert 0.6 - found.low > found.high - 0.6  # a mistake that was just not labelled
    assert live.saved_interval(Estimate(1.0, 0.0, 50.0, 60, 1000, "hajek"), 0.0, 10.0).high == 1.0


def test_the_latest_rows_are_a_glance():
    assert [_short(cell) for cell in (0.9270981339663527, 1303.0, 12, 20231104.0, -1234567.891, "a" * 30)] == [
        "0.927098",
        "1303",
        "12",
        "20231104",
        "-1234568",
        "a" * 23 + "…",
    ]


@pytest.mark.parametrize(("value", "text"), [(1303.0, "1303"), (3.5, "3.5"), (1234567.25, "1234567.25"), (7, "7")])
def test_numbers_are_shown_as_they_came(value, text):
    assert cell_text(value) == text


def test_other_cells_are_shown_as_the_label_page_writes_them():
    assert [cell_text(cell) for cell in (None, True, False, "1.0")] == ["", "true", "false", "1.0"]


@pytest.mark.parametrize(("caught", "shown"), [(5, False), (6, True)])
def test_what_is_saved_needs_costly_mistakes_that_were_avoided(caught, shown):
    """Of 100 labels 8 show a fraud that passed: the cost has a band; what is saved rests on those stopped, too."""
    y = np.array([1] * (8 + caught) + [0] * (92 - caught))
    prediction = np.where(np.arange(100) < 8, 0, y)
    prediction[-5:] = 1
    chance = np.where(y == prediction, 0.4, 0.8)
    trace = Trace(np.zeros(100), prediction, np.ones(100, bool), chance, y)
    numbers = np.arange(100)
    found = live.Labelled(300, 300, trace, numbers + 1, numbers + 2, 0, np.empty(0, np.int64))
    matrix = np.array([[0.0, 1.0], [10.0, 0.0]])
    cost = live.shown_or_reason(found, matrix, mean_cost, "push", 10.0, 0.0)
    assert cost.low < cost.value < cost.high
    for measure in (savings_score, f_score):
        said = live.shown_or_reason(found, matrix, measure, "push", 0.0, 1.0)
        assert (said.value is not None) == shown
        assert shown or said.reason == f"too few costly mistakes avoided among the labels: {caught} of 6"
