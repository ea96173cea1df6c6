"""What the measures do at the edges: missing classes, one class, odd labels, bad input."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import steelyard as sy
from steelyard.evaluate._measure_forms import MEASURES, form_of
from steelyard.evaluate._predictions import Predictions, read_predictions

OURS = list(MEASURES.values())
FORMS = [*OURS, accuracy_score, balanced_accuracy_score]

ALL = pytest.mark.parametrize("measure", OURS, ids=lambda m: m.__name__)


@ALL
def test_classes_missing_in_truths_and_answers(measure) -> None:  # type: ignore[no-untyped-def]
    costs = sy.Costs.from_classes({"a": 1, "b": 2, "c": 3})
    value = measure(["a", "b"], ["a", "a"], costs=costs, positive="c")
    assert np.isfinite(value)
    assert value == measure(
        ["a", "b"], ["a", "a"], costs={"a": 1, "b": 2}, classes=["a", "b"], positive="a"
    ) or measure in (
        sy.sensitivity_score,
        sy.specificity_score,
        sy.precision_score,
        sy.f_score,
        sy.weighted_sum_score,
    )


def test_rates_over_nothing_are_zero() -> None:
    none_true = {"y_true": [0, 0], "y_pred": [0, 1], "classes": [0, 1]}
    assert sy.sensitivity_score(**none_true) == 0
    assert sy.specificity_score([1, 1], [1, 0], classes=[0, 1]) == 0
    assert sy.precision_score([1, 0], [0, 0]) == 0
    assert sy.f_score([0, 0], [0, 0], classes=[0, 1]) == 0


def test_g_mean_counts_only_classes_with_examples() -> None:
    assert sy.g_mean_score(["a", "b"], ["a", "b"], classes=["a", "b", "c"]) == 1
    assert sy.g_mean_score(["a", "a"], ["a", "c"], classes=["a", "b", "c"]) == 0.5
    assert sy.g_mean_score(["a", "b"], ["a", "a"]) == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", FORMS, ids=lambda m: m.__name__)
def test_sums_made_without_a_sheet_are_those_of_the_sheet(measure, weighted) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    truth, answer = rng.integers(0, 4, (2, 50))
    weight = rng.random(50) if weighted else None
    answers = read_predictions(truth, answer, classes=range(5), sample_weight=weight)  # of class 4 there is nothing
    np.testing.assert_allclose(form_of(measure).total(answers), form_of(measure).statistics(answers).sum(axis=0))


def test_savings_where_one_answer_is_free() -> None:
    assert sy.savings_score([0, 0], [0, 0]) == 0
    assert sy.savings_score([0, 0], [0, 1]) == -np.inf


@pytest.mark.parametrize(
    ("given", "positive"),
    [
        ({}, "no"),  # the last of the two
        ({"positive": "maybe"}, "maybe"),
        ({"costs": sy.Costs.binary(fn=5, fp=1, classes=["no", "maybe"])}, "maybe"),
        ({"costs": sy.Costs.binary(fn=5, fp=1, classes=["maybe", "no"], positive="maybe")}, "maybe"),
        ({"costs": sy.Costs.binary(fn=5, fp=1, classes=["no", "maybe"]), "positive": "no"}, "no"),
        ({"costs": sy.Balanced(positive="maybe")}, "maybe"),
        ({"costs": {"no": 1, "maybe": 2}}, "no"),
        ({"classes": ["no", "maybe"]}, "maybe"),
    ],
)
def test_which_class_is_positive(given, positive) -> None:  # type: ignore[no-untyped-def]
    y, p = ["no", "no", "maybe"], ["no", "maybe", "maybe"]
    assert sy.sensitivity_score(y, p, **given) == {"no": 0.5, "maybe": 1.0}[positive]


def test_one_class_seen() -> None:
    assert sy.mean_cost(["a", "a"], ["a", "a"]) == 0
    assert sy.sensitivity_score([0, 0], [0, 0]) == 0  # only negatives of {0, 1}
    assert sy.specificity_score([-1, -1], [-1, -1]) == 1
    assert sy.sensitivity_score([True, True], [True, True]) == 1
    with pytest.raises(sy.InvalidInputError, match=r"positive must name the positive class.*got None with 'a'"):
        sy.sensitivity_score(["a"], ["a"])
    with pytest.raises(sy.InvalidInputError, match=r"positive must name the positive class.*got None with 0, 1, 2"):
        sy.f_score([0, 1, 2], [0, 1, 2])
    assert "a" in str(sy.confusion_table(["a"], ["a"]))


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        list,
        tuple,
        pd.Series,
        pd.Categorical,
        pl.Series,
        lambda v: np.array(v, dtype=object),
        lambda v: np.repeat(v, 2)[::2],
        lambda v: pd.Series(v, dtype="category", index=[7, 8, 9, 10]),
    ],
)
def test_labels_of_any_container(make) -> None:  # type: ignore[no-untyped-def]
    y, p = make(["bad", "good", "good", "bad"]), make(["bad", "bad", "good", "good"])
    assert sy.total_cost(y, p, costs={"bad": 5, "good": 1}) == 6
    assert sy.confusion_table(y, p, costs={"bad": 5, "good": 1}).counts.tolist() == [[1, 1], [1, 1]]


def test_read_only_inputs_are_left_alone() -> None:
    y, p, w = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0])
    for array in (y, p, w):
        array.flags.writeable = False
    assert sy.total_cost(y, p, sample_weight=w, costs=sy.Costs.binary(fn=[1.0, 2.0, 3.0], fp=9)) == 4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sy.mean_cost(None, [0]), "y_true must hold one label per row; got None"),
        (lambda: sy.mean_cost(1, 1), "y_true must be a flat list of labels"),
        (lambda: sy.mean_cost([0, 1], (v for v in [0, 1])), "y_pred must be a flat list of labels"),
        (lambda: sy.mean_cost(np.ones((5, 2)), np.ones(5)), "y_true must be a flat list of labels"),
        (lambda: sy.mean_cost([], []), "y_true must hold at least one label"),
        (lambda: sy.mean_cost([0, 1], [0]), "y_pred must have 2 rows like y_true; got '1 rows'"),
        (lambda: sy.mean_cost([0, 1], ["0", "1"]), "y_pred must hold labels of the type of y_true"),
        (lambda: sy.mean_cost([0, 1], [0, np.nan]), "y_pred must hold finite numbers; got NaN at row 1"),
        (lambda: sy.mean_cost(["a", None], ["a", "b"]), "y_true must have a label on every row"),
        (lambda: sy.mean_cost(["a", "b"], ["a", "z"], costs={"a": 1, "b": 1}), r"y_pred must hold only known.*\['z'\]"),
        (lambda: sy.mean_cost(["a", "z"], ["a", "b"], classes=["a", "b"]), r"y_true must hold only known.*\['z'\]"),
        (lambda: sy.mean_cost([0, 1], [0, 1], sample_weight=[1, -1]), "sample_weight must be >= 0"),
        (lambda: sy.sensitivity_score([0, 1], [0, 1], positive=2), "positive must hold only known classes"),
        (lambda: sy.f_score([0, 1], [0, 1], beta=0), "beta must be a finite number > 0"),
        (lambda: sy.weighted_sum_score([0, 1], [0, 1], eta_pos=2), "eta_pos must be a finite number >= 0 and <= 1"),
        (lambda: sy.total_cost([0, 1], [0, 1], costs=np.ones((3, 3)) - np.eye(3)), "costs must have as many classes"),
        (
            lambda: sy.total_cost([0, 1], [0, 1], costs=sy.Costs.binary(fn=[1.0], fp=1)),
            "costs must have one row per example",
        ),
    ],
)
def test_complaints(call, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()


def test_unlabelled_costs_need_classes_when_some_do_not_occur() -> None:
    C = np.ones((3, 3)) - np.eye(3)
    assert sy.total_cost([0, 1], [1, 1], costs=C, classes=[0, 1, 2]) == 1


def test_many_classes_do_not_need_much_memory() -> None:
    draw = np.random.default_rng(0)
    y, p = draw.integers(0, 300, (2, 20000))  # a sheet of all cells would take 14 GB
    p[:15000] = y[:15000]
    weight = np.ones(20000)
    assert sy.g_mean_score(y, p) == pytest.approx(sy.g_mean_score(y, p, sample_weight=weight))
    assert sy.sensitivity_score(y, p, positive=7) == pytest.approx(np.mean(p[y == 7] == 7))


@ALL
def test_codes_give_the_value_that_labels_give(measure) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(1)
    truth, answer = rng.integers(2, size=30), rng.integers(2, size=30)
    classes = np.array(["no", "yes"])
    costs = sy.Costs.binary(fn=5, fp=1, classes=["no", "yes"])
    inner = Predictions.from_codes(truth, answer, costs, positive=1)
    assert measure.form.value(inner) == measure(classes[truth], classes[answer], costs=costs)


def test_codes_of_rows_with_costs_of_their_own() -> None:
    costs = sy.Costs.binary(fn=[5.0, 7.0], fp=1, classes=["no", "yes"])
    inner = Predictions.from_codes(np.array([1, 0]), np.array([0, 1]), costs, positive=1)
    assert inner.paid().tolist() == [5.0, 1.0]


@ALL
def test_parameters_have_types(measure) -> None:  # type: ignore[no-untyped-def]
    found = inspect.signature(measure).parameters
    assert all(one.annotation is not one.empty for one in found.values())


@pytest.mark.parametrize("labels", [(0, 1), (0.0, 1.0), (False, True), ("fit", "ill")])
def test_answers_that_might_have_abstained(labels) -> None:  # type: ignore[no-untyped-def]
    costs = sy.Costs.binary(fn=5, fp=1, classes=list(labels)).with_abstain(0.25)
    truth = np.array(labels)[[0, 1, 1, 0]]
    for proba, paid in (([0.0, 1.0, 1.0, 1.0], 0.25), ([0.0, 1.0, 1.0, 0.5], 0.0625), ([0.5, 0.5, 0.5, 0.5], 0.25)):
        answers = costs.decide(np.column_stack([1 - np.array(proba), proba]))
        assert sy.mean_cost(truth, answers, costs=costs) == paid
        assert sy.mean_cost(truth, answers.tolist(), costs=costs) == paid
        assert sy.confusion_table(truth, answers, costs=costs).counts.sum() == 4
        with pytest.warns(DataConversionWarning):
            assert sy.mean_cost(truth, answers[:, None], costs=costs) == paid


def test_score_of_a_model_that_need_not_abstain() -> None:
    X, y = np.array([[-9.0], [9.0]] * 10), np.array([0, 1] * 10)
    model = sy.ExpectedCostClassifier(costs=sy.Costs.binary(fn=5, fp=1, classes=[0, 1]).with_abstain(0.4)).fit(X, y)
    assert not (model.predict(X) == "abstain").any()
    assert model.score(X, y) == 0
