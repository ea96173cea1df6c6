"""Laws of OnlineCostClassifier: its kernel does what its formula says, and its special cases are known learners."""

import copy
from typing import Any

import numpy as np
import public_rules
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from steelyard import (
    CSOALPA,
    CSOGD1,
    CSOGD2,
    PA,
    PA1,
    PA2,
    AdaptiveBalanced,
    AskRandom,
    Budget,
    ClassInput,
    Costs,
    CSOALHinge,
    DivergedError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    QueryInput,
    QueryRule,
    UpdateRule,
)

pytestmark = pytest.mark.kernel
quick = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])


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


updates, queries = public_rules.for_many_classes(), public_rules.drawn(QueryRule)
OF_THE_HINGE = (CSOGD1, CSOGD2, CSOALHinge, CSOALPA, PA, PA1, PA2)  # 1 - (1 - y f) is y f up to rounding only
BLIND = (PA, PA1, PA2)  # to costs, where there are two classes


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def python_twin(X: Any, c: Any, update: UpdateRule, constant: bool) -> tuple[list[int], Any, Any]:
    """The formulas as they read: gradients of the two losses, and steps that make them vanish."""
    rows = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    w, b, answers = np.zeros((c.shape[1], rows.shape[1])), np.zeros(c.shape[1]), []
    for x, costs in zip(rows, c, strict=True):
        g = w @ x + b
        answers.append(max(k for k in range(len(g)) if g[k] == g.min()))
        r, x2 = costs.max() - costs.min(), x @ x + constant
        for k in range(len(g)) if r > 0 else ():
            t = costs[k] - (costs.min() + costs.max()) / 2
            Z = 1 if costs[k] == costs.min() else -1
            first, second = max(0, Z * (g[k] - t)), r * max(0, Z * (g[k] - t / r))
            if isinstance(update, CSOGD1):
                step = update.eta / 2 * (first > 0)
            elif isinstance(update, (CSOGD2, CSOALHinge)):
                step = update.eta / 2 * r * (second > 0)
            elif x2 == 0:
                step = 0
            elif isinstance(update, CSOALPA):
                step = min(update.C / 2, second / x2)
            elif isinstance(update, PA2):
                step = first / (x2 + 1 / (2 * update.C))
            elif isinstance(update, (PA, PA1)):
                step = min(update.C / 2 if isinstance(update, PA1) else np.inf, first / x2)
            else:
                step = update.class_step(ClassInput(2 * Z * (g[k] - t), 2 * Z * (g[k] - t / r), r, x2)) / 2
            w[k] -= step * Z * x
            b[k] -= step * Z * constant
    return answers, w, b


@quick
@given(streams(), updates, st.booleans(), st.integers(0, 99))
def test_the_kernel_does_what_the_formula_says(
    stream: tuple[Any, Any, int], update: UpdateRule, constant: bool, seed: int
) -> None:
    X, y, K = stream
    rows = 3 * np.random.default_rng(seed).random((len(y), K)) * (np.arange(K) != y[:, None])
    model = OnlineCostClassifier(update, fit_intercept=constant)
    trace = model.run(X, y, costs=Costs.from_rows(rows))
    answers, w, b = python_twin(X, rows, update, constant)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-6, atol=1e-6)
    assert trace.prediction[0] == K - 1 == answers[0]  # all estimates are 0: a tie
    sure = trace.score > 1e-5
    np.testing.assert_array_equal(trace.prediction[sure], np.array(answers)[sure])


