"""Tables of mistakes, and how they are shown."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import steelyard as sy

Y, P = ["<a>", "b", "b", "c", "c"], ["<a>", "b", "c", "b", "c"]


def test_counts_and_costs_by_cell() -> None:
    table = sy.confusion_table(Y, P, costs={"<a>": 1, "b": 2, "c": 3, "d": 4}, sample_weight=[1, 1, 2, 1, 1])
    assert table.classes.tolist() == ["<a>", "b", "c", "d"]
    expected = confusion_matrix(Y, P, labels=table.classes, sample_weight=[1, 1, 2, 1, 1])
    assert table.counts.tolist() == expected.tolist()
    assert table.costs.tolist() == (expected * [[0, 1, 1, 1], [2, 0, 2, 2], [3, 3, 0, 3], [4, 4, 4, 0]]).tolist()
    costs = {"<a>": 1, "b": 2, "c": 3}
    assert sy.cost_confusion_matrix(Y, P, costs=costs).sum() == sy.total_cost(Y, P, costs=costs)


def test_costs_per_example_by_cell() -> None:
    costs = sy.Costs.binary(fn=[5.0, 7.0, 9.0], fp=[1.0, 2.0, 3.0])
    assert sy.cost_confusion_matrix([1, 1, 0], [0, 0, 1], costs=costs).tolist() == [[0, 3], [12, 0]]


@pytest.mark.parametrize("table", [sy.confusion_table(Y, P), sy.per_class_scores(Y, P)])
def test_html_is_escaped(table) -> None:  # type: ignore[no-untyped-def]
    page = table._repr_html_()
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    assert page.count("<tr>") == 4
    assert "<a>" in str(table)


def test_per_class_scores_name_classes_that_do_not_occur() -> None:
    scores = sy.per_class_scores([0, 1], [0, 0], costs={0: 1, 1: 5, 2: 9}, beta=2)
    assert scores.classes.tolist() == [0, 1, 2]
    assert scores.recall.tolist() == [1, 0, 0]
    assert scores.f == pytest.approx([5 / 6, 0, 0])
    assert scores.cost.tolist() == [0, 5, 0]
    assert scores.support.tolist() == [1, 1, 0]
    assert np.isfinite(scores.precision).all()


def test_large_counts_and_amounts_are_shown_whole() -> None:
    costs = sy.Costs.binary(fn=5, fp=12345.678, classes=[0, 1], currency="EUR")
    weight = [1234567, 1000001, 7654321, 1e16]
    table = sy.confusion_table([0, 0, 1, 1], [0, 1, 1, 0], costs=costs, sample_weight=weight)
    scores = sy.per_class_scores([0, 0, 1, 1], [0, 1, 1, 0], costs=costs, sample_weight=weight)
    assert "1234567 (0 EUR) 1000001 (12345690346 EUR)" in str(table)
    assert "1e+16 (5e+16 EUR)" in str(table)
    assert ">1234567<" in table._repr_html_()
    assert "2234568 12345690346" in str(scores)
