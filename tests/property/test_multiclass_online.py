"""Laws of OnlineCostClassifier: its kernel does what its formula says, and its special cases are known learners."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from steelyard import (
    CSOGD1,
    AskAll,
    AskAsymmetric,
    AskAtLeast,
    AskFirst,
    AskPredictedPositive,
    AskRandom,
    AskSymmetric,
    AskUncertain,
    Balanced,
    Budget,
    Costs,
    CostsError,
    DivergedError,
    Glance,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    QueryRule,
    StateError,
)

pytestmark = pytest.mark.kernel
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def streams(draw: Any, classes: int | None = None) -> tuple[Any, Any, int]:
    n, d = draw(st.integers(8, 40)), draw(st.integers(1, 20))
    K = draw(st.integers(2, 5)) if classes is None else classes
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = (rng.normal(size=(n, d)) / np.sqrt(d)).astype(draw(st.sampled_from([np.float64, np.float32])))
    y = np.append(np.arange(K), rng.integers(0, K, n - K))
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.5] = 0
        X = sparse.csr_matrix(X)
        width = draw(st.sampled_from([np.int32, np.int64]))
        X.indices, X.indptr = X.indices.astype(width), X.indptr.astype(width)
    return X, y, K


def told(X: Any, c: Any, eta: float, constant: bool) -> tuple[list[int], Any, Any]:
    """The formula as it reads."""
    rows = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    w, b, answers = np.zeros((c.shape[1], rows.shape[1])), np.zeros(c.shape[1]), []
    for x, costs in zip(rows, c, strict=True):
        g = w @ x + b
        answers.append(max(k for k in range(len(g)) if g[k] == g.min()))
        for k in range(len(g)) if costs.min() < costs.max() else ():
            target = costs[k] - (costs.min() + costs.max()) / 2
            Z = 1 if costs[k] == costs.min() else -1
            if Z * (g[k] - target) > 0:
                w[k] -= eta * Z * x
                b[k] -= eta * Z * constant
    return answers, w, b


@quick
@given(streams(), st.booleans(), st.integers(0, 99))
def test_the_kernel_does_what_the_formula_says(stream: tuple[Any, Any, int], constant: bool, seed: int) -> None:
    X, y, K = stream
    rows = np.random.default_rng(seed).random((len(y), K)) * (np.arange(K) != y[:, None])
    model = OnlineCostClassifier(eta=0.3, fit_intercept=constant)
    trace = model.run(X, y, costs=Costs.of_rows(rows))
    answers, w, b = told(X, rows, 0.3, constant)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-9)
    assert trace.predicted[0] == K - 1 == answers[0]  # all estimates are 0: a tie
    sure = trace.score > 1e-9
    np.testing.assert_array_equal(trace.predicted[sure], np.array(answers)[sure])


@quick
@given(streams(classes=2), st.sampled_from([0.125, 0.5]), st.sampled_from([1.0, 4.0]), st.booleans())
def test_with_two_classes_it_is_csogd_i(stream: tuple[Any, Any, int], eta: float, rho: float, constant: bool) -> None:
    X, y, _ = stream
    costs = Costs.of_pair(miss=rho, alarm=1)
    many = OnlineCostClassifier(eta=eta, costs=costs, fit_intercept=constant)
    two = OnlineClassifier(CSOGD1(2 * eta), costs=costs, fit_intercept=constant)
    a, b = many.run(X, y), two.run(X, y)
    np.testing.assert_array_equal(a.predicted, b.predicted)
    np.testing.assert_array_equal(a.score, np.abs(b.score))
    np.testing.assert_array_equal(many.coef_[0] - many.coef_[1], two.coef_[0])


@quick
@given(streams(), st.sampled_from([0.125, 0.5]))
def test_with_unit_costs_every_class_stands_alone(stream: tuple[Any, Any, int], eta: float) -> None:
    X, y, K = stream
    model = OnlineCostClassifier(eta=eta).fit(X, y)
    for k in range(K):
        alone = OnlineClassifier(CSOGD1(2 * eta)).fit(X, y == k)
        np.testing.assert_array_equal(-2 * model.coef_[k], alone.coef_[0])


@quick
@given(streams(), st.integers(1, 39), st.booleans())
def test_no_cutting_changes_a_bit(stream: tuple[Any, Any, int], cut: int, by_state: bool) -> None:
    X, y, K = stream
    costs = Costs.of_matrix((1.0 + np.arange(K * K).reshape(K, K)) * (1 - np.eye(K)))
    whole = OnlineCostClassifier(costs=costs)
    trace = whole.run(X, y)
    part = OnlineCostClassifier(costs=costs)
    cut = min(cut, len(y) - 1)
    first = part.run(X[:cut], y[:cut], classes=np.arange(K))
    if by_state:
        part = OnlineCostClassifier.from_state(part.state())
    second = part.run(X[cut:], y[cut:])
    np.testing.assert_array_equal(np.append(first.predicted, second.predicted), trace.predicted)
    np.testing.assert_array_equal(part.coef_, whole.coef_)
    assert (part.n_rounds_, part.n_updates_) == (whole.n_rounds_, whole.n_updates_)


QUERIES: list[QueryRule] = [
    AskAll(),
    AskFirst(),
    AskRandom(0.4),
    AskUncertain(0.2),
    AskSymmetric(0.1),
    AskAsymmetric(0.05, 0.3),
    AskPredictedPositive(first=5),
    AskAtLeast(0.3, AskUncertain(0.1)),
]
budgets = st.one_of(st.none(), st.integers(0, 12), st.sampled_from([0.1, 0.5]), st.just(Budget(7, 0.5)))


class InPython(QueryRule):
    """Another rule without its kernel."""

    def __init__(self, rule: QueryRule) -> None:
        self.rule = rule

    def chance(self, glance: Glance) -> float:
        return self.rule.chance(glance)


def same_state(a: OnlineCostClassifier, b: OnlineCostClassifier) -> None:
    one, two = a.state(), b.state()
    arrays = one.pop("arrays"), two.pop("arrays")
    assert one == two
    for name in arrays[0]:
        assert arrays[0][name].tobytes() == arrays[1][name].tobytes(), name


def same_trace(a: Any, b: Any) -> None:
    for one, two in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, two)


@quick
@given(streams(), st.sampled_from(QUERIES), budgets, st.booleans(), st.integers(0, 99))
def test_asking_in_the_kernel_is_asking_in_python(
    stream: tuple[Any, Any, int], query: QueryRule, budget: Any, constant: bool, seed: int
) -> None:
    X, y, K = stream
    rest: dict[str, Any] = {"budget": budget, "fit_intercept": constant, "seed": seed, "negative": seed % K, "eta": 0.3}
    native, twin = OnlineCostClassifier(query=query, **rest), OnlineCostClassifier(query=InPython(query), **rest)
    same_trace(native.run(X, y), twin.run(X, y))
    np.testing.assert_array_equal(native.coef_, twin.coef_)
    assert (native.n_asked_, native.n_updates_, native.n_rounds_) == (twin.n_asked_, twin.n_updates_, len(y))


@quick
@given(streams(classes=2), st.sampled_from(QUERIES), budgets, st.integers(0, 99), st.booleans())
def test_with_two_classes_it_asks_like_the_binary_learner(
    stream: tuple[Any, Any, int], query: QueryRule, budget: Any, seed: int, weighted: bool
) -> None:
    X, y, _ = stream
    rest: dict[str, Any] = {"query": query, "budget": budget, "seed": seed, "costs": Costs.of_pair(miss=4, alarm=1)}
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    if weight is not None:
        weight[0] = 1.0
    a = OnlineCostClassifier(eta=0.25, **rest).run(X, y, sample_weight=weight)
    b = OnlineClassifier(CSOGD1(0.5), **rest).run(X, y, sample_weight=weight)
    np.testing.assert_array_equal(a.predicted, b.predicted)
    np.testing.assert_array_equal(a.asked, b.asked)
    np.testing.assert_array_equal(a.chance, b.chance)


@quick
@given(streams(), st.sampled_from(QUERIES), budgets, st.lists(st.integers(1, 9), max_size=8), st.integers(0, 9))
def test_no_cutting_changes_what_is_asked(
    stream: tuple[Any, Any, int], query: QueryRule, budget: Any, sizes: list[int], seed: int
) -> None:
    X, y, K = stream
    rest: dict[str, Any] = {"query": query, "budget": budget, "seed": seed}
    whole = OnlineCostClassifier(**rest)
    trace = whole.run(X, y, classes=range(K))
    allowed = Budget.of(budget)
    asked = np.cumsum(trace.asked)
    assert (asked <= np.minimum(allowed.limit, allowed.rate * np.arange(1, len(y) + 1))).all()
    part = OnlineCostClassifier(**rest)
    for rows in np.split(np.arange(len(y)), np.cumsum(sizes)[np.cumsum(sizes) < len(y)]):
        part.partial_fit(X[rows], y[rows], classes=range(K))
        part = OnlineCostClassifier.from_state(part.state())
    same_state(part, whole)
    live = OnlineCostClassifier(**rest).start(X.shape[1], range(K))
    for i in range(len(y)):
        decision = live.decide(X[i : i + 1])
        assert decision == (i, trace.score[i], trace.predicted[i], trace.chance[i], trace.asked[i])
        if decision.ask:
            live.learn(X[i : i + 1], y[i])
    same_state(live, whole)


@quick
@given(streams(), st.integers(0, 99))
def test_a_weight_is_a_factor_to_the_costs(stream: tuple[Any, Any, int], seed: int) -> None:
    X, y, K = stream
    rng = np.random.default_rng(seed)
    rows, weight = rng.random((len(y), K)) * (np.arange(K) != y[:, None]), rng.integers(0, 3, len(y)) / 2
    weight[0] = 0.5
    one = OnlineCostClassifier().fit(X, y, costs=rows, sample_weight=weight)
    two = OnlineCostClassifier().fit(X, y, costs=rows * weight[:, None])
    same_state(one, two)
    used = weight > 0  # a row of no weight is as if it had not come
    three = OnlineCostClassifier().partial_fit(X[used], y[used], range(K), costs=(rows * weight[:, None])[used])
    np.testing.assert_array_equal(one.coef_, three.coef_)


@quick
@given(streams(), st.sampled_from(QUERIES), st.sampled_from(["nan", "label", "overflow", "costs", "weight"]))
def test_a_part_that_fails_leaves_the_state_byte_for_byte(
    stream: tuple[Any, Any, int], query: QueryRule, mistake: str
) -> None:
    X, y, K = stream
    rows = X.toarray() if sparse.issparse(X) else X
    model = OnlineCostClassifier(query=query, budget=9, seed=3, eta=1.0).fit(rows, y)
    before, bad, labels, metadata = copy.deepcopy(model), rows.copy(), y.copy(), {}
    if mistake == "nan":
        bad[-1, 0] = np.nan
    elif mistake == "label":
        labels[-1] = K
    elif mistake == "overflow":  # the product with the weights is infinite whether or not a label is asked for
        bad = np.full(rows.shape, 1e308, dtype=np.float64)
        model.coef_[:], before.coef_[:] = 1e10, 1e10
    elif mistake == "costs":
        metadata = {"costs": np.ones((len(y), K + 1))}
    else:
        metadata = {"sample_weight": -np.ones(len(y))}
    with pytest.raises((InvalidInputError, DivergedError)):
        model.partial_fit(bad, labels, **metadata)
    same_state(model, before)


def test_a_label_that_comes_late_and_one_that_never_does(tmp_path: Any) -> None:
    model = OnlineCostClassifier(budget=2, seed=1, costs=np.ones((3, 3)) - np.eye(3)).start(3, ["a", "b", "c"])
    rows = np.eye(3)
    assert [model.decide(x).ask for x in rows] == [True, True, False]
    model.release()
    assert model.decide(rows[0]).ask
    model.learn(rows[0], "a", costs=[0, 5, 1])
    model.save(tmp_path / "state.npz")
    again = OnlineCostClassifier.load(tmp_path / "state.npz")
    same_state(model, again)
    for each in (model, again):
        each.learn(rows[1], "b")
        with pytest.raises(InvalidInputError, match="learn must follow a decision that asked"):
            each.learn(rows[1], "b")
    same_state(model, again)
    with pytest.raises(StateError, match="version 2; got format None"):
        OnlineCostClassifier.from_state({})
    with pytest.raises(InvalidInputError, match=r"negative must be one of the classes \['a', 'b', 'c'\]"):
        OnlineCostClassifier(negative="z").fit(rows, ["a", "b", "c"])


def test_dear_mistakes_are_avoided() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    y = rng.integers(0, 3, 3000)
    X = centres[y] + 1.2 * rng.normal(size=(3000, 2))
    C = np.array([[0.0, 1, 1], [1, 0, 1], [20, 20, 0]])
    dear, plain = (OnlineCostClassifier(eta=0.01, costs=c, fit_intercept=True).run(X, y) for c in (C, None))
    assert C[y, dear.predicted].sum() < 0.7 * C[y, plain.predicted].sum()


def test_mistakes_are_said_and_leave_no_trace() -> None:
    X, y = np.eye(3), np.array([0, 1, 2])
    model = OnlineCostClassifier().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(InvalidInputError, match="NaN at row 1, column 0"):
        model.partial_fit(np.array([[1.0, 0, 0], [np.nan, 0, 0]]), [0, 1])
    with pytest.raises(InvalidInputError, match=r"y must hold the classes \[0, 1, 2\]; got 7"):
        model.partial_fit(X, [0, 1, 7])
    with pytest.raises(DivergedError, match="overflow"):
        model.set_params(eta=1e200).partial_fit(X * 1e200, y[::-1])
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(CostsError, match="labels yet to come"):
        OnlineCostClassifier(costs=Balanced()).partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="two classes or more"):
        OnlineCostClassifier().partial_fit(X, [1, 1, 1])
    with pytest.raises(InvalidInputError, match="eta must be"):
        OnlineCostClassifier(eta=0).fit(X, y)
