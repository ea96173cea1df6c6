"""Which run is named, and what is said of the others."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard
from steelyard import Costs
from steelyard.comparison.choice import choose_winner, clearly_cheaper
from steelyard.comparison.evaluation import CandidateRun
from steelyard.comparison.leaderboard import LeaderboardRow
from steelyard.comparison.promise import Promise
from steelyard.comparison.recommendation import _how_sure, _what_it_costs, _what_to_use
from steelyard.evaluate import Interval

AMOUNT = "{:g}".format  # a cost as text, where no currency is given


def run(name: str, paid: Any, family: str = "baseline", **more: Any) -> CandidateRun:
    return CandidateRun(name, family, paid=np.asarray(paid, dtype=float), **more)


def line(name: str, cost: float, *, family: str = "baseline", p_value: float | None = 0.4) -> LeaderboardRow:
    value = Interval(cost, cost, cost, 0.95, 0.0)
    rest = {"g_mean": value, "f1": None, "sensitivity": None, "specificity": None, "savings": value}
    times = {"fit_seconds": 0.0, "predict_seconds": 0.0, "folds": 5, "rows": None}
    return LeaderboardRow(
        name=name, family=family, mean_cost=value, total_cost=cost, p_value=p_value, weight=None, **rest, **times
    )


PROMISED = Promise(0.41, 0.3, 0.5, 1200, 0.9)
ALWAYS = run("always", np.full(100, 9.0), "constant")


def test_the_blend_is_named_where_a_single_is_cheaper_by_chance_only() -> None:
    rng = np.random.default_rng(0)
    blend, single = rng.random(100), rng.random(100)
    single += blend.mean() - single.mean() - 0.01
    assert choose_winner([run("single", single)], [ALWAYS], run("blend", blend, "blend")).name == "blend"


def test_a_single_that_is_clearly_cheaper_is_named_before_the_blend() -> None:
    rng = np.random.default_rng(0)
    blend = rng.random(100) + 0.5
    singles = [run("near", blend - 0.001), run("far", blend - 0.3), run("dear", blend + 0.3)]
    assert choose_winner(singles, [ALWAYS], run("blend", blend, "blend")).name == "far"


def test_what_cannot_be_saved_is_not_named() -> None:
    kind = SimpleNamespace(savable=False)
    foreign = run("foreign", np.zeros(100), candidate=SimpleNamespace(kind=kind))
    assert choose_winner([foreign, run("ours", np.ones(100))], [ALWAYS], None).name == "ours"


def test_a_constant_wins_a_tie() -> None:
    assert choose_winner([run("single", np.full(100, 9.0))], [ALWAYS], None) is ALWAYS


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_clearly_cheaper_is_cheaper_and_counts_are_repetitions(seed: int, members: int) -> None:
    rng = np.random.default_rng(seed)
    paid, blended = rng.exponential(size=(40, members)), rng.exponential(1.3, size=40)
    count = rng.integers(0, 3, 40).astype(float)
    count[0] += 1
    k = clearly_cheaper(paid, blended, count)
    again = np.repeat(np.arange(40), count.astype(int))
    assert k == clearly_cheaper(paid[again], blended[again])
    if k is not None:
        assert count @ paid[:, k] < count @ blended


def test_equal_costs_are_no_lead() -> None:
    paid = np.ones((30, 3))
    assert clearly_cheaper(paid, np.ones(30)) is None


@pytest.mark.parametrize(
    ("blend_cost", "single_cost", "said"),
    [
        (0.40, 0.42, "The lead of the blend (0.4) over SVM alone (0.42) is within chance. --no-blend gives that one"),
        (0.42, 0.40, "SVM alone cost less (0.4, the blend 0.42), but by no more than chance"),
    ],
)
def test_a_blend_near_a_single_model_says_so_with_its_size(blend_cost: float, single_cost: float, said: str) -> None:
    best = line("blend", blend_cost, family="blend", p_value=None)
    told = " ".join(
        _how_sure(best, [best, line("SVM", single_cost), line("forest", 0.9, p_value=0.001)], 7, 12_300, AMOUNT)
    )
    assert said in told
    assert "--no-blend gives that one model (12 kB) in place of the blend's 7." in told


def test_the_cost_is_told_with_its_interval_and_beside_the_cheapest_constant() -> None:
    promised = Promise(0.41, 0.3, 0.5, 1200, 0.9)
    told = "Expect to pay 0.41 per example; the mean of 1,200 new ones will be between 0.3 and 0.5 with 90% confidence."
    for saved, words in ((0.35, "35% less"), (-0.02, "2% more")):
        best = replace(line("SVM", 0.4, p_value=None), savings=Interval(saved, saved, saved, 0.95, 0.0))
        beside = f"On rows it was not fitted on it cost {words} than the cheapest constant answer."
        lines = [best, line("always no", 0.4 / (1 - saved), family="constant")]
        assert _what_it_costs(best, lines, promised, AMOUNT) == f"{told} {beside}"
    constant = line("always no", 0.4, family="constant", p_value=None)
    assert _what_it_costs(constant, [constant], promised, AMOUNT) == told


@pytest.mark.parametrize(("cost", "constant"), [(-0.5, -0.2), (-0.5, 0.0), (0.1, 0.0), (-0.5, 0.4)])
def test_where_answers_gain_no_share_of_a_cost_is_told(cost: float, constant: float) -> None:
    best = line("SVM", cost, p_value=None)
    told = _what_it_costs(best, [best, line("always no", constant, family="constant")], PROMISED, AMOUNT)
    assert told.endswith(f"it cost {cost:g}, and the cheapest constant answer {constant:g}; below 0 is a gain.")


def test_savings_of_the_leaderboard_are_those_of_the_measure() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=150) > 0.5, "bad", "good")
    for tp in (0.0, -3.0, -9.0):
        costs = Costs.binary(fn=5, fp=1, tp=tp, classes=["good", "bad"])
        result = steelyard.compare(X, y, costs=costs, candidates=["logistic"], cv=3)
        for row, run in ((row, run) for row in result.lines for run in result.runs.entries if run.name == row.name):
            if run.answers is not None:
                measured = steelyard.savings_score(y, result.runs.problem.classes[run.answers], costs=costs)
                assert row.savings.value == pytest.approx(measured)
                assert row.savings.low <= row.savings.value <= row.savings.high


def test_names_with_commas_are_told_apart() -> None:
    best = line("blend", 0.4, family="blend", p_value=None)
    blend = run("blend", [0.4], "blend", members=[(run("SVM, C=1", [0.4]), 0.25), (run("forest", [0.4]), 0.75)])
    assert _what_to_use(best, [best], blend, AMOUNT) == (
        "Use the blend: a weighted mean of the probabilities of 2 candidates (75% forest; 25% SVM, C=1)."
    )


def test_a_single_named_before_the_blend_says_what_the_blend_costs() -> None:
    best = line("SVM", 0.3, p_value=None)
    told = _how_sure(best, [best, line("blend", 0.5, family="blend", p_value=0.001)], 0, None, AMOUNT)
    assert "The blend costs 0.5, more than SVM alone by more than chance." in told


def test_it_is_never_said_of_a_dearer_one_that_it_costs_least() -> None:
    best = line("forest", 0.5, p_value=None)
    told = _what_to_use(
        best,
        [best, line("SVM", 0.4), line("always a", 0.9, family="constant", p_value=0.0)],
        run("forest", [1.0]),
        AMOUNT,
    )
    assert "SVM cost less (0.4 against 0.5) is within chance" in told
    best = line("forest", 0.3, p_value=None)
    told = _what_to_use(best, [best, line("SVM", 0.4)], run("forest", [1.0]), AMOUNT)
    assert told == "Use forest: it has the least cost of 2 candidates."


def test_of_a_comparison_size_is_in_the_advice_and_speed_beside_it() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(160, 3))
    y = (X[:, 0] + rng.normal(size=160) > 0).astype(int)
    result = steelyard.compare(
        X, y, costs=Costs.binary(fn=3, fp=1, classes=[0, 1]), candidates=["logistic", "svm"], cv=3
    )
    assert result.best.members, "these data are made to need a blend"
    assert result.alternative is not None
    assert any(result.alternative.name in s and "kB" in s for s in result.recommendation)
    speed = result.speed()
    assert speed is not None
    assert speed.startswith(f"{result.alternative.name} answered 1,000 rows in ")
    assert speed not in result.to_json()
