"""Costs per row reach predict by scikit-learn's routing as they do by hand."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
Y = (X[:, 0] + RNG.normal(size=600) > 1.2).astype(int)
COSTS = sy.Costs.binary(fn=RNG.lognormal(3, 1.5, 600), fp=10.0, classes=[0, 1])
FOLDS = StratifiedKFold(5)


@pytest.fixture(autouse=True)
def routing():  # type: ignore[no-untyped-def]
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def model(**params):  # type: ignore[no-untyped-def]
    return sy.ExpectedCostClassifier(**params).set_fit_request(costs=True).set_predict_request(costs=True)


def by_hand(make, rows=X, *, at_predict=True):  # type: ignore[no-untyped-def]
    scores = []
    for train, test in FOLDS.split(X, Y):
        fitted = make().fit(rows[train], Y[train], costs=COSTS[train])
        answers = fitted.predict(rows[test], costs=COSTS[test]) if at_predict else fitted.predict(rows[test])
        scores.append(-sy.mean_cost(Y[test], answers, costs=COSTS[test]))
    return scores


def test_script_a_both_ways() -> None:
    expected = by_hand(model)
    for scoring in (sy.cost_scorer(), sy.get_scorer("mean_cost").set_score_request(costs=True)):
        found = cross_val_score(model(), X, Y, scoring=scoring, cv=FOLDS, params={"costs": COSTS})
        assert found == pytest.approx(expected, abs=1e-12)
    assert np.mean(expected) > np.mean(by_hand(model, at_predict=False))  # what a measure alone would have seen


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_nested_pipelines(frame) -> None:  # type: ignore[no-untyped-def]
    rows = frame(dict(zip("abcd", X.T, strict=True)))
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), model()))
    found = cross_validate(
        nested, rows, Y, cv=FOLDS, params={"costs": COSTS}, scoring={"cost": sy.cost_scorer(), "hits": "accuracy"}
    )
    expected = []
    for train, test in FOLDS.split(X, Y):
        scaler = StandardScaler().fit(X[train])
        fitted = model().fit(scaler.transform(X[train]), Y[train], costs=COSTS[train])
        answers = fitted.predict(scaler.transform(X[test]), costs=COSTS[test])
        expected.append(-sy.mean_cost(Y[test], answers, costs=COSTS[test]))
    assert found["test_cost"] == pytest.approx(expected, abs=1e-12)


def test_grid_search_and_a_search_inside_cross_validation() -> None:
    strengths = [1e-3, 1.0]
    grid = GridSearchCV(
        model(estimator=LogisticRegression()), {"estimator__C": strengths}, scoring=sy.cost_scorer(), cv=FOLDS
    )
    grid.fit(X, Y, costs=COSTS)
    for strength, mean in zip(strengths, grid.cv_results_["mean_test_score"], strict=True):
        expected = np.mean(by_hand(lambda C=strength: model(estimator=LogisticRegression(C=C))))
        assert mean == pytest.approx(expected, abs=1e-12)
    answers = grid.best_estimator_.predict(X, costs=COSTS)
    assert grid.score(X, Y, costs=COSTS) == pytest.approx(-sy.mean_cost(Y, answers, costs=COSTS), abs=1e-12)
    found = cross_val_score(grid, X, Y, scoring=sy.cost_scorer(), cv=FOLDS, params={"costs": COSTS})
    expected = []
    for train, test in FOLDS.split(X, Y):
        best = grid.fit(X[train], Y[train], costs=COSTS[train]).best_estimator_
        expected.append(-sy.mean_cost(Y[test], best.predict(X[test], costs=COSTS[test]), costs=COSTS[test]))
    assert found == pytest.approx(expected, abs=1e-12)


def test_costs_that_predict_does_not_request_go_to_the_measure_alone() -> None:
    quiet = sy.ExpectedCostClassifier().set_fit_request(costs=True)
    found = cross_val_score(quiet, X, Y, scoring=sy.cost_scorer(), cv=FOLDS, params={"costs": COSTS})
    assert found == pytest.approx(by_hand(sy.ExpectedCostClassifier, at_predict=False), abs=1e-12)
    weights = np.linspace(1, 2, len(Y))
    scorer = sy.cost_scorer(costs={0: 1, 1: 5}).set_score_request(sample_weight=True)
    plain = LogisticRegression().set_fit_request(sample_weight=False)
    found = cross_val_score(plain, X, Y, scoring=scorer, cv=FOLDS, params={"sample_weight": weights})
    train, test = next(FOLDS.split(X, Y))
    answers = LogisticRegression().fit(X[train], Y[train]).predict(X[test])
    assert found[0] == -sy.mean_cost(Y[test], answers, costs={0: 1, 1: 5}, sample_weight=weights[test])


def test_score_is_minus_mean_cost_where_costs_are_known() -> None:
    fitted = sy.ExpectedCostClassifier().fit(X, Y)
    assert fitted.score(X, Y) == np.mean(fitted.predict(X) == Y)
    by_rows = -sy.mean_cost(Y, fitted.predict(X, costs=COSTS), costs=COSTS)
    assert fitted.score(X, Y, costs=COSTS) == by_rows != -sy.mean_cost(Y, fitted.predict(X), costs=COSTS)
    assert fitted.set_predict_request(costs=True).score(X, Y, costs=COSTS) == -sy.mean_cost(
        Y, fitted.predict(X, costs=COSTS), costs=COSTS
    )
    known = sy.ExpectedCostClassifier(costs={0: 1, 1: 5}).fit(X, Y)
    assert known.score(X, Y) == -sy.mean_cost(Y, known.predict(X), costs={0: 1, 1: 5})
    with sklearn.config_context(enable_metadata_routing=False):
        again = sy.ExpectedCostClassifier().fit(X, Y)
        assert again.score(X, Y, costs=COSTS) == -sy.mean_cost(Y, again.predict(X, costs=COSTS), costs=COSTS)
        piped = make_pipeline(StandardScaler(), sy.ExpectedCostClassifier()).fit(X, Y)
        scored = sy.cost_scorer()(piped, X, Y, costs=COSTS)
        assert scored == -sy.mean_cost(Y, piped.predict(X, costs=COSTS), costs=COSTS)


def test_every_classifier_has_the_same_score_and_fit() -> None:
    import inspect

    classifiers = [
        thing
        for name in sy.__all__
        if inspect.isclass(thing := getattr(sy, name))
        and getattr(thing, "_estimator_type", None) != "regressor"
        and hasattr(thing, "predict")
        and hasattr(thing, "fit")
        and "Regressor" not in name
    ]
    assert len(classifiers) > 15
    for classifier in classifiers:
        if not issubclass(classifier, sklearn.base.ClassifierMixin):
            continue
        assert list(inspect.signature(classifier.score).parameters) == ["self", "X", "y", "costs", "sample_weight"]
        fit = list(inspect.signature(classifier.fit).parameters)
        assert fit[:3] == ["self", "X", "y"]
        if "costs" in fit:
            assert fit == ["self", "X", "y", "sample_weight", "costs"], classifier


def test_scorers_travel_and_say_what_they_are() -> None:
    scorer = pickle.loads(pickle.dumps(sy.cost_scorer("f_score", beta=2.0)))
    assert repr(scorer) == "cost_scorer('f_score', beta=2.0)"
    with pytest.raises(sy.InvalidInputError, match="name must be one of f_score"):
        sy.cost_scorer("accuracy")


MATRIX = [[0.0, 1.0], [5.0, 0.0]]


@pytest.mark.parametrize("costs", [MATRIX, np.array(MATRIX), sy.Costs.from_matrix(MATRIX), sy.Costs.binary(fn=5, fp=1)])
def test_rows_of_one_class_are_scored_by_costs_without_labels(costs) -> None:  # type: ignore[no-untyped-def]
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] > 0.8, "rare", "common")
    model = sy.CSSVMClassifier(costs=costs).fit(X, y)
    few, common = X[:10], y[:10]
    assert {*model.predict(few)} == {*common} == {"common"}
    assert model.score(few, common) == 0
    assert model.score(few, common, costs=costs) == 0
    assert sy.cost_scorer(costs=costs)(model, few, common) == 0
    assert sy.cost_scorer("f_score")(model, few, common) == 0
    assert model.score(X[-1:], ["common"]) == -1


def test_costs_without_labels_are_in_the_order_of_the_classes() -> None:
    X, y = [[0.0], [1.0]] * 10, ["a", "b"] * 10
    model = sy.AdaC2M1Classifier(costs=MATRIX, classes=["b", "a"]).fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    assert model.score([[0.0]], ["b"]) == -1  # the first class is "b"
    assert model.score([[1.0]], ["a"]) == -5
