import math

import pytest

from steelyard.reproduction.claims import weigh
from steelyard.reproduction.tables import Line, Printed


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
    assert weigh(claim("equal"), [good, bad]).word == "does not hold"
    assert weigh(claim("equal"), []).word == "not testable here"


def test_within_claim() -> None:
    near, far = line(mean=1.1, printed=printed(1.0)), line(mean=1.5, printed=printed(1.0))
    assert weigh(claim("within"), [near]).word == "holds"
    assert weigh(claim("within"), [near, far]).word == "does not hold"
    assert weigh(claim("within", se=10), [near, far]).word == "holds"
    assert "1 of 2 cells within 2 standard errors, the others by up to" in weigh(claim("within"), [near, far]).reason
    hopeless = line(mean=1e6, printed=printed(1.0))
    assert "the others by 100 and more, first" in weigh(claim("within"), [near, hopeless]).reason


def test_better_claim_on_every_data_set_and_in_its_direction() -> None:
    up, down = line("A", 2.0), line("B", 1.0)
    assert weigh(claim("better", better=["A"], worse=["B"]), [up, down]).word == "holds"
    assert weigh(claim("better", better=["A"], worse=["B"], lower=True), [up, down]).word == "does not hold"
    assert weigh(claim("better", better=["A"], worse=["B"]), [up, down]).reason == "toy A 2 against B 1"
    elsewhere = [line("A", 1.0, data="other"), line("B", 1.5, data="other")]
    assert weigh(claim("better", better=["A"], worse=["B"]), [up, down, *elsewhere]).word == "does not hold"
    assert weigh(claim("better", better=["A"], worse=["B"], data=["toy"]), [up, down, *elsewhere]).word == "holds"


def test_untestable_says_why() -> None:
    verdict = weigh(claim("untestable", reason="the data are private"), [])
    assert (verdict.word, verdict.reason) == ("not testable here", "the data are private")
