from typing import Any

import numpy as np
import pytest
from scipy import sparse

from steelyard import OneSidedClassifier, OneSidedClassifierCV, OneVsAllClassifier, OneVsAllClassifierCV
from steelyard.margin.kernels import gram
from steelyard.reduction._learners import Solutions
from steelyard.reduction.deduplication import Deduplication
from steelyard.reduction.scheme import CostExamples
from steelyard.reduction.svm_backend import KernelMachines

rng = np.random.default_rng(0)
FINE = {"tol": 1e-8, "dtype": "float64"}


def cases_of(codes: list[int], weight: Any = None) -> CostExamples:
    table = 1.0 - np.eye(3)[codes]
    return CostExamples(table, np.array(codes), np.ones(len(codes)) if weight is None else np.asarray(weight, float))


def test_distinct_cases_stand_in_the_order_of_their_first_appearance() -> None:
    repeats = Deduplication.found(np.array([[5.0], [1.0], [5.0], [3.0], [1.0]]), cases_of([0, 1, 0, 2, 1]))
    assert repeats.first.tolist() == [0, 1, 3]
    assert repeats.of.tolist() == [0, 1, 0, 2, 1]


def test_without_repeats_nothing_changes() -> None:
    cases = cases_of([0, 1, 2, 0], rng.uniform(size=4))
    for repeats in (Deduplication.found(rng.normal(size=(4, 2)), cases), Deduplication.none(4)):
        assert repeats.first.tolist() == repeats.of.tolist() == [0, 1, 2, 3]
        assert repeats.merged(cases).table.tolist() == cases.table.tolist()
        assert repeats.merged(cases).codes.tolist() == cases.codes.tolist()
        assert repeats.merged(cases).weight.tolist() == cases.weight.tolist()


def test_equal_rows_of_another_class_or_other_costs_are_other_cases() -> None:
    cases = CostExamples(np.array([[0.0, 1], [0, 1], [0, 2], [0, 1]]), np.array([0, 1, 0, 0]), np.ones(4))
    assert Deduplication.found(np.ones((4, 2)), cases).of.tolist() == [0, 1, 2, 0]


