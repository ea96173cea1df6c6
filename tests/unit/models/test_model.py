"""A loaded model: rows in any form, new prices, limits, explanations, and a bad cell by its name."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from loan_model import COSTS, FRAME, MODEL, Y, fitted
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import steelyard as sy
from steelyard import Costs, CostsError, CostsWarning, ExpectedCostClassifier, InvalidInputError, load_model
from steelyard.costs.spec import CostSpec
from steelyard.models.model import Model
from steelyard.models.schema import Columns, read_columns
from steelyard.models.training import summarize

RNG = np.random.default_rng(4)


def test_every_form_of_rows_gets_the_same_decisions(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rows = FRAME.head(7)
    expected = MODEL.predict(rows).tolist()
    records = rows.astype(object).where(rows.notna(), None).to_dict("records")
    loaded = load_model(MODEL.save(tmp_path / "m.steelyard"))
    for model in (MODEL, loaded):
        for form in (rows, pl.from_pandas(rows), pa.Table.from_pandas(rows), records, rows.assign(other=1)):
            assert model.predict(form).tolist() == expected
            assert model.predict_proba(form) == pytest.approx(MODEL.predict_proba(rows))
        assert model.predict(records[0]).tolist() == expected[:1]
        assert model.predict({"age": 30, "job": "clerk", "amount": 20.0, "more": "x"}).shape == (1,)
        assert model.expected_cost(rows) == pytest.approx(MODEL.expected_cost(rows))
    assert loaded.costs == COSTS
    assert loaded.card_["seed"] == 0
    assert loaded.card_["costs"]["currency"] == "EUR"
    assert loaded.classes_.tolist() == ["bad", "good"]
    assert loaded.feature_names_in_.tolist() == ["age", "amount", "job"]
    assert repr(loaded) == "Model('logistic regression', classes bad, good, 3 columns)"
    assert "logistic regression" in loaded._repr_html_()
    assert loaded.explain(rows) == MODEL.explain(rows)


@pytest.mark.parametrize("candidate", ["expected cost", "linear SVC", "CS-LDM"])
def test_rows_too_large_to_compute_with_are_an_error_and_never_decided_by_nan(candidate: str) -> None:
    """One column more, one less than every other: their sum is NaN or infinite, and the sign of that no answer."""
    X = RNG.normal(size=(40, 2))
    y = np.where(X[:, 0] > X[:, 1], "bad", "good")
    learner = {
        "expected cost": ExpectedCostClassifier(LogisticRegression(C=1e3), costs=COSTS),
        "linear SVC": LinearSVC(C=10.0),
        "CS-LDM": sy.CSLDMClassifier(100.0),
    }[candidate]
    model = Model(candidate, learner.fit(X, y), Columns((0, 1), ()), COSTS)
    assert len(model.predict(X)) == 40
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match="scores must hold finite numbers"):
        model.predict(np.full((1, 2), 1.7e308))
    scaled = make_pipeline(StandardScaler(), learner).fit(X / 100, y)
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match=r"X must hold numbers|finite numbers"):
        Model(candidate, scaled, Columns((0, 1), ()), COSTS).predict(np.full((1, 2), 1.7e308))


def test_no_rows_are_no_decisions() -> None:
    for none in (FRAME[:0], pl.from_pandas(FRAME)[:0], []):
        assert MODEL.predict(none).shape == (0,)
        assert MODEL.predict_proba(none).shape == (0, 2)
        assert MODEL.expected_cost(none).shape == (0,)
        assert len(MODEL.decide(none)) == 0
        assert MODEL.explain(none) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda f: f.assign(age=["34 y", *f["age"][1:].astype(object)]),
            r"row 0, column 'age' must be a number; got '34 y'",
        ),
        (
            lambda f: f.assign(age=[1.0, np.inf, *f["age"][2:]]),
            r"row 1, column 'age' must be finite or missing; got inf",
        ),
        (
            lambda f: f.drop(columns="job"),
            "data must have every column the model was fitted on; got \"no column 'job'\"",
        ),
        (lambda f: f.to_numpy(), "data must be a frame with the columns"),
        (lambda f: [{"age": "x", "job": "a", "amount": 1}], "row 0, column 'age' must be a number; got 'x'"),
    ],
)
def test_bad_cells_are_named(change, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInputError, match=words):
        MODEL.predict(change(FRAME.head(5)))


def test_decide_gives_the_reasons() -> None:
    rows = FRAME.head(20)
    found = MODEL.decide(rows)
    proba = MODEL.predict_proba(rows)
    expected = COSTS.expected(proba)
    assert list(found.columns) == ["decision", "probability bad", "probability good", "expected_cost", "other_cost"]
    assert found["decision"].tolist() == MODEL.predict(rows).tolist()
    assert found["expected_cost"].to_numpy() == pytest.approx(expected.min(axis=1))
    assert found["other_cost"].to_numpy() == pytest.approx(expected.max(axis=1))
    assert isinstance(MODEL.decide(pl.from_pandas(rows)), pl.DataFrame)
    limited = MODEL.decide(rows, capacity=2)
    assert (limited["decision"] == "bad").sum() == 2
    saved = expected[:, 1] - expected[:, 0]
    assert np.flatnonzero(limited["decision"] == "bad").tolist() == sorted(np.argsort(-saved)[:2].tolist())
    careful = MODEL.decide(rows, costs=COSTS.with_abstain(0.2))
    assert "abstain" in careful["decision"].tolist()


def test_new_prices_without_fitting() -> None:
    costly = COSTS.scaled(1)
    cheap = Costs.binary(fn=1, fp=5, classes=["bad", "good"], positive="bad")
    again = MODEL.with_costs(cheap)
    assert again.predict(FRAME).tolist() == cheap.decide(MODEL.predict_proba(FRAME)).tolist()
    assert again.predict(FRAME).tolist() == MODEL.predict(FRAME, costs=cheap).tolist()
    assert MODEL.with_costs(costly).predict(FRAME).tolist() == MODEL.predict(FRAME).tolist()
    assert again.costs_ == cheap
    built_in = fitted(learner=LogisticRegression(class_weight={"bad": 5, "good": 1}))
    with pytest.warns(CostsWarning, match="logistic regression was fitted to its costs"):
        moved = built_in.with_costs(cheap)
    assert moved.predict(FRAME).tolist() == cheap.decide(built_in.predict_proba(FRAME)).tolist()
    with pytest.raises(InvalidInputError, match="not depend on labels"):
        MODEL.with_costs(sy.Balanced())
    with pytest.raises(CostsError, match="know every class"):
        MODEL.with_costs({"bad": 1, "fine": 2})


def test_cost_columns_are_remembered(tmp_path) -> None:  # type: ignore[no-untyped-def]
    spec = CostSpec(fn="stake", fp=2.0, positive="bad")
    model = load_model(fitted(spec=spec).save(tmp_path / "m.steelyard"))
    assert model.cost_columns == {"fn": "stake"}
    rows = FRAME.head(30).assign(stake=np.linspace(0.1, 90, 30))
    by_row = Costs.binary(fn=rows["stake"].to_numpy(), fp=2.0, classes=["bad", "good"], positive="bad")
    assert model.predict(rows).tolist() == by_row.decide(model.predict_proba(rows)).tolist()
    assert model.predict(rows.to_dict("records")).tolist() == model.predict(rows).tolist()
    with pytest.raises(
        InvalidInputError, match=r"have the cost columns .*\(stake\); got \"no column 'stake'\". Pass costs="
    ):
        model.predict(FRAME)
    assert model.predict(FRAME, typical=True).tolist() == MODEL.predict(FRAME).tolist()
    assert model.predict(FRAME, costs=COSTS).tolist() == MODEL.predict(FRAME).tolist()
    assert model.with_costs(COSTS).predict(FRAME).tolist() == MODEL.predict(FRAME).tolist()


def test_a_constant_tells_what_it_costs_on_average() -> None:
    constant = fitted(learner=DummyClassifier(strategy="constant", constant="good"))
    told = constant.expected_cost(FRAME)
    assert told.mean() == pytest.approx(sy.mean_cost(Y, constant.predict(FRAME), costs=COSTS))
    other = constant.with_costs(Costs.binary(fn=100, fp=1, classes=["bad", "good"], positive="bad"))
    assert set(other.predict(FRAME)) == {"bad"}


def test_explanations_point_at_the_column_that_matters() -> None:
    rows = FRAME[FRAME["job"] == "none"].head(5)
    for row in MODEL.explain(rows, n=2):
        assert row[0]["column"] == "job"
        assert row[0]["change"] > 0
        assert len(row) <= 2
    with pytest.raises(InvalidInputError, match="remember its training data"):
        replace(MODEL, training=None).explain(rows)


def test_columns_without_names() -> None:
    X = RNG.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    columns = read_columns(X)
    costs = Costs.zero_one([0, 1])
    model = Model(
        "plain",
        make_pipeline(columns.scaled(), ExpectedCostClassifier()).fit(X, y),
        columns,
        costs,
        summarize(X, y, 2, columns),
    )
    assert model.predict(X[:4]).tolist() == model.predict(X[:4].tolist()).tolist()
    assert model.explain(X[:1], n=1)[0][0]["column"] == 0
    with pytest.raises(InvalidInputError, match="have the 3 columns"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("kind", ["int64", "float64", "Int64", "category", "object"])
def test_codes_are_the_same_levels_as_numbers_and_as_texts(kind: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=120)
    frame = pd.DataFrame({"x": rng.normal(size=120), "shop": pd.Series(codes).astype(kind), "flag": codes > 1})
    roles = {} if kind in ("category", "object") else {"shop": "category"}
    y = np.where((codes == 1) ^ (rng.random(120) < 0.05), "bad", "good")
    made = sy.compare(frame, y, costs=COSTS, candidates=["logistic", "lightgbm"], cv=3, effort=6, roles=roles)
    model = made.model()
    expected = model.predict_proba(frame)
    assert len(np.unique(expected[:, 0].round(3))) > 1
    path = tmp_path / "rows.csv"
    frame.assign(shop=codes).to_csv(path, index=False)
    records = [{"x": x, "shop": str(c), "flag": str(c > 1)} for x, c in zip(frame.x, codes.tolist(), strict=True)]
    for known in (model, load_model(model.save(tmp_path / "m.steelyard"))):
        for rows in (frame, frame.astype({"shop": "float64"}), pd.read_csv(path, dtype={"shop": str}), records):
            np.testing.assert_array_equal(known.predict_proba(rows), expected)
        assert {reason["column"] for row in known.explain(frame.head(9)) for reason in row} >= {"shop"}
