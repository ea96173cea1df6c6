"""Gains, abstaining, thresholds, equality and plain dicts."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard import Costs, CostsError
from steelyard.costs.rules import as_learning_costs

GAIN = Costs.binary(fn=8, fp=1, tp=-3, classes=["good", "bad"], currency="EUR")
CELL = st.floats(-50, 50).map(lambda v: round(v, 2))


def test_gains_are_kept_as_they_are_and_learners_see_regret() -> None:
    assert GAIN.matrix.tolist() == [[0, 1], [8, -3]]
    assert GAIN.ratio() == 11
    assert GAIN.regret().matrix.tolist() == [[0, 1], [11, 0]]
    assert sy.mean_cost(["bad", "good"], ["bad", "good"], costs=GAIN) == -1.5
    learned = as_learning_costs(GAIN, ["bad", "good"], np.array(["bad", "good"]))
    assert learned.matrix.tolist() == [[0, 11], [1, 0]]
    plain = Costs.from_matrix([[0.0, 2.0], [3.0, 0.0]])
    assert as_learning_costs(plain, None, np.array([0, 1])).matrix.tolist() == plain.matrix.tolist()


def test_a_gain_on_the_diagonal_is_meant_and_not_warned_about() -> None:
    assert Costs.from_matrix([[-1, 3], [5, -2]]).matrix.tolist() == [[-1, 3], [5, -2]]


@pytest.mark.parametrize(
    "estimator", [sy.AdaC2M1Classifier(), sy.FilterTreeClassifier(), sy.CSSVMClassifier(), sy.ExpectedCostClassifier()]
)
def test_learners_take_gains_and_decide_as_with_the_regret(estimator) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0.5).astype(int)
    gains = Costs.binary(fn=4, fp=1, tp=-2, tn=-1, classes=[0, 1])
    first = estimator.fit(X, y, costs=gains).predict(X)
    second = sy.ExpectedCostClassifier() if isinstance(estimator, sy.ExpectedCostClassifier) else type(estimator)()
    assert first.tolist() == second.fit(X, y, costs=gains.regret()).predict(X).tolist()


@settings(max_examples=60)
@given(CELL, CELL, CELL, CELL, st.floats(0.001, 0.999))
def test_the_threshold_is_where_the_decision_turns(fn, fp, tp, tn, p) -> None:  # type: ignore[no-untyped-def]
    if not any((fn, fp, tp, tn)):
        return
    costs = Costs.binary(fn=fn, fp=fp, tp=tp, tn=tn, classes=["no", "yes"])
    if fn < tp or fp < tn or (fn == tp and fp == tn):
        with pytest.raises(CostsError, match="make no mistake cheaper than the right answer"):
            costs.threshold()
        return
    t = costs.threshold()
    if abs(p - t) > 1e-9:
        assert costs.decide([[1 - p, p]])[0] == ("yes" if p > t else "no")
    rows = Costs.binary(fn=[fn, fn], fp=fp, tp=tp, tn=tn, classes=["no", "yes"])
    assert rows.threshold().tolist() == pytest.approx([t, t])


def test_no_single_threshold_is_an_error_that_says_why() -> None:
    with pytest.raises(CostsError, match=r"costs \(row 1\) must make no mistake cheaper .*'fn - tp': -1.0"):
        Costs.binary(fn=[1, 0], fp=1, tp=[0, 1]).threshold()
    with pytest.raises(CostsError, match=r"not price abstaining for one threshold; got 'abstain'"):
        GAIN.with_abstain(1).threshold()
    with pytest.raises(CostsError, match="be over two classes for threshold"):
        Costs.zero_one([1, 2, 3]).threshold()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 5)), min_size=1, max_size=9))
def test_abstaining_is_chosen_exactly_where_it_is_cheapest(rows) -> None:  # type: ignore[no-untyped-def]
    p, price = np.array(rows).T
    proba = np.column_stack([1 - p, p])
    plain = Costs.binary(fn=5, fp=1, classes=["good", "bad"])
    for costs in (plain.with_abstain(price), Costs.binary(fn=np.full(len(p), 5.0), fp=1, classes=["good", "bad"])):
        priced = costs if costs.abstain is not None else costs.with_abstain(price)
        expected = priced.expected(proba)
        assert expected.shape == (len(p), 3)
        assert expected[:, 2].tolist() == price.tolist()
        answers = priced.decide(proba)
        best = plain.expected(proba).min(axis=1)
        assert ((answers == "abstain") == (price < best)).all()
        for answer, row in zip(answers, expected, strict=True):
            assert row[priced.answers.tolist().index(answer)] == row.min()
        assert priced[:1].abstain.tolist() == price[:1].tolist()


def test_measures_and_tables_know_the_extra_answer() -> None:
    costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"], currency="EUR").with_abstain(0.5, label="ask")
    truth, answer = ["bad", "bad", "good", "good"], ["bad", "ask", "ask", "bad"]
    assert sy.total_cost(truth, answer, costs=costs) == 2.0
    assert sy.costs_paid(truth, answer, costs=costs).tolist() == [0, 0.5, 0.5, 1]
    assert sy.sensitivity_score(truth, answer, costs=costs) == 0.5  # who is referred was not found
    assert sy.savings_score(truth, answer, costs=costs) == 0.0  # always asking costs 2 as well
    table = sy.confusion_table(truth, answer, costs=costs)
    assert table.counts.tolist() == [[0, 1, 1], [0, 1, 1]]
    assert table.answers.tolist() == ["good", "bad", "ask"]
    assert "1 (0.5 EUR)" in str(table)
    assert ">ask</th>" in table._repr_html_()
    scores = sy.per_class_scores(truth, answer, costs=costs)
    assert scores.classes.tolist() == ["good", "bad"]
    assert scores.cost.tolist() == [1.5, 0.5]
    rows = Costs.binary(fn=[5.0, 6, 7, 8], fp=1, classes=["good", "bad"]).with_abstain(
        [0.1, 0.2, 0.3, 0.4], label="ask"
    )
    assert sy.total_cost(truth, answer, costs=rows) == pytest.approx(1.5)
    numbers = Costs.binary(fn=5, fp=1, classes=[0, 1]).with_abstain(0.5)
    assert numbers.decide([[0.7, 0.3], [0.1, 0.9]]).tolist() == ["abstain", 1]
    assert sy.mean_cost([1, 0], numbers.decide([[0.7, 0.3], [0.1, 0.9]]), costs=numbers) == 0.75


def test_a_model_refers_rows_to_a_person() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    model = sy.ExpectedCostClassifier(costs=Costs.binary(fn=5, fp=1, classes=[0, 1]).with_abstain(0.4)).fit(X, y)
    assert model.predict([[-5.0], [1.1], [9.0]]).tolist() == [0, "abstain", 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Costs.zero_one(["a", "abstain"]).with_abstain(1), "label of abstaining must be none of the classes"),
        (lambda: Costs.binary(fn=1, fp=1).with_abstain(1).bind(["a", "abstain"]), "be none of the classes"),
        (lambda: GAIN.with_abstain(float("nan")), "the price of abstaining must be a finite number"),
        (lambda: GAIN.with_abstain("costly"), "the price of abstaining must hold numbers"),
        (lambda: GAIN.with_abstain(1, label=""), "the label of abstaining must be a text"),
        (lambda: Costs.binary(fn=[1, 2], fp=1).with_abstain([1, 2, 3]), "one for each of the 2 rows; got '3 numbers'"),
        (lambda: Costs.binary(fn=1, fp=1, currency=""), "currency must be a text such as 'EUR'"),
        (lambda: Costs.binary(fn=1, fp=1, currency=7), "currency must be a text"),
    ],
)
def test_what_cannot_be_priced(make, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CostsError, match=words):
        make()


@pytest.mark.parametrize(
    "costs",
    [
        GAIN,
        GAIN.with_abstain(2.5, label="ask"),
        Costs.binary(fn=[1.5, 2], fp=1, classes=[3, 4], positive=3).with_abstain([1, 2]),
        Costs.from_rows([[0, 1], [2, 0]]),
        Costs.zero_one(["a", "b", "c"]),
        Costs.binary(fn=5, fp=1),
    ],
)
def test_equal_by_value_and_through_plain_dicts(costs) -> None:  # type: ignore[no-untyped-def]
    again = Costs.from_dict(json.loads(json.dumps(costs.to_dict())))
    assert again == costs
    assert hash(again) == hash(costs)
    assert costs != costs.scaled(2)
    assert costs != "costs"
    assert type(again) is type(costs)


def test_what_makes_costs_differ() -> None:
    base = Costs.binary(fn=5, fp=1, classes=["a", "b"])
    assert base == Costs.binary(fn=5, fp=1, classes=["a", "b"], positive="b")  # the default, said
    assert base != Costs.binary(fn=5, fp=1, classes=["a", "c"])
    assert base != Costs.from_matrix(base.matrix, classes=["a", "b"], positive="a")
    assert base != Costs.binary(fn=5, fp=1, classes=["a", "b"], currency="EUR")
    assert base != base.with_abstain(1)
    assert base != Costs.binary(fn=[5], fp=1, classes=["a", "b"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "hold one of matrix, rows and matrices"),
        ({"matrix": [[0, 1], [1, 0]], "rows": [[0, 1]]}, "hold one of"),
        ({"matrix": [[0, 1], [1, 0]], "price": 3}, "be a dict with the keys"),
        ({"matrix": [[0, float("nan")], [1, 0]]}, "matrix must be finite numbers in 2 axes"),
        ({"matrix": [[0, 1]]}, "matrix must be finite numbers in 2 axes"),
        ({"matrix": [[0, 1], [1, 0]], "classes": ["a"]}, "classes must name 2 classes"),
        ({"matrix": [[0, 1], [1, 0]], "classes": ["a", "b"], "positive": "z"}, "positive must be one of the classes"),
    ],
)
def test_dicts_from_elsewhere_are_checked(content, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CostsError, match=words):
        Costs.from_dict(content)


def test_amounts_are_printed_with_their_currency() -> None:
    assert repr(GAIN) == "Costs(C[true, predicted] over good, bad; good: 0, 1; bad: 8, -3; in EUR)"
    assert GAIN.format(12.5) == "12.5 EUR"
    assert "abstain: 2" in repr(GAIN.with_abstain(2))
    page = GAIN.with_abstain(2)._repr_html_()
    assert "in EUR" in page
    assert "<th>abstain</th>" in page


def test_class_means_of_example_costs_keep_the_positive_class() -> None:
    costs = Costs.binary(fn=[4.0, 6.0, 1.0], fp=[1.0, 1.0, 1.0], classes=["bad", "good"], positive="bad")
    means = costs.class_means(["bad", "bad", "good"])
    assert means.ratio() == 5.0
    model = sy.ExpectedCostClassifier().fit([[0.0], [1.0], [2.0]], ["bad", "bad", "good"], costs=costs)
    assert model.costs_.ratio() == 5.0
    assert costs.class_means(["bad", "bad", "good"], np.array([1.0, 3.0, 1.0])).ratio() == 5.5
    assert GAIN.class_means(["bad"]) is GAIN
    with pytest.raises(CostsError, match="y must have a row of every class of the costs; got \"none of 'good'\""):
        costs.class_means(["bad", "bad", "bad"])


@pytest.mark.parametrize(
    ("truth", "answer", "expected"),
    [
        ([1, 0, 0], [0, 0, 0], 0.0),  # the constant itself, which gains 2 - 1
        ([1, 0, 0], [1, 0, 0], 7.0),  # gains 8, that is 7 more, as a share of 1
    ],
)
def test_savings_against_a_constant_that_gains(truth, answer, expected) -> None:  # type: ignore[no-untyped-def]
    costs = Costs.binary(fn=1, fp=4, tp=-6, tn=-1, classes=[0, 1])
    assert sy.savings_score(truth, answer, costs=costs) == pytest.approx(expected)


def test_savings_against_a_constant_that_costs_nothing() -> None:
    costs = Costs.binary(fn=2, fp=2, tp=-5, tn=-2, classes=[0, 1])
    truth = [1, 0]  # always 0 costs 2 - 2, always 1 gains 3
    assert sy.savings_score([0, 0], [0, 0], costs=Costs.binary(fn=2, fp=1, classes=[0, 1])) == 0.0
    assert sy.savings_score([0, 0], [1, 0], costs=Costs.binary(fn=2, fp=1, classes=[0, 1])) == -np.inf
    even = Costs.binary(fn=2, fp=5, tp=-5, tn=-2, classes=[0, 1])
    assert sy.savings_score(truth, [1, 0], costs=even) == np.inf
    assert sy.savings_score(truth, [1, 1], costs=costs) == 0.0
