"""Protocols that choose before they run."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from steelyard import AskAsymmetric, Balanced, OnlineClassifier, Perceptron, tune_stream
from steelyard.reproduction.protocols import Holdout, Task
from steelyard.reproduction.searches import ChosenOnce, GridStream, SearchedCosts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=240) > 0.7, 1, -1)
F1 = ({"use": "sklearn.metrics.f1_score", "name": "F1"},)
LEARNER = {
    "name": "QA",
    "use": "OnlineClassifier",
    "update": {"use": "Perceptron", "tie": "margin"},
    "query": {"use": "AskAsymmetric", "c_pos": 0.1, "c_neg": 0.1},
    "budget": 30,
    "grid": {"threshold": [0.0, 0.1], "query__c_pos": [0.01, 0.1], "query__c_neg": [0.1, 1.0]},
}


def test_tuned_is_tune_stream_and_tells_what_was_chosen() -> None:
    task = Task(X, Y, costs=Balanced(), measures=F1)
    found = GridStream(runs=2, seed=3).one(GridStream().ready(task), LEARNER, 1)
    model = OnlineClassifier(Perceptron("margin"), query=AskAsymmetric(0.1, 0.1), budget=30, costs=Balanced())
    expected = tune_stream(model, LEARNER["grid"], X, Y, runs=1, random_state=4)  # type: ignore[arg-type]
    right = (expected.trace_.prediction == 1) & (expected.trace_.y == 1)
    f1 = 2 * right.sum() / ((expected.trace_.prediction == 1).sum() + (expected.trace_.y == 1).sum())
    assert found.values["F1"] == pytest.approx(f1)
    assert found.values["gamma"] == expected.best_params_["threshold"]
    assert found.values["c+"] == expected.best_params_["query__c_pos"]
    assert set(found.values) == {"F1", *GridStream().extra_measures}


def test_parameters_that_a_learner_lacks_are_0() -> None:
    task = Task(X, Y, costs=Balanced(), measures=F1)
    learner = {**LEARNER, "query": {"use": "AskFirst"}, "grid": {"threshold": [0.0, 0.5]}}
    values = GridStream().one(task, learner, 0).values
    assert values["c+"] == values["c-"] == 0.0
    symmetric = {**LEARNER, "query": {"use": "AskSymmetric", "c": 0.1}, "grid": {"query__c": [0.1, 0.2]}}
    values = GridStream().one(task, symmetric, 0).values
    assert values["c+"] == values["c-"] > 0


def test_costs_are_searched_once_and_used_on_every_split(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 1.0)]
    task = Task(X, y, measures=({"use": "g_mean_score", "name": "G"},))
    learner = {
        "name": "paper",
        "use": "CostSearchCV",
        "estimator": {"use": "AdaC2M1Classifier", "n_estimators": 2},
        "protocol": "paper",
        "sampler": {"use": "GeneticSampler", "population": 2, "generations": 1},
    }
    protocol = SearchedCosts(["c", "a", "b"], runs=2)
    one, two = (protocol.one(task, learner, run).values for run in (0, 1))
    assert list(one)[1:] == ["c(c)", "c(a)", "c(b)"] == list(protocol.extra_measures)
    assert [one[name] for name in protocol.extra_measures] == [two[name] for name in protocol.extra_measures]
    assert max(one[name] for name in protocol.extra_measures) == 1.0
    monkeypatch.setattr("steelyard.search.cost_search.CostSearchCV.fit", lambda *a: pytest.fail("searched again"))
    assert protocol.one(task, learner, 0).values == one


def test_parameters_are_chosen_on_the_first_training_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One search for all runs, which sees no row outside that part."""
    grid = {"max_depth": [1, 2, 5]}
    tree = {"use": "sklearn.tree.DecisionTreeClassifier", "random_state": 0}
    learner = {"name": "t", "use": "sklearn.model_selection.GridSearchCV", "estimator": tree, "param_grid": grid}
    protocol = ChosenOnce(runs=3, seed=5)
    task = Task(X, Y, measures=({"use": "sklearn.metrics.accuracy_score", "name": "right"},))
    seen = []
    fit = GridSearchCV.fit
    monkeypatch.setattr(GridSearchCV, "fit", lambda self, rows, y: (seen.append((rows, y)), fit(self, rows, y))[1])
    values = [protocol.one(task, learner, run).values["right"] for run in range(3)]
    first, _ = Holdout(3, 0.5, seed=5).split(Y, 0)
    ((rows, labels),) = seen
    assert np.array_equal(rows, X[first])
    assert np.array_equal(labels, Y[first])
    best = fit(GridSearchCV(DecisionTreeClassifier(random_state=0), grid), X[first], Y[first]).best_params_
    for run, value in enumerate(values):
        fit_on, test_on = Holdout(3, 0.5, seed=5).split(Y, run)
        model = DecisionTreeClassifier(random_state=0, **best).fit(X[fit_on], Y[fit_on])
        assert value == pytest.approx(model.score(X[test_on], Y[test_on]))
    protocol.one(Task(X.copy(), Y.copy(), measures=task.measures), learner, 0)  # as another process would see them
    assert len(seen) == 1
    stump = protocol.one(task, {**learner, "then": {"max_depth": 1}}, 1).values["right"]
    fit_on, test_on = Holdout(3, 0.5, seed=5).split(Y, 1)
    model = DecisionTreeClassifier(random_state=0, max_depth=1).fit(X[fit_on], Y[fit_on])
    assert stump == pytest.approx(model.score(X[test_on], Y[test_on]))
    assert len(seen) == 1  # set after the search, which is the same
