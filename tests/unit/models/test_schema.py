"""What ``compare`` takes a column for, and which columns it leaves out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from steelyard import InvalidInputError
from steelyard.models.cells import DateParts, TargetMeans
from steelyard.models.schema import read_columns
from steelyard.models.storage import load_model, save_object


@pytest.mark.parametrize("form", ["2024-01-{:02}", "{}/1/2024", "{:02}.01.2024", "2024-01-{:02}T10:30:00Z"])
def test_dates_in_words_are_dates(form: str) -> None:
    columns = read_columns(pd.DataFrame({"when": [form.format(day) for day in range(1, 29)]}))
    assert columns.dates == ("when",)
    parts = DateParts().fit_transform(pd.DataFrame({"when": [form.format(3), None, form.format(1)]}))
    assert parts[[0, 2]].tolist() == [[2024, 1, 2, 2, 0], [2024, 1, 0, 0, 0]]
    assert np.isnan(parts[1, :4]).all()
    assert parts[1, 4] == 1


def test_days_and_months_are_told_apart_by_the_whole_column(tmp_path: Path) -> None:
    american, european = ["03/04/2024", "12/31/2024"], ["03/04/2024", "31/12/2024"]
    for cells, month in ((american, 3), (european, 4), (["03/04/2024", "05/06/2024"], 4), ([*american, *european], 4)):
        assert DateParts().fit_transform(pd.DataFrame({"when": cells}))[0, 1] == month
    fitted = DateParts().fit(pd.DataFrame({"us": american, "eu": european}))
    loaded: Any = load_model(save_object(fitted, tmp_path / "dates.steelyard"))
    new = pd.DataFrame({"us": ["05/06/2024"], "eu": ["05/06/2024"]})
    assert loaded.transform(new).tolist() == fitted.transform(new).tolist()
    assert loaded.transform(new)[0, [1, 6]].tolist() == [5, 6]


def test_a_column_named_as_dates_holds_some() -> None:
    frame = pd.DataFrame({"day": [20240131, 20240201, 20240331], "x": [1.0, 2.0, 4.0]})
    assert read_columns(frame, roles={"day": "date"}).dates == ("day",)
    assert DateParts().fit_transform(frame[["day"]])[:, 1].tolist() == [1, 2, 3]
    with pytest.raises(InvalidInputError, match=r"column 'x' must hold dates such as 2024-12-31.*; got '1.0'"):
        read_columns(frame, roles={"x": "date"})


@pytest.mark.parametrize("cells", [["1006,95", "12", "0,5"], ["1.234,50", "7,25", "-3,1"], ["1,234", "2,345.5", "900"]])
def test_numbers_with_a_comma_are_left_out_with_what_to_do(cells: list[str]) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.5, 4.0] * 10, "income": cells * 10})
    shown = next(cell for cell in cells if "," in cell)
    why = f"numbers with a comma, such as {shown!r}; write a point and no digit groups, or name it as a category"
    assert read_columns(frame).left_out == {"income": why}
    assert read_columns(frame, roles={"income": "category"}).nominal == ("income",)


def test_levels_that_look_a_little_like_dates_stay() -> None:
    assert read_columns(pd.DataFrame({"version": ["1.2.3", "1.2.4", "2024-01-01"]})).nominal == ("version",)


def test_categories_are_told_by_repetition_not_by_words() -> None:
    n = 90
    frame = pd.DataFrame(
        {
            "dept": ["sales team of the north region", "hr", "the it people"] * 30,
            "city": [f"c{i % 45}" for i in range(n)],
            "note": [f"letter number {i} arrived" for i in range(n)],
            "code": [f"id{i}" for i in range(n)],
        }
    )
    columns = read_columns(frame)
    assert columns.nominal == ("dept", "city")
    assert columns.many == ("city",)
    assert columns.texts == ("note",)
    assert columns.left_out["code"] == "90 different values in 90 rows: an identifier"
    roles = {"code": "category", "dept": "text", "note": "category"}
    told = read_columns(frame, roles=roles)
    assert told.texts == ("dept",)
    assert set(told.many) == {"city", "note", "code"}


def test_empty_constant_and_counting_columns_are_left_out() -> None:
    frame = pd.DataFrame({"x": [0.5, 1.5] * 15, "none": [None] * 30, "same": "a", "one": 1, "id": range(30)})
    assert read_columns(frame).used == ("x",)
    array = np.column_stack([np.arange(30.0) % 7, np.full(30, np.nan), np.ones(30), np.arange(30.0)])
    assert read_columns(array).left_out == {
        1: "no values",
        2: "the same in every row",
        3: "counts the rows: an identifier",
    }


@pytest.mark.parametrize("rows", [100, 3_000])
def test_numbers_spoilt_by_a_word_are_told_from_identifiers(rows: int) -> None:
    amounts = [f"{i / 7:.5f}" for i in range(rows)]
    amounts[5] = "N/A"
    columns = read_columns(pd.DataFrame({"a": np.arange(float(rows)) % 7, "amount": amounts}))
    assert columns.left_out["amount"].startswith("numbers, but also 'N/A'")


def test_target_means_of_training_rows_do_not_hold_their_own_label() -> None:
    """A level that stands once has nobody else to learn from, so its cell is the overall share."""
    X = pd.DataFrame({"city": ["a", "b", "c", "d", "e", "f"]})
    y = np.array([0, 1, 0, 1, 1, 1])
    encoder = TargetMeans()
    assert np.allclose(encoder.fit_transform(X, y), 4 / 6)
    assert encoder.transform(X)[1, 0] > 4 / 6 > encoder.transform(X)[0, 0]
    assert encoder.transform(pd.DataFrame({"city": ["new"]}))[0, 0] == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("X", "drop"), [(np.zeros((3, 2)), [2]), (sparse.csr_matrix((3, 2)), [1]), (pd.DataFrame({"a": [1.0, 2.0]}), ["b"])]
)
def test_what_cannot_be_dropped_is_said(X: Any, drop: list[Any]) -> None:
    with pytest.raises(InvalidInputError, match="drop must"):
        read_columns(X, drop=drop)