@quick
@given(st.integers(2, 6), st.integers(0, 2**32))
def test_an_answer_costs_no_more_than_the_losses(K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    g, c = rng.normal(size=K), rng.integers(0, 4, K).astype(float)
    low, high = c.min(), c.max()
    Z, t = np.where(c == low, 1, -1), c - (low + high) / 2
    excess = c[np.argmin(g)] - low
    assert excess <= np.maximum(0, Z * (g - t)).sum() + 1e-12
    if high > low:
        assert excess <= (high - low) * np.maximum(0, Z * (g - t / (high - low))).sum() + 1e-12


@quick
@given(
    streams(classes=2),
    updates,
    st.sampled_from([1.0, 4.0, None]),
    st.booleans(),
    st.sampled_from([None, 5, 12]),
)
def test_with_two_classes_it_is_the_binary_learner(
    stream: tuple[Any, Any, int], update: UpdateRule, rho: float | None, constant: bool, averaged: int | None
) -> None:
    X, y, _ = stream
    if isinstance(update, BLIND):
        rho = 1.0
    costs = AdaptiveBalanced(0.6) if rho is None else Costs.binary(fn=rho, fp=1)
    rest: dict[str, Any] = {"costs": costs, "fit_intercept": constant, "budget": averaged}
    rest["after_budget"] = "last" if averaged is None else "average"
    many, two = OnlineCostClassifier(update, **rest), OnlineClassifier(update, **rest)
    a, b = many.run(X, y), two.run(X, y)
    equal = np.testing.assert_array_equal if isinstance(update, OF_THE_HINGE) else close
    equal(a.score, np.abs(b.score))
    equal(many.coef_[0] - many.coef_[1], two.coef_[0])
    equal(many.intercept_[0] - many.intercept_[1], two.intercept_[0])
    sure = np.abs(b.score) > (0 if isinstance(update, OF_THE_HINGE) else 1e-9)
    np.testing.assert_array_equal(a.prediction[sure], b.prediction[sure])
    assert many.n_updates_ == two.n_updates_


@quick
@given(streams(), updates)
def test_with_unit_costs_every_class_stands_alone(stream: tuple[Any, Any, int], update: UpdateRule) -> None:
    X, y, K = stream
    model = OnlineCostClassifier(update).fit(X, y)
    for k in range(K):
        alone = OnlineClassifier(update).fit(X, y == k)
        equal = np.testing.assert_array_equal if isinstance(update, OF_THE_HINGE) else close
        equal(-2 * model.coef_[k], alone.coef_[0])


@settings(quick, max_examples=200)
@given(updates, st.floats(-50, 50), st.floats(-50, 50), st.floats(0.01, 50), st.floats(0, 50))
def test_no_class_step_goes_away_from_the_target(
    rule: UpdateRule, margin: float, share: float, range_: float, x2: float
) -> None:
    assert rule.class_step(ClassInput(margin, share, range_, x2)) >= 0


@quick
@given(streams(), updates, st.booleans())
def test_adaptive_costs_look_at_the_past_only(stream: tuple[Any, Any, int], update: UpdateRule, constant: bool) -> None:
    X, y, K = stream
    if K == 2:
        return
    model = OnlineCostClassifier(update, costs=AdaptiveBalanced(), fit_intercept=constant)
    trace = model.run(X, y)
    before = np.array([np.bincount(y[:i], minlength=K) for i in range(len(y))])
    costly = (before.max(axis=1) + 1) / (before[np.arange(len(y)), y] + 1)
    given = OnlineCostClassifier(update, fit_intercept=constant)
    same_trace(trace, given.run(X, y, costs=costly[:, None] * (np.arange(K) != y[:, None])))
    np.testing.assert_array_equal(model.coef_, given.coef_)


@quick
@given(streams(), updates, st.integers(1, 12), st.booleans())
def test_the_average_is_that_of_all_weights_used(
    stream: tuple[Any, Any, int], update: UpdateRule, limit: int, constant: bool
) -> None:
    X, y, K = stream
    rest: dict[str, Any] = {"budget": limit, "fit_intercept": constant, "seed": 4, "query": AskRandom(0.6)}
    last = OnlineCostClassifier(update, **rest).start(X.shape[1], range(K))
    used, spent, averaged = [], 0, False
    for i in range(len(y)):
        used.append((last.coef_, last.intercept_))
        averaged = spent == limit  # this round begins with the budget spent
        if averaged:
            break
        if last.decide(X[i : i + 1]).query:
            last.learn(X[i : i + 1], y[i])
            spent += 1
    model = OnlineCostClassifier(update, after_budget="average", **rest)
    model.run(X, y, classes=range(K))
    w, b = (np.mean(each, axis=0) for each in zip(*used, strict=True)) if averaged else (last.coef_, last.intercept_)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-7, atol=1e-7)


