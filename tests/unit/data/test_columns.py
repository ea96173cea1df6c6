"""Columns and labels between reader and result."""

import numpy as np
import pytest

from steelyard import InvalidInputError
from steelyard.data.columns import Table, encoded, is_number, number_column


def test_labels_of_numbers_and_texts() -> None:
    assert number_column("y", [1.0, 3.0, 1.0]).labels().tolist() == [1, 3, 1]
    assert number_column("y", [1.5, np.nan]).labels().tolist() == [1.5, None]
    assert number_column("y", [1e300, 2.0]).labels().tolist() == [1e300, 2.0]
    assert encoded("y", ["+1", "-1"]).labels().tolist() == [1, -1]
    assert encoded("y", ["1", "x", None]).labels().tolist() == ["1", "x", None]
    assert encoded("y", []).labels().tolist() == []


def test_categories_are_sorted_unless_declared() -> None:
    assert encoded("c", ["b", None, "a"]).categories == ("a", "b")
    column = encoded("c", ["b", None, "a"], ["b", "z", "a"])
    assert (column.categories, column.values.tolist()) == (("b", "z", "a"), [0, -1, 2])
    assert column.texts().tolist() == ["b", None, "a"]


def test_rows_without_missing_cells() -> None:
    table = Table((number_column("a", [1, np.nan, 3]), encoded("b", ["x", "y", None])), np.array([7, 8, 9]))
    kept = table.without_missing()
    assert kept.y.tolist() == [7]
    assert kept.dataset().nominal == {"b": ("x", "y")}


@pytest.mark.parametrize("cell", ["1", "-1.5", "+.5", "5.", "1e5", " 2 "])
def test_numbers(cell: str) -> None:
    assert is_number(cell)


@pytest.mark.parametrize("cell", ["", "nan", "inf", "1_0", "0x1", "1e", ".", "1 2", "١"])
def test_no_numbers(cell: str) -> None:
    assert not is_number(cell)


def test_the_column_of_labels_cannot_be_dropped() -> None:
    with pytest.raises(InvalidInputError, match="drop must leave the column of labels in; got 'y'"):
        Table.of([number_column("a", [1.0])], "y")


def test_a_code_is_no_number_and_the_same_label_beside_a_word() -> None:
    """In one chunk of many there may be codes alone."""
    for name, texts in (("codes", ["007", "10"]), ("with a word", ["007", "A1"])):
        assert encoded(name, texts).labels().tolist() == texts
    assert encoded("numbers", ["-1", "+1", "0"]).labels().tolist() == [-1, 1, 0]
