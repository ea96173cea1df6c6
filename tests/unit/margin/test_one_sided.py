"""One-sided regression: its loss, its sides, its certificates and its bad inputs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

from steelyard import OneSidedSVR
from steelyard.errors import InvalidInputError
from steelyard.margin.kernels import gram

pytestmark = pytest.mark.kernel
RNG = np.random.default_rng(3)
X = RNG.random((80, 3))
Y = np.sin(6 * X[:, 0]) + 0.2 * RNG.normal(size=80)
SIDE = RNG.choice([-1, 1], 80)


def primal(model: OneSidedSVR, K, y, side, weight) -> float:
    """1/2 |w|^2 + sum weight / lam * max(0, side (r - y)) of a fitted model."""
    b = np.zeros(len(y))
    b[model.support_] = model.dual_coef_
    r = K @ b + model.intercept_
    loss = np.where(side == 0, np.abs(r - y), np.maximum(0, side * (r - y)))
    return 0.5 * b @ K @ b + weight @ loss / model.lam


def test_the_certificates_are_the_primal_and_the_dual() -> None:
    weight = RNG.uniform(0.5, 2, 80)
    K = gram(X, dtype="float64")
    model = OneSidedSVR(lam=0.2, tol=1e-7, dtype="float64").fit(X, Y, side=SIDE, sample_weight=weight)
    assert model.duality_gap_ >= 0
    assert primal(model, K, Y, SIDE, weight) == pytest.approx(model.dual_objective_ + model.duality_gap_, rel=1e-9)
    assert model.duality_gap_ < 1e-4
    assert model.violation_ <= 1e-7


def test_no_other_function_pays_less() -> None:
    weight = np.ones(80)
    K = gram(X, kernel="rbf", gamma=2.0, dtype="float64")
    model = OneSidedSVR("rbf", gamma=2.0, lam=0.1, tol=1e-8, dtype="float64").fit(X, Y, side=SIDE)
    best = primal(model, K, Y, SIDE, weight)
    b = np.zeros(80)
    b[model.support_] = model.dual_coef_

    def cost(v):
        r = K @ v[:-1] + v[-1]
        return 0.5 * v[:-1] @ K @ v[:-1] + np.maximum(0, SIDE * (r - Y)).sum() / 0.1

    for _ in range(5):
        start = np.r_[b, model.intercept_] + 0.1 * RNG.normal(size=81)
        assert minimize(cost, start, method="Nelder-Mead", options={"maxiter": 2000}).fun >= best - 1e-6


def test_sides_mean_what_they_say() -> None:
    model = OneSidedSVR(lam=1e-3)
    assert (model.fit(X, Y, side=np.ones(80)).predict(X) <= Y + 1e-2).all()
    assert (model.fit(X, Y, side=-np.ones(80)).predict(X) >= Y - 1e-2).all()
    fitted = model.fit(X, Y, side=SIDE).predict(X)
    assert (SIDE * (fitted - Y) <= 1e-2).all()
    mirrored = OneSidedSVR(lam=1e-3).fit(X, -Y, side=-SIDE).predict(X)
    np.testing.assert_allclose(mirrored, -fitted, atol=2e-2)


def test_both_sides_are_support_vector_regression_without_a_tube() -> None:
    for kernel in ("linear", "rbf"):
        ours = OneSidedSVR(kernel, gamma=1.0, lam=0.5, tol=1e-8, dtype="float64").fit(X, Y)
        theirs = SVR(kernel=kernel, gamma=1.0, C=2.0, epsilon=0.0, tol=1e-8).fit(X, Y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    zero = OneSidedSVR(lam=0.5).fit(X, Y, side=np.zeros(80))
    np.testing.assert_array_equal(zero.predict(X), OneSidedSVR(lam=0.5).fit(X, Y).predict(X))


def test_one_vs_all_is_the_special_case_of_one_sided_regression() -> None:
    from sklearn.svm import SVC

    y = np.where(X[:, 0] + 0.1 * RNG.normal(size=80) > 0.5, 1, -1)
    K = gram(X, dtype="float64")
    regression = OneSidedSVR(lam=0.5, tol=1e-8, dtype="float64").fit(X, -y, side=y)  # costs 2[y != k] - 1
    svc = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(K, y)
    np.testing.assert_allclose(-regression.predict(X), svc.decision_function(K), atol=1e-5)


@pytest.mark.parametrize(
    "layout", [sparse.csr_array, sparse.csc_matrix, lambda x: x.astype(np.float32), np.asfortranarray]
)
@pytest.mark.parametrize("kernel", ["perceptron", "rbf", "linear", "poly"])
def test_every_layout_gives_the_same_function(layout, kernel) -> None:
    fit = OneSidedSVR(kernel, gamma=1.0, lam=0.3, tol=1e-6)
    expected = fit.fit(X, Y, side=SIDE).predict(X)
    np.testing.assert_allclose(fit.fit(layout(X), Y, side=SIDE).predict(layout(X)), expected, atol=2e-4)


@pytest.mark.parametrize("cache_mb", [1e-6, 0.02, 0.05])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_small_cache_costs_time_and_not_digits(cache_mb, layout) -> None:
    wide = OneSidedSVR(lam=0.05, tol=1e-6, dtype="float64").fit(layout(X), Y, side=SIDE)
    narrow = OneSidedSVR(lam=0.05, tol=1e-6, dtype="float64", cache_mb=cache_mb).fit(layout(X), Y, side=SIDE)
    np.testing.assert_allclose(narrow.predict(X), wide.predict(X), atol=1e-4)


def test_precomputed_and_callable_kernels() -> None:
    expected = OneSidedSVR(lam=0.3, tol=1e-6).fit(X, Y, side=SIDE).predict(X[:9])
    K = gram(X, dtype="float64")
    precomputed = OneSidedSVR("precomputed", lam=0.3, tol=1e-6).fit(K, Y, side=SIDE)
    np.testing.assert_allclose(precomputed.predict(K[:9]), expected, atol=2e-4)
    called = OneSidedSVR(lambda a, b: gram(a, b), lam=0.3, tol=1e-6).fit(X, Y, side=SIDE)
    np.testing.assert_allclose(called.predict(X[:9]), expected, atol=2e-4)
    with pytest.raises(InvalidInputError, match="square kernel matrix"):
        OneSidedSVR("precomputed").fit(X, Y)


@pytest.mark.parametrize("lam", [1e-9, 1e9])
def test_degenerate_data_and_extreme_lambdas_end_with_numbers(lam) -> None:
    for rows in (np.ones((6, 2)), np.repeat(X[:3], 2, axis=0), X[:1]):
        y = np.arange(len(rows), dtype=float)
        side = np.where(y % 2 == 0, 1, -1)
        for s in (side, np.ones(len(rows)), None):
            predicted = OneSidedSVR(lam=lam).fit(rows, y, side=s).predict(rows)
            assert np.isfinite(predicted).all()


def test_a_limit_of_steps_warns() -> None:
    with pytest.warns(ConvergenceWarning, match="OneSidedSVR stopped at max_iter=3"):
        OneSidedSVR(lam=1e-3, max_iter=3).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "side", "complaint"),
    [
        ({"lam": 0}, None, "lam must be a finite number > 0"),
        ({"tol": 0}, None, "tol must be a finite number > 0"),
        ({"cache_mb": 0}, None, "cache_mb must be"),
        ({"max_iter": 0}, None, "max_iter must be a whole number"),
        ({"dtype": "int8"}, None, "dtype must be one of"),
        ({}, np.full(80, 2), r"side must hold \+1"),
        ({}, np.ones(3), r"side must have shape \(80,\)"),
    ],
)
def test_bad_settings_are_named_and_change_nothing(settings, side, complaint) -> None:
    model = OneSidedSVR().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(InvalidInputError, match=complaint):
        model.set_params(**settings).fit(X, Y, side=side)
    np.testing.assert_array_equal(model.predict(X) if settings.get("dtype") != "int8" else before, before)


def test_targets_must_be_finite_numbers() -> None:
    with pytest.raises(InvalidInputError, match="y must hold finite numbers"):
        OneSidedSVR().fit(X, np.r_[Y[:-1], np.inf])


def test_texts_for_numbers_and_weights_beyond_all_numbers_are_told() -> None:
    with pytest.raises(InvalidInputError, match=r"^y must hold numbers; got .*could not convert"):
        OneSidedSVR().fit(X, ["costly"] * 80)
    with pytest.raises(InvalidInputError, match=r"^side must hold numbers; got 'list'. could not convert"):
        OneSidedSVR().fit(X, Y, side=["above"] * 80)
    with pytest.raises(InvalidInputError, match=r"^lam must leave the weights of all examples finite; got 1e-300"):
        OneSidedSVR(lam=1e-300).fit(X, Y, sample_weight=np.full(80, 1e10))


@pytest.mark.parametrize("kernel", ["rbf", "perceptron", "linear"])
def test_the_squared_loss_is_the_optimum_of_its_objective(kernel: str) -> None:
    weight = RNG.uniform(0.5, 2, 80)
    K = gram(X, kernel=kernel, gamma=2.0, dtype="float64")
    side = RNG.choice([-1, 0, 1], 80)
    model = OneSidedSVR(kernel, gamma=2.0, lam=0.3, loss="squared", tol=1e-9, dtype="float64")
    model.fit(X, Y, side=side, sample_weight=weight)
    b = np.zeros(80)
    b[model.support_] = model.dual_coef_
    error = K @ b + model.intercept_ - Y
    lost = np.where(side == 0, np.abs(error), np.maximum(0, side * error))
    objective = 0.5 * b @ K @ b + weight @ lost**2 / 0.3
    assert objective == pytest.approx(model.dual_objective_ + model.duality_gap_, rel=1e-9)
    assert model.duality_gap_ < 1e-5 * objective
    assert b.sum() == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(b, -2 * weight / 0.3 * lost * np.sign(error), atol=1e-4)  # stationarity


def test_a_squared_loss_on_both_sides_is_kernel_ridge_regression() -> None:
    K = gram(X, kernel="rbf", gamma=2.0, dtype="float64")
    model = OneSidedSVR("rbf", gamma=2.0, lam=0.1, loss="squared", tol=1e-10, dtype="float64").fit(X, Y)
    system = np.block([[K + 0.05 * np.eye(80), np.ones((80, 1))], [np.ones((1, 80)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.r_[Y, 0.0])
    np.testing.assert_allclose(model.predict(X), K @ solved[:-1] + solved[-1], atol=1e-5)


def test_squared_sparse_precomputed_and_weights_of_zero_agree() -> None:
    given = {"lam": 0.2, "loss": "squared", "tol": 1e-9, "dtype": "float64"}
    plain = OneSidedSVR("rbf", gamma=1.0, **given).fit(X[:60], Y[:60], side=SIDE[:60])
    weight = np.r_[np.ones(60), np.zeros(20)]
    thin = OneSidedSVR("rbf", gamma=1.0, **given).fit(sparse.csr_array(X), Y, side=SIDE, sample_weight=weight)
    K = gram(X, kernel="rbf", gamma=1.0, dtype="float64")
    matrix = OneSidedSVR("precomputed", **given).fit(K, Y, side=SIDE, sample_weight=weight)
    np.testing.assert_allclose(thin.predict(X), plain.predict(X), atol=1e-6)
    np.testing.assert_allclose(matrix.predict(K), plain.predict(X), atol=1e-6)


def test_another_loss_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="loss must be"):
        OneSidedSVR(loss="cubic").fit(X, Y)
