"""Thresholds by parts: exact at the edges of bins, and bounds that hold."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from steelyard.scale.curve import Histogram, bins_of, edges_of, score_curve

RNG = np.random.default_rng(4)


def test_bins_order_like_scores_and_hold_their_edge() -> None:
    scores = np.sort(np.concatenate([RNG.normal(size=500) * 10.0 ** RNG.integers(-9, 9, 500), [0.0, -0.0, 1.0, -1.0]]))
    bins = bins_of(scores)
    assert (np.diff(bins) >= 0).all()
    edges = edges_of(bins)
    assert (edges <= scores).all()
    assert (np.abs(edges - scores) <= np.abs(scores) / 4096 + 1e-300).all()
    np.testing.assert_array_equal(bins_of(edges), bins)
    assert bins_of([0.0]) == bins_of([-0.0])


def cut(scores: np.ndarray, positive: np.ndarray, ends: Sequence[int]) -> Histogram:
    pieces = zip(np.split(scores, ends), np.split(positive, ends), strict=True)
    return reduce(lambda a, b: a + b, (Histogram.of(*piece) for piece in pieces), Histogram.empty())


def test_any_cut_gives_the_same_curve_and_the_bounds_hold() -> None:
    positive = RNG.random(4000) < 0.2
    scores = np.round(RNG.normal(size=4000) + positive, 3) + 100.0  # many within one bin
    costs = np.array([[0.0, 1.0], [5.0, -0.5]])
    one, two = (score_curve(cut(scores, positive, ends), costs) for ends in ([], [1, 900, 901, 3000]))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.cost, two.cost)
    exact = roc_auc_score(positive, scores)
    assert 0 < one.auc_error < 0.02
    assert abs(one.auc - exact) <= one.auc_error
    best = min(mean(scores, positive, t, costs) for t in [*np.unique(scores), np.inf])
    assert one.best_cost - one.cost_error - 1e-12 <= best <= one.best_cost + 1e-12
    assert one.cost is not None
    for t, cost, fn, fp in zip(one.thresholds, one.cost, one.fn, one.fp, strict=True):
        assert cost == pytest.approx(mean(scores, positive, t, costs))
        assert (fn, fp) == ((positive & (scores < t)).sum(), (~positive & (scores >= t)).sum())
    assert "error at most" in str(one)


def mean(scores: np.ndarray, positive: np.ndarray, threshold: float, costs: np.ndarray) -> float:
    return float(costs[positive.astype(int), (scores >= threshold).astype(int)].mean())


def test_one_class_has_no_curve_and_no_costs_no_price() -> None:
    assert score_curve(Histogram.of([1.0, 2.0], np.array([True, True])), None) is None
    found = score_curve(Histogram.of([1.0, 2.0], np.array([False, True])), None)
    assert found is not None
    assert (found.auc, found.auc_error, found.cost) == (1.0, 0.0, None)
    assert str(found) == "AUC 1 (error at most 0)"
