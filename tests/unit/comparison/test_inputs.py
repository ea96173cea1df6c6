"""Files that compare reads: JSON lines, and a separator that it finds out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steelyard import DataFileError
from steelyard.comparison import command
from steelyard.comparison.data import read_data as comparison_data
from steelyard.models.tables import read_data


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("loans.csv", "age;amount;status\n31;2.5;bad\n40;4.0;good\n"),
        ("loans.jsonl", '{"age":31,"amount":2.5,"status":"bad"}\n{"age":40,"amount":4.0,"status":"good"}\n'),
    ],
)
def test_columns_are_found(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    X, y, _ = read_data(tmp_path / name, "status")
    assert list(X.columns) == ["age", "amount"]
    assert X["amount"].tolist() == [2.5, 4.0]
    assert list(y) == ["bad", "good"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_group_are_groups_of_their_own(missing: Any) -> None:
    X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 2
    groups = ["a", "b", missing, "a", missing, *"c" * 35]
    read = comparison_data(X, y, None, groups=groups)
    assert read.groups is not None
    assert read.groups[:6].tolist() == [0, 1, 3, 0, 4, 2]
    numbers = comparison_data(X, y, None, groups=[7.0, np.nan, 3.0, np.nan, *[3.0] * 36])
    assert numbers.groups is not None
    assert numbers.groups[:5].tolist() == [1, 2, 0, 3, 0]


def test_the_command_leaves_rows_without_a_group_apart() -> None:
    frame = pd.DataFrame({"id": ["a", None, "b", None], "n": [1.0, np.nan, 2.0, 1.0], "x": [1.0, 2.0, 3.0, 4.0]})
    rest, groups = command._take_groups(frame, "id")
    assert list(rest.columns) == ["n", "x"]
    assert groups == ["a", None, "b", None]
    numbers = command._take_groups(frame, "n")[1]
    assert numbers[1] is None
    assert numbers[0] == numbers[3] != numbers[2]


def test_names_without_rows_are_said_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n")
    with pytest.raises(DataFileError, match=r"rows\.csv: expected at least one row; got the names of columns alone"):
        read_data(tmp_path / "rows.csv", "y")
