"""CSLDMClassifier: what it accepts, refuses, shows and keeps."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from steelyard import (
    Costs,
    CostsError,
    CSLDMClassifier,
    CSLDMClassifierCV,
    DivergedError,
    InvalidInputError,
    MarginDisplay,
    RhoCurveDisplay,
    rho_curves,
)
from steelyard.margin.ldm import estimator as ldm
from steelyard.margin.ldm.balance import balance_point
from steelyard.margin.ldm.inputs import Ready


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=90) > 1.0, "ill", "fit")


@pytest.mark.parametrize("solver", ["auto", "newton", "cd", "interior", "greedy", "algorithm1", "sdca"])
def test_every_solver_finds_the_same_linear_machine(data, solver):
    X, y = data
    exact = CSLDMClassifier(C=0.5, tol=1e-9).fit(X, y)
    model = CSLDMClassifier(C=0.5, solver=solver, tol=1e-7, max_iter=20000, random_state=0).fit(X, y)
    assert model.solver_ == (solver if solver != "auto" else "newton")
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=5e-3)
    assert 0 <= model.duality_gap_ <= 1e-5 * abs(model.objective_)


def test_sparse_dense_and_precomputed_agree(data):
    X, y = data
    dense = CSLDMClassifier(tol=1e-9).fit(X, y)
    thin = CSLDMClassifier(tol=1e-9).fit(sparse.csr_array(X), y)
    gram = CSLDMClassifier(kernel="precomputed", tol=1e-9).fit(X @ X.T, y)
    called = CSLDMClassifier(kernel=lambda a, b: a @ b.T, tol=1e-9).fit(X, y)
    expected = dense.decision_function(X)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), expected, atol=1e-5)
    np.testing.assert_allclose(gram.decision_function(X @ X.T), expected, atol=1e-5)
    np.testing.assert_allclose(called.decision_function(X), expected, atol=1e-5)


def test_costs_of_classes_and_examples_scale_theta(data):
    X, y = data
    by_class = CSLDMClassifier(rho=0, costs={"ill": 3.0, "fit": 1.0}, tol=1e-9).fit(X, y)
    cost = np.where(y == "ill", 3.0, 1.0)
    rows = np.where(np.arange(2) == (y == "ill")[:, None], 0.0, cost[:, None])  # classes sort as fit, ill
    by_row = CSLDMClassifier(rho=0, tol=1e-9).fit(X, y, costs=rows)
    np.testing.assert_allclose(by_row.coef_, by_class.coef_, atol=1e-6)
    assert (by_class.predict(X) == "ill").sum() > (CSLDMClassifier(rho=0).fit(X, y).predict(X) == "ill").sum()
    with pytest.raises(CostsError):
        CSLDMClassifier(costs=Costs.from_classes({"ill": 1.0, "other": 2.0})).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("balance", ["train", "cv"])
def test_balance_brings_the_recalls_together(data, kernel, balance):
    X, y = data
    model = CSLDMClassifier(balance=balance, kernel=kernel, tol=1e-4, random_state=0).fit(X, y)
    assert model.rho_interval_[0] <= model.rho_interval_[1]
    assert 0 <= model.rho_ <= 2
    if balance == "train":
        recall = [(model.predict(X)[y == k] == k).mean() for k in ("ill", "fit")]
        assert abs(recall[0] - recall[1]) < 0.08


def test_balance_point_of_a_step_function():
    found = balance_point(lambda rho: -0.1 if rho < 0.43 else 0.0 if rho < 0.71 else 0.2)
    assert found.interval == pytest.approx((0.43, 0.71), abs=1e-3)
    assert 0.43 <= found.rho <= 0.71
    assert found.advantage == 0
    assert balance_point(lambda rho: -1.0).rho == pytest.approx(1.0, abs=1.0)
    assert balance_point(lambda rho: rho - 0.3).rho == pytest.approx(0.3, abs=1e-2)


def test_streams_in_chunks_come_near_the_optimum(data):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=6000) > 0.8).astype(int)
    best = CSLDMClassifier().fit(X, y)
    stream = CSLDMClassifier(random_state=0)
    for chunk in np.array_split(np.arange(6000), 12):
        stream.partial_fit(X[chunk], y[chunk], classes=[0, 1])
    assert stream.solver_ == "asgd"
    assert (stream.predict(X) == best.predict(X)).mean() > 0.97
    passes = CSLDMClassifier(solver="asgd", random_state=0).fit(X, y)
    assert passes.objective_ < 1.05 * best.objective_
    assert passes.duality_gap_ is None
    again = CSLDMClassifier(solver="asgd", random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(again.coef_, passes.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"C": -1.0}, "C must"),
        ({"lambda1": np.nan}, "lambda1 must"),
        ({"kernel": "perceptron"}, "semi-definite"),
        ({"kernel": lambda a, b: -(a @ b.T)}, "semi-definite"),
        ({"kernel": "rbf", "solver": "cd"}, "solver must"),
        ({"balance": "both"}, "balance must"),
        ({"max_iter": 0}, "max_iter must"),
    ],
)
def test_refuses_with_the_parameter_named(data, settings, named):
    with pytest.raises(InvalidInputError, match=named):
        CSLDMClassifier(**settings).fit(*data)


def test_a_balance_point_is_not_sought_in_a_stream(data):
    model = CSLDMClassifier(balance="train").fit(*data)
    before = dict(vars(model))
    with pytest.raises(InvalidInputError, match=r"balance must be None for partial_fit; got 'train'\. The point is"):
        model.partial_fit(*data)
    assert vars(model) == before


def test_more_classes_point_to_the_reductions(data):
    with pytest.raises(InvalidInputError, match="reduction"):
        CSLDMClassifier().fit(data[0], np.arange(90) % 3)


def test_says_what_to_change_when_not_converged(data):
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        CSLDMClassifier(C=1000.0, solver="cd", max_iter=3, tol=1e-10).fit(*data)


def test_a_failed_call_leaves_the_stream_alone(data):
    X, y = data
    model = CSLDMClassifier(random_state=0).partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(InvalidInputError):
        model.partial_fit(X, np.full(90, "new"))
    assert (model.coef_ == before).all()


def test_cross_validation_scores_each_point_like_a_plain_fit(data):
    X, y = data
    split = [(np.arange(0, 60), np.arange(60, 90))]
    search = CSLDMClassifierCV([0.1, 10.0], [1.0], [0.0, 1.0], [0.0, 1.0], kernel="rbf", cv=split, scoring="accuracy")
    search.fit(X, y)
    assert search.scores_.shape == (1, 2, 2, 2)
    assert search.n_fits_ == 8
    for (_, i, j, k), score in np.ndenumerate(search.scores_):
        gamma = search.best_estimator_.kernel_.gamma
        point = {"C": [0.1, 10.0][j], "lambda2": [0.0, 1.0][i], "rho": [0.0, 1.0][k], "gamma": gamma}
        plain = CSLDMClassifier(lambda1=1.0, kernel="rbf", **point).fit(X[:60], y[:60])
        assert plain.score(X[60:], y[60:]) == pytest.approx(score, abs=0.07)


def test_curves_over_rho_match_single_fits_and_can_be_drawn(data):
    X, y = data
    for kernel in ("linear", "rbf"):
        model = CSLDMClassifier(kernel=kernel, tol=1e-6)
        curves = rho_curves(model, X[:60], y[:60], X_test=X[60:], y_test=y[60:], rhos=[0.0, 1.0])
        for i, rho in enumerate([0.0, 1.0]):
            single = CSLDMClassifier(kernel=kernel, rho=rho, tol=1e-6).fit(X[:60], y[:60])
            assert curves.train.accuracy[i] == pytest.approx(single.score(X[:60], y[:60]))
            assert curves.test.accuracy[i] == pytest.approx(single.score(X[60:], y[60:]))
    pytest.importorskip("matplotlib").use("Agg")
    display = RhoCurveDisplay(curves).plot()
    assert [line.get_label() for line in display.lines_][:2] == ["TrainAcc", "TrainTPR"]
    assert len(display.lines_) == 8


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [2.0**-10, 1.0, 32.0])
@pytest.mark.parametrize(("lambda1", "lambda2"), [(32.0, 2.0**-10), (1.0, 1.0), (2.0**-10, 32.0)])
@pytest.mark.parametrize("few", [0, 2000], ids=["sought roughly first", "from scratch"])
def test_the_balance_point_balances_the_machine_that_is_kept(monkeypatch, kernel, C, lambda1, lambda2, few) -> None:
    """Also where the hinge's constant is nearly all of the objective, so that a rough solution hardly differs in it."""
    monkeypatch.setattr(ldm, "FEW_ROWS", few)
    rng = np.random.default_rng(3)
    y = rng.random(160) < 0.25
    X = rng.normal(size=(160, 3)) + 0.8 * y[:, None]
    model = CSLDMClassifier(C, lambda1, lambda2, kernel=kernel, balance="train").fit(X, y)
    right = model.predict(X) == y
    assert abs(right[y].mean() - right[~y].mean()) <= 2 / y.sum()


