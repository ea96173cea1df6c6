"""Laws of the online loop: kernels equal their Python twins, and no cutting of the stream changes a bit."""

import copy
import pickle
from typing import Any

import numpy as np
import public_rules
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from steelyard import (
    CSOALPA,
    CSOGD1,
    CSOGD2,
    PA,
    PA1,
    ROMMA,
    AdaptiveBalanced,
    AskAll,
    AskAsymmetric,
    AskFirst,
    AskSymmetric,
    Budget,
    Costs,
    CPAPBTable2,
    CSOALHinge,
    InvalidInputError,
    OnlineClassifier,
    QueryRule,
    Step,
    Trace,
    UpdateInput,
    UpdateRule,
    draw,
)
from steelyard.rules import Rule

pytestmark = pytest.mark.kernel
updates, queries = public_rules.drawn(UpdateRule), public_rules.drawn(QueryRule)
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def streams(draw_: Any, numbers: str = "any") -> tuple[Any, Any]:
    """Rows (dense or CSR, of both precisions and index widths) and labels; grid numbers make ties."""
    n, d = draw_(st.integers(2, 40)), draw_(st.integers(1, 40))
    rng = np.random.default_rng(draw_(st.integers(0, 2**32)))
    kind = draw_(st.sampled_from(["grid", "real"])) if numbers == "any" else numbers
    X = rng.integers(-2, 3, (n, d)) / 2.0 if kind == "grid" else rng.normal(size=(n, d)) / np.sqrt(d)
    X = X.astype(draw_(st.sampled_from([np.float64, np.float32])))
    y = rng.random(n) < 0.4
    y[0], y[-1] = True, False
    if draw_(st.booleans()):
        X[rng.random(X.shape) < 0.6] = 0
        X = sparse.csr_matrix(X)
        width = draw_(st.sampled_from([np.int32, np.int64]))
        X.indices, X.indptr = X.indices.astype(width), X.indptr.astype(width)
    return X, y


@st.composite
def classifiers(draw_: Any) -> OnlineClassifier:
    """Any update with any query, budget, costs and option."""
    update = draw_(updates)
    budget = draw_(st.sampled_from([None, 0, 1, 7, 0.3, Budget(9, 0.5)]))
    averaged = isinstance(budget, (int, Budget)) and draw_(st.booleans())
    return OnlineClassifier(
        update,
        query=draw_(queries),
        budget=budget,
        costs=draw_(st.sampled_from([None, Costs.binary(fn=3.5, fp=1), AdaptiveBalanced(0.4)])),
        threshold=draw_(st.sampled_from([0.0, 0.1, -0.2])),
        after_budget="average" if averaged else "last",
        fit_intercept=draw_(st.booleans()) and not update.has_bias,
        seed=draw_(st.integers(0, 5)),
    )


def in_python(rule: Any) -> Any:
    """The same rule without its kernel."""
    return type(type(rule).__name__, (type(rule),), {"kernel": lambda self: None})(**rule.get_params(deep=False))


def fresh(model: OnlineClassifier, **changed: Any) -> OnlineClassifier:
    return OnlineClassifier(**{**model.get_params(deep=False), **changed})


