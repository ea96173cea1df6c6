"""Kinds of claims beyond "better": gains, bounds, counts, printed differences, steadiness, averages."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from steelyard.reproduction.claims import weigh
from steelyard.reproduction.sequential import LookSchedule
from steelyard.reproduction.steadiness import _interval
from steelyard.reproduction.tables import Line, Printed, Source
from steelyard.reproduction.verdicts import averaged

NOISE = np.random.default_rng(1).normal(size=(6, 40))


def line(learner: str, values: Sequence[float], *, data: str = "toy", measure: str = "score") -> Line:
    mean, std = float(np.mean(values)), float(np.std(values, ddof=1))
    return Line("Table 1", data, learner, measure, mean, std, len(values), None, dict(enumerate(map(float, values))))


def claim(kind: str, **parts: Any) -> dict[str, Any]:
    return {"item": "Table 1", "claim": "words", "kind": kind, **parts}


def test_gain_compares_how_far_one_is_ahead_here_and_there() -> None:
    ends = {"here": {"measure": "small"}, "there": {"measure": "large"}}
    lines = [
        line("A", NOISE[0] + 3, measure="small"),
        line("B", NOISE[1], measure="small"),
        line("A", NOISE[2] + 1, measure="large"),
        line("B", NOISE[3], measure="large"),
    ]
    found = weigh(claim("gain", of="A", to="B", **ends), lines)
    assert found.word == "holds"
    assert found.pairs[0].found is not None
    expected = (NOISE[0] + 3 - NOISE[1] - (NOISE[2] + 1 - NOISE[3])).mean()
    assert found.pairs[0].found.difference == pytest.approx(expected)
    turned = {"here": ends["there"], "there": ends["here"]}
    assert weigh(claim("gain", of="A", to="B", **turned), lines).word == "fails"


@pytest.mark.parametrize(("ahead", "word"), [(-0.5, "holds"), (0.5, "fails"), (0.1, "undecided")])
def test_difference_goes_by_its_interval(ahead: float, word: str) -> None:
    lines = [line("A", NOISE[0] / 5 + ahead), line("B", np.zeros(40))]
    assert weigh(claim("difference", of="A", to="B", at_most=0.1), lines).word == word


def test_improvement_weighs_a_printed_difference_with_the_noise_of_both() -> None:
    lines = [line("A", NOISE[0] / 100 + 0.04), line("B", np.zeros(40))]
    about = {"of": "A", "to": "B", "runs": 10, "scale": 100}
    assert weigh(claim("improvement", printed=4.2, **about), lines).word == "holds"
    far = weigh(claim("improvement", printed=8.1, **about), lines)
    assert far.word == "fails"
    assert "against 8.1 printed" in far.reason


def test_counts_are_weighed_by_how_likely_our_runs_make_them() -> None:
    def marked(data: str, values: Sequence[float], mark: float) -> Line:
        printed = Printed("Table 1", data, "B", "reference better", mark, None, "", 20, 0)
        return replace(line("B", values, data=data, measure="reference better"), mean=mark, printed=printed)

    lines = [marked(f"d{k}", NOISE[k] + 5, 1.0) for k in range(4)] + [marked("d4", NOISE[4] - 5, -1.0)]
    assert weigh(claim("counts", of="B", stated={"1": 4, "-1": 1}), lines).word == "holds"
    assert weigh(claim("counts", of="B", stated={"1": 1}), lines).word == "fails"


def test_steadier_is_about_the_variation_from_run_to_run() -> None:
    lines = [line("calm", NOISE[0] / 4), line("wild", NOISE[1] + 9)]
    assert weigh(claim("steadier", better=["calm"], worse=["wild"]), lines).word == "holds"
    assert weigh(claim("steadier", better=["wild"], worse=["calm"]), lines).word == "fails"
    alike = [line("calm", NOISE[2]), line("wild", NOISE[3])]
    assert weigh(claim("steadier", better=["calm"], worse=["wild"]), alike).word == "undecided"


def test_the_interval_of_two_deviations_is_the_test_of_pitman_and_morgan() -> None:
    """Its end lies at 1 where the correlation of sum and difference has just that p."""
    x, y = NOISE[0] * 0.8, NOISE[1] + 0.4 * NOISE[0]
    r = float(np.corrcoef(x + y, x - y)[0, 1])
    p = float(stats.t.cdf(r * np.sqrt(38 / (1 - r * r)), 38))
    ratio, together = float(x.std() / y.std()), float(np.corrcoef(x, y)[0, 1])
    assert _interval(ratio, together, 40, p)[1] == pytest.approx(1.0)


def test_steadiness_asks_for_the_runs_of_its_next_look() -> None:
    sources = {name: Source("recipe", name, 20) for name in ("calm", "wild")}
    lines = [replace(line(n, NOISE[k][:20]), source=sources[n]) for k, n in enumerate(sources)]
    found = weigh(claim("steadier", better=["calm"], worse=["wild"]), lines, LookSchedule.AFTER)
    assert found.word == "undecided"
    assert {(need.recipe, need.runs) for need in found.needs} == {("recipe", 40)}


def test_any_takes_the_best_of_several() -> None:
    lines = [line("low", NOISE[0]), line("high", NOISE[1] + 4), line("other", NOISE[2] + 2)]
    parts = {"better": ["low", "high"], "worse": ["other"]}
    assert weigh(claim("better", **parts), lines).word == "fails"
    assert weigh(claim("better", any=True, **parts), lines).word == "holds"


def test_a_row_of_averages_takes_run_by_run() -> None:
    lines = [line("A", NOISE[k] + k, data=f"d{k}") for k in range(3)] + [line("B", NOISE[3], data="d0")]
    (row,) = averaged(lines)  # B lacks two data sets
    assert (row.learner, row.data, row.runs) == ("A", "average", 40)
    assert row.values[7] == pytest.approx((NOISE[0][7] + NOISE[1][7] + 1 + NOISE[2][7] + 2) / 3)
