"""What ``compare`` takes a column for, and which columns it leaves out."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from steelyard import InvalidInputError
from steelyard.models.schema import MOST_LEVELS, read_columns


@pytest.mark.parametrize("spelled", ["2024-01-{:02}", "{}/1/2024", "{:02}.01.2024", "2024-01-{:02}T10:30:00Z"])
def test_dates_in_words_are_left_out(spelled: str) -> None:
    frame = pd.DataFrame({"a": np.arange(28.0), "when": [spelled.format(day) for day in range(1, 29)]})
    columns = read_columns(frame)
    assert columns.used == ("a",)
    assert columns.left_out["when"].startswith("dates are not used")


def test_levels_that_look_a_little_like_dates_stay() -> None:
    assert read_columns(pd.DataFrame({"version": ["1.2.3", "1.2.4", "2024-01-01"]})).nominal == ("version",)


@pytest.mark.parametrize("rows", [100, 3 * MOST_LEVELS])
def test_numbers_spoilt_by_a_word_are_told_from_identifiers(rows: int) -> None:
    amounts = [f"{i / 7:.5f}" for i in range(rows)]
    amounts[5] = "N/A"
    columns = read_columns(pd.DataFrame({"a": np.arange(float(rows)), "amount": amounts}))
    assert columns.left_out["amount"].startswith("numbers, but also 'N/A'")


@pytest.mark.parametrize(
    ("X", "drop"), [(np.zeros((3, 2)), [2]), (sparse.csr_matrix((3, 2)), [1]), (pd.DataFrame({"a": [1.0]}), ["b"])]
)
def test_what_cannot_be_dropped_is_said(X: Any, drop: list[Any]) -> None:
    with pytest.raises(InvalidInputError, match="drop must"):
        read_columns(X, drop=drop)
