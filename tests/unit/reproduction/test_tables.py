import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from steelyard.reproduction.claims import weigh
from steelyard.reproduction.tables import Design, Line, Printed


def line(learner: str = "A", mean: float = 1.0, std: float = 0.1, printed: Printed | None = None, **other: str) -> Line:
    return Line(other.get("item", "Table 1"), other.get("data", "toy"), learner, "score", mean, std, 4, printed)


def printed(mean: float, spread: float | None = 0.1, kind: str = "std", runs: int = 4, decimals: int = 3) -> Printed:
    return Printed("Table 1", "toy", "A", "score", mean, spread, kind, runs, decimals)


def test_equal_means_mean_and_spread_round_to_the_printed_digits() -> None:
    assert line(mean=1.0004, std=0.1004, printed=printed(1.000)).equal
    assert not line(mean=1.0006, printed=printed(1.000)).equal
    assert not line(mean=1.0, std=0.102, printed=printed(1.000)).equal
    assert line(std=0.2, printed=printed(1.0, 0.1, kind="se")).equal


def test_gap_is_in_standard_errors_of_the_difference() -> None:
    assert line(mean=1.1, printed=printed(1.0)).gap == pytest.approx(0.1 / math.hypot(0.05, 0.05))
    assert line(mean=1.1, printed=printed(1.0, None)).gap == pytest.approx(0.1 / math.hypot(0.05, 0.05))
    assert line(mean=1.1, std=0.0, printed=printed(1.0, 0.0)).gap == math.inf
    assert line().gap is None


def claim(kind: str, **other: object) -> dict[str, object]:
    return {"item": "Table 1", "claim": "so it is", "kind": kind, **other}


def test_equal_claim_counts_numbers() -> None:
    good, bad = line(printed=printed(1.0)), line(mean=2.0, printed=printed(1.0))
    assert weigh(claim("equal"), [good, good]).word == "holds"
    assert weigh(claim("equal"), [good]).reason == "2 of 2 printed numbers equal"
    assert weigh(claim("equal"), [good, bad]).word == "fails"
    assert weigh(claim("equal"), []).word == "not testable here"


def runs_of(learner: str, values: Sequence[float], design: Design | None = None, **other: str) -> Line:
    mean, std = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    where = (other.get("item", "Table 1"), other.get("data", "toy"), learner, "score")
    return Line(*where, mean, std, len(values), None, dict(enumerate(values)), design or Design("split", 0.75))


NOISE = np.random.default_rng(0).normal(size=40)


def test_better_holds_fails_or_stays_undecided() -> None:
    base, same = runs_of("B", list(NOISE)), runs_of("A", list(np.roll(NOISE, 1) + 0.01))
    up, down = runs_of("A", list(NOISE + 0.1 + 0.1 * NOISE**2)), runs_of("A", list(NOISE - 0.1 - 0.1 * NOISE**2))
    which = {"better": ["A"], "worse": ["B"]}
    assert weigh(claim("better", **which), [up, base]).word == "holds"
    assert weigh(claim("better", **which), [down, base]).word == "fails"
    assert weigh(claim("better", **which, lower=True), [down, base]).word == "holds"
    undecided = weigh(claim("better", **which), [same, base])
    assert undecided.word == "undecided"
    assert "runs would decide at the difference seen" in undecided.reason
    elsewhere = [runs_of("A", list(np.roll(NOISE, 1)), data="other"), runs_of("B", list(NOISE), data="other")]
    assert weigh(claim("better", **which), [up, base, *elsewhere]).word == "undecided"
    assert weigh(claim("better", **which, data=["toy"]), [up, base, *elsewhere]).word == "holds"
    [pair] = weigh(claim("better", **which), [up, base]).pairs
    assert pair.found is not None
    assert pair.found.n == 40
    assert pair.found.paired.low < pair.found.difference < pair.found.paired.high


def test_other_samples_are_a_question_of_their_own() -> None:
    """Runs that share training rows say little about other rows; fresh samples say as much as the paired test."""
    which = {"better": ["A"], "worse": ["B"]}
    gain = NOISE + 0.35
    split = weigh(claim("better", **which), [runs_of("A", list(gain)), runs_of("B", [0.0] * 40)])
    assert (split.word, split.elsewhere) == ("holds", "undecided")
    fresh = [runs_of("A", list(gain), Design("generated")), runs_of("B", [0.0] * 40, Design("generated"))]
    assert weigh(claim("better", **which), fresh).elsewhere == "holds"
    same = [runs_of("A", list(gain), Design()), runs_of("B", [0.0] * 40, Design())]
    assert weigh(claim("better", **which), same).elsewhere == ""
    drawn = Design("split", 0.75, drawn_costs=True)
    costs = [runs_of("A", list(gain), drawn), runs_of("B", [0.0] * 40, drawn)]
    assert weigh(claim("better", **which), costs).elsewhere == "undecided (conservative)"


