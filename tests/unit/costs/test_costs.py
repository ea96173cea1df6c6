"""Making, asking and showing costs."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from steelyard import Costs, CostsError, CostsWarning, ExampleCosts, InvalidInputError

GOOD_BAD = {"classes": ["good", "bad"]}


def test_a_miss_is_paid_for_the_last_listed_class_unless_another_is_named() -> None:
    assert Costs.binary(fn=5, fp=1, **GOOD_BAD).per_example(["bad", "good"]).tolist() == [[5, 0], [0, 1]]
    assert Costs.binary(fn=5, fp=1, **GOOD_BAD, positive="good").per_example(["bad", "good"]).tolist() == [
        [1, 0],
        [0, 5],
    ]
    assert Costs.binary(fn=5, fp=1).per_example([1, 0]).tolist() == [[5, 0], [0, 1]]


def test_reordering_the_classes_does_not_change_what_a_miss_is() -> None:
    costs = Costs.binary(fn=5, fp=1, **GOOD_BAD).aligned(["bad", "good"])
    assert costs.ratio() == 5
    assert costs.positive == "bad"
    assert costs.matrix.tolist() == [[0, 5], [1, 0]]


def test_a_dict_lists_its_classes_sorted() -> None:
    costs = Costs.from_classes({"b": 2, "a": 1})
    assert costs.classes.tolist() == ["a", "b"]
    assert costs.matrix.tolist() == [[0, 1], [2, 0]]
    assert Costs.from_matrix({"b": {"a": 2}, "a": {"b": 1}}).matrix.tolist() == [[0, 1], [2, 0]]


def test_labels_that_cannot_be_sorted_stay_as_listed() -> None:
    assert Costs.from_classes({"b": 2, None: 3, "a": 1}).classes.tolist() == ["b", None, "a"]


def test_pairs_with_arrays_are_example_costs() -> None:
    costs = Costs.binary(fn=[10.0, 20.0, 30.0], fp=2.0, **GOOD_BAD)
    assert isinstance(costs, ExampleCosts)
    assert costs.per_example(["bad", "good", "bad"]).tolist() == [[10, 0], [0, 2], [30, 0]]


def test_costs_may_know_more_classes_than_the_labels_have() -> None:
    costs = Costs.from_classes({"a": 1, "b": 2, "c": 3})
    assert costs.per_example(["c", "a"]).tolist() == [[3, 3, 0], [0, 1, 1]]
    assert costs.aligned(["c", "a"]).matrix.tolist() == [[0, 3], [1, 0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Costs.binary(fn=float("nan"), fp=1), "costs must be finite; got nan"),
        (lambda: Costs.binary(fn=float("inf"), fp=1), "costs must be finite; got inf"),
        (lambda: Costs.binary(fn=0, fp=0), "costs must hold a cost or a gain; got 'only zeros'"),
        (lambda: Costs.binary(fn="costly", fp=1), "fn must hold numbers; got 'costly'"),
        (lambda: Costs.binary(fn=[1, 2], fp=[1, 2, 3]), "fn, fp, tp and tn must be numbers or arrays of one length"),
        (lambda: Costs.binary(fn=1, fp=1, classes=["a", "b", "c"]), "classes must name two classes for a cost pair"),
        (
            lambda: Costs.binary(fn=1, fp=1, classes=["a", "b"], positive="c"),
            "positive must be one of the classes 'a', 'b'",
        ),
        (lambda: Costs.binary(fn=1, fp=1, positive="c"), "positive must come with classes="),
        (lambda: Costs.from_matrix([[0, 1]]), r"C must be a K x K matrix with K >= 2; got 'shape \(1, 2\)'"),
        (lambda: Costs.from_matrix([[0.0]]), "C must be a K x K matrix"),
        (lambda: Costs.from_matrix([[0, 1], [np.nan, 0]]), r"C must be finite; got nan. It stands at \(1, 0\)"),
        (lambda: Costs.from_matrix([[0, 1], [1, 0]], classes=["a"]), "classes must name the 2 classes of C"),
        (
            lambda: Costs.from_matrix([[0, 1], [1, 0]], classes=["a", "a"]),
            "classes must name every class once; got 'a'",
        ),
        (lambda: Costs.from_matrix({"a": {"b": 1}}), "C must use the classes"),
        (lambda: Costs.from_matrix({"a": {"b": 1}, "b": 2}), "C must map each true class"),
        (lambda: Costs.from_classes({"a": 1}), "cost_of must map two or more classes"),
        (lambda: Costs.from_classes({"a": 1, "b": "x"}), "cost_of must hold numbers"),
        (lambda: Costs.from_rows([1, 2]), r"c must be an \(n, K\) array"),
        (lambda: Costs.from_rows([[1, 2], [3]]), "c must hold numbers"),
        (lambda: Costs.from_rows(np.zeros((0, 2))), "c must hold at least one cost"),
        (lambda: Costs.from_rows([[1, 2]], classes=["a"]), "classes must name the 2 columns of c"),
        (lambda: Costs.zero_one(["a"]), "classes must name two or more classes"),
        (lambda: Costs.zero_one([["a", "b"]]), "classes must be a flat list"),
        (
            lambda: Costs.from_classes({"a": 1, "b": 2}).per_example(["a", "z"]),
            "costs must know every class of y.*got 'z'",
        ),
        (
            lambda: Costs.from_matrix(np.ones((3, 3)) - np.eye(3)).per_example([0, 1]),
            "which has 2 .*got '3 classes without",
        ),
        (
            lambda: Costs.binary(fn=[1, 2], fp=1).per_example([0, 1, 1]),
            r"costs must have one row per example \(3\); got '2 rows'",
        ),
        (lambda: Costs.from_matrix(np.ones((3, 3)) - np.eye(3)).ratio(), "costs must be over two classes for ratio"),
        (lambda: Costs.binary(fn=1, fp=0).ratio(), "costs must make both mistakes cost more than the right answer"),
        (lambda: Costs.binary(fn=[1, 2], fp=1).ratio(), "costs must be the same for all examples"),
        (lambda: Costs.binary(fn=[1, 2], fp=1).class_costs(), "costs must be the same for all examples"),
        (lambda: Costs.from_rows([[0, 1]]).expected([[0.5, 0.5]]), "costs must hold a matrix per example"),
        (lambda: Costs.binary(fn=[1, 2], fp=1).expected([[0.5, 0.5]]), "proba must have 2 rows like costs"),
        (lambda: Costs.binary(fn=1, fp=1).decide([[0.2, 0.3, 0.5]]), r"proba must be an \(n, 2\) array"),
    ],
)
def test_complaints_name_what_is_wrong(make, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CostsError, match=words):
        make()


def test_probabilities_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="proba must hold finite numbers; got NaN at row 0, column 0"):
        Costs.binary(fn=5, fp=1).decide([[np.nan, 0.2]])


def test_a_diagonal_is_used_as_given_and_warned_about_once() -> None:
    with pytest.warns(CostsWarning, match="right answers that cost something") as caught:
        costs = Costs.from_matrix([[0, 3], [5, 1]])
    assert len(caught) == 1
    assert costs.aligned(["a", "b"]).per_example(["b"]).tolist() == [[5, 1]]  # a second warning would be an error here
    assert costs.scaled(2).regret().matrix.tolist() == [[0, 6], [8, 0]]
    assert costs.ratio() == 4 / 3


def test_inputs_are_copied_not_kept() -> None:
    C = np.array([[0.0, 1.0], [5.0, 0.0]])
    costs = Costs.from_matrix(C)
    C[:] = 7
    assert costs.matrix.tolist() == [[0, 1], [5, 0]]
    frozen = np.array([[0.0, 1.0], [5.0, 0.0]], dtype=">f4")
    frozen.flags.writeable = False
    assert Costs.from_rows(frozen).rows.tolist() == [[0, 1], [5, 0]]


@pytest.mark.parametrize("costs", [Costs.binary(fn=5, fp=1, **GOOD_BAD), Costs.binary(fn=[1.0, 2.0], fp=1, **GOOD_BAD)])
def test_costs_survive_pickling_and_cloning(costs) -> None:  # type: ignore[no-untyped-def]
    again = pickle.loads(pickle.dumps(costs))
    assert again.per_example(["good", "bad"]).tolist() == costs.per_example(["good", "bad"]).tolist()
    cloned = clone(DummyClassifier(constant=costs)).constant
    assert cloned.per_example(["good", "bad"]).tolist() == costs.per_example(["good", "bad"]).tolist()


def test_example_costs_are_cut_like_arrays() -> None:
    costs = Costs.binary(fn=np.arange(1.0, 5.0), fp=2.0, classes=[0, 1])
    for key in ([1, 3], np.array([1, 3]), np.array([False, True, False, True]), slice(1, None, 2)):
        assert costs[key].per_example([1, 1])[:, 0].tolist() == [2, 4]
        assert costs[key, ...].per_example([1, 1])[:, 0].tolist() == [2, 4]
    assert len(costs[2]) == 1
    assert len(costs) == 4
    assert costs.shape == (4, 2, 2)
    with pytest.raises(IndexError):
        costs[9]
    assert repr(costs[[]]) == "Costs(0 matrices C[i, true, predicted] over 0, 1)"
    assert "0 matrices" in costs[[]]._repr_html_()


def test_text_and_html_show_labels_and_escape_them() -> None:
    costs = Costs.binary(fn=5, fp=1, classes=["<ok>", "bad & worse"])
    assert repr(costs) == "Costs(C[true, predicted] over <ok>, bad & worse; <ok>: 0, 1; bad & worse: 5, 0)"
    page = costs._repr_html_()
    assert "&lt;ok&gt;" in page
    assert "bad &amp; worse" in page
    assert "<ok>" not in page
    assert "truth" in page
    assert ">5</td>" in page
    assert "mean cost over 2 examples" in Costs.binary(fn=[1.0, 2.0], fp=1)._repr_html_()
    assert "2 rows c[i, answer]" in Costs.from_rows([[0, 1], [1, 0]])._repr_html_()


def test_rows_of_codes_are_those_of_labels() -> None:
    pair = Costs.binary(fn=5, fp=1, **GOOD_BAD)
    assert pair.cost_rows(np.array([1, 0])).tolist() == pair.per_example(["bad", "good"]).tolist()
    each = Costs.binary(fn=[5.0, 7.0], fp=1, **GOOD_BAD)
    assert each.cost_rows(np.array([1, 0])).tolist() == [[5, 0], [0, 1]]
    with pytest.raises(CostsError, match="have one row per example"):
        each.cost_rows(np.array([1]))
