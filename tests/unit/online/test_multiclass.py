"""OnlineCostClassifier as a user meets it: late labels, costly mistakes, and what is said of wrong input."""

from typing import Any

import numpy as np
import pytest

from steelyard import (
    CSOGD1,
    AdaptiveBalanced,
    Balanced,
    CostsError,
    DivergedError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    Perceptron,
    StateError,
)

pytestmark = pytest.mark.kernel


def test_rules_that_do_not_fit_are_named() -> None:
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(InvalidInputError, match=r"update must be a rule for many classes, .*; got Perceptron"):
        OnlineCostClassifier(Perceptron()).fit(X, y)
    with pytest.raises(InvalidInputError, match="budget must be a number of labels for after_budget"):
        OnlineCostClassifier(after_budget="average").fit(X, y)
    with pytest.raises(CostsError, match=r"eta_pos must be 0\.5 with more than two classes"):
        OnlineCostClassifier(costs=AdaptiveBalanced(0.3)).fit(X, y)
    for learner in (OnlineCostClassifier, OnlineClassifier):
        with pytest.raises(CostsError, match=r"positive must be one of the classes \[0, 1\]; got 7"):
            learner(costs=AdaptiveBalanced(positive=7)).fit(X, [0, 1, 1])


def test_nothing_is_no_row() -> None:
    model = OnlineCostClassifier().fit(np.eye(3), [0, 1, 2])
    for call in (lambda: model.decide(None), lambda: model.learn(None, 1)):
        with pytest.raises(InvalidInputError, match="X must "):
            call()


def test_a_label_that_comes_late_and_one_that_never_does(tmp_path: Any) -> None:
    model = OnlineCostClassifier(budget=2, seed=1, costs=np.ones((3, 3)) - np.eye(3)).start(3, ["a", "b", "c"])
    rows = np.eye(3)
    assert [model.decide(x).query for x in rows] == [True, True, False]
    model.cancel_query()
    assert model.decide(rows[0]).query
    model.learn(rows[0], "a", costs=[0, 5, 1])
    model.save(tmp_path / "state.npz")
    again = OnlineCostClassifier.load(tmp_path / "state.npz")
    np.testing.assert_equal(again.state(), model.state())
    for each in (model, again):
        each.learn(rows[1], "b")
        with pytest.raises(InvalidInputError, match=r"learn\(\) without a pending query"):
            each.learn(rows[1], "b")
    np.testing.assert_equal(again.state(), model.state())
    with pytest.raises(StateError, match="version 3; got format None"):
        OnlineCostClassifier.from_state({})
    with pytest.raises(InvalidInputError, match=r"negative must be one of the classes \['a', 'b', 'c'\]"):
        OnlineCostClassifier(negative="z").fit(rows, ["a", "b", "c"])


def test_dear_mistakes_are_avoided() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    y = rng.integers(0, 3, 3000)
    X = centres[y] + 1.2 * rng.normal(size=(3000, 2))
    C = np.array([[0.0, 1, 1], [1, 0, 1], [20, 20, 0]])
    costly, plain = (OnlineCostClassifier(CSOGD1(0.02), costs=c, fit_intercept=True).run(X, y) for c in (C, None))
    assert C[y, costly.prediction].sum() < 0.7 * C[y, plain.prediction].sum()


def test_mistakes_are_said_and_leave_no_trace() -> None:
    X, y = np.eye(3), np.array([0, 1, 2])
    model = OnlineCostClassifier().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(InvalidInputError, match="NaN at row 1, column 0"):
        model.partial_fit(np.array([[1.0, 0, 0], [np.nan, 0, 0]]), [0, 1])
    with pytest.raises(InvalidInputError, match=r"y must hold the classes \[0, 1, 2\]; got 7"):
        model.partial_fit(X, [0, 1, 7])
    with pytest.raises(DivergedError, match="overflow"):
        OnlineCostClassifier(CSOGD1(1e200)).partial_fit(X * 1e200, y[::-1])
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(CostsError, match="labels yet to come"):
        OnlineCostClassifier(costs=Balanced()).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="two classes or more"):
        OnlineCostClassifier().partial_fit(X, [1, 1, 1])
    with pytest.raises(InvalidInputError, match="eta must be"):
        OnlineCostClassifier(CSOGD1(0)).fit(X, y)