def test_one_common_run_decides_nothing() -> None:
    found = weigh(claim("better", better=["A"], worse=["B"]), [runs_of("A", [9.0]), runs_of("B", [0.0])])
    assert found.word == "undecided"
    assert "fewer than 2 common runs" in found.reason


@pytest.mark.parametrize(("gain", "wrong"), [(0.0, "holds"), (0.3, "fails"), (1.5, "fails"), (-0.5, "holds")])
def test_wrong_words_are_rare(gain: float, wrong: str) -> None:
    rng = np.random.default_rng(7)
    words = []
    for _ in range(200):
        a, b = rng.normal(gain, 1, 20), rng.normal(0, 1, 20)
        lines = [runs_of("A", list(a)), runs_of("B", list(b))]
        words.append(weigh(claim("better", better=["A"], worse=["B"]), lines).word)
    assert words.count(wrong) <= 16  # 10 expected at most; 16 are exceeded by chance in 2 of 100 cases
    if gain == 1.5:
        assert words.count("holds") > 190


def cell(values: Sequence[float], theirs: float, learner: str = "A") -> Line:
    ours = runs_of(learner, values)
    return replace(ours, printed=Printed("Table 1", "toy", learner, "score", theirs, 1.0, "std", 40, 3))


def test_agrees_is_one_test_for_all_cells() -> None:
    """Twenty cells, one of them two standard errors away: that is what chance does."""
    rng = np.random.default_rng(3)
    cells = [cell(list(rng.normal(size=40)), 0.0, f"L{k}") for k in range(12)]
    found = weigh(claim("agrees"), cells)
    assert found.word == "holds"
    assert "12 cells, joint p = " in found.reason
    assert weigh(claim("agrees"), [*cells, cell(list(NOISE), 1.5)]).word == "fails"


def test_agreement_of_few_runs_goes_by_the_farthest_cell() -> None:
    near = [cell([0.9, 1.0, 1.1], 1.0, f"L{k}") for k in range(5)]
    assert weigh(claim("agrees"), near).word == "holds"
    assert weigh(claim("agrees"), [*near, cell([90.0, 91.0, 90.5], 1.0)]).word == "fails"


def test_marks_are_weighed_by_how_likely_our_runs_make_them() -> None:
    def marked(values: Sequence[float], mark: float, learner: str) -> Line:
        theirs = Printed("Table 1", "toy", learner, "reference better", mark, None, "", 20, 0)
        return Line("Table 1", "toy", learner, "reference better", mark, 0.0, 20, theirs, dict(enumerate(values)))

    clear, none = list(NOISE + 3), list(NOISE)
    assert weigh(claim("marks"), [marked(clear, 1, "A"), marked(none, 0, "B")]).word == "holds"
    assert weigh(claim("marks"), [marked(clear, -1, "A"), marked(clear, 0, "B")]).word == "fails"


def test_ratio_and_quantity_go_by_their_interval() -> None:
    a, b = runs_of("A", list(np.exp(NOISE / 10))), runs_of("B", [1.0] * 40)
    ratio = {"of": "A", "to": "B"}
    assert weigh(claim("ratio", **ratio, at_most=1.2), [a, b]).word == "holds"
    assert weigh(claim("ratio", **ratio, at_most=0.5), [a, b]).word == "fails"
    assert weigh(claim("ratio", **ratio, at_most=a.mean), [a, b]).word == "undecided"
    assert weigh(claim("quantity", of=["A"], at_least=0.5, at_most=1.5), [a, b]).word == "holds"
    assert weigh(claim("quantity", of=["A"], at_least=1.5), [a, b]).word == "fails"


def test_ranks_and_monotone() -> None:
    many = [runs_of(name, list(NOISE + k), data=f"d{d}") for d in range(12) for k, name in enumerate("CBA")]
    assert weigh(claim("ranks", better=["A"], worse=["B", "C"]), many).word == "holds"
    assert weigh(claim("ranks", better=["C"], worse=["A", "B"]), many).word == "fails"
    assert weigh(claim("ranks", better=["A"], worse=["B", "C"]), many[:6]).word == "undecided"
    assert weigh(claim("monotone", order=["C", "B", "A"]), many).word == "holds"
    assert weigh(claim("monotone", order=["A", "B", "C"]), many).word == "fails"
    assert weigh(claim("monotone", order=["A", "B", "C"], falls=True), many).word == "holds"


def test_untestable_says_why() -> None:
    verdict = weigh(claim("untestable", reason="the data are private"), [])
    assert (verdict.word, verdict.reason) == ("not testable here", "the data are private")