@pytest.mark.parametrize("few", [0, 2000], ids=["sought roughly first", "from scratch"])
def test_no_balance_is_looked_at_twice(monkeypatch, data, few) -> None:
    monkeypatch.setattr(ldm, "FEW_ROWS", few)
    solved = Counter()
    solve = Ready.solve

    def counting(self, problem, wanted, examples, rho, start, tol):
        solved[rho, tol] += 1
        return solve(self, problem, wanted, examples, rho, start, tol)

    monkeypatch.setattr(Ready, "solve", counting)
    model = CSLDMClassifier(balance="train").fit(*data)
    solved[model.rho_, model.tol] -= 1  # the machine that is kept
    assert max(solved.values()) == 1
    assert len(solved) > 20


def test_what_cannot_be_validated_is_told(data):
    X, y = data
    with pytest.raises(
        InvalidInputError, match=r"^cv must be a number of folds.*; got 100\. Cannot have number of spl"
    ):
        CSLDMClassifierCV(cv=100).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"^cv must hold out rows of positive weight in every fold"):
        CSLDMClassifierCV(cv=[(np.arange(10, 90), np.arange(10))]).fit(X, y, sample_weight=np.arange(90) >= 10)
    with pytest.raises(InvalidInputError, match=r"^scoring must give a finite number on every fold; got nan"):
        CSLDMClassifierCV(cv=2, scoring=lambda truths, answers: np.nan).fit(X, y)
    with pytest.raises(InvalidInputError, match=r'^balance must be "train" or None where a class has one row; got'):
        CSLDMClassifier(balance="cv").fit(X, np.arange(90) == 5)


