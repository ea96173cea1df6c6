import math

import numpy as np
import pytest
from scipy import stats

from steelyard import InvalidInputError, compare_runs

RNG = np.random.default_rng(0)
A, B = RNG.normal(1.0, 1.0, 12), RNG.normal(1.5, 1.0, 12)


def test_the_paired_test_is_the_textbooks() -> None:
    found = compare_runs(A, B)
    assert found.paired.p_better == pytest.approx(stats.ttest_rel(A, B, alternative="less").pvalue)
    assert found.paired.p_worse == pytest.approx(stats.ttest_rel(A, B, alternative="greater").pvalue)
    low, high = stats.ttest_rel(A, B).confidence_interval(0.95)
    assert (found.paired.low, found.paired.high) == pytest.approx((low, high))
    assert found.effect == pytest.approx((A - B).mean() / (A - B).std(ddof=1))
    assert found.percent == pytest.approx(100 * (A - B).mean() / B.mean())
    assert found.corrected is None


def test_scores_turn_the_direction_round() -> None:
    assert compare_runs(A, B, lower_is_better=False).paired.p_better == compare_runs(A, B).paired.p_worse


def test_the_correction_is_nadeau_and_bengios() -> None:
    found = compare_runs(A, B, train=300, test=100)
    gap = A - B
    t = gap.mean() / math.sqrt((1 / 12 + 1 / 3) * gap.var(ddof=1))
    assert found.corrected is not None
    assert found.corrected.p_better == pytest.approx(stats.t.cdf(t, 11))
    assert found.corrected.high - found.corrected.low > found.paired.high - found.paired.low


def test_a_constant_difference_leaves_no_doubt_and_none_decides_nothing() -> None:
    assert compare_runs([1.0, 2.0], [2.0, 3.0]).paired.p_better == 0.0
    assert compare_runs([1.0, 2.0], [2.0, 3.0], lower_is_better=False).paired.p_better == 1.0
    same = compare_runs([1.0, 2.0], [1.0, 2.0])
    assert (same.paired.p_better, same.runs_needed()) == (0.5, None)


def test_runs_needed_give_the_power_they_promise() -> None:
    found = compare_runs(A, B)
    runs = found.runs_needed()
    assert runs is not None
    gaps = np.random.default_rng(1).normal(abs(found.effect), 1.0, (4000, runs))
    power = (stats.ttest_1samp(gaps, 0, axis=1, alternative="greater").pvalue < 0.05).mean()
    assert 0.77 < power < 0.86


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"a": [1.0], "b": [2.0]}, "a and b must be of one length, at least 2"),
        ({"a": [1.0, 2.0], "b": [2.0]}, "a and b must be of one length"),
        ({"a": [1.0, 2.0], "b": [2.0, 1.0], "train": 1.0}, "train and test must be given both or neither"),
        ({"a": [1.0, 2.0], "b": [2.0, 1.0], "train": 1.0, "test": 0.0}, "test must be a finite number > 0"),
    ],
)
def test_bad_input_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        compare_runs(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("power", 1.0), ("power", 1.5), ("power", 0), ("level", 0), ("level", 1)])
def test_a_power_or_level_that_is_no_probability_is_told(name: str, value: float) -> None:
    found = compare_runs([1.0, 2.0, 2.0, 1.0], [2.0, 2.5, 3.0, 2.5])
    with pytest.raises(InvalidInputError, match=f"{name} must be a finite number > 0 and < 1; got {value}"):
        found.runs_needed(**{name: value})