def same(a: Trace, b: Trace) -> None:
    for ours, theirs in zip(a, b, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def bits(model: OnlineClassifier) -> bytes:
    state = model.state()
    arrays = b"".join(np.asarray(a).tobytes() for a in state["arrays"].values())
    return arrays + repr(state["counts"]).encode()


@pytest.mark.parametrize(
    "cls", [*public_rules.public(UpdateRule), *public_rules.public(QueryRule)], ids=lambda cls: cls.__name__
)
def test_every_public_rule_has_a_kernel_and_checks_its_parameters(cls: type[Rule]) -> None:
    cls().validate()
    assert cls().kernel() is not None  # type: ignore[attr-defined]
    for name in cls.domains():
        for wrong in (float("nan"), -1.0, "unknown", None):
            with pytest.raises(InvalidInputError, match=f"{name} must "):
                cls(**{name: wrong}).validate()


finite, above_0 = st.floats(-50, 50), st.floats(0.01, 50)


@settings(quick, max_examples=400)
@given(
    public_rules.first_order(), finite, st.sampled_from([-1.0, 1.0]), st.floats(0.01, 50), st.floats(0.01, 50), finite
)
def test_no_step_lowers_the_margin_of_its_row(
    rule: UpdateRule, score: float, y: float, cost: float, x2: float, more: float
) -> None:
    w2 = score * score / x2 + abs(more)  # at least what a score of a row of this length needs
    step = rule.step(UpdateInput(score, y, cost, x2, w2))
    after = step.keep * score + step.add * x2 + step.shift
    wanted = score * y
    if isinstance(rule, CPAPBTable2):  # as printed: goes to the margin sqrt(cost) from either side
        wanted = min(wanted, cost**0.5)
    assert y * after >= wanted - 1e-9 * (1 + abs(score) + x2)


@quick
@given(classifiers(), streams())
def test_a_kernel_equals_its_twin_bit_for_bit(model: OnlineClassifier, stream: tuple[Any, Any]) -> None:
    X, y = stream
    trace = model.run(X, y)
    for slow in (
        fresh(model, update=in_python(model.update)),
        fresh(model, query=in_python(model.query)),
        fresh(model, update=in_python(model.update), query=in_python(model.query)),
    ):
        same(slow.run(X, y), trace)
        np.testing.assert_array_equal(slow.coef_, model.coef_)
        assert slow.intercept_ == model.intercept_
        assert (slow.n_queried_, slow.n_updates_, slow.n_rounds_) == (
            model.n_queried_,
            model.n_updates_,
            model.n_rounds_,
        )


def python_twin(update: UpdateRule, X: Any, y: Any, costs: Any, fit_intercept: bool) -> tuple[Any, Any]:
    """Algorithm 1 of paper 000 as it reads, with ordinary dot products: scores and final weights."""
    w, b, scores = np.zeros(X.shape[1]), 0.0, []
    for x, truth, cost in zip(X, y, costs, strict=True):
        score = w @ x + b
        one = 1.0 if fit_intercept else 0.0
        step = update.step(UpdateInput(score, 1.0 if truth else -1.0, cost, x @ x + one, w @ w + one * b * b))
        w, b = step.keep * w + step.add * x, step.keep * b + step.shift + one * step.add
        scores.append(score)
    return np.array(scores), np.append(w, b)


@quick
@given(public_rules.first_order(), streams("real"), st.booleans(), st.sampled_from([1.0, 4.0]))
def test_the_loop_does_what_the_paper_says(
    update: UpdateRule, stream: tuple[Any, Any], fit_intercept: bool, rho: float
) -> None:
    X, y = stream
    fit_intercept = fit_intercept and not update.has_bias
    dense = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    scores, w = python_twin(update, dense, y, np.where(y, rho, 1.0), fit_intercept)
    if isinstance(update, ROMMA):  # labels that no plane separates make it grow, and rounding errors with the square
        assume(np.abs(scores).max() < 100)
    model = OnlineClassifier(update, costs=Costs.binary(fn=rho, fp=1), fit_intercept=fit_intercept)
    trace = model.run(X, y)
    np.testing.assert_allclose(trace.score, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-9, atol=1e-9)


@quick
@given(classifiers(), streams(), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_no_cutting_changes_a_bit(
    model: OnlineClassifier, stream: tuple[Any, Any], sizes: list[int], data: st.DataObject
) -> None:
    X, y = stream
    whole = fresh(model)
    trace = whole.run(X, y, classes=[False, True])
    cuts = np.unique(np.clip(np.cumsum(sizes), 0, len(y)))
    parts = [p for p in np.split(np.arange(len(y)), cuts) if len(p)]
    kept = fresh(model)
    traces = []
    for part in parts:
        traces.append(kept.run(X[part[0] : part[-1] + 1], y[part], classes=[False, True]))
        kept = data.draw(
            st.sampled_from([lambda m: m, copy.deepcopy, _pickled, lambda m: OnlineClassifier.from_state(m.state())])
        )(kept)
    same(Trace(*(np.concatenate(columns) for columns in zip(*traces, strict=True))), trace)
    assert bits(kept) == bits(whole)

    silent = fresh(model)
    for part in parts:
        silent.partial_fit(X[part[0] : part[-1] + 1], y[part], classes=[False, True])
    assert bits(silent) == bits(whole)

    live = fresh(model).start(X.shape[1], [False, True])
    for i, truth in enumerate(y):
        row = X[i] if not sparse.issparse(X) else X[i : i + 1]
        decision = live.decide(row)
        assert decision == (i, trace.score[i], trace.prediction[i], trace.query_probability[i], trace.queried[i])
        if decision.query:
            live.learn(row, truth)
    assert bits(live) == bits(whole)


def _pickled(model: OnlineClassifier) -> OnlineClassifier:
    return pickle.loads(pickle.dumps(model))  # type: ignore[no-any-return]


@quick
@given(classifiers(), streams(), st.integers(0, 6))
def test_delayed_labels_never_exceed_the_budget(model: OnlineClassifier, stream: tuple[Any, Any], delay: int) -> None:
    X, y = stream
    live = fresh(model).start(X.shape[1], [False, True])
    budget, waiting = Budget.of(model.budget), []
    for i in range(len(y)):
        row = X[i] if not sparse.issparse(X) else X[i : i + 1]
        if live.decide(row).query:
            waiting.append(i)
        assert live.n_queried_ <= min(budget.limit, budget.rate * (i + 1))
        if len(waiting) > delay:
            j = waiting.pop(0)
            live.learn(X[j] if not sparse.issparse(X) else X[j : j + 1], y[j])
    assert live.n_queried_ == live.state()["counts"][1] + len(waiting)


@quick
@given(classifiers(), streams(), st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_a_failed_part_leaves_no_trace(
    model: OnlineClassifier, stream: tuple[Any, Any], bad: float, data: st.DataObject
) -> None:
    X, y = stream
    model.partial_fit(X, y, classes=[False, True])
    before = bits(model)
    at = data.draw(st.integers(0, len(y) - 1))
    broken = X.toarray() if sparse.issparse(X) else X.copy()
    column = data.draw(st.integers(0, X.shape[1] - 1))
    broken[at, column] = bad
    broken = sparse.csr_matrix(broken) if sparse.issparse(X) else broken
    for call in (model.partial_fit, model.run):
        with pytest.raises(InvalidInputError, match=rf"at row {at}, column {column}\."):
            call(broken, y)
        assert bits(model) == before
    with pytest.raises(InvalidInputError, match="column"):
        model.decide(broken[at] if not sparse.issparse(X) else broken[at : at + 1])
    assert bits(model) == before


@quick
@given(updates, queries, streams(), st.integers(0, 3))
def test_draws_given_are_the_draws_used(
    update: UpdateRule, query: QueryRule, stream: tuple[Any, Any], seed: int
) -> None:
    X, y = stream
    own = OnlineClassifier(update, query=query, seed=seed).run(X, y)
    given_ = OnlineClassifier(update, query=query, seed=99).run(X, y, draws=[draw(seed, t) for t in range(len(y))])
    same(own, given_)


@quick
@given(streams("real"), st.floats(0.05, 2), st.sampled_from([None, 9]))
def test_special_cases(stream: tuple[Any, Any], c: float, budget: int | None) -> None:
    X, y = stream

    def traced(update: UpdateRule, query: QueryRule | None = None, rho: float = 1) -> Trace:
        return OnlineClassifier(update, query=query, budget=budget, costs=Costs.binary(fn=rho, fp=1)).run(X, y)

    same(traced(CSOGD1(c)), traced(CSOGD2(c)))  # rho = 1 and equal step
    same(traced(PA1(1e300)), traced(PA()))  # no cap
    same(traced(CSOALPA(c)), traced(PA1(c)))
    same(traced(CSOALHinge(c), rho=3), traced(CSOGD2(c), rho=3))
    same(traced(CSOGD2(c), AskSymmetric(c)), traced(CSOGD2(c), AskAsymmetric(c, c)))
    same(traced(PA(), AskFirst()), traced(PA(), AskAll()))
    same(traced(CPAPBTable2()), traced(PA()))  # sqrt(1) - y f is the hinge


@quick
@given(streams("real"), st.integers(1, 8))
def test_after_the_budget_the_average_answers(stream: tuple[Any, Any], limit: int) -> None:
    X, y = stream
    assume(len(y) > limit)
    plain = OnlineClassifier(CSOGD2(0.3)).start(X.shape[1], [False, True])
    used = [plain.coef_[0]]
    for i in range(limit):
        plain.partial_fit(X[i : i + 1], y[i : i + 1])
        used.append(plain.coef_[0])  # w_0 .. w_{T_B - 1}: round T_B = limit + 1 begins with the budget spent
    averaged = OnlineClassifier(CSOGD2(0.3), query=AskFirst(), budget=limit, after_budget="average")
    trace = averaged.run(X, y)
    np.testing.assert_allclose(
        trace.score[limit], (X @ used[-1])[limit], rtol=1e-10, atol=1e-12
    )  # still the last model
    np.testing.assert_allclose(
        trace.score[limit + 1 :], (X @ np.mean(used, axis=0))[limit + 1 :], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(averaged.coef_[0], np.mean(used, axis=0), rtol=1e-10, atol=1e-12)
    last = OnlineClassifier(CSOGD2(0.3), query=AskFirst(), budget=limit).fit(X, y)
    np.testing.assert_array_equal(last.coef_, plain.coef_)


def test_a_rule_of_ones_own_runs_in_python() -> None:
    class Decaying(UpdateRule):
        def step(self, inputs: UpdateInput) -> Step:
            return Step(keep=0.9, add=0.1 * inputs.y)

    X, y = np.eye(3), np.array([1, 0, 1])
    model = OnlineClassifier(Decaying()).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[0.081, -0.09, 0.1]], rtol=1e-15)
