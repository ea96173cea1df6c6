from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from steelyard import (
    AROW,
    CSOGD1,
    CSOGD2,
    PA1,
    PA2,
    PAUM,
    AdaptiveBalanced,
    AskAsymmetric,
    AskFirst,
    Balanced,
    Costs,
    CostsError,
    DivergedError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    Perceptron,
    RecordHasher,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 7))
Y = (X @ RNG.normal(size=7) + 0.5 * RNG.normal(size=300) > 0).astype(int)
ONE_PASS = {"max_iter": 1, "shuffle": False, "tol": None, "fit_intercept": False}


# -- what other libraries say -----------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("update", "peer"),
    [
        (Perceptron("margin"), SklearnPerceptron(**ONE_PASS)),
        (
            CSOGD2(0.1),
            SGDClassifier("hinge", penalty=None, learning_rate="constant", eta0=0.1, class_weight={1: 3.0}, **ONE_PASS),
        ),
        (PA1(0.7), SGDClassifier("hinge", penalty=None, learning_rate="pa1", eta0=0.7, **ONE_PASS)),
        (PA2(0.7), SGDClassifier("hinge", penalty=None, learning_rate="pa2", eta0=0.7, **ONE_PASS)),
    ],
)
def test_weights_equal_scikit_learns(update: object, peer: SGDClassifier) -> None:
    model = OnlineClassifier(update, costs=Costs.binary(fn=3, fp=1)).fit(X, Y)
    np.testing.assert_allclose(model.coef_, peer.fit(X, Y).coef_, rtol=1e-12, atol=1e-12)


# -- labels, costs and weights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["no", "yes"], [-1, 1], [1.0, 2.0], [False, True], [np.str_("a"), np.str_("b")]])
def test_answers_are_in_the_callers_labels(names: list[object]) -> None:
    y = np.array(names)[Y]
    model = OnlineClassifier()
    trace = model.run(X, y)
    assert trace.prediction.dtype == y.dtype
    np.testing.assert_array_equal(trace.prediction, np.array(names)[(trace.score >= 0).astype(int)])
    assert np.shares_memory(trace.y, y)
    assert set(model.predict(X)) == set(names)
    assert model.start(7, names).decide(X[0]).prediction in names


def test_object_labels() -> None:
    y = np.array(["no", "yes"], dtype=object)[Y]
    model = OnlineClassifier()
    assert model.run(X, y).prediction.dtype == object
    model.learn(X[0], "no")
    restored = OnlineClassifier.from_state(model.state())
    assert restored.predict(X).dtype == object


