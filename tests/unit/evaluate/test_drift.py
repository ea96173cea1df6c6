import math

import numpy as np
import pytest

from steelyard import InvalidInputError
from steelyard.evaluate.drift import stability_index


def test_worked_by_hand() -> None:
    before, now = ["a"] * 3 + ["b"], ["a"] + ["b"] * 3
    p, q = [3.5, 1.5, 0.5, 0.5], [1.5, 3.5, 0.5, 0.5]  # a, b, the rest, missing: half a row is added to each
    expected = sum((y / 6 - x / 6) * math.log(y / x) for x, y in zip(p, q, strict=True))
    assert stability_index(before, now) == pytest.approx(expected, rel=1e-12)


def test_equal_samples_have_none_and_order_does_not_count() -> None:
    assert stability_index([3, 1, 2], [1, 2, 3]) == 0
    assert stability_index(["x", None, "y"], ["y", "x", None]) == 0


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "float32"])
def test_columns_of_numpy_are_numbers(dtype: str) -> None:
    before, now = np.arange(1000, dtype=dtype), np.arange(500, 1500, dtype=dtype)
    assert stability_index(before, now) == stability_index(range(1000), range(500, 1500))  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [list(range(100)), [f"word {i % 7}" for i in range(100)]])
def test_missing_values_have_a_bin_of_their_own(values: list[object]) -> None:
    gone = [None if i % 2 else value for i, value in enumerate(values)]
    assert stability_index(values, gone) > 0.5
    nan = [math.nan if value is None else value for value in gone]
    assert stability_index(values, nan) == pytest.approx(stability_index(values, gone), rel=1e-12)


def test_a_shift_of_numbers_is_seen_and_a_change_of_unit_in_both_is_not() -> None:
    before, now = [float(i) for i in range(1000)], [float(i + 300) for i in range(1000)]
    moved = stability_index(before, now)
    assert moved > 0.25
    assert stability_index([10 * x for x in before], [10 * x for x in now]) == pytest.approx(moved, rel=1e-12)


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidInputError, match="reference and recent must hold a value each"):
        stability_index([], [1])
    with pytest.raises(InvalidInputError, match="bins must be"):
        stability_index([1], [1], bins=1)


@pytest.mark.parametrize("before", [[1.0, 2.0, math.inf], [-math.inf, 1.0, math.inf], [math.inf] * 3])
def test_infinities_lie_beyond_all_numbers(before: list[float]) -> None:
    far = [max(-1e9, min(value, 1e9)) for value in before]
    assert stability_index(before, before) == 0
    assert stability_index(before, [1.0, math.inf]) == pytest.approx(stability_index(far, [1.0, 1e9]))


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], ["a", "b", "c"]])
def test_marks_of_pandas_are_missing(values: list[object]) -> None:
    pd = pytest.importorskip("pandas")
    assert stability_index([*values, pd.NA, pd.NaT], values) == stability_index([*values, None, None], values)
