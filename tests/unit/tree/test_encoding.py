"""Columns of any kind: frames, strings, categoricals, missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steelyard import AdaC2M1Classifier, C45Classifier, InvalidInputError

ROWS = [["red", 1.0, True], ["blue", 2.0, False], ["red", 3.5, True], ["green", 0.5, False]] * 5
Y = [1, 0, 1, 0] * 5
NAMES = ["colour", "size", "flag"]


def in_pandas(**options: Any) -> Any:
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(ROWS, columns=NAMES).astype(options)


def in_polars(categorical: bool = False) -> Any:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(ROWS, schema=NAMES, orient="row")
    return frame.with_columns(pl.col("colour").cast(pl.Categorical)) if categorical else frame


FORMS = {
    "pandas strings": in_pandas,
    "pandas categorical": lambda: in_pandas(colour="category"),
    "pandas nullable": lambda: in_pandas(size="Float64", flag="boolean"),
    "polars": in_polars,
    "polars categorical": lambda: in_polars(categorical=True),
    "objects": lambda: np.array(ROWS, dtype=object),
    "lists": lambda: ROWS,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_tree(form: str) -> None:
    X = FORMS[form]()
    model = C45Classifier(min_obj=1).fit(X, Y)
    assert model.encoding_.nominal.tolist() == [1, 0, 1]
    assert model.encoding_.categories == (("blue", "green", "red"), None, (False, True))
    assert model.predict(X).tolist() == Y


def test_names_of_columns_and_categories_stand_in_the_tree() -> None:
    text = C45Classifier(max_depth=1).fit(in_pandas().drop(columns="flag"), Y).export_text()
    assert text == "colour = blue: 0 (5)\ncolour = green: 0 (5)\ncolour = red: 1 (10)"


def test_columns_can_be_listed_by_name() -> None:
    frame = in_pandas()[["size"]]
    listed = C45Classifier(nominal=["size"], min_obj=1).fit(frame, Y)
    assert listed.export_text().splitlines()[0] == "size = 0.5: 0 (5)"


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_marks_in_columns_of_names(missing: Any) -> None:
    rows = np.array(ROWS, dtype=object)
    rows[0, 0] = missing
    rows[1, 1] = missing
    model = C45Classifier(min_obj=1).fit(rows, Y)
    assert model.encoding_.categories[0] == ("blue", "green", "red")
    share = model.predict_proba(np.array([[missing, missing, missing], ["mauve", 1.0, True]], dtype=object))
    np.testing.assert_allclose(share.sum(axis=1), 1)


def test_pandas_marks_of_missing_values() -> None:
    pd = pytest.importorskip("pandas")
    frame = in_pandas(size="Float64", colour="category")
    frame.loc[0, ["colour", "size"]] = pd.NA
    model = C45Classifier().fit(frame, Y)
    assert np.isnan(model.encoding_.matrix(model, frame)).nonzero()[0].tolist() == [0, 0]


def test_a_numeric_column_must_stay_numeric() -> None:
    model = C45Classifier().fit(in_pandas(), Y)
    with pytest.raises(InvalidInputError, match="column 'size' of X must hold numbers as in training"):
        model.predict(in_pandas(size=str).assign(size="tall"))


def test_other_columns_are_refused() -> None:
    model = C45Classifier().fit(in_pandas(), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(in_pandas().rename(columns={"size": "height"}))
    with pytest.raises(ValueError, match="2 features"):
        C45Classifier().fit(ROWS, Y).predict(np.array(ROWS, dtype=object)[:, :2])


def test_no_rows_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one row"):
        C45Classifier().fit(in_pandas().iloc[:0], [])


@pytest.mark.parametrize("learner", [C45Classifier, AdaC2M1Classifier])
def test_columns_of_the_same_name_are_told(learner: Any) -> None:
    pd = pytest.importorskip("pandas")
    twice = pd.DataFrame([[1.0, "a", 2.0], [2.0, "b", 1.0]] * 4, columns=["u", "v", "u"])
    with pytest.raises(InvalidInputError, match=r"^X must be numbers in rows and columns; got .*unique column names"):
        learner().fit(twice, [0, 1] * 4)


@pytest.mark.parametrize("learner", [C45Classifier, AdaC2M1Classifier])
def test_dates_are_seconds_whatever_unit_a_frame_keeps_them_in(learner: Any) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = np.datetime64("2020-01-01") + np.arange(60)
    y = np.arange(60) // 30
    model = learner().fit(pd.DataFrame({"day": days.astype("M8[us]")}), y)
    for unit in ("s", "ms", "us", "ns"):
        assert model.predict(pd.DataFrame({"day": days.astype(f"M8[{unit}]")})).tolist() == y.tolist(), unit
    assert model.predict(pd.DataFrame({"day": pd.to_datetime(days).tz_localize("UTC")})).tolist() == y.tolist()
    assert model.predict(pl.DataFrame({"day": days})).tolist() == y.tolist()
    assert learner().fit(days[:, None], y).predict(days[:, None].astype("M8[s]")).tolist() == y.tolist()
    spans = pd.DataFrame({"age": (days - days[0]).astype("m8[s]")})
    assert learner().fit(spans, y).predict(spans.astype("timedelta64[ns]")).tolist() == y.tolist()


def test_a_date_that_is_missing_is_missing() -> None:
    pd = pytest.importorskip("pandas")
    days = np.datetime64("2020-01-01") + np.arange(60)
    model = C45Classifier().fit(pd.DataFrame({"day": days}), np.arange(60) // 30)
    assert model.export_text().splitlines()[0] == "day <= 1580342400: 0 (30)"  # 30 January 2020
    assert model.predict_proba(pd.DataFrame({"day": [pd.NaT, days[-1]]})).tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_cells_that_are_lists_are_told() -> None:
    pl = pytest.importorskip("polars")
    with pytest.raises(InvalidInputError, match=r"column 'a' of X must hold numbers, texts or other values that comp"):
        C45Classifier().fit(pl.DataFrame({"a": [[1], [2]] * 4}), [0, 1] * 4)
