"""What must hold for every reduction, whatever the data."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steelyard import (
    AllPairsClassifier,
    Costs,
    FilterTreeClassifier,
    OneSidedClassifier,
    OneVsAllClassifier,
    SECOCClassifier,
    random_costs,
)
from steelyard.margin.kernels import gram, kernel_spec
from steelyard.reduction.all_pairs import AllPairs
from steelyard.reduction.filter_tree import FilterTree, balanced
from steelyard.reduction.one_sided import OneSided
from steelyard.reduction.one_vs_all import OneVsAll
from steelyard.reduction.scheme import CostExamples, ReductionScheme
from steelyard.reduction.secoc import SECOC, hadamard_code
from steelyard.reduction.svm_backend import SharedGram

costs_of_two_or_more = st.integers(2, 6).flatmap(
    lambda k: arrays(float, st.tuples(st.integers(1, 12), st.just(k)), elements=st.integers(0, 50).map(float))
)
PLANS: list[Any] = [
    OneSided,
    OneVsAll,
    AllPairs,
    lambda k: AllPairs(k, "difference"),
    lambda k: FilterTree(balanced(list(range(k)))),
    lambda k: SECOC(hadamard_code(k), (np.arange(8) + 0.5) / 8),
]


def cases_of(table: NDArray[np.float64]) -> CostExamples:
    return CostExamples(table, table.argmin(axis=1), np.ones(len(table)))


@given(costs_of_two_or_more, st.integers(0, 2**32 - 1))
def test_theorem_1_cost_is_bounded_by_the_one_sided_losses(table: NDArray[np.float64], seed: int) -> None:
    cases, plan = cases_of(table), OneSided(table.shape[1])
    problems = plan.problems(0, cases, np.empty((len(table), 0)))
    side = np.column_stack([p.sign for p in problems])
    label = np.column_stack([p.target for p in problems if p.target is not None])
    estimates = np.random.default_rng(seed).normal(0.5, 1.0, label.shape)
    loss = np.maximum(side * (estimates - label), 0.0).sum(axis=1)  # eq. (2), summed
    answer = plan.answer(-estimates)
    scaled = label - label.min(axis=1, keepdims=True)
    assert (scaled[np.arange(len(table)), answer] <= loss + 1e-12).all()  # eq. (3)


@pytest.mark.parametrize("make", PLANS)
@given(table=costs_of_two_or_more, shift=st.integers(0, 9), factor=st.integers(1, 9))
@settings(max_examples=25)
def test_sub_problems_depend_on_cost_differences_only(
    make: Any, table: NDArray[np.float64], shift: int, factor: int
) -> None:
    plan: ReductionScheme = make(table.shape[1])
    empty = np.empty((len(table), 0))
    before = plan.problems(0, cases_of(table), empty)
    after = plan.problems(0, cases_of(factor * table + shift), empty)
    for mine, its in zip(before, after, strict=True):
        assert mine.rows.tolist() == its.rows.tolist()
        assert mine.sign.tolist() == its.sign.tolist()
        scale = 1.0 if plan.weighted is False else factor  # labels are scaled to [0, 1], weights are not
        np.testing.assert_allclose(scale * mine.weight, its.weight)
        if mine.target is not None:
            np.testing.assert_allclose(mine.target, its.target, atol=1e-12)


@pytest.mark.parametrize("make", [make for make in PLANS if make is not OneVsAll])  # which is blind to costs
@given(table=costs_of_two_or_more)
@settings(max_examples=25)
def test_perfect_answers_to_all_sub_problems_give_a_cheapest_class(make: Any, table: NDArray[np.float64]) -> None:
    """Every case asks its own sub-problems; scoring each as the case itself wants must cost (almost) nothing."""
    plan: ReductionScheme = make(table.shape[1])
    for row in table:
        cases = cases_of(row[None, :])
        scores = np.empty((1, 0))
        for stage in range(plan.n_stages):
            wanted = [p.constant() for p in plan.problems(stage, cases, scores)]
            scores = np.column_stack([scores, np.array([wanted], dtype=float)])
        paid = cases.regret()[0, plan.answer(scores)[0]]
        # eight thresholds tell shares of the total cost apart to 1/8 on either side
        allowed = row.sum() - len(row) * row.min() if isinstance(plan, SECOC) else 0.0
        assert paid <= allowed / 4 + 1e-9


def noisy_problem(seed: int, n_classes: int, rows_per_x: int = 7) -> tuple[Any, Any, Any, Any]:
    """Few distinct x with several cost vectors each; the expected cost of every answer by x."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.arange(6), rows_per_x)
    table = rng.uniform(0, 10, (len(x), n_classes)) + rng.uniform(0, 4, (6, n_classes))[x]
    expected = np.array([table[x == v].mean(axis=0) for v in range(6)])
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, len(x) - n_classes))
    return x[:, None].astype(float), y, table, expected


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from(["random", "balanced"]))
@settings(max_examples=15)
def test_a_filter_tree_of_exact_learners_is_the_bayes_rule(seed: int, n_classes: int, tournament: str) -> None:
    X, y, table, expected = noisy_problem(seed, n_classes)
    model = FilterTreeClassifier(DecisionTreeClassifier(), tournament=tournament, random_state=seed % 97)
    answer = model.fit(X, y, costs=table).predict(np.arange(6.0)[:, None])
    np.testing.assert_allclose(expected[np.arange(6), answer], expected.min(axis=1))


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=15)
def test_all_pairs_of_exact_learners(seed: int, n_classes: int) -> None:
    X, y, table, expected = noisy_problem(seed, n_classes)
    at = np.arange(6.0)[:, None]
    answer = AllPairsClassifier(DecisionTreeClassifier(), weighting="difference").fit(X, y, costs=table).predict(at)
    np.testing.assert_allclose(expected[np.arange(6), answer], expected.min(axis=1))
    sure = expected[X[:, 0].astype(int)]  # without noise the integral weights are exact too
    answer = AllPairsClassifier(DecisionTreeClassifier()).fit(X, y, costs=sure).predict(at)
    np.testing.assert_allclose(expected[np.arange(6), answer], expected.min(axis=1))


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=15)
def test_cost_regression_with_exact_means_is_the_bayes_rule(seed: int, n_classes: int) -> None:
    X, y, table, expected = noisy_problem(seed, n_classes)
    # Classes that are never (or always) cheapest get a constant, so ask where every class is cheapest now and then.
    cheapest = table == table.min(axis=1, keepdims=True)
    if cheapest.any(axis=0).all() and not cheapest.all(axis=0).any():
        answer = OneSidedClassifier(DecisionTreeRegressor()).fit(X, y, costs=table).predict(np.arange(6.0)[:, None])
        np.testing.assert_allclose(expected[np.arange(6), answer], expected.min(axis=1))


