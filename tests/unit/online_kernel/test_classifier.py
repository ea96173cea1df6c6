"""OnlineKernelClassifier against the linear learner and against sums written out."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from public_rules import drawn, first_order
from scipy import sparse

from steelyard import (
    AROW,
    CSOGD2,
    AdaptiveBalanced,
    AskAsymmetric,
    AskFirst,
    Balanced,
    Costs,
    InvalidInputError,
    OnlineClassifier,
    OnlineKernelClassifier,
    Perceptron,
    QueryRule,
    UpdateRule,
    gram,
)

COSTS = st.sampled_from([None, Costs.binary(fn=3, fp=1), AdaptiveBalanced(0.7), Balanced()])


def stream(seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.2 * rng.normal(size=n) > 0.1, 1, -1)
    y[:2] = -1, 1
    return X, y


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    first_order(),
    drawn(QueryRule),
    st.sampled_from([None, 20, 0.3]),
    COSTS,
    st.booleans(),
    st.booleans(),
)
def test_a_linear_kernel_gives_the_linear_learner(
    seed: int, update: UpdateRule, query: QueryRule, budget: object, costs: object, fit_intercept: bool, thin: bool
) -> None:
    X, y = stream(seed)
    rows = sparse.csr_array(X) if thin else X
    given_ = {"query": query, "budget": budget, "costs": costs, "seed": seed, "threshold": 0.05}
    given_["fit_intercept"] = fit_intercept and not update.has_bias
    linear, kernel = OnlineClassifier(update, **given_), OnlineKernelClassifier(update, kernel="linear", **given_)
    one, two = linear.run(rows, y), kernel.run(rows, y)
    assume(np.abs(one.score).max() < 1e3)  # ROMMA diverges on labels that no plane separates, and rounding with it
    np.testing.assert_allclose(two.score, one.score, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(two.queried, one.queried)
    np.testing.assert_allclose(two.query_probability, one.query_probability, rtol=1e-7)
    np.testing.assert_allclose(kernel.decision_function(rows), linear.decision_function(rows), rtol=1e-9, atol=1e-9)
    assert kernel.n_queried_ == linear.n_queried_


@pytest.mark.parametrize("kernel", ["rbf", "poly", lambda a, b: np.tanh(0.1 * (a @ b.T)) + 1.0])
def test_rounds_written_out(kernel: object) -> None:
    X, y = stream(3, n=80)
    params = {"gamma": 0.7, "degree": 2, "coef0": 1.0}
    K = np.asarray(gram(X, kernel=kernel, dtype="float64", **params))  # type: ignore[arg-type]
    coef, expected = np.zeros(80), []
    for i in range(80):
        expected.append(coef @ K[:, i])
        coef[i] = 0.3 * (4.0 if y[i] > 0 else 1.0) * y[i] if 1 - y[i] * expected[-1] > 0 else 0.0
    model = OnlineKernelClassifier(CSOGD2(0.3), kernel=kernel, costs=Costs.binary(fn=4, fp=1), **params)  # type: ignore[arg-type]
    np.testing.assert_allclose(model.run(X, y).score, expected, atol=1e-10)
    np.testing.assert_allclose(model.dual_coef_, coef[coef != 0])
    assert model.expansion_.w2 == pytest.approx(coef @ K @ coef)


def test_parts_of_a_stream_are_the_stream() -> None:
    X, y = stream(5)
    whole = OnlineKernelClassifier(gamma=1.0).fit(X, y)
    parts = OnlineKernelClassifier(gamma=1.0).partial_fit(X[:70], y[:70])
    parts.partial_fit(X[70:], y[70:])
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-12)


def test_a_budget_bounds_the_support_by_itself() -> None:
    X, y = stream(6)
    for query in (AskFirst(), AskAsymmetric(0.1, 0.3)):
        model = OnlineKernelClassifier(Perceptron("margin"), query=query, budget=25).fit(X, y)
        assert len(model.dual_coef_) <= model.n_queried_ <= 25


def test_max_support_leaves_the_shortest_out() -> None:
    X, y = stream(7)
    model = OnlineKernelClassifier(CSOGD2(0.2), gamma=1.0, max_support=12)
    trace = model.run(X, y)
    assert len(model.dual_coef_) == len(model.support_vectors_) == 12
    K = np.asarray(gram(model.support_vectors_, kernel="rbf", gamma=1.0, dtype="float64"))
    assert model.expansion_.w2 == pytest.approx(model.dual_coef_ @ K @ model.dual_coef_)
    again = OnlineKernelClassifier(CSOGD2(0.2), gamma=1.0, max_support=12)
    # one row at a time: nothing hangs on the blocks
    scores = [again.run(X[i : i + 1], y[i : i + 1], classes=[-1, 1]).score[0] for i in range(len(y))]
    np.testing.assert_allclose(scores, trace.score, atol=1e-10)


def test_a_kernel_bends_where_a_line_cannot() -> None:
    X, y = stream(8, n=1500)
    line, bent = OnlineClassifier(fit_intercept=True).run(X, y), OnlineKernelClassifier(gamma=2.0).run(X, y)
    wrong = [(trace.prediction[500:] != y[500:]).mean() for trace in (line, bent)]
    assert wrong[1] < 0.8 * wrong[0]


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"update": AROW()}, "update must be a first-order"),
        ({"kernel": "perceptron"}, "kernel must be"),
        ({"kernel": "precomputed"}, "kernel must be"),
        ({"max_support": 0}, "max_support must"),
        ({"gamma": -1.0}, "gamma must"),
        ({"budget": -1}, "budget must"),
    ],
)
def test_what_cannot_be_learned_with_is_refused(settings_: dict, says: str) -> None:  # type: ignore[type-arg]
    model = OnlineKernelClassifier(**settings_)
    with pytest.raises(InvalidInputError, match=says):
        model.fit(*stream(0, n=10))
    assert not hasattr(model, "classes_")


def test_a_failed_part_changes_nothing() -> None:
    X, y = stream(9)
    model = OnlineKernelClassifier(gamma=1.0).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(InvalidInputError):
        model.partial_fit(X[:5], [1, -1, 1, -1, 7])
    with pytest.raises(InvalidInputError):
        model.partial_fit(X[:5] * np.nan, y[:5])
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize(
    ("settings_", "says"),
    [
        ({"update": AROW()}, "update must be a first-order"),
        ({"query": 5}, "query must be a QueryRule"),
        ({"max_support": 0}, "max_support must"),
        ({"threshold": "high"}, "threshold must"),
        ({"seed": -1}, "seed must"),
    ],
)
def test_settings_between_two_parts_are_looked_at(settings_: dict, says: str) -> None:  # type: ignore[type-arg]
    X, y = stream(9)
    model = OnlineKernelClassifier(gamma=1.0).fit(X, y).set_params(**settings_)
    with pytest.raises(InvalidInputError, match=says):
        model.partial_fit(X[:5], y[:5])
