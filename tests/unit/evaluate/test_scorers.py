"""Scorers by name, and per-example costs carried through scikit-learn's folds and pipelines."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

import steelyard as sy
from steelyard.evaluate._measure_forms import MEASURES

OURS = list(MEASURES.values())
FORMS = [*OURS, accuracy_score, balanced_accuracy_score]

DRAW = np.random.default_rng(0)
X = np.column_stack([np.arange(60.0), DRAW.normal(size=60)])  # the first column is the row number
Y = (X[:, 1] + DRAW.normal(size=60) > 0).astype(int)
MISS = np.arange(60.0) + 1
COSTS = sy.Costs.binary(fn=MISS, fp=2.0, classes=[0, 1])


@pytest.fixture
def routing():  # type: ignore[no-untyped-def]
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Threshold(ClassifierMixin, BaseEstimator):
    """Predictions 1 above a threshold on the last column, moved by the mean miss cost it was fitted with."""

    def __init__(self, threshold=0.0):  # type: ignore[no-untyped-def]
        self.threshold = threshold

    def fit(self, X, y, *, costs=None):  # type: ignore[no-untyped-def]
        self.classes_ = np.unique(y)
        assert costs is not None, "costs did not arrive"
        assert isinstance(costs, sy.ExampleCosts)
        assert len(costs) == len(X)
        self.seen_ = costs.matrices[:, 1, 0]
        self.rows_ = np.asarray(X)[:, 0]
        self.shift_ = costs.per_example(y).mean() / 1000
        return self

    def predict(self, X):  # type: ignore[no-untyped-def]
        return self.classes_[(np.asarray(X)[:, -1] > self.threshold - self.shift_).astype(int)]


def expected_scores(model, folds, measure=sy.mean_cost, sign=-1):  # type: ignore[no-untyped-def]
    scores = []
    for train, test in folds.split(X, Y):
        model.fit(X[train], Y[train], costs=COSTS[train])
        scores.append(sign * measure(Y[test], model.predict(X[test]), costs=COSTS[test]))
    return scores


FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.usefixtures("routing")
def test_cross_validate_cuts_costs_with_the_rows() -> None:
    model = Threshold().set_fit_request(costs=True)
    scoring = {name: sy.get_scorer(name) for name in ("mean_cost", "savings_score")} | {
        "acc": sy.get_scorer("accuracy")
    }
    found = cross_validate(model, X, Y, cv=FOLDS, scoring=scoring, params={"costs": COSTS}, return_estimator=True)
    assert found["test_mean_cost"] == pytest.approx(expected_scores(Threshold(), FOLDS))
    assert found["test_savings_score"] == pytest.approx(expected_scores(Threshold(), FOLDS, sy.savings_score, 1))
    for fitted in found["estimator"]:
        assert fitted.seen_.tolist() == (fitted.rows_ + 1).tolist()  # every row kept its own cost


@pytest.mark.usefixtures("routing")
def test_grid_search_over_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), Threshold().set_fit_request(costs=True))
    thresholds = [-0.5, 0.0, 0.5]
    grid = GridSearchCV(pipeline, {"threshold__threshold": thresholds}, scoring=sy.get_scorer("mean_cost"), cv=FOLDS)
    grid.fit(X, Y, costs=COSTS)
    for threshold, mean in zip(thresholds, grid.cv_results_["mean_test_score"], strict=True):
        by_hand = []
        for train, test in FOLDS.split(X, Y):
            scaler = StandardScaler().fit(X[train])
            model = Threshold(threshold).fit(scaler.transform(X[train]), Y[train], costs=COSTS[train])
            by_hand.append(-sy.mean_cost(Y[test], model.predict(scaler.transform(X[test])), costs=COSTS[test]))
        assert mean == pytest.approx(np.mean(by_hand))
    assert len(grid.best_estimator_[-1].seen_) == 60
    answers = grid.best_estimator_.predict(X)
    assert grid.score(X, Y, costs=COSTS) == pytest.approx(-sy.mean_cost(Y, answers, costs=COSTS))


@pytest.mark.usefixtures("routing")
def test_plain_rows_of_costs_travel_too() -> None:
    rows = sy.Costs.from_rows(COSTS.per_example(Y), classes=[0, 1])

    class FromRows(Threshold):
        def fit(self, X, y, *, costs=None):  # type: ignore[no-untyped-def]
            assert costs.per_example(y).shape == (len(X), 2)
            self.classes_, self.shift_ = np.unique(y), 0.0
            return self

    model = FromRows().set_fit_request(costs=True)
    found = cross_validate(model, X, Y, cv=FOLDS, scoring=sy.get_scorer("total_cost"), params={"costs": rows})
    expected = [
        -sy.total_cost(Y[test], (X[test, 1] > 0).astype(int), costs=COSTS[test]) for _, test in FOLDS.split(X, Y)
    ]
    assert found["test_score"] == pytest.approx(expected)


@pytest.mark.parametrize("measure", OURS, ids=lambda m: m.__name__)
def test_every_measure_has_a_scorer_that_wants_more(measure) -> None:  # type: ignore[no-untyped-def]
    model = Threshold().fit(X, Y, costs=COSTS)
    value = sy.get_scorer(measure.__name__, costs={0: 1, 1: 5}, positive=1)(model, X, Y)
    sign = 1 if measure.__name__.endswith("_score") else -1
    assert value == pytest.approx(sign * measure(Y, model.predict(X), costs={0: 1, 1: 5}, positive=1))
    assert measure.__name__ in sy.get_scorer_names()


@pytest.mark.usefixtures("routing")
def test_stated_costs_are_not_asked_for_again() -> None:
    asks = get_routing_for_object(sy.get_scorer("mean_cost")).score.requests
    assert asks["costs"] is True
    asks = get_routing_for_object(sy.get_scorer("mean_cost", costs={0: 1, 1: 2})).score.requests
    assert asks["costs"] is None


def test_unknown_names_and_misplaced_costs() -> None:
    with pytest.raises(sy.InvalidInputError, match=r"name must be one of f_score, .*got 'profit'"):
        sy.get_scorer("profit")
    with pytest.raises(sy.InvalidInputError, match="name must be a measure of this package"):
        sy.get_scorer("accuracy", costs={0: 1, 1: 2})


@pytest.mark.parametrize("name", ["mean_cost", "savings_score"])
def test_thresholds_are_tuned_by_a_scorer_of_costs(name: str) -> None:
    costs = {0: 1, 1: 5}
    model = LogisticRegression().fit(X[:, 1:], Y)
    tuned = TunedThresholdClassifierCV(model, scoring=sy.get_scorer(name, costs=costs), cv="prefit", refit=False)
    found = tuned.fit(X[:, 1:], Y)
    chance = model.predict_proba(X[:, 1:])[:, 1]
    grid = np.linspace(chance.min(), chance.max(), 100)
    by_hand = [getattr(sy, name)(Y, (chance >= t).astype(int), costs=costs) for t in grid]
    sign = 1 if name.endswith("_score") else -1
    assert found.best_score_ == pytest.approx(sign * min(by_hand, key=lambda value: -sign * value))
    assert found.best_threshold_ < 0.5  # a false negative costs five times as much


@pytest.mark.usefixtures("routing")
def test_thresholds_are_tuned_by_costs_of_the_rows() -> None:
    dear = sy.Costs.binary(fn=np.full(60, 9.0), fp=1.0, classes=[0, 1])
    cheap = sy.Costs.binary(fn=np.full(60, 1.0), fp=9.0, classes=[0, 1])
    low, high = (
        TunedThresholdClassifierCV(LogisticRegression(), scoring=sy.cost_scorer(), cv=FOLDS)
        .fit(X[:, 1:], Y, costs=costs)
        .best_threshold_
        for costs in (dear, cheap)
    )
    assert low < high


def test_weights_of_a_search_reach_every_one_of_its_scorers() -> None:
    weight = np.linspace(0.1, 2, 60)
    scoring = {"cost": sy.cost_scorer(costs={0: 1, 1: 5}), "hits": "accuracy"}
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, scoring=scoring, refit="cost", cv=FOLDS)
    search.fit(X[:, 1:], Y, sample_weight=weight)
    train, test = next(FOLDS.split(X, Y))
    answers = LogisticRegression().fit(X[train, 1:], Y[train], weight[train]).predict(X[test, 1:])
    expected = -sy.mean_cost(Y[test], answers, costs={0: 1, 1: 5}, sample_weight=weight[test])
    assert search.cv_results_["split0_test_cost"][0] == pytest.approx(expected)