def blobs(seed: int, n_classes: int = 3, n: int = 36) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(n_classes)[y][:, :2], y


@pytest.mark.kernel
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 30.0]), st.integers(2, 4))
@example(1797900, 30.0, 4)  # an example that is free in three machines at once: its three best classes are equal
@settings(max_examples=15)
def test_one_vs_all_is_one_sided_regression_of_insensitive_costs(seed: int, lam: float, n_classes: int) -> None:
    """Paper 002, sec. 4: c[k] = 2 [y != k] - 1, here scaled to [0, 1]: half the loss, a quarter of |w|^2, so 2 lam."""
    X, y = blobs(seed, n_classes)
    fine = {"tol": 1e-9, "dtype": "float64"}
    all_of_them = OneVsAllClassifier(lam=lam, **fine).fit(X, y)
    one_sided = OneSidedClassifier(lam=2 * lam, **fine).fit(X, y)
    mine, its = all_of_them.solution_, one_sided.solution_
    np.testing.assert_allclose(mine.scores(X) - mine.bias, 2 * (its.scores(X) - its.bias), atol=1e-6)
    if np.ptp(mine.bias + 1 - 2 * (its.bias + 1)) < 1e-6:  # the bias is unique but where no example is free
        scores, answer = all_of_them.decision_function(X).reshape(len(X), -1), one_sided.predict(X)
        if n_classes == 2:
            scores = np.column_stack([-scores, scores])
        # The same answers, up to classes that are equal for both: there rounding decides.
        assert (scores[np.arange(len(X)), answer] >= scores.max(axis=1) - 1e-6).all()


@pytest.mark.kernel
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 30.0]))
@settings(max_examples=15)
def test_raw_insensitive_costs_give_the_very_same_machines(seed: int, lam: float) -> None:
    X, y = blobs(seed)
    insensitive = 2.0 * (1 - np.eye(3))[y] - 1
    cases = CostExamples(insensitive, y, np.ones(len(y)))

    class Raw(OneSided):
        """Algorithm 1 without the scaling of labels."""

        def problems(self, stage: int, cases: CostExamples, scores: Any) -> Any:
            found = super().problems(stage, cases, scores)
            return [replace(p, target=cases.table[p.rows, k]) for k, p in enumerate(found)]

    gram = SharedGram(X, np.arange(len(X)), kernel_spec("perceptron", X), dtype="float64", tol=1e-9, n_jobs=None)
    (red,), (ova,) = gram.path(Raw(3), cases, [lam]), gram.path(OneVsAll(3), cases, [lam])
    np.testing.assert_allclose(red.coef, ova.coef, atol=1e-6)
    np.testing.assert_allclose(red.bias, ova.bias, atol=1e-6)
    np.testing.assert_allclose(red.gap, ova.gap, atol=1e-6)


