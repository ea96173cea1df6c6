"""Theorems 1 and 2 of paper 002 on fitted reductions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression

from steelyard import InvalidInputError, OneSidedClassifier, OneSidedClassifierCV, OneVsAllClassifier, one_sided_bound
from steelyard.reduction.bounds import one_sided_losses

MATRIX = [[0, 1, 9], [3, 0, 1], [1, 4, 0]]


def rows(n: int = 45) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 0.7 * np.eye(3)[y][:, :2], y


@settings(max_examples=100)
@given(
    arrays(float, (5, 4), elements=st.integers(0, 4).map(float)), arrays(float, (5, 4), elements=st.floats(-3.0, 6.0))
)
def test_theorem_1_holds_for_any_estimates(table: np.ndarray, estimates: np.ndarray) -> None:
    answers = estimates.argmin(axis=1)
    paid = table[np.arange(5), answers] - table.min(axis=1)
    assert (paid <= one_sided_losses(table, estimates).sum(axis=1) + 1e-9).all()


@pytest.mark.parametrize(
    "model",
    [
        OneSidedClassifier(costs=MATRIX),
        OneSidedClassifier(LinearRegression(), costs=MATRIX),
        OneSidedClassifierCV(costs=MATRIX, lams=[0.1, 10.0], cv=3),
    ],
    ids=["machines", "any regressor", "cv"],
)
def test_the_mean_cost_keeps_the_bound(model: OneSidedClassifier) -> None:
    X, y = rows()
    model.fit(X[:30], y[:30])
    for at in (slice(0, 30), slice(30, None)):
        found = one_sided_bound(model, X[at], y[at])
        table = np.asarray(MATRIX)[y[at]]
        assert found.measured == pytest.approx(table[np.arange(len(table)), model.predict(X[at])].mean())
        assert (found.measures <= found.values + 1e-9).all()
        assert found.holds


def test_the_value_is_that_of_the_regressors() -> None:
    X, y = rows()
    model = OneSidedClassifier(LinearRegression(), costs=MATRIX).fit(X, y)
    table = np.asarray(MATRIX, dtype=float)[y]
    estimates = np.column_stack([LinearRegression().fit(X, table[:, k]).predict(X) for k in range(3)])
    assert one_sided_bound(model, X, y).value == pytest.approx(one_sided_losses(table, estimates).sum(axis=1).mean())


def test_other_models_are_refused() -> None:
    X, y = rows()
    with pytest.raises(InvalidInputError, match="model must be a OneSidedClassifier"):
        one_sided_bound(OneVsAllClassifier().fit(X, y), X, y)  # type: ignore[arg-type]
