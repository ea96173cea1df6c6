"""One cost object, stated in other ways, in another unit, over renamed classes or repeated rows: the same numbers."""

from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import cross_validate

from steelyard import Costs, CostsError, ExpectedCostClassifier, bootstrap_interval, mean_cost, threshold_curve
from steelyard.evaluate import brier_curve, cost_curve, cost_scorer, roc_hull
from steelyard.evaluate._measure_forms import MEASURES

RNG = np.random.default_rng(0)
N = 60
Y, ANSWERS = RNG.choice(["bad", "good"], N, p=[0.3, 0.7]), RNG.choice(["bad", "good"], N)
SCORE = np.clip((Y == "bad") * 0.3 + 0.7 * RNG.random(N), 0, 1)
FN, FP, TP, TN = 1 + 9 * RNG.random(N), 0.1 + 2 * RNG.random(N), -RNG.random(N), 0.05 * RNG.random(N)
WEIGHT = RNG.integers(0, 4, N).astype(float)
REPEATED = np.repeat(np.arange(N), WEIGHT.astype(int))
COSTS = Costs.binary(fn=FN, fp=FP, tp=TP, tn=TN, classes=["bad", "good"], positive="bad")
OTHER_WORDS = {
    "other order": Costs.binary(fn=FN, fp=FP, tp=TP, tn=TN, classes=["good", "bad"]),
    "other positive": Costs.binary(fn=FP, fp=FN, tp=TN, tn=TP, classes=["bad", "good"]),
    "rows": Costs.from_rows(COSTS.per_example(Y), classes=["bad", "good"]),
    "dict": Costs.from_dict(COSTS.to_dict()),
}
CURVES = (threshold_curve, roc_hull, cost_curve, brier_curve)
UNITS = (1e-200, 1e-12, 1000.0, 1e12, 1e200)


def numbers_of(curve: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(curve).items() if name not in ("measure", "best", "hull")}


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_measures_know_one_cost_object_in_all_its_forms(name: str) -> None:
    measure = MEASURES[name]
    value = measure(Y, ANSWERS, costs=COSTS, positive="bad")
    for stated in OTHER_WORDS.values():
        assert measure(Y, ANSWERS, costs=stated, positive="bad") == pytest.approx(value, rel=1e-12)
    assert measure(Y, ANSWERS, costs=COSTS, positive="bad", classes=["good", "bad"]) == pytest.approx(value, rel=1e-12)
    weighted = measure(Y, ANSWERS, costs=COSTS, sample_weight=WEIGHT)
    assert weighted == pytest.approx(measure(Y[REPEATED], ANSWERS[REPEATED], costs=COSTS[REPEATED]), rel=1e-12)
    for unit in UNITS:
        factor = unit if name in ("mean_cost", "total_cost") else 1.0
        assert measure(Y, ANSWERS, costs=COSTS.scaled(unit)) == pytest.approx(factor * measure(Y, ANSWERS, costs=COSTS))


@pytest.mark.parametrize("name", ["mean_cost", "total_cost", "savings_score"])
@pytest.mark.parametrize("unit", UNITS)
def test_intervals_are_in_the_unit_of_the_costs(name: str, unit: float) -> None:
    def interval(costs: Costs) -> Any:
        return bootstrap_interval(MEASURES[name], Y, ANSWERS, costs=costs, n_resamples=200, random_state=0)

    plain, found = interval(COSTS), interval(COSTS.scaled(unit))
    factor = 1.0 if name == "savings_score" else unit
    for end in ("value", "low", "high", "standard_error"):
        assert getattr(found, end) == pytest.approx(factor * getattr(plain, end), rel=1e-6)


@pytest.mark.parametrize("curve", CURVES)
def test_curves_know_one_cost_object_in_all_its_forms(curve: Any) -> None:
    wanted = numbers_of(curve(Y, SCORE, costs=COSTS, positive="bad"))
    for stated in OTHER_WORDS.values():
        found = numbers_of(curve(Y, SCORE, costs=stated, positive="bad"))
        for name, value in wanted.items():
            assert found[name] == pytest.approx(value, rel=1e-9)
    for unit in UNITS:
        found = numbers_of(curve(Y, SCORE, costs=COSTS.scaled(unit)))
        for name, value in wanted.items():
            assert found[name] == pytest.approx(value * (unit if name == "values" else 1.0), rel=1e-9)
    weighted = numbers_of(curve(Y, SCORE, costs=COSTS, sample_weight=WEIGHT))
    repeated = numbers_of(curve(Y[REPEATED], SCORE[REPEATED], costs=COSTS[REPEATED]))
    for name in ("area", "iso_cost", "operating"):
        assert weighted.get(name, 0.0) == pytest.approx(repeated.get(name, 0.0), rel=1e-9)


def test_a_matrix_for_each_row_is_read_by_fit_predict_score_and_measures() -> None:
    X, cube = np.column_stack([SCORE, RNG.normal(size=N)]), COSTS.matrices
    wanted = ExpectedCostClassifier().fit(X, Y, costs=COSTS)
    model = ExpectedCostClassifier().fit(X, Y, costs=cube)
    answers = model.predict(X, costs=cube)
    assert answers.tolist() == wanted.predict(X, costs=COSTS).tolist()
    assert model.score(X, Y, costs=cube) == wanted.score(X, Y, costs=COSTS) == -mean_cost(Y, answers, costs=COSTS)
    assert mean_cost(Y, answers, costs=cube) == mean_cost(Y, answers, costs=COSTS)
    with pytest.raises(CostsError, match="hold a matrix per example for weighing answers"):
        model.score(X, Y, costs=COSTS.per_example(Y))
    scorer = cost_scorer("mean_cost")
    with config_context(enable_metadata_routing=True):
        asking = ExpectedCostClassifier().set_fit_request(costs=True).set_predict_request(costs=True)
        by_array, by_costs = (
            cross_validate(asking, X, Y, scoring=scorer, params={"costs": costs}, cv=3)["test_score"].tolist()
            for costs in (cube, COSTS)
        )
    assert by_array == by_costs


def test_decisions_do_not_depend_on_the_unit_and_means_count_repeated_rows() -> None:
    proba = np.column_stack([SCORE, 1 - SCORE])
    priced = COSTS.with_abstain(RNG.random(N))
    for costs in (COSTS, priced):
        assert all((costs.scaled(unit).decide(proba) == costs.decide(proba)).all() for unit in UNITS)
        weighted, repeated = costs.class_means(Y, WEIGHT), costs[REPEATED].class_means(Y[REPEATED])
        np.testing.assert_allclose(weighted.matrix, repeated.matrix)
        assert weighted.abstain == pytest.approx(repeated.abstain)
    X = np.column_stack([SCORE, RNG.normal(size=N)])
    whole = ExpectedCostClassifier().fit(X[REPEATED], Y[REPEATED], costs=priced[REPEATED])
    model = ExpectedCostClassifier().fit(X, Y, sample_weight=WEIGHT, costs=priced)
    assert model.costs_.abstain == pytest.approx(whole.costs_.abstain)
    assert model.predict(X).tolist() == whole.predict(X).tolist()
