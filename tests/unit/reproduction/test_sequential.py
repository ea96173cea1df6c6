"""Looks declared beforehand: what they may spend, and how often their words are wrong."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from steelyard.reproduction.claims import weigh
from steelyard.reproduction.sequential import LEVEL, SPENT, LookSchedule, look_level, look_sizes, stages
from steelyard.reproduction.tables import Line, Source


def line(learner: str, values: Sequence[float], declared: int = 20) -> Line:
    by_run = dict(enumerate(map(float, values)))
    made = Line("Table 1", "toy", learner, "score", float(np.mean(values)), 1.0, len(values), None, by_run)
    return replace(made, source=Source("recipe", learner, declared))


BETTER = {"item": "Table 1", "claim": "A beats B", "kind": "better", "better": ["A"], "worse": ["B"]}


def test_all_looks_together_spend_no_more_than_is_declared() -> None:
    assert look_sizes()[:4] == [20, 40, 80, 160]
    assert look_sizes()[-1] == 10_240
    assert sum(look_level(k) for k in range(1, 1000)) < SPENT


def test_a_plan_says_when_it_looks() -> None:
    assert [s.runs for s in stages(LookSchedule.ONCE, 30)] == [30]
    assert [s.runs for s in stages(LookSchedule.AFTER, 30)][:3] == [30, 40, 80]
    assert [s.runs for s in stages(LookSchedule.FRESH, 30)][:2] == [20, 40]
    assert stages(LookSchedule.AFTER, 30)[0].test == LEVEL
    assert stages(LookSchedule.AFTER, 30)[1].test == look_level(2)


def test_runs_beyond_the_declared_ones_count_only_at_a_look() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.6, 1, 39), rng.normal(0, 1, 39)
    a[:20] = b[:20] + rng.normal(0, 1, 20)  # no difference among the declared runs
    lines = [line("A", a), line("B", b)]
    assert weigh(BETTER, lines).word == "undecided"
    waiting = weigh(BETTER, lines, LookSchedule.AFTER)
    assert waiting.word == "undecided"
    (need,) = waiting.needs
    assert (need.recipe, need.learners, need.runs) == ("recipe", ("A", "B"), 40)


def test_a_decided_comparison_needs_no_more_runs() -> None:
    values = np.random.default_rng(0).normal(size=20)
    found = weigh(BETTER, [line("A", values + 3), line("B", values[::-1])], LookSchedule.FRESH)
    assert found.word == "holds"
    assert not found.needs


def test_bounds_are_looked_at_too() -> None:
    rng = np.random.default_rng(0)
    claim = {"item": "Table 1", "claim": "about .5", "kind": "quantity", "at_least": 0.4, "at_most": 0.6}
    few = weigh(claim, [line("A", rng.normal(0.5, 0.4, 20))], LookSchedule.AFTER)
    assert few.word == "undecided"
    assert few.needs[0].runs == 40
    assert weigh(claim, [line("A", rng.normal(0.5, 0.4, 640))], LookSchedule.AFTER).word == "holds"


@pytest.mark.parametrize(("gain", "wrong"), [(0.0, "holds"), (0.2, "fails"), (1.0, "fails"), (-0.3, "holds")])
def test_wrong_words_are_rare_however_often_one_looks(gain: float, wrong: str) -> None:
    """200 recipes of each known truth, looked at until decided or until 320 runs are used up."""
    rng = np.random.default_rng(11)
    words = []
    for _ in range(200):
        a, b = rng.normal(gain, 1, 320), rng.normal(0, 1, 320)
        words.append(weigh(BETTER, [line("A", a), line("B", b)], LookSchedule.FRESH).word)
    assert words.count(wrong) <= 10
    assert gain != 0.0 or words.count("undecided") >= 190  # of no difference both words are wrong
    assert gain != 1.0 or words.count("holds") == 200


@pytest.mark.parametrize("plan", [LookSchedule.ONCE, LookSchedule.AFTER])
def test_wrong_words_are_rare_over_all_truths(plan: LookSchedule) -> None:
    """200 recipes each of no difference, a small, a large and a reversed one, with the paper's ten runs and further."""
    rng = np.random.default_rng(3)
    wrong = dict.fromkeys((0.0, 0.2, 1.0, -0.3), 0)
    for gain in wrong:
        true = {"holds"} if gain > 0 else {"fails"} if gain < 0 else set()
        for _ in range(200):
            a, b = rng.normal(gain, 1, 80), rng.normal(0, 1, 80)
            word = weigh(BETTER, [line("A", a, 10), line("B", b, 10)], plan).word
            wrong[gain] += word not in true | {"undecided"}
    assert sum(wrong.values()) <= 0.05 * 800
    assert wrong[1.0] == 0
