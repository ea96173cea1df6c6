"""Laws of the second-order rules: what the papers minimise, their special cases, and a loop with real matrices."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import public_rules
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from steelyard import (
    ACOG,
    AROW,
    CSOGD1,
    CSOGD2,
    SCW1,
    SCW2,
    Costs,
    InvalidInputError,
    OnlineClassifier,
    SecondOrderInput,
    SecondOrderRule,
    SecondOrderStep,
    UpdateRule,
)

pytestmark = pytest.mark.kernel
quick = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
RULES: list[SecondOrderRule] = [AROW(0.7), SCW1(0.8, 0.8), SCW2(0.8, 0.8), ACOG(0.5, 0.9), ACOG(0.5, 0.9, "I")]


@st.composite
def streams(draw: Any) -> tuple[Any, Any]:
    n, d = draw(st.integers(2, 30)), draw(st.integers(1, 21))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    X[rng.random(X.shape) < 0.3] = 0
    y = rng.random(n) < 0.4
    y[0], y[-1] = True, False
    return X, y


doubts = st.builds(
    SecondOrderInput,
    score=st.floats(-3, 3),
    y=st.sampled_from([1.0, -1.0]),
    cost=st.sampled_from([0.5, 1.0, 4.0]),
    variance=st.floats(1e-3, 10),
)


def with_full(rule: SecondOrderRule, full: bool) -> Any:
    return type(rule)(**{**rule.get_params(deep=False), "full": full})


def published(rule: Any, m: float, v: float, cost: float) -> tuple[float, float]:
    """alpha and beta as printed: w += alpha y Sigma x, Sigma -= beta Sigma x x' Sigma; ACOG moves by the new Sigma."""
    if isinstance(rule, AROW):
        beta = 1 / (v + rule.r / cost)
        return max(0.0, 1 - m) * beta, beta if m < 1 else 0.0
    if isinstance(rule, ACOG):
        loss = max(0.0, cost - m) if rule.loss == "I" else cost * max(0.0, 1 - m)
        slope = 1 if rule.loss == "I" else cost
        return (rule.eta * slope, 1 / (rule.gamma + v)) if loss > 0 else (0.0, 0.0)
    phi = NormalDist().inv_cdf(rule.eta)
    psi, zeta, C = 1 + phi**2 / 2, 1 + phi**2, rule.C * cost
    if phi * math.sqrt(v) - m <= 0:
        return 0.0, 0.0
    if isinstance(rule, SCW1):
        alpha = min(C, max(0, (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
    else:
        n = v + 1 / (2 * C)
        gamma = phi * math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        alpha = max(0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
    u = (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return alpha, alpha * phi / (math.sqrt(u) + v * alpha * phi)


def python_twin(rule: Any, X: Any, y: Any, costs: Any) -> tuple[Any, Any, Any]:
    """The whole-matrix algorithm as it reads: scores, final weights, final covariance."""
    w, sigma, scores = np.zeros(X.shape[1]), np.eye(X.shape[1]), []
    for x, truth, cost in zip(X, y, costs, strict=True):
        sign = 1 if truth else -1
        scores.append(w @ x)
        v = x @ sigma @ x
        if v == 0 and isinstance(rule, (SCW1, SCW2)):
            continue
        alpha, beta = published(rule, sign * (w @ x), v, cost)
        new = sigma - beta * np.outer(sigma @ x, sigma @ x)
        w = w + alpha * sign * ((new if isinstance(rule, ACOG) else sigma) @ x)
        sigma = new
    return np.array(scores), w, sigma


@quick
@given(st.sampled_from(RULES), streams(), st.booleans(), st.booleans(), st.sampled_from([1.0, 4.0]))
def test_the_loop_does_what_the_papers_say(
    rule: SecondOrderRule, stream: tuple[Any, Any], fit_intercept: bool, as_sparse: bool, rho: float
) -> None:
    X, y = stream
    model = OnlineClassifier(with_full(rule, True), costs=Costs.binary(fn=rho, fp=1), fit_intercept=fit_intercept)
    trace = model.run(sparse.csr_matrix(X) if as_sparse else X, y)
    wide = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    scores, w, sigma = python_twin(rule, wide, y, np.where(y, rho, 1.0))
    np.testing.assert_allclose(trace.score, scores, rtol=1e-8, atol=1e-9)
    ours = np.append(model.coef_, model.intercept_) if fit_intercept else model.coef_[0]
    np.testing.assert_allclose(ours, w, rtol=1e-8, atol=1e-9)
    found = model.state()["arrays"]["spread"].reshape(sigma.shape)
    np.testing.assert_allclose(found, sigma, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(found, found.T)  # to the last bit


@quick
@given(doubts, st.sampled_from([0.3, 1.0, 1e9]), st.sampled_from([0.6, 0.9]))
def test_steps_reach_what_they_promise(inputs: SecondOrderInput, C: float, eta: float) -> None:
    phi = NormalDist().inv_cdf(eta)

    def after(second_order_step: SecondOrderStep) -> tuple[float, float]:
        """Margin and deviation of this example after the turn of a whole matrix."""
        variance = inputs.variance / (1 + second_order_step.gain * inputs.variance)
        return inputs.margin() + abs(second_order_step.add) * inputs.variance, math.sqrt(variance)

    second_order_step = AROW(C).second_order_step(inputs)
    margin, _ = after(second_order_step)
    if second_order_step.add:  # the gradient of the objective is zero: the hinge left over is alpha r / cost
        assert 1 - margin == pytest.approx(abs(second_order_step.add) * C / inputs.cost, rel=1e-9, abs=1e-12)
    second_order_step = SCW1(C, eta).second_order_step(inputs)
    margin, deviation = after(second_order_step)
    if second_order_step.add and abs(second_order_step.add) < C * inputs.cost:  # exactly as sure as was asked for
        assert margin == pytest.approx(phi * deviation, rel=1e-6, abs=1e-9)
    assert abs(second_order_step.add) <= C * inputs.cost
    second_order_step = SCW2(C, eta).second_order_step(inputs)
    margin, deviation = after(second_order_step)
    if second_order_step.add:  # the loss left over is alpha / (2 C cost)
        left = abs(second_order_step.add) / (2 * C * inputs.cost)
        assert phi * deviation - margin == pytest.approx(left, rel=1e-6, abs=1e-9)


@quick
@given(public_rules.drawn(SecondOrderRule), doubts)
def test_turns_go_the_right_way(rule: SecondOrderRule, inputs: SecondOrderInput) -> None:
    add, gain, _ = rule.second_order_step(inputs)
    assert add * inputs.y >= 0
    assert gain >= 0
    assert (add == 0) == (gain == 0)
    assert rule.second_order_step(inputs._replace(score=100 * inputs.y)) == SecondOrderStep()


@quick
@given(streams(), st.floats(0.05, 2), st.booleans(), st.booleans())
def test_a_covariance_that_stays_makes_acog_first_order(
    stream: tuple[Any, Any], eta: float, full: bool, fit_intercept: bool
) -> None:
    X, y = stream

    def traced(update: UpdateRule) -> Any:
        return OnlineClassifier(update, costs=Costs.binary(fn=3, fp=1), fit_intercept=fit_intercept).run(X, y).score

    np.testing.assert_allclose(traced(ACOG(eta, 1e200, "II", full)), traced(CSOGD2(eta)), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(traced(ACOG(eta, 1e200, "I", full)), traced(CSOGD1(eta)), rtol=1e-12, atol=1e-14)


@quick
@given(st.sampled_from(RULES), st.integers(0, 2**32), st.booleans())
def test_the_diagonal_is_the_matrix_where_features_come_alone(
    rule: SecondOrderRule, seed: int, as_sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = np.eye(5)[rng.integers(0, 5, 30)] * rng.normal(size=(30, 1))
    y = rng.random(30) < 0.5
    y[:2] = True, False
    rows = sparse.csr_matrix(X) if as_sparse else X
    diagonal, whole = OnlineClassifier(with_full(rule, False)), OnlineClassifier(with_full(rule, True))
    np.testing.assert_allclose(diagonal.run(rows, y).score, whole.run(rows, y).score, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        diagonal.state()["arrays"]["spread"], np.diag(whole.state()["arrays"]["spread"].reshape(5, 5)), rtol=1e-9
    )


@quick
@given(streams(), st.sampled_from([0.3, 2.0]))
def test_the_diagonal_adds_up_squares(stream: tuple[Any, Any], r: float) -> None:
    X, y = stream
    model = OnlineClassifier(AROW(r))
    trace = model.run(X, y)
    learned = np.where(y, 1, -1) * trace.score < 1
    precision = 1 + (X[learned] ** 2).sum(axis=0) / r
    np.testing.assert_allclose(1 / model.state()["arrays"]["spread"], precision, rtol=1e-9)


def test_a_matrix_too_wide_is_refused_and_the_diagonal_is_not() -> None:
    X = sparse.csr_matrix(([1.0, 1.0], ([0, 1], [0, 99_999])), shape=(2, 100_000))
    with pytest.raises(InvalidInputError, match="at most 4096 features for full=True; got 100000"):
        OnlineClassifier(AROW(full=True)).fit(X, [0, 1])
    assert OnlineClassifier(AROW()).fit(X, [0, 1]).predict(X).tolist() == [0, 1]


def test_an_overflow_changes_nothing() -> None:
    for full in (False, True):
        model = OnlineClassifier(AROW(full=full)).fit(np.eye(3), [1, 0, 1])
        before = model.state()["arrays"]
        with pytest.raises(InvalidInputError, match="overflow at row 1"):
            model.partial_fit(np.array([[1.0, 0.0, 1.0], [0.0, 1e200, 0.0]]), [0, 1])
        for name, array in model.state()["arrays"].items():
            np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (AROW(0), "r must be"),
        (AROW(full=1), "full must be True or False"),  # type: ignore[arg-type]
        (SCW1(C=-1), "C must be"),
        (SCW2(eta=0.5), "eta must be"),
        (ACOG(gamma=0), "gamma must be"),
        (ACOG(loss="III"), "loss must be one of 'II', 'I'"),
    ],
)
def test_parameters_are_checked(rule: SecondOrderRule, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        OnlineClassifier(rule).fit(np.eye(2), [0, 1])


def test_a_second_order_rule_of_ones_own_runs_in_python() -> None:
    class Halving(SecondOrderRule):
        def second_order_step(self, inputs: SecondOrderInput) -> SecondOrderStep:
            return SecondOrderStep(add=inputs.y, gain=1.0)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {}

    model = OnlineClassifier(Halving()).fit(np.ones((2, 1)), [1, 0])
    np.testing.assert_allclose(model.coef_, [[0.5]])  # 1, then 1 - 1/2
