"""One-sided boosting: its loss falls, its sides count, and the reduction takes it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor

from steelyard import Costs, InvalidInputError, OneSidedBoostingRegressor, OneSidedClassifier, mean_cost
from steelyard.boosting.one_sided import best_constant

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, size=(200, 3))
Y = np.sign(X[:, 0] * X[:, 1]) + 0.1 * RNG.normal(size=200)
SIDE = RNG.choice([-1, 1], 200)


def test_the_loss_falls_with_every_tree() -> None:
    model = OneSidedBoostingRegressor(60, random_state=0).fit(X, Y, side=SIDE)
    assert (np.diff(model.train_loss_) <= 1e-12).all()
    error = np.maximum(0, SIDE * (model.predict(X) - Y))
    assert (error**2).mean() == pytest.approx(model.train_loss_[-1])
    assert model.train_loss_[-1] < 0.2 * model.train_loss_[0]


def test_on_both_sides_it_is_gradient_boosting_of_least_squares() -> None:
    ours = OneSidedBoostingRegressor(20, random_state=0).fit(X, Y)
    theirs = GradientBoostingRegressor(n_estimators=20, min_weight_fraction_leaf=5 / 200, random_state=0).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(-5, 5), st.sampled_from([-1.0, 0.0, 1.0])), min_size=1, max_size=8))
def test_no_other_constant_pays_less(rows: list[tuple[float, float]]) -> None:
    target, sides = np.array(rows).T
    weight = np.ones(len(target))

    def loss(constant: float) -> float:
        error = constant - target
        return float((np.where(sides * error < 0, 0.0, error) ** 2).sum())

    best = best_constant(target, sides, weight)
    assert all(loss(best) <= loss(c) + 1e-9 for c in [*target, *np.linspace(-6, 6, 49)])


def test_nothing_left_to_pay_ends_it() -> None:
    model = OneSidedBoostingRegressor(50).fit(X, Y, side=np.ones(200))
    assert model.estimators_ == []
    assert (model.predict(X) <= Y.min() + 1e-9).all()


def test_the_reduction_takes_it() -> None:
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
    costs = Costs.from_matrix([[0, 1, 8], [1, 0, 1], [8, 1, 0]], classes=[0, 1, 2])
    model = OneSidedClassifier(OneSidedBoostingRegressor(random_state=0), costs=costs).fit(X, y)
    assert mean_cost(y, model.predict(X), costs=costs) < 0.2


@pytest.mark.parametrize(
    "params", [{"n_estimators": 0}, {"learning_rate": 0.0}, {"max_depth": 0}, {"min_weight_leaf": -1}]
)
def test_settings_that_cannot_be_are_refused(params: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(InvalidInputError, match=f"{next(iter(params))} must"):
        OneSidedBoostingRegressor(**params).fit(X, Y)
