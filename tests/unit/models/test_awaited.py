"""Rows that wait for their label, through a file and back; what an enemy writes there is refused."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from steelyard import StateError
from steelyard.files import Fields, Node
from steelyard.models.awaited import AwaitedRow, SettledLabel, read_awaited, write_awaited

DENSE = [AwaitedRow(3, "x", np.array([[1.0, 2.0]]), 0), AwaitedRow(7, None, np.array([[0.0, 4.0]]), 1)]
PRICED = [AwaitedRow(3, None, sparse.csr_matrix([[0.0, 2.0]]), 1, (1.0, 5.0, 20.0, -3.0))]
SETTLED = {1: SettledLabel("y", 1), 2: SettledLabel(None, 0)}


def fields(params: dict[str, Any], arrays: dict[str, Any]) -> Fields:
    return Fields(Node("StreamState/1", params, arrays, []))


@pytest.mark.parametrize("rows", [DENSE, PRICED, []])
def test_there_and_back(rows: list[AwaitedRow]) -> None:
    found = fields(*write_awaited(rows, SETTLED if rows else {}))
    awaited, settled = read_awaited(found, 2)
    found.done()
    assert settled == (SETTLED if rows else {})
    for one, other in zip(awaited, rows, strict=True):
        assert (one.t, one.id, one.answer, one.costs) == (other.t, other.id, other.answer, other.costs)
        np.testing.assert_array_equal(np.asarray(one.row.sum(axis=0)), np.asarray(other.row.sum(axis=0)))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("awaited_rounds", np.array([3, 3])),
        ("awaited_rounds", np.array([3, -1])),
        ("awaited_rounds", np.array([3])),
        ("awaited_rounds", np.array([3, 1])),  # settled before
        ("awaited_answers", np.array([0, 2])),
        ("awaited_costs", np.ones((2, 3))),
        ("awaited_costs", -np.ones((2, 4))),
        ("awaited_costs", np.full((2, 4), np.nan)),
        ("awaited", np.full((2, 2), np.inf)),
        ("awaited", np.ones((3, 2))),
        ("settled_labels", np.array([0, 9])),
        ("settled_rounds", np.array([1, 1])),
    ],
)
def test_what_cannot_be_is_refused(name: str, values: Any) -> None:
    params, arrays = write_awaited(DENSE, SETTLED)
    with pytest.raises(StateError):
        read_awaited(fields(params, arrays | {name: values}), 2)


def test_names_are_texts() -> None:
    params, arrays = write_awaited(DENSE, {})
    gone = {key: value for key, value in arrays.items() if not key.startswith("awaited_ids")}
    with pytest.raises(StateError):
        read_awaited(fields(params, gone | {"awaited_ids": np.array([1, 2])}), 2)
