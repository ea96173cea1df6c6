"""Files that compare reads: JSON lines, and a separator that it finds out."""

from pathlib import Path

import pytest

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
