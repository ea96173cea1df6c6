"""Paired and many-fold comparisons against scipy, brute force and hand calculation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import steelyard as sy


def test_the_tests_are_scipys() -> None:
    draw = np.random.default_rng(0)
    a = draw.gamma(2.0, 1.0, 30)
    b = a + draw.normal(0.2, 0.5, 30)
    found = sy.compare_costs(a, b, random_state=0)
    assert found.p_t == pytest.approx(stats.ttest_rel(a, b, alternative="less").pvalue)
    assert found.p_wilcoxon == pytest.approx(stats.wilcoxon(a, b, alternative="less").pvalue)
    assert found.p_bootstrap == pytest.approx(found.p_t, abs=0.02)
    assert found.difference.value == pytest.approx(np.mean(a - b))
    assert sy.compare_costs(b, a, random_state=0).p_t == pytest.approx(1 - found.p_t)
    percentile = stats.bootstrap((a - b,), np.mean, n_resamples=20000, rng=np.random.default_rng(1), method="BCa")
    assert found.difference.low == pytest.approx(percentile.confidence_interval.low, abs=0.02)
    assert found.difference.high == pytest.approx(percentile.confidence_interval.high, abs=0.02)


def test_paired_bootstrap_against_every_resample() -> None:
    a, b = np.array([1.0, 3.0, 2.0, 0.0]), np.array([2.0, 3.5, 1.5, 2.0])
    gap = a - b
    means = np.array([gap[list(rows)].mean() for rows in itertools.product(range(4), repeat=4)])
    exact = (means - gap.mean() <= gap.mean() + 1e-12).mean()
    found = sy.compare_costs(a, b, n_resamples=50000, random_state=0)
    assert found.p_bootstrap == pytest.approx(exact, abs=0.01)
    assert found.difference.standard_error == pytest.approx(means.std(), rel=0.02)


def test_p_values_are_uniform_when_nothing_differs() -> None:
    draw = np.random.default_rng(0)
    found = [sy.compare_costs(*draw.normal(size=(2, 40)), n_resamples=400, random_state=draw) for _ in range(200)]
    for p in zip(*((f.p_bootstrap, f.p_t, f.p_wilcoxon) for f in found), strict=True):
        assert stats.kstest(p, "uniform").pvalue > 0.001


def test_learners_are_compared_on_what_their_answers_cost() -> None:
    y, a, b = [0, 1, 1, 0, 1], [0, 1, 0, 0, 1], [1, 0, 0, 0, 1]
    costs = sy.Costs.binary(fn=[1.0, 2.0, 3.0, 4.0, 5.0], fp=0.5)
    found = sy.compare_learners(y, a, b, costs=costs, random_state=0)
    assert (found.mean_a, found.mean_b) == pytest.approx((3 / 5, 5.5 / 5))
    assert found.n == 5
    assert "A cheaper: p =" in str(found)
    assert "A - B" in found._repr_html_()


def test_no_difference_and_constant_difference() -> None:
    same = sy.compare_costs([1, 2, 3], [1, 2, 3], random_state=0)
    assert (same.p_bootstrap, same.p_t, same.p_wilcoxon) == (1, 1, 1)
    assert same.difference.low == same.difference.high == 0
    lower = sy.compare_costs([1, 2, 3], [2, 3, 4], random_state=0)
    assert lower.p_t == 0
    assert lower.p_bootstrap < 0.01


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([1, 2], [1, 2, 3], "a and b must be of one length"),
        ([1], [1], "at least 2"),
        ([1, np.nan], [1, 2], "a must hold finite numbers"),
        ([[1, 2]], [1, 2], "a must be a flat column"),
    ],
)
def test_columns_that_cannot_be_compared(a, b, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match=words):
        sy.compare_costs(a, b)


TABLE = np.array([[1.0, 2.0, 3.0], [0.5, 0.9, 0.8], [3.0, 4.0, 6.0], [1.0, 1.5, 2.0], [2.0, 2.0, 3.0]])


def test_friedman_by_hand_and_with_scikit_posthocs() -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    found = sy.compare_over_datasets(TABLE, names=["a", "b", "c"])
    assert found.mean_ranks == pytest.approx([1.1, 2.1, 2.8])
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*TABLE.T).statistic)
    assert found.pairwise == pytest.approx(posthocs.posthoc_nemenyi_friedman(TABLE).to_numpy())
    assert found.order() == [0, 1, 2]
    turned = sy.compare_over_datasets(-TABLE, lower_is_better=False, names=["a", "b", "c"])
    assert turned.mean_ranks.tolist() == found.mean_ranks.tolist()
    assert "mean rank" in str(found)
    assert "<pre>" in found._repr_html_()


@pytest.mark.parametrize("posthoc", ["nemenyi", "conover", "siegel", "miller"])
def test_every_posthoc_test_is_symmetric(posthoc) -> None:  # type: ignore[no-untyped-def]
    found = sy.compare_over_datasets(pd.DataFrame(TABLE, columns=["x", "y", "z"]), posthoc=posthoc)
    assert found.names == ("x", "y", "z")
    assert found.pairwise == pytest.approx(found.pairwise.T)
    assert ((found.pairwise >= 0) & (found.pairwise <= 1)).all()


def test_all_tied() -> None:
    found = sy.compare_over_datasets(np.ones((4, 3)))
    assert (found.statistic, found.p_value) == (0, 1)


@pytest.mark.parametrize(
    ("values", "given", "words"),
    [
        (TABLE[:, :2], {}, "values must be an"),
        (TABLE[0], {}, "values must be a table of numbers"),
        ([["a", "b", "c"]] * 2, {}, "values must hold numbers"),
        (TABLE * np.nan, {}, "values must hold finite numbers"),
        (TABLE, {"names": ["a"]}, "names must name the 3 learners"),
        (TABLE, {"posthoc": "best"}, "posthoc must be one of"),
    ],
)
def test_tables_that_cannot_be_compared(values, given, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match=words):
        sy.compare_over_datasets(values, **given)
