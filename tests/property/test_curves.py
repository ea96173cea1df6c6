"""Laws of the curves against brute force over all thresholds and costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import steelyard as sy
from steelyard.evaluate._measure_forms import MEASURES

few = settings(max_examples=40)
COST = st.floats(0.1, 50)


@st.composite
def scored(draw):  # type: ignore[no-untyped-def]
    """Truths with both classes, and scores on a coarse grid so that ties occur."""
    n = draw(st.integers(0, 15))
    y = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))]
    score = draw(st.lists(st.integers(0, 8).map(lambda v: v / 8), min_size=len(y), max_size=len(y)))
    return np.array(y), np.array(score)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda m: m.__name__)
@few
@given(scored(), COST, COST)
def test_threshold_curve_is_the_measure_at_every_threshold(measure, case, fn, fp) -> None:
    y, score = case
    costs = sy.Costs.binary(fn=fn, fp=fp, classes=[0, 1])
    curve = sy.threshold_curve(y, score, measure=measure, costs=costs)
    assert curve.thresholds.tolist() == [*np.unique(score), np.inf]
    expected = [measure(y, (score >= t).astype(int), costs=costs) for t in curve.thresholds]
    assert curve.values == pytest.approx(expected)
    best = max(expected) if measure.__name__.endswith("_score") else min(expected)
    assert curve.best_value == pytest.approx(best)


@few
@given(scored(), st.data())
def test_threshold_curve_with_costs_and_weights_per_example(case, data) -> None:
    y, score = case
    column = st.lists(COST, min_size=len(y), max_size=len(y)).map(np.array)
    costs = sy.Costs.binary(fn=data.draw(column), fp=data.draw(column), classes=["no", "yes"])
    weight = data.draw(column)
    words = np.array(["no", "yes"])
    for measure in (sy.mean_cost, sy.savings_score):
        curve = sy.threshold_curve(words[y], score, measure=measure, costs=costs, sample_weight=weight)
        expected = [
            measure(words[y], words[(score >= t).astype(int)], costs=costs, sample_weight=weight)
            for t in curve.thresholds
        ]
        assert curve.values == pytest.approx(expected)


@few
@given(scored(), COST, COST)
def test_hull_lies_above_every_point_and_its_best_point_is_cheapest(case, fn, fp) -> None:
    y, score = case
    costs = sy.Costs.binary(fn=fn, fp=fp, classes=[0, 1])
    roc = sy.roc_hull(y, score, costs=costs)
    x, top = roc.fpr[roc.hull], roc.tpr[roc.hull]
    assert (x[0], top[0], x[-1], top[-1]) == (0, 0, 1, 1)
    heights = [max(np.interp(f, x, top), top[x == f].max(initial=0)) for f in roc.fpr]
    assert (roc.tpr <= np.array(heights) + 1e-12).all()
    slopes = np.diff(top) / np.maximum(np.diff(x), 1e-300)
    assert (np.diff(slopes) < 0).all()
    assert roc.area == pytest.approx(metrics.roc_auc_score(y, score))
    assert roc.hull_area >= roc.area - 1e-12
    assert roc.iso_cost == pytest.approx(fp * sum(y == 0) / (fn * sum(y == 1)))
    cheapest = sy.threshold_curve(y, score, costs=costs).best_value
    answers = (score >= roc.thresholds[roc.best]).astype(int)
    assert sy.mean_cost(y, answers, costs=costs) == pytest.approx(cheapest)


@few
@given(scored(), COST, COST)
def test_cost_curve_is_the_lower_envelope_of_all_thresholds(case, fn, fp) -> None:
    y, score = case
    costs = sy.Costs.binary(fn=fn, fp=fp, classes=[0, 1])
    curve = sy.cost_curve(y, score, costs=costs)
    for x in np.linspace(0, 1, 23):
        lines = []
        for t in [*np.unique(score), np.inf]:
            fpr, tpr = np.mean(score[y == 0] >= t), np.mean(score[y == 1] >= t)
            lines.append((1 - tpr) * x + fpr * (1 - x))
        assert curve.at(x) == pytest.approx(min(lines), abs=1e-12)
        assert curve.at(x) <= min(x, 1 - x) + 1e-12
    assert (np.diff(curve.x) >= -1e-12).all()
    assert curve.area <= 0.25 + 1e-12
    for t, left, right in zip(curve.thresholds, curve.x[:-1], curve.x[1:], strict=True):
        middle = (left + right) / 2
        fpr, tpr = np.mean(score[y == 0] >= t), np.mean(score[y == 1] >= t)
        assert curve.at(middle) == pytest.approx((1 - tpr) * middle + fpr * (1 - middle), abs=1e-12)
    # at the operating point the envelope is the least mean cost, in units of all mistakes together
    everything_wrong = sy.mean_cost(y, 1 - y, costs=costs)
    cheapest = sy.threshold_curve(y, score, costs=costs).best_value
    assert curve.at(curve.operating) * everything_wrong == pytest.approx(cheapest)


@few
@given(scored(), COST, COST)
def test_brier_curve_is_the_loss_at_every_proportion_and_its_area_the_brier_score(case, fn, fp) -> None:
    y, p = case
    costs = sy.Costs.binary(fn=fn, fp=fp, classes=[0, 1])
    curve = sy.brier_curve(y, p, costs=costs)
    assert curve.area == pytest.approx(metrics.brier_score_loss(y, p))
    assert curve.operating == pytest.approx(fn / (fn + fp))
    for c in np.linspace(0.03, 0.98, 20):  # none of them a jump
        answers = (p >= 1 - c).astype(int)
        loss = 2 * sy.mean_cost(y, answers, costs=sy.Costs.binary(fn=c, fp=1 - c, classes=[0, 1]))
        assert np.interp(c, curve.c, curve.loss) == pytest.approx(loss)


@few
@given(scored(), st.data())
def test_brier_curve_with_weights(case, data) -> None:
    y, p = case
    weight = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(y), max_size=len(y))))
    weighted, repeated = (
        sy.brier_curve(y, p, sample_weight=weight),
        sy.brier_curve(np.repeat(y, weight), np.repeat(p, weight)),
    )
    assert weighted.loss == pytest.approx(repeated.loss)
    assert weighted.area == pytest.approx(metrics.brier_score_loss(y, p, sample_weight=weight))
