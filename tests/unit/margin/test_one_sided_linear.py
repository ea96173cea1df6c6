"""One-sided linear regression against the kernel machine and least squares."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from steelyard import Costs, InvalidInputError, OneSidedClassifier, OneSidedLinearRegressor, OneSidedSVR, mean_cost

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * RNG.normal(size=120)
SIDE = RNG.choice([-1, 1], 120)


def test_it_is_the_linear_machine_of_the_squared_loss() -> None:
    weight = RNG.uniform(0.5, 2.0, 120)
    exact = OneSidedSVR("linear", lam=0.5, loss="squared", tol=1e-10, dtype="float64").fit(X, Y, weight, side=SIDE)
    quick = OneSidedLinearRegressor(lam=0.5, tol=1e-10).fit(X, Y, weight, side=SIDE)
    np.testing.assert_allclose(quick.predict(X), exact.predict(X), atol=1e-5)
    assert quick.objective_ == pytest.approx(0.5 * (exact.dual_objective_ + exact.duality_gap_), rel=1e-6)


def test_on_both_sides_it_is_least_squares() -> None:
    model = OneSidedLinearRegressor(lam=1e-9, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, Y).coef_, atol=1e-6)
    through_zero = OneSidedLinearRegressor(lam=1e-9, fit_intercept=False).fit(X, Y)
    assert through_zero.intercept_ == 0.0


def test_sides_mean_what_they_say() -> None:
    above = OneSidedLinearRegressor(lam=1e-8).fit(X, Y, side=np.ones(120))
    assert (above.predict(X) <= Y + 1e-3).all()


def test_sparse_rows_give_the_same() -> None:
    dense = OneSidedLinearRegressor().fit(X, Y, side=SIDE)
    thin = OneSidedLinearRegressor().fit(sparse.csr_array(X), Y, side=SIDE)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)


def test_the_reduction_takes_it() -> None:
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    costs = Costs.from_matrix([[0, 1, 8], [1, 0, 1], [8, 1, 0]], classes=[0, 1, 2])
    model = OneSidedClassifier(OneSidedLinearRegressor(), costs=costs).fit(sparse.csr_array(X), y)
    assert mean_cost(y, model.predict(sparse.csr_array(X)), costs=costs) < 0.7


@pytest.mark.parametrize("params", [{"lam": 0.0}, {"tol": -1}, {"max_iter": 0}])
def test_settings_that_cannot_be_are_refused(params: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(InvalidInputError, match=f"{next(iter(params))} must"):
        OneSidedLinearRegressor(**params).fit(X, Y)


@pytest.mark.parametrize("unit", [1e-12, 1e-5, 1e6, 1e140])
def test_the_unit_of_the_targets_does_not_matter(unit: float) -> None:
    plain = OneSidedLinearRegressor().fit(X, Y, side=SIDE)
    model = OneSidedLinearRegressor().fit(X, unit * Y, side=SIDE)
    np.testing.assert_allclose(model.predict(X) / unit, plain.predict(X), atol=1e-5)
    assert model.objective_ / unit / unit == pytest.approx(plain.objective_, rel=1e-6)


def test_targets_whose_squares_overflow_are_named() -> None:
    with pytest.raises(InvalidInputError, match=r"y must stay within 1e\+150 of zero"):
        OneSidedLinearRegressor().fit(X, 1e200 * Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("units", [[1e-12] * 4, [1e6] * 4, [1e12] * 4, [1e140] * 4, [1e-6, 1.0, 1e6, 1e3]])
def test_the_units_of_the_columns_do_not_matter(units: list[float], form) -> None:  # type: ignore[no-untyped-def]
    exact = LinearRegression().fit(X, Y)
    model = OneSidedLinearRegressor(lam=1e-300).fit(form(X * units), Y)
    np.testing.assert_allclose(model.predict(form(X * units)), exact.predict(X), atol=1e-5)
    np.testing.assert_allclose(model.coef_ * units, exact.coef_, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("origin", [1e3, 1e6, -1e7])
def test_the_origin_of_the_columns_does_not_matter(origin: float, form) -> None:  # type: ignore[no-untyped-def]
    plain = OneSidedLinearRegressor(lam=1e-2).fit(X, Y, side=SIDE)
    model = OneSidedLinearRegressor(lam=1e-2).fit(form(X + origin), Y, side=SIDE)
    np.testing.assert_allclose(model.predict(form(X + origin)), plain.predict(X), atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_column_that_does_not_vary_has_no_weight_beside_an_intercept(form) -> None:  # type: ignore[no-untyped-def]
    rows = form(np.column_stack([X, np.full(120, 7.0)]))
    assert OneSidedLinearRegressor(lam=1e-9).fit(rows, Y, side=SIDE).coef_[-1] == 0
    alone = OneSidedLinearRegressor(lam=1e-9, fit_intercept=False).fit(rows, Y, side=SIDE)
    plain = OneSidedLinearRegressor(lam=1e-9).fit(X, Y, side=SIDE)
    np.testing.assert_allclose(alone.predict(rows), plain.predict(X), atol=1e-4)


def test_a_fit_that_is_cut_short_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps \(max_iter=2\) before tol=1e-07\. Raise"):
        OneSidedLinearRegressor(max_iter=2).fit(X, Y, side=SIDE)