@pytest.mark.parametrize(
    ("cls", "extra"),
    [
        (OneSidedClassifier, {}),
        (OneVsAllClassifier, {}),
        (AllPairsClassifier, {}),
        (FilterTreeClassifier, {"tournament": ((0, 1), (2, 3))}),
    ],
)
@given(seed=st.integers(0, 2**16))
@settings(max_examples=8)
def test_names_of_classes_do_not_matter(cls: Any, extra: dict[str, Any], seed: int) -> None:
    X, y = blobs(seed, 4, 40)
    matrix = random_costs(y, seed).matrix
    assert matrix is not None
    names = np.array(["delta", "alpha", "gamma", "beta"])
    plain = cls(costs=Costs.from_matrix(matrix, classes=range(4)), tol=1e-6, **extra).fit(X, y)
    if extra:
        extra = {"tournament": (("delta", "alpha"), ("gamma", "beta"))}
    named = cls(costs=Costs.from_matrix(matrix, classes=names), tol=1e-6, **extra).fit(X, names[y])
    scores = plain.decision_function(X)
    np.testing.assert_allclose(scores, named.decision_function(X)[:, np.argsort(np.argsort(names))], atol=1e-4)
    untied = np.sort(scores, axis=1)[:, -1] > np.sort(scores, axis=1)[:, -2] + 1e-3
    assert (names[plain.predict(X)][untied] == named.predict(X)[untied]).all()


@pytest.mark.parametrize("cls", [OneSidedClassifier, FilterTreeClassifier, AllPairsClassifier, SECOCClassifier])
@given(seed=st.integers(0, 2**16), factor=st.sampled_from([0.5, 8.0]))
@settings(max_examples=8)
def test_dearer_costs_are_a_weaker_regulariser(cls: Any, seed: int, factor: float) -> None:
    """Weights and lam count by their ratio; for scaled regression labels the unit of cost does not count at all."""
    X, y = blobs(seed)
    costs = random_costs(y, seed, high=5.0)
    extra = {"random_state": 0} if cls is FilterTreeClassifier else {}
    grown = 1.0 if cls is OneSidedClassifier else factor
    first = cls(costs=costs, lam=1.0, tol=1e-8, dtype="float64", **extra).fit(X, y)
    second = cls(costs=costs.scaled(factor), lam=grown, tol=1e-8, dtype="float64", **extra).fit(X, y)
    np.testing.assert_allclose(first.solution_.scores(X), second.solution_.scores(X), atol=1e-5)


@pytest.mark.kernel
@pytest.mark.parametrize(
    "make",
    [
        OneSidedClassifier,
        OneVsAllClassifier,
        AllPairsClassifier,
        SECOCClassifier,
        lambda **rest: FilterTreeClassifier(tournament="balanced", **rest),
    ],
)
@given(seed=st.integers(0, 2**32 - 1), lam=st.sampled_from([0.1, 1.0, 30.0]), kinds=st.integers(1, 3))
@settings(max_examples=10)
def test_repeated_examples_give_the_machines_of_all_rows(make: Any, seed: int, lam: float, kinds: int) -> None:
    """Rows occur often, with one or several cost rows each; a given kernel matrix is never merged."""
    rng = np.random.default_rng(seed)
    X, y = blobs(seed, 3, 15)
    drawn = np.append(np.arange(15), rng.integers(0, 15, 60))
    table = rng.uniform(0, 10, (15, kinds, 3))[drawn, rng.integers(0, kinds, 75)]
    weight = rng.uniform(0.1, 2.0, 75) * (rng.random(75) < 0.8)
    weight[:15] += 0.1
    rest = {"lam": lam, "tol": 1e-9, "dtype": "float64"}
    merged = make(**rest).fit(X[drawn], y[drawn], costs=table, sample_weight=weight)
    K = gram(X[drawn], dtype="float64")
    whole = make(kernel="precomputed", **rest).fit(K, y[drawn], costs=table, sample_weight=weight)
    assert len(merged.solution_.support) <= 15 * kinds
    np.testing.assert_allclose(merged.solution_.scores(X[drawn]), whole.solution_.scores(K), atol=1e-5)
