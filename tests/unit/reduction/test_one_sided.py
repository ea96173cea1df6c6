from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from steelyard import OneSidedClassifier
from steelyard.reduction.one_sided import OneSided, to_unit_interval
from steelyard.reduction.scheme import CostExamples


def test_sides_and_labels_of_algorithm_1() -> None:
    cases = CostExamples(np.array([[10.0, 20.0, 10.0], [30.0, 10.0, 15.0]]), np.array([0, 1]), np.ones(2))
    problems = OneSided(3).problems(0, cases, np.empty((2, 0)))
    assert [p.sign.tolist() for p in problems] == [[1, -1], [-1, 1], [1, -1]]
    assert [p.target.tolist() for p in problems if p.target is not None] == [[0, 1], [0.5, 0], [0, 0.25]]


def test_equal_costs_scale_to_zero() -> None:
    assert to_unit_interval(np.full((2, 3), 7.0)).tolist() == [[0.0] * 3] * 2


class Recorder(RegressorMixin, BaseEstimator):
    seen: ClassVar[list[dict[str, list[float]]]] = []

    def fit(self, X, y, side, sample_weight=None):  # type: ignore[no-untyped-def]
        Recorder.seen.append({"y": y.tolist(), "side": side.tolist(), "weight": sample_weight.tolist()})
        self.value_ = y.mean()
        return self

    def predict(self, X):  # type: ignore[no-untyped-def]
        return np.full(len(X), self.value_)


def test_a_one_sided_regressor_is_told_the_side() -> None:
    Recorder.seen = []
    model = OneSidedClassifier(Recorder(), costs=[[0, 4], [8, 0]])
    model.fit([[0.0], [1.0], [2.0]], [0, 1, 1], sample_weight=[1.0, 0.0, 2.0])
    assert Recorder.seen == [
        {"y": [0.0, 1.0], "side": [1, -1], "weight": [1.0, 2.0]},
        {"y": [0.5, 0.0], "side": [-1, 1], "weight": [1.0, 2.0]},
    ]
    assert model.predict([[5.0]]).tolist() == [1]  # 0.25 < 0.5
    np.testing.assert_allclose(model.decision_function([[5.0]]), [0.25])


def test_a_plain_regressor_does_plain_cost_regression() -> None:
    rng = np.random.default_rng(0)
    X, costs = rng.normal(size=(60, 2)), rng.uniform(1, 3, (60, 3))
    model = OneSidedClassifier(LinearRegression()).fit(X, costs.argmin(axis=1), costs=costs)
    assert (model.predict(X) == LinearRegression().fit(X, costs).predict(X).argmin(axis=1)).all()
