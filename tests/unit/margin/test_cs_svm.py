"""The cost-sensitive SVM against scikit-learn's SVC, and what costs do to it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from steelyard import Balanced, Costs, CSSVMClassifier
from steelyard.errors import CostsError, InvalidInputError

pytestmark = pytest.mark.kernel
X, CODES = make_classification(240, 5, n_informative=3, n_redundant=0, flip_y=0.15, weights=[0.7], random_state=5)
X = X / 3
LABELS = np.where(CODES == 1, "bad", "good")
WEIGHT = np.random.default_rng(0).uniform(0.1, 2, 240)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_it_is_the_weighted_svc(kernel, layout, C) -> None:
    ours = CSSVMClassifier(C, kernel, coef0=1.0, costs={"bad": 4.0, "good": 1.0}, tol=1e-7, dtype="float64")
    theirs = SVC(C=C, kernel=kernel, coef0=1.0, class_weight={"bad": 4.0, "good": 1.0}, tol=1e-7)
    ours.fit(layout(X), LABELS, sample_weight=WEIGHT)
    theirs.fit(layout(X), LABELS, sample_weight=WEIGHT)
    assert ours.classes_.tolist() == theirs.classes_.tolist() == ["bad", "good"]
    np.testing.assert_allclose(ours.decision_function(layout(X)), theirs.decision_function(layout(X)), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X.copy() if layout is np.asarray else layout(X)))


def test_the_default_stops_within_tolerance_of_svc() -> None:
    ours, theirs = CSSVMClassifier().fit(X, CODES), SVC().fit(X, CODES)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)
    assert ours.violation_ <= 1e-3
    assert 0 <= ours.duality_gap_ <= 1e-3 * ours.dual_objective_ + 0.1


def test_perceptron_kernel_precomputed_and_callable_agree() -> None:
    from scipy.spatial.distance import cdist

    def distance(a, b):
        return -cdist(a, b)

    named = CSSVMClassifier(kernel="perceptron", tol=1e-6).fit(X, CODES).decision_function(X)
    called = CSSVMClassifier(kernel=distance, tol=1e-6).fit(X, CODES).decision_function(X)
    given = CSSVMClassifier(kernel="precomputed", tol=1e-6).fit(distance(X, X), CODES)
    np.testing.assert_allclose(called, named, atol=1e-3)
    np.testing.assert_allclose(given.decision_function(distance(X, X)), named, atol=1e-3)


def test_ways_to_state_the_same_costs() -> None:
    expected = CSSVMClassifier(costs={0: 1.0, 1: 3.0}).fit(X, CODES).decision_function(X)
    rows = np.where(np.eye(2)[CODES] == 1, 0.0, np.array([1.0, 3.0])[CODES][:, None])
    for model, extra in (
        (CSSVMClassifier(costs=Costs.binary(fn=3, fp=1)), {}),
        (CSSVMClassifier(costs=[[0, 1], [3, 0]]), {}),
        (CSSVMClassifier(), {"costs": rows}),
        (CSSVMClassifier(), {"costs": rows + 7.0}),  # what every answer costs changes nothing
        (CSSVMClassifier(), {"sample_weight": np.array([1.0, 3.0])[CODES]}),
        (CSSVMClassifier(C=2.0), {"costs": rows / 2}),
    ):
        np.testing.assert_allclose(model.fit(X, CODES, **extra).decision_function(X), expected, atol=5e-3)


def test_dearer_misses_are_fewer() -> None:
    missed = []
    for miss in (0.1, 1.0, 10.0):
        model = CSSVMClassifier(costs=Costs.binary(fn=miss, fp=1.0)).fit(X, CODES)
        missed.append(int(((model.predict(X) == 0) & (CODES == 1)).sum()))
    assert missed[0] > missed[1] > missed[2]
    CSSVMClassifier(costs=Balanced()).fit(X, CODES)


def test_the_cheaper_answer_is_learned_where_costs_contradict_the_label() -> None:
    rows = np.where(np.eye(2)[CODES] == 1, 0.0, 1.0)
    rows[:10] = rows[:10, ::-1]
    flipped = CODES.copy()
    flipped[:10] = 1 - flipped[:10]
    np.testing.assert_array_equal(
        CSSVMClassifier().fit(X, CODES, costs=rows).decision_function(X),
        CSSVMClassifier().fit(X, flipped).decision_function(X),
    )


def test_examples_without_weight_take_no_part() -> None:
    weight = np.where(np.arange(240) < 200, 1.0, 0.0)
    a = CSSVMClassifier(gamma=0.5, tol=1e-6).fit(X, CODES, sample_weight=weight)
    b = CSSVMClassifier(gamma=0.5, tol=1e-6).fit(X[:200], CODES[:200])
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)


def test_it_is_an_estimator_among_others() -> None:
    model = make_pipeline(StandardScaler(), clone(CSSVMClassifier(costs={0: 1.0, 1: 2.0})))
    assert (model.fit(X, CODES).predict(X) == CODES).mean() > 0.7
    assert -0.3 < model.score(X, CODES) < 0  # costs are known, so the score is minus their mean


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"y must have two classes; got .*one class"):
        CSSVMClassifier().fit(X, np.ones(240, int))
    with pytest.raises(InvalidInputError, match=r"got '3 classes'. Only binary .* OneVsAllClassifier"):
        CSSVMClassifier().fit(X, np.arange(240) % 3)
    with pytest.raises(CostsError, match="costs must make some mistake"):
        CSSVMClassifier().fit(X, CODES, costs=np.ones((240, 2)))
    with pytest.raises(InvalidInputError, match="C must be a finite number > 0"):
        CSSVMClassifier(C=-1.0).fit(X, CODES)
    with pytest.raises(InvalidInputError, match="kernel must be one of"):
        CSSVMClassifier(kernel="sigmoid").fit(X, CODES)


def test_numbers_beyond_the_machine() -> None:
    with pytest.raises(InvalidInputError, match=r"^C must leave the weights of all examples finite; got 1e\+300"):
        CSSVMClassifier(C=1e300).fit(X, LABELS, sample_weight=WEIGHT * 1e10)
    unlimited, usual = CSSVMClassifier(cache_mb=1e300).fit(X, LABELS), CSSVMClassifier().fit(X, LABELS)
    np.testing.assert_array_equal(unlimited.decision_function(X), usual.decision_function(X))