@quick
@given(streams(), st.integers(1, 39), st.booleans())
def test_no_cutting_changes_a_bit(stream: tuple[Any, Any, int], cut: int, by_state: bool) -> None:
    X, y, K = stream
    costs = Costs.from_matrix((1.0 + np.arange(K * K).reshape(K, K)) * (1 - np.eye(K)))
    whole = OnlineCostClassifier(costs=costs)
    trace = whole.run(X, y)
    part = OnlineCostClassifier(costs=costs)
    cut = min(cut, len(y) - 1)
    first = part.run(X[:cut], y[:cut], classes=np.arange(K))
    if by_state:
        part = OnlineCostClassifier.from_state(part.state())
    second = part.run(X[cut:], y[cut:])
    np.testing.assert_array_equal(np.append(first.prediction, second.prediction), trace.prediction)
    np.testing.assert_array_equal(part.coef_, whole.coef_)
    assert (part.n_rounds_, part.n_updates_) == (whole.n_rounds_, whole.n_updates_)


budgets = st.one_of(st.none(), st.integers(0, 12), st.sampled_from([0.1, 0.5]), st.just(Budget(7, 0.5)))


class StridesInPython(UpdateRule):
    """Another update rule without its kernel."""

    def __init__(self, rule: UpdateRule) -> None:
        self.rule = rule

    def class_step(self, inputs: ClassInput) -> float:
        return self.rule.class_step(inputs)


class InPython(QueryRule):
    """Another rule without its kernel."""

    def __init__(self, rule: QueryRule) -> None:
        self.rule = rule

    def query_probability(self, inputs: QueryInput) -> float:
        return self.rule.query_probability(inputs)


def same_state(a: OnlineCostClassifier, b: OnlineCostClassifier) -> None:
    one, two = a.state(), b.state()
    arrays = one.pop("arrays"), two.pop("arrays")
    assert one == two
    for name in arrays[0]:
        assert arrays[0][name].tobytes() == arrays[1][name].tobytes(), name


def same_trace(a: Any, b: Any) -> None:
    for one, two in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, two)


@settings(quick, max_examples=120)
@given(
    streams(),
    updates,
    queries,
    budgets,
    st.booleans(),
    st.integers(0, 99),
    st.sampled_from(["rows", "classes", "adaptive"]),
)
def test_the_kernel_is_the_twin_in_python(
    stream: tuple[Any, Any, int],
    update: UpdateRule,
    query: QueryRule,
    budget: Any,
    constant: bool,
    seed: int,
    priced: str,
) -> None:
    X, y, K = stream
    rng = np.random.default_rng(seed)
    metadata: dict[str, Any] = {"sample_weight": rng.integers(1, 4, len(y)) / 3} if seed % 3 else {}
    rest: dict[str, Any] = {"budget": budget, "fit_intercept": constant, "seed": seed, "negative": seed % K}
    if isinstance(budget, int) and seed % 2:
        rest["after_budget"] = "average"
    if priced == "rows":
        metadata["costs"] = rng.random((len(y), K)) * (np.arange(K) != y[:, None])
    else:
        rest["costs"] = rng.random((K, K)) * (1 - np.eye(K)) if priced == "classes" else AdaptiveBalanced()
    native = OnlineCostClassifier(update, query=query, **rest)
    trace = native.run(X, y, **metadata)
    for twin in (
        OnlineCostClassifier(StridesInPython(update), query=InPython(query), **rest),
        OnlineCostClassifier(update, query=InPython(query), **rest),
        OnlineCostClassifier(StridesInPython(update), query=query, **rest),
    ):
        same_trace(trace, twin.run(X, y, **metadata))
        for one, two in zip(native._stream.stream.arrays(), twin._stream.stream.arrays(), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes()


@quick
@given(streams(classes=2), queries, budgets, st.integers(0, 99), st.booleans())
def test_with_two_classes_it_asks_like_the_binary_learner(
    stream: tuple[Any, Any, int], query: QueryRule, budget: Any, seed: int, weighted: bool
) -> None:
    X, y, _ = stream
    rest: dict[str, Any] = {"query": query, "budget": budget, "seed": seed, "costs": Costs.binary(fn=4, fp=1)}
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], len(y)) if weighted else None
    if weight is not None:
        weight[0] = 1.0
    a = OnlineCostClassifier(CSOGD1(0.5), **rest).run(X, y, sample_weight=weight)
    b = OnlineClassifier(CSOGD1(0.5), **rest).run(X, y, sample_weight=weight)
    np.testing.assert_array_equal(a.prediction, b.prediction)
    np.testing.assert_array_equal(a.queried, b.queried)
    np.testing.assert_array_equal(a.query_probability, b.query_probability)


