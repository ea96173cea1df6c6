"""Numbers as a reader wants them."""

import pytest

from steelyard.report.amounts import decimals_for, money, percent, rounded


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(0.125, 2, "0.13"), (2.5, 0, "3"), (-2.5, 0, "-3"), (-0.001, 2, "0.00"), (1234567.0, 0, "1,234,567")],
)
def test_halves_are_rounded_away_from_zero(value: float, decimals: int, text: str) -> None:
    assert rounded(value, decimals) == text


@pytest.mark.parametrize(("value", "decimals"), [(1e30, 2), (-1e40, 0), (1e300, 6)])
def test_amounts_of_any_size_are_written_out(value: float, decimals: int) -> None:
    point = "." if decimals else ""
    assert rounded(value, decimals) == f"{int(value):,}{point}{'0' * decimals}"


def test_no_more_digits_than_the_doubt_allows() -> None:
    assert money(0.5123, 0.05) == "0.51"
    assert money(0.5123, 0.05, extra=1) == "0.512"
    assert money(51234.0, 450.0, "EUR") == "51,200 EUR"
    assert rounded(float("nan"), 2) == "–"
    assert decimals_for(float("inf")) == 2
    assert percent(0.999, 500) == "100%"