def test_negative_zero_is_zero_and_sparse_rows_are_compared_by_position() -> None:
    X = np.array([[0.0, 1.0, 0.0], [-0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    for rows in (X, X.astype(np.float32), sparse.csr_array(X), sparse.csr_matrix(X.astype(np.float32))):
        assert Deduplication.found(rows, cases_of([0] * 5)).of.tolist() == [0, 0, 1, 0, 2]


def test_weights_add_up_over_the_examples_asked_for() -> None:
    cases = cases_of([0, 1, 0, 0], [1.0, 2.0, 0.0, 4.0])
    repeats = Deduplication.found(np.array([[5.0], [1.0], [5.0], [5.0]]), cases)
    assert repeats.merged(cases).weight.tolist() == [5.0, 2.0]
    assert repeats.merged(cases, np.array([3, 2])).weight.tolist() == [4.0, 0.0]
    assert repeats.merged(cases, np.array([3, 3, 1])).weight.tolist() == [8.0, 2.0]


Y = np.arange(30) % 3
X = rng.normal(size=(30, 2)) + Y[:, None]
FOLDS = [(np.flatnonzero(np.arange(30) % 5 != f), np.flatnonzero(np.arange(30) % 5 == f)) for f in range(5)]


@pytest.mark.kernel
def test_a_doubled_data_set_is_one_of_doubled_weights() -> None:
    twice = [tuple(np.concatenate([part, part + 30]) for part in fold) for fold in FOLDS]
    settings = {"lams": [10.0, 1.0, 0.1]}
    heavy = OneSidedClassifierCV(cv=FOLDS, **settings).fit(X, Y, sample_weight=np.full(30, 2.0))
    doubled = OneSidedClassifierCV(cv=twice, **settings).fit(np.vstack([X, X]), np.tile(Y, 2))
    assert (heavy.cv_costs_ == doubled.cv_costs_).all()
    assert heavy.lam_ == doubled.lam_
    assert (heavy.decision_function(X) == doubled.decision_function(X)).all()


@pytest.mark.kernel
def test_support_counts_in_the_rows_given() -> None:
    late = np.concatenate([np.zeros(5, int), np.arange(30)])  # row 0 six times, then the others
    model = OneVsAllClassifier(lam=0.1).fit(X[late], Y[late])
    support = model.solution_.support
    assert support.max() >= 30
    assert not set(support) & {1, 2, 3, 4, 5}
    assert (X[late][support] == model.solution_.support_rows).all()


@pytest.mark.kernel
def test_only_distinct_rows_take_memory() -> None:
    many = np.repeat(np.arange(30), 20)
    room = {"cache_mb": 0.01}  # 2,621 single-precision numbers: a Gram of 30 rows, not of 600
    assert isinstance(OneVsAllClassifier(**room).fit(X[many], Y[many]).solution_, KernelMachines)
    apart = X[many] + rng.normal(size=(600, 2))
    assert isinstance(OneVsAllClassifier(**room).fit(apart, Y[many]).solution_, Solutions)


@pytest.mark.kernel
def test_kernel_parameters_are_settled_on_all_rows() -> None:
    many = np.concatenate([np.arange(30), np.zeros(20, int)])
    scaled = OneVsAllClassifier(kernel="rbf", **FINE).fit(X[many], Y[many])
    stated = OneVsAllClassifier(kernel="rbf", gamma=1 / (2 * X[many].var()), **FINE).fit(X[many], Y[many])
    assert scaled.solution_.spec.gamma == pytest.approx(stated.solution_.spec.gamma)
    assert (scaled.predict(X) == stated.predict(X)).all()


@pytest.mark.kernel
@pytest.mark.parametrize("cache_mb", [4000.0, 1e-3])
def test_a_case_may_be_held_out_whole_or_weigh_nothing(cache_mb: float) -> None:
    many = np.repeat(np.arange(30), 2)
    weight = np.ones(60)
    weight[many % 5 == 4] = 0.0  # all that the last fold holds out
    folds = [(np.flatnonzero(many % 5 != f), np.flatnonzero(many % 5 == f)) for f in range(5)]
    model = OneVsAllClassifierCV(cv=folds, lams=[1.0], cache_mb=cache_mb).fit(X[many], Y[many], sample_weight=weight)
    single = OneVsAllClassifierCV(cv=FOLDS, lams=[1.0], cache_mb=cache_mb)
    single.fit(X, Y, sample_weight=2 * weight[::2])
    assert (model.cv_costs_ == single.cv_costs_).all()
    assert model.cv_costs_[0, 4] == 0.0
    assert (model.predict(X) == single.predict(X)).all()


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(5))
def test_cross_validated_costs_are_those_of_all_rows(seed: int) -> None:
    """A given kernel matrix is never merged."""
    draw = np.random.default_rng(seed)
    many = np.append(np.arange(30), draw.integers(0, 30, 60))
    weight, costs = draw.uniform(0, 2, 90), draw.uniform(0, 9, (3, 3)) * (1 - np.eye(3))
    settings = {"costs": costs, "lams": [30.0, 1.0, 0.05], "cv": 4, **FINE}
    merged = OneSidedClassifierCV(**settings).fit(X[many], Y[many], sample_weight=weight)
    K = gram(X[many], dtype="float64")
    whole = OneSidedClassifierCV(kernel="precomputed", **settings).fit(K, Y[many], sample_weight=weight)
    np.testing.assert_allclose(merged.cv_costs_, whole.cv_costs_, atol=1e-9)
    assert merged.lam_ == whole.lam_
    np.testing.assert_allclose(merged.decision_function(X[many]), whole.decision_function(K), atol=1e-5)


@pytest.mark.kernel
def test_sparse_rows_are_merged_like_dense_ones() -> None:
    many = np.repeat(np.arange(30), 3)
    dense = OneSidedClassifier(**FINE).fit(X[many], Y[many])
    thin = OneSidedClassifier(**FINE).fit(sparse.csr_array(X[many]), Y[many])
    assert len(thin.solution_.support) <= 30
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(sparse.csr_array(X)), atol=1e-6)