def test_the_dear_class_may_sort_first() -> None:
    y = np.array(["bad", "good"])[Y]
    dear_bad = OnlineClassifier(costs=Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad")).fit(X, y)
    mirrored = OnlineClassifier(costs=Costs.binary(fn=5, fp=1)).fit(X, 1 - Y)
    np.testing.assert_array_equal(dear_bad.coef_, -mirrored.coef_)
    adaptive = OnlineClassifier(costs=AdaptiveBalanced(0.7, positive="bad")).fit(X, y)
    np.testing.assert_array_equal(adaptive.coef_, -OnlineClassifier(costs=AdaptiveBalanced(0.7)).fit(X, 1 - Y).coef_)


def test_costs_by_class_by_example_and_by_weight_agree() -> None:
    by_class = OnlineClassifier(costs=Costs.binary(fn=4, fp=1)).fit(X, Y).coef_
    rows = np.where(Y[:, None] == [0, 1], 0.0, np.where(Y, 4.0, 1.0)[:, None])
    np.testing.assert_array_equal(OnlineClassifier().fit(X, Y, costs=rows).coef_, by_class)
    np.testing.assert_array_equal(OnlineClassifier().fit(X, Y, costs=Costs.binary(fn=4, fp=1)).coef_, by_class)
    np.testing.assert_array_equal(OnlineClassifier().fit(X, Y, sample_weight=np.where(Y, 4.0, 1.0)).coef_, by_class)
    live = OnlineClassifier().start(7, [0, 1])
    for x, y in zip(X, Y, strict=True):
        live.learn(x, y, cost=4.0 if y else 1.0)
    np.testing.assert_array_equal(live.coef_, by_class)
    weighted = OnlineClassifier(costs=AdaptiveBalanced()).fit(X, Y, sample_weight=np.full(300, 2.0)).coef_
    np.testing.assert_array_equal(weighted, OnlineClassifier(CSOGD2(0.2), costs=AdaptiveBalanced()).fit(X, Y).coef_)


@pytest.mark.parametrize("update", [CSOGD1(), CSOGD2(), PAUM()])
def test_a_row_that_costs_nothing_teaches_nothing(update: object) -> None:
    weight = np.ones(300)
    weight[::3] = 0
    with_zeros = OnlineClassifier(update).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(with_zeros.coef_, OnlineClassifier(update).fit(X[weight > 0], Y[weight > 0]).coef_)


def test_the_adaptive_ratio_looks_at_the_past_alone() -> None:
    y, rhos = [0, 0, 1, 1, 0, 1], [3.0, 3 / 2, 4 / 3]  # (N- + 1) / (N+ + 1) before each positive
    model = OnlineClassifier(CSOGD2(1.0), costs=AdaptiveBalanced()).fit(np.eye(6), y)
    np.testing.assert_allclose(model.coef_[0][[2, 3, 5]], [rhos[0], rhos[1], rhos[2]], rtol=1e-15)
    np.testing.assert_array_equal(model.coef_[0][[0, 1, 4]], -1)


def test_costs_that_count_classes_need_the_whole_stream() -> None:
    whole = OnlineClassifier(costs=Balanced())
    np.testing.assert_array_equal(
        whole.fit(X, Y).coef_, OnlineClassifier(costs=Balanced().costs_for(Y)).fit(X, Y).coef_
    )
    with pytest.raises(CostsError, match=r"AdaptiveBalanced\(\)"):
        OnlineClassifier(costs=Balanced()).partial_fit(X, Y)
    with pytest.raises(CostsError, match=r"AdaptiveBalanced\(\)"):
        OnlineClassifier(costs=Balanced()).start(7, [0, 1])
    whole.partial_fit(X, Y)  # goes on with the costs it was fitted with


# -- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"update": "CSOGD2"}, "update must be an UpdateRule"),
        ({"update": CSOGD2}, "update must be an UpdateRule"),
        ({"query": CSOGD2()}, "query must be a QueryRule"),
        ({"update": CSOGD2(-1)}, "eta must be"),
        ({"query": AskAsymmetric(0, 1)}, "c_pos must be"),
        ({"budget": -1}, "budget must be"),
        ({"budget": 0.5, "after_budget": "average"}, "budget must be a number of labels"),
        ({"after_budget": "mean"}, "after_budget must be one of"),
        ({"threshold": np.nan}, "threshold must be a finite number"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"update": PAUM(), "fit_intercept": True}, "bias of its own"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"costs": Costs.binary(fn=[1.0, 2.0], fp=1)}, "costs must be by class"),
    ],
)
def test_wrong_parameters_are_named(params: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        OnlineClassifier(**params).fit(X[:2], [0, 1])


def test_wrong_calls_are_named() -> None:
    model = OnlineClassifier().fit(X, Y)
    for wrong, words in [
        (lambda: model.fit(X, np.arange(300) % 3), "Only binary classification"),
        (lambda: model.fit(X, np.ones(300)), "two classes"),
        (lambda: model.partial_fit(X, Y + 5), r"classes \[0, 1\]; got 5. See row"),
        (lambda: model.partial_fit(X, Y, classes=[1, 2]), "stay"),
        (lambda: model.partial_fit(X[:, :3], Y), "3 features"),
        (lambda: model.partial_fit(X, Y[:5]), "300 rows"),
        (lambda: model.run(X, Y, draws=np.ones(300)), r"lie in \[0, 1\)"),
        (lambda: model.run(X, Y, draws=np.zeros(3)), "shape"),
        (lambda: model.fit(X, Y, costs=np.tile([[0.0, 1.0]], (300, 1))), "right answer the cheapest"),
        (lambda: model.learn(X[0], 7), "one of the classes"),
        (lambda: model.learn(X[0], [1]), "one of the classes"),
        (lambda: model.learn(X[0], 1, cost=-1), "cost must be"),
        (lambda: model.learn(X[:2], 1), "one row"),
        (lambda: model.decide(X[0, :3]), "3 features"),
        (lambda: model.cancel_query(0), "count must be"),
        (lambda: OnlineClassifier(Perceptron()).fit(X, Y, sample_weight=np.ones(300)), "blind to costs"),
        (
            lambda: OnlineClassifier(query=AskFirst(), budget=3).start(7, [0, 1]).learn(X[0], 1),
            "without a pending query",
        ),
    ]:
        before = model.coef_.tobytes()
        with pytest.raises(ValueError, match=words):
            wrong()
        assert model.coef_.tobytes() == before
        assert model.n_rounds_ == 300


@pytest.mark.parametrize("call", ["predict", "decision_function", "decide"])
def test_nothing_is_answered_before_a_start(call: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(OnlineClassifier(), call)(X[0])


@pytest.mark.kernel
@pytest.mark.parametrize("rows", [X * 1e200, sparse.csr_matrix(X * 1e200)])
def test_an_overflow_is_an_error_and_teaches_nothing(rows: object) -> None:
    model = OnlineClassifier(CSOGD2(1e200)).start(7, [0, 1])
    with pytest.raises(DivergedError, match="overflow"):
        model.partial_fit(rows, Y)
    assert not model.coef_.any()
    assert model.n_rounds_ == 0
    with pytest.raises(DivergedError, match="overflow"):
        model.learn(rows[0], 1)
    assert not model.coef_.any()


@pytest.mark.kernel
def test_a_malformed_sparse_matrix_is_an_error_not_a_crash() -> None:
    rows = sparse.csr_matrix(np.eye(3))
    rows.indices[1] = 99
    model = OnlineClassifier().start(3, [0, 1])
    with pytest.raises(InvalidInputError):
        model.partial_fit(rows, [0, 1, 0])
    rows.indices[1] = -5
    with pytest.raises(InvalidInputError):
        model.partial_fit(rows, [0, 1, 0])
    assert not model.coef_.any()


# -- inputs of every form ---------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_every_form_of_the_same_rows_gives_the_same_weights() -> None:
    expected = OnlineClassifier(PA1()).fit(X, Y).coef_
    frozen = X.copy()
    frozen.setflags(write=False)
    for rows in (frozen, np.asfortranarray(X), X[::1], np.repeat(X, 2, axis=1)[:, ::2], X.astype(">f8"), X.tolist()):
        np.testing.assert_array_equal(OnlineClassifier(PA1()).fit(rows, Y).coef_, expected)
    doubled = sparse.csr_matrix(
        (np.tile(X.ravel() / 2, 2), (np.tile(np.repeat(np.arange(300), 7), 2), np.tile(np.arange(7), 600)))
    )
    unsorted = sparse.csr_matrix(X[:, ::-1])
    unsorted.indices = 6 - unsorted.indices
    unsorted.has_sorted_indices = False
    for rows in (sparse.csr_matrix(X), sparse.csc_array(X), sparse.coo_matrix(X), doubled, unsorted):
        np.testing.assert_allclose(OnlineClassifier(PA1()).fit(rows, Y).coef_, expected, rtol=1e-12)
    np.testing.assert_array_equal(frozen, X)


def test_one_row_in_every_form() -> None:
    rows = [X[0], X[:1], X[0].tolist(), np.repeat(X[0], 2)[::2], X[0].astype(">f8"), sparse.csr_matrix(X[:1])]
    scores = {OnlineClassifier().fit(X, Y).decide(row).score for row in rows}
    np.testing.assert_allclose(list(scores), next(iter(scores)), rtol=1e-12)


# -- scikit-learn ------------------------------------------------------------------------------------------------------


def test_rules_are_searched_over_and_cloned() -> None:
    search = GridSearchCV(OnlineClassifier(CSOGD2()), {"update__eta": [1e-9, 0.1]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"update__eta": 0.1}
    model = OnlineClassifier(CSOGD2(0.3), query=AskFirst(), budget=9)
    copied = clone(model)
    assert copied.update == model.update
    assert copied.update is not model.update


def test_reservations_can_be_given_back() -> None:
    model = OnlineClassifier(query=AskFirst(), budget=2).start(7, [0, 1])
    assert [model.decide(x).query for x in X[:3]] == [True, True, False]
    model.cancel_query()
    assert model.n_queried_ == 1
    assert model.decide(X[3]).query
    model.learn(X[0], 1)
    assert (model.n_queried_, model.decide(X[4]).query) == (2, False)


def test_no_row_at_all_is_told_as_a_wrong_row():
    learner = OnlineClassifier().start(3, [0, 1])
    for serve in (learner.decide, lambda x: learner.learn(x, 1)):
        with pytest.raises(InvalidInputError, match="must have 3 columns"):
            serve(None)


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineCostClassifier])
def test_a_loop_from_cold_over_dicts(kind: Any, tmp_path: Path) -> None:
    """One record at a time, as in river: answered before anything was learned, and learned from at once."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=80)
    records = [{"age": float(n), "city": "Oslo" if n > 0 else "Rome"} for n in numbers]
    labels = np.where(numbers > 0, "yes", "no").tolist()
    hasher, model = RecordHasher(64), kind(AROW() if kind is OnlineClassifier else None, classes=["no", "yes"])
    assert model.predict(hasher.transform(records[:3])).tolist() == ["yes"] * 3  # zero everywhere: ties go up
    assert not hasattr(model, "classes_")  # answering starts nothing
    right = 0
    for record, label in zip(records, labels, strict=True):
        row = hasher.one(record)
        right += model.decide(row).prediction == label
        model.learn(row, label)
    assert right > 70
    trace = clone(model).run(hasher.transform(records), labels)
    assert (trace.prediction == labels).sum() == right
    model.save(tmp_path / "m.steelyard")
    again = kind.load(tmp_path / "m.steelyard")
    assert again.get_params()["classes"] == ["no", "yes"]
    assert again.predict(hasher.transform(records)).tolist() == model.predict(hasher.transform(records)).tolist()
    cold = make_pipeline(RecordHasher(64), clone(model))
    assert cold.predict(records[:2]).tolist() == ["yes"] * 2
    with pytest.raises(NotFittedError):
        make_pipeline(RecordHasher(64), kind()).predict(records[:2])
    with pytest.raises(InvalidInputError, match=r"got 'a dict'. RecordHasher\(\).one\(record\) makes one of it"):
        kind(classes=["no", "yes"]).decide(records[0])
    with pytest.raises(NotFittedError):
        kind().decide(hasher.one(records[0]))
    with pytest.raises(InvalidInputError, match="two classes"):
        kind(classes=["no"]).decide(np.ones(3))


def test_a_first_part_with_one_class_takes_the_classes_of_the_constructor() -> None:
    model = OnlineClassifier(classes=[0, 1]).partial_fit(np.ones((2, 3)), [1, 1])
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(np.ones((1, 3))).tolist() == [1]


@pytest.mark.parametrize("after_budget", ["last", "average"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_decide_many_is_decide_of_each(after_budget, as_csr):
    rows = np.random.default_rng(0).normal(size=(300, 5))

    def started():
        learner = OnlineClassifier(query=AskAsymmetric(0.3, 0.3), budget=20, after_budget=after_budget, seed=3)
        learner.start(5, [0, 1])
        for row in rows[:20]:
            if learner.decide(row).query:
                learner.learn(row, int(row[0] > 0))
        return learner

    singly, together = started(), started()
    given = sparse.csr_matrix(rows) if as_csr else rows
    each = [singly.decide(given[n : n + 1]) for n in range(len(rows))]
    found = together.decide_many(given)
    assert [column.tolist() for column in found] == [list(column) for column in zip(*each, strict=True)]
    assert together.state()["counts"] == singly.state()["counts"]


def test_decide_many_that_fails_changes_nothing():
    learner = OnlineClassifier(query=AskAsymmetric(0.3, 0.3), budget=20).start(2, [0, 1])
    rows = np.ones((4, 2))
    rows[2, 1] = np.inf
    with pytest.raises(InvalidInputError):
        learner.decide_many(rows)
    assert (learner.n_rounds_, learner.n_reserved_) == (0, 0)