@settings(quick, max_examples=80)
@given(
    streams(),
    updates,
    queries,
    budgets,
    st.lists(st.integers(1, 9), max_size=8),
    st.integers(0, 9),
)
def test_no_cutting_changes_what_is_asked(
    stream: tuple[Any, Any, int], update: UpdateRule, query: QueryRule, budget: Any, sizes: list[int], seed: int
) -> None:
    X, y, K = stream
    rest: dict[str, Any] = {"update": update, "query": query, "budget": budget, "seed": seed}
    if isinstance(budget, int) and seed % 2:
        rest["after_budget"] = "average"
    if seed % 3 == 0:
        rest["costs"] = AdaptiveBalanced()
    whole = OnlineCostClassifier(**rest)
    trace = whole.run(X, y, classes=range(K))
    allowed = Budget.of(budget)
    queried = np.cumsum(trace.queried)
    assert (queried <= np.minimum(allowed.limit, allowed.rate * np.arange(1, len(y) + 1))).all()
    part = OnlineCostClassifier(**rest)
    for rows in np.split(np.arange(len(y)), np.cumsum(sizes)[np.cumsum(sizes) < len(y)]):
        part.partial_fit(X[rows], y[rows], classes=range(K))
        part = OnlineCostClassifier.from_state(part.state())
    same_state(part, whole)
    for live in (OnlineCostClassifier(**rest), OnlineCostClassifier(**rest | {"query": InPython(query)})):
        live.start(X.shape[1], range(K))
        for i in range(len(y)):
            row = X[i : i + 1] if sparse.issparse(X) or i % 2 else X[i]
            decision = live.decide(row)
            assert decision == (i, trace.score[i], trace.prediction[i], trace.query_probability[i], trace.queried[i])
            if decision.query:
                live.learn(row, y[i])
        same_state(live.set_params(query=query), whole)


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
@given(
    streams(),
    updates,
    queries,
    st.sampled_from(["last", "average"]),
    st.sampled_from(["nan", "label", "overflow", "costs", "weight"]),
    st.booleans(),
)
def test_a_part_that_fails_leaves_the_state_byte_for_byte(
    stream: tuple[Any, Any, int], update: UpdateRule, query: QueryRule, after: str, mistake: str, wide: bool
) -> None:
    X, y, K = stream
    rows = X.toarray() if sparse.issparse(X) else X
    model = OnlineCostClassifier(update, query=query, budget=9, seed=3, after_budget=after).fit(rows, y)
    if mistake == "overflow":
        state = model.state()
        state["arrays"]["coef"][:] = 1e10
        model = OnlineCostClassifier.from_state(state)
    before, bad, labels, metadata = copy.deepcopy(model), rows.copy(), y.copy(), {}
    if mistake == "nan":
        bad[-1, 0] = np.nan
    elif mistake == "label":
        labels[-1] = K
    elif mistake == "overflow":  # the product with the weights is infinite whether or not a label is asked for
        bad = np.full(rows.shape, 1e308, dtype=np.float64)
    elif mistake == "costs":
        metadata = {"costs": np.ones((len(y), K + 1))}
    else:
        metadata = {"sample_weight": -np.ones(len(y))}
    with pytest.raises((InvalidInputError, DivergedError)):
        model.partial_fit(sparse.csr_matrix(bad) if wide else bad, labels, **metadata)
    same_state(model, before)


@quick
@given(streams(), updates, st.booleans(), st.booleans())
def test_a_row_that_overflows_leaves_the_state_byte_for_byte(
    stream: tuple[Any, Any, int], update: UpdateRule, in_python: bool, as_sparse: bool
) -> None:
    X, y, K = stream
    width = 50  # more columns than the row stores: only those are kept aside
    rows = np.zeros((len(y), width))
    rows[:, : X.shape[1]] = X.toarray() if sparse.issparse(X) else X
    rule = StridesInPython(update) if in_python else update
    model = OnlineCostClassifier(rule, budget=len(y) + 9).fit(rows, y)
    far = np.zeros(width)
    far[:2] = 1e308, 1e-3
    assert model.decide(rows[0]).query  # so that a label is due
    before = copy.deepcopy(model)
    row = sparse.csr_matrix(far) if as_sparse else far
    with pytest.raises(DivergedError, match="overflow"):
        model.learn(row, y[0], costs=1e9 * (np.arange(K) != y[0]), sample_weight=1e300)
    for one, two in zip(model._stream.stream.arrays(), before._stream.stream.arrays(), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
