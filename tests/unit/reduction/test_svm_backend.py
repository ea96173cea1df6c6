import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.svm import SVC

from steelyard import (
    AllPairsClassifierCV,
    FilterTreeClassifier,
    FilterTreeClassifierCV,
    InvalidInputError,
    LazyGram,
    OneSidedClassifier,
    OneSidedClassifierCV,
    OneVsAllClassifier,
    OneVsAllClassifierCV,
    SECOCClassifier,
    SECOCClassifierCV,
)

pytestmark = pytest.mark.kernel

rng = np.random.default_rng(0)
Y = np.repeat([0, 1, 2, 3], 15)
X = rng.normal(size=(60, 3)) + Y[:, None] * [1.0, 0.0, -0.5]
COSTS = rng.uniform(0, 10, (4, 4)) * (1 - np.eye(4))
FINE = {"tol": 1e-8, "dtype": "float64"}


def test_one_vs_all_agrees_with_scikit_learn() -> None:
    ours = OneVsAllClassifier(lam=0.5, kernel="rbf", gamma=0.3, **FINE).fit(X, Y)
    for k in range(4):
        theirs = SVC(C=2.0, gamma=0.3, tol=1e-8).fit(X, k == Y)
        np.testing.assert_allclose(ours.decision_function(X)[:, k], theirs.decision_function(X), atol=1e-5)


def test_weighted_sub_problems_agree_with_scikit_learn() -> None:
    tree = FilterTreeClassifier(costs=COSTS[:2, :2] + 0.0, lam=4.0, kernel="rbf", gamma=0.3, **FINE)
    two = Y < 2
    tree.fit(X[two], Y[two])
    weight = np.where(Y[two] == 0, COSTS[0, 1], COSTS[1, 0])
    theirs = SVC(C=0.25, gamma=0.3, tol=1e-8).fit(X[two], Y[two], sample_weight=weight)
    np.testing.assert_allclose(tree.decision_function(X), 2 * theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_precomputed_kernel_gives_the_same_answers(dtype: str) -> None:
    K = -pairwise_distances(X)
    weight = rng.integers(0, 3, len(X)).astype(float)
    direct = OneSidedClassifier(costs=COSTS, lam=0.2, dtype=dtype).fit(X, Y, sample_weight=weight)
    given = OneSidedClassifier(costs=COSTS, lam=0.2, dtype=dtype, kernel="precomputed").fit(K, Y, sample_weight=weight)
    np.testing.assert_allclose(direct.decision_function(X), given.decision_function(K), atol=5e-3)
    with pytest.raises(InvalidInputError, match="square kernel matrix"):
        given.fit(K[:, :10], Y)


def test_a_function_and_sparse_rows_are_kernels_too() -> None:
    direct = OneVsAllClassifier(kernel="linear", lam=1.0, **FINE).fit(X, Y)
    called = OneVsAllClassifier(kernel=lambda a, b: a @ b.T, lam=1.0, **FINE).fit(X, Y)
    thin = OneVsAllClassifier(kernel="linear", lam=1.0, **FINE).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(direct.decision_function(X), called.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(direct.decision_function(X), thin.decision_function(sparse.csr_array(X)), atol=1e-6)


def test_only_support_rows_are_kept_and_models_survive_pickling() -> None:
    model = OneVsAllClassifier(lam=0.01).fit(X, np.where(Y < 2, 0, 1))
    assert 0 < len(model.solution_.support) < len(X)
    assert (model.solution_.duality_gap >= 0).all()
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(X) == model.decision_function(X)).all()


def test_two_threads_give_the_same_answers() -> None:
    one = SECOCClassifier(costs=COSTS, lam=1.0).fit(X, Y)
    two = SECOCClassifier(costs=COSTS, lam=1.0, n_jobs=2).fit(X, Y)
    assert (one.solution_.coef == two.solution_.coef).all()


def test_scores_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FilterTreeClassifier(costs=COSTS, random_state=0).fit(X, Y)
    whole = model.decision_function(X)
    monkeypatch.setattr("steelyard.reduction.svm_backend.CELLS_AT_ONCE", 100)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-9)
    np.testing.assert_allclose(
        FilterTreeClassifier(costs=COSTS, random_state=0).fit(X, Y).decision_function(X), whole, atol=1e-9
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "cls", [OneSidedClassifierCV, OneVsAllClassifierCV, FilterTreeClassifierCV, SECOCClassifierCV, AllPairsClassifierCV]
)
def test_large_matrices_come_row_by_row_and_change_nothing(cls, form, monkeypatch) -> None:
    settings = {"costs": COSTS, "lams": [100.0, 1.0, 0.01], **FINE}
    if cls is FilterTreeClassifierCV:
        settings["random_state"] = 0
    whole = cls(**settings).fit(form(X), Y)
    monkeypatch.setattr("steelyard.reduction.svm_backend.WORTH_WAITING", 0)
    made = []
    of = LazyGram.of
    monkeypatch.setattr(LazyGram, "of", lambda *spec, **dtype: made.append(of(*spec, **dtype)) or made[-1])
    by_rows, threaded = (cls(**settings, n_jobs=jobs).fit(form(X), Y) for jobs in (1, 2))
    np.testing.assert_allclose(by_rows.cv_costs_, whole.cv_costs_, atol=1e-9)
    np.testing.assert_allclose(by_rows.decision_function(X), whole.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(threaded.decision_function(X), by_rows.decision_function(X))
    assert [matrix.rows_at_hand > 0 for matrix in made] == [True, True]
