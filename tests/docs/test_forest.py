"""The forest plot: what a bar shows, what leaves the picture, and how large it may be."""

import xml.etree.ElementTree as ET

from site_pages.forest import EDGE, MOST, direction, forest, place, scaled


def row(difference: float, *, p: float, spreads: float = 0.5, other: tuple[str, str] = ("", "")) -> dict[str, str]:
    numbers = {"difference": difference, "low": difference - 1, "high": difference + 1, "spreads": spreads, "p": p}
    named = {"where": "toy", "what": "A - B < 1", "other_low": other[0], "other_high": other[1]}
    return {k: str(v) for k, v in numbers.items()} | named


def test_right_is_as_claimed_for_costs_and_scores_alike() -> None:
    score, cost = row(2.0, p=0.01), row(-2.0, p=0.01, spreads=-0.5)
    assert direction(score) == 1
    assert direction(cost) == -1
    assert scaled(score) == scaled(cost) == (0.5, 0.25, 0.75)
    assert scaled(row(-2.0, p=0.99, spreads=-0.5))[0] == -0.5


def test_what_leaves_the_picture_ends_at_its_edge() -> None:
    assert place(100.0) == place(EDGE)
    drawn = ET.fromstring(forest([row(2.0, p=0.0, spreads=90.0, other=("-1", "5"))]))
    assert len([e for e in drawn.iter("path") if "v8z" in e.get("d", "")]) >= 1


def test_many_comparisons_stay_a_small_picture() -> None:
    text = forest([row(float(k), p=0.01) for k in range(1, 60)])
    assert text.count("<circle") == MOST
    assert f"The {MOST} smallest of 59 comparisons." in text
    assert len(text) < 10_000
