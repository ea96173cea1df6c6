"""Edges of the curves."""

import numpy as np
import pytest

import steelyard as sy

CURVES = [sy.threshold_curve, sy.roc_hull, sy.cost_curve, sy.brier_curve]


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    ("y", "score", "words"),
    [
        ([0, 1], [0.1, np.nan], r"y_(score|proba) must hold finite numbers"),
        ([0, 1], [0.1], r"y_(score|proba) must have 2 rows"),
        ([0, 1], [[0.1, 0.9], [0.2, 0.8]], r"y_(score|proba) must be a flat column"),
        ([1, 1], [0.1, 0.9], r"y_true must hold two classes for a curve"),
        ([0, 1, 2], [0.1, 0.5, 0.9], r"y_true must hold two classes for a curve; got \[0, 1, 2\]"),
    ],
)
def test_complaints(curve, y, score, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sy.InvalidInputError, match=words):
        curve(y, score)


@pytest.mark.parametrize("curve", CURVES)
def test_a_third_class_that_is_only_named_is_said(curve) -> None:  # type: ignore[no-untyped-def]
    words = r"y_true must hold two classes for a curve; got \[0, 1, 2\]"
    with pytest.raises(sy.InvalidInputError, match=words):
        curve([0, 1, 1], [0.1, 0.5, 0.9], classes=[0, 1, 2])


@pytest.mark.parametrize("curve", CURVES)
def test_a_class_that_does_not_count_is_none(curve) -> None:  # type: ignore[no-untyped-def]
    words = r"y_true must hold two classes of positive weight for a curve; got \[0\]"
    with pytest.raises(sy.InvalidInputError, match=words):
        curve([0, 0, 1], [0.1, 0.5, 0.9], sample_weight=[1, 2, 0])


@pytest.mark.parametrize("curve", CURVES)
def test_a_threshold_does_not_abstain(curve) -> None:  # type: ignore[no-untyped-def]
    costs = sy.Costs.binary(fn=5, fp=1, classes=[0, 1]).with_abstain(0.5)
    with pytest.raises(sy.InvalidInputError, match="costs must not price abstaining for a curve; got 'abstain'"):
        curve([0, 1], [0.1, 0.9], costs=costs)


def test_probabilities_must_be_probabilities() -> None:
    with pytest.raises(sy.InvalidInputError, match=r"y_proba must lie between 0 and 1; got 1.5"):
        sy.brier_curve([0, 1], [0.5, 1.5])


@pytest.mark.filterwarnings("ignore::steelyard.CostsWarning")
def test_mistakes_must_cost_something() -> None:
    with pytest.raises(sy.InvalidInputError, match="costs must make mistakes cost more"):
        sy.roc_hull([0, 1], [0.1, 0.9], costs=np.array([[5.0, 1.0], [1.0, 0.0]]))


def test_a_miss_that_is_free_makes_the_iso_cost_line_upright() -> None:
    roc = sy.roc_hull([0, 1], [0.9, 0.1], costs=sy.Costs.binary(fn=0, fp=1))
    assert roc.iso_cost == np.inf
    assert roc.fpr[roc.best] == 0


def test_costs_per_example_enter_by_their_means() -> None:
    y, score = [0, 1, 1, 0], [0.3, 0.2, 0.8, 0.9]
    each = sy.Costs.binary(fn=[9.0, 2.0, 4.0, 9.0], fp=[1.0, 9.0, 9.0, 2.0])
    mean = sy.Costs.binary(fn=3.0, fp=1.5)
    assert sy.roc_hull(y, score, costs=each).iso_cost == sy.roc_hull(y, score, costs=mean).iso_cost
    assert sy.cost_curve(y, score, costs=each).operating == sy.cost_curve(y, score, costs=mean).operating
    assert sy.brier_curve(y, score, costs=each).operating == sy.brier_curve(y, score, costs=mean).operating


def test_the_positive_class_can_be_the_first() -> None:
    y, score = np.array(["bad", "good", "bad", "good"]), np.array([0.9, 0.2, 0.6, 0.7])
    assert sy.roc_hull(y, score, positive="bad").area == 0.75
    assert sy.threshold_curve(y, score, positive="bad", measure=sy.sensitivity_score).values[0] == 1
