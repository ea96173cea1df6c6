"""Rows as everything behind reads them, whatever library and type held them."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import steelyard
from steelyard import InvalidInputError
from steelyard.models.frames import as_table
from steelyard.models.schema import read_columns

N = 90
RNG = np.random.default_rng(0)
GONE = RNG.random(N) < 0.2
SIZE = RNG.normal(size=N)
Y = np.where(SIZE + 0.5 * RNG.normal(size=N) > 0.5, "yes", "no")
WHOLE, WORD = RNG.integers(0, 9, N), RNG.choice(["p", "q"], N)
DAYS = pd.date_range("2020-01-01", periods=N)


def with_gaps(values: Any) -> Any:
    return np.where(GONE, None, np.asarray(values, dtype=object))


NULLABLE = {
    "Int64": with_gaps(WHOLE),
    "Float64": with_gaps(SIZE),
    "boolean": with_gaps(WHOLE > 4),
    "string": with_gaps(WORD),
    "int64[pyarrow]": with_gaps(WHOLE),
    "bool[pyarrow]": with_gaps(WHOLE > 4),
    "string[pyarrow]": with_gaps(WORD),
    "date32[pyarrow]": with_gaps(DAYS.date),
}


@pytest.mark.parametrize("dtype", NULLABLE)
def test_the_missing_value_of_pandas_is_a_missing_cell(dtype: str, tmp_path: Path) -> None:
    """Nullable columns are what convert_dtypes() makes, and what readers with a nullable backend give."""
    X = pd.DataFrame({"size": SIZE, "more": pd.array(NULLABLE[dtype], dtype=dtype)})
    plain = pd.DataFrame({"size": SIZE, "more": NULLABLE[dtype]})
    plain["more"] = plain["more"].astype(float) if dtype[:3].lower() in ("int", "flo", "boo") else plain["more"]
    settings: dict[str, Any] = {"candidates": ["logistic regression, C=1", "LightGBM, 4 leaves"], "cv": 2}
    found, wanted = (steelyard.compare(each, Y, **settings) for each in (X, plain))
    assert found.runs.problem.columns == wanted.runs.problem.columns
    assert [line.mean_cost for line in found.lines] == [line.mean_cost for line in wanted.lines]
    found.report(tmp_path / "report.html", show_rows=True)
    model = steelyard.load_model(found.save(tmp_path / "m.steelyard"))
    assert model.predict(X).tolist() == wanted.model().predict(plain).tolist()
    assert len(model.explain(X[:3])) == 3
    assert X["more"].dtype == dtype


def test_numbers_held_as_objects_are_numbers() -> None:
    frame = pd.DataFrame(
        {
            "float": np.array([None if gone else x for x, gone in zip(SIZE, GONE, strict=True)], dtype=object),
            "decimal": [Decimal(str(round(x, 3))) for x in SIZE],
            "flag": np.array([None if gone else True for gone in GONE], dtype=object),
            "level": pd.Categorical(WHOLE),
            "text": np.array([pd.NA if gone else "a" for gone in GONE], dtype=object),
        }
    )
    columns = read_columns(as_table(frame))
    assert columns.numeric == ("float", "decimal")
    assert columns.nominal == ("flag", "level", "text")
    assert as_table(frame)["text"].isna().tolist() == GONE.tolist()


def test_rows_of_every_kind() -> None:
    rows = [{"size": x, "word": w} for x, w in zip(SIZE.tolist(), WORD.tolist(), strict=True)]
    arrow = pa.Table.from_pylist(rows)
    found = [
        steelyard.compare(X, Y, candidates="logistic regression, C=1", cv=2).lines[0].mean_cost
        for X in (pd.DataFrame(rows), rows, arrow, pl.DataFrame(rows))
    ]
    assert found == found[:1] * 4
    of_lists = steelyard.compare(SIZE[:, None].tolist(), Y, candidates="logistic regression, C=1", cv=2)
    assert (
        of_lists.model().predict([[0.1], [3.0]]).tolist() == of_lists.model().predict(np.array([[0.1], [3.0]])).tolist()
    )
    with pytest.raises(InvalidInputError, match="X must be rows of one length"):
        as_table([[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("library", [pd, pl])
def test_what_tells_nothing_as_it_is_held_is_left_out_with_what_to_do(library: Any) -> None:
    hours = [datetime.timedelta(hours=int(h)) for h in WHOLE]
    frame = library.DataFrame(
        {
            "size": SIZE,
            "wait": hours,
            "tags": [["a"], ["b", "c"]] * (N // 2),
            "price": [f"€ {x:,.2f}" for x in np.exp(SIZE + 9)],
            "share": [f"{x:.3f}%" for x in SIZE],
            "digits": [f"{x:.6f}" for x in SIZE],
        }
    )
    columns = read_columns(frame)
    assert columns.used == ("size",)
    said = columns.left_out
    assert said["wait"].startswith("durations or times of day; turn them into numbers")
    assert said["tags"].startswith("lists or records")
    assert said["price"].startswith("numbers with a sign, such as '€ ")
    assert said["share"].startswith("numbers with a sign")
    assert said["digits"].startswith("numbers written as text")


def test_a_label_that_pandas_misses_is_named() -> None:
    y = pd.array(Y, dtype="string")
    y[3] = pd.NA
    with pytest.raises(InvalidInputError, match=r"y must have a label on every row; got <NA>\. Row 3 has none"):
        steelyard.compare(SIZE[:, None], y)


def test_a_role_that_there_is_not_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="the role of 'b' must be one of 'category', 'date', 'text'"):
        steelyard.compare(pd.DataFrame({"a": SIZE, "b": WORD}), Y, roles={"b": "categorical"})
