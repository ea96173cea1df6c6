"""Laws of OnlineCostClassifier: its kernel does what its formula says, and its special cases are known learners."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from steelyard import (
    CSOGD1,
    Balanced,
    Costs,
    CostsError,
    DivergedError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
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
        for k in range(len(g)):
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
        part = OnlineCostClassifier.from_state(part.state(), costs=costs)
    second = part.run(X[cut:], y[cut:])
    np.testing.assert_array_equal(np.append(first.predicted, second.predicted), trace.predicted)
    np.testing.assert_array_equal(part.coef_, whole.coef_)
    assert (part.n_rounds_, part.n_updates_) == (whole.n_rounds_, whole.n_updates_)


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