def test_a_stream_keeps_its_intercept(data):
    X, y = data
    model = CSLDMClassifier(random_state=0).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match=r"^fit_intercept must stay the same while a stream goes on; got False"):
        model.set_params(fit_intercept=False).partial_fit(X, y)


@pytest.mark.parametrize("balance", ["train", "cv"])
def test_the_balance_point_by_algorithm_2(data, balance):
    X, y = data
    rough = CSLDMClassifier(solver="asgd", balance=balance, random_state=0).fit(X, y)
    low, high = rough.rho_interval_
    assert low <= rough.rho_ <= high
    assert rough.solver_ == "asgd"
    again = CSLDMClassifier(solver="asgd", rho=rough.rho_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.coef_, rough.coef_)
    plain = CSLDMClassifier(solver="asgd", rho=0.0, random_state=0).fit(X, y)
    if balance == "train":
        assert _recall_gap(rough, X, y) <= _recall_gap(plain, X, y)


def _recall_gap(model, X, y):
    right = model.predict(X) == y
    return abs(right[y == "ill"].mean() - right[y == "fit"].mean())


def test_the_search_for_balance_refuses_a_class_of_one_row(data):
    X, y = data
    y = np.where(np.arange(90) == 0, "ill", "fit")
    with pytest.raises(InvalidInputError, match='balance must be "train"'):
        CSLDMClassifier(solver="asgd", balance="cv").fit(X, y)


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf"}, {"solver": "asgd"}, {"solver": "sdca"}])
def test_margins_are_those_of_the_training_rows(data, params):
    X, y = data
    model = CSLDMClassifier(random_state=0, **params).fit(X, y)
    margins = model.margins(X, y)
    np.testing.assert_allclose(margins, np.where(y == "ill", 1, -1) * model.decision_function(X))
    assert model.margin_mean_ == pytest.approx(margins.mean(), abs=1e-5)
    assert model.margin_variance_ == pytest.approx(margins.var(), abs=1e-5)
    errors = [(margins[y == label] < 0).mean() for label in ("fit", "ill")]
    assert (np.array(errors) <= model.bounded_share_).all()


def test_the_bounded_share_is_that_of_the_dual(data):
    X, y = data
    model = CSLDMClassifier(kernel="rbf", C=0.5, lambda2=0.0, tol=1e-9, rho=0.0).fit(X, y)
    ready = ldm.read_fit(model, X, y, None, None)
    rows = ldm.training_rows(ready.rows, ready.spec, "greedy", True)
    found = ready.solve(rows.prepare(ready.examples)(1.0), "auto", ready.examples, 0.0, None, 1e-9)
    at_bound = found.nu > 0.5 - 1e-6
    expected = [at_bound[y == label].mean() for label in ("fit", "ill")]
    np.testing.assert_allclose(model.bounded_share_, expected, atol=0.02)


def test_margins_of_other_labels_are_refused(data):
    X, y = data
    with pytest.raises(InvalidInputError, match="y must hold the classes"):
        CSLDMClassifier().fit(X, y).margins(X[:2], ["ill", "dead"])


def test_a_stream_that_goes_on_forgets_the_margins_of_gone_rows(data):
    X, y = data
    model = CSLDMClassifier(solver="asgd").fit(X, y)
    model.partial_fit(X, y)
    assert not hasattr(model, "margin_mean_")


def test_the_margins_are_drawn(data):
    pytest.importorskip("matplotlib").use("Agg")
    X, y = data
    shown = MarginDisplay.from_estimator(CSLDMClassifier().fit(X, y), X, y, name="CS-LDM")
    assert [line.get_label() for line in shown.lines_] == ["CS-LDM: fit", "CS-LDM: ill"]
    assert shown.lines_[0].get_ydata()[-1] == 1.0


def test_a_part_that_cannot_be_used_changes_nothing(data):
    X, y = data
    model = CSLDMClassifier(random_state=0)
    before = set(vars(model))
    with pytest.raises(InvalidInputError, match="y must have two classes; got 'one class, 0'"):
        model.partial_fit(X, np.zeros(len(X), dtype=int))
    assert set(vars(model)) == before
    model.partial_fit(X[:, :1], y, classes={*y})
    with pytest.raises(InvalidInputError, match="classes must stay"):
        model.partial_fit(X[:, :1], y, classes=["other", "others"])


def test_curves_leave_the_model_and_its_columns_alone(data):
    X, y = data
    model = CSLDMClassifier(C=10.0).fit(X, y)
    before = model.predict(X)
    rho_curves(model, X[:, :1], y, rhos=[0.0])
    assert (model.predict(X) == before).all()
    fresh = CSLDMClassifier()
    rho_curves(fresh, X, y, rhos=[0.0])
    assert vars(fresh) == vars(CSLDMClassifier())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rhos": []}, "rhos must hold at least one value"),
        ({"X_test": [[0.0, 0.0]]}, "y_test must be given with X_test"),
        ({"X_test": [[0.0, 0.0]], "y_test": ["neither"]}, r"y must hold the classes \[.*\]; got 'neither'"),
    ],
)
def test_curves_say_what_is_wrong(data, given, words):
    X, y = data
    with pytest.raises(InvalidInputError, match=words):
        rho_curves(CSLDMClassifier(), X[:, :2], y, **given)


@pytest.mark.parametrize("rho", [1e5, -1e5])
def test_a_rho_beyond_all_numbers_is_an_overflow(data, rho):
    with pytest.raises(DivergedError, match="objective must stay finite"):
        CSLDMClassifier(rho=rho).fit(data[0][:60], np.arange(60) < 10)


def test_a_kernel_machine_without_support_answers_alike(data):
    X, y = data
    model = CSLDMClassifier(C=0.0, lambda1=0.0, lambda2=0.0, kernel="rbf").fit(X, y)
    assert len(model.support_) == 0
    assert (model.decision_function(X) == 0).all()
