"""Told means have intervals that hold, and exact explanations add up."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import steelyard
from steelyard import Costs
from steelyard.errors import CostsWarning
from steelyard.models.prediction import PredictOptions, run_predict


def rows(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["x", "y", "z"], n)})
    bent = 1.2 * X["a"] - 0.8 * X["b"] + 0.7 * (X["kind"] == "x") - 1
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-bent)), "bad", "good")


@pytest.fixture(scope="module")
def compared() -> steelyard.comparison.Comparison:
    X, y = rows(600, 0)
    costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"], positive="bad")
    return steelyard.compare(X, y, costs=costs, candidates=["logistic regression, cost-weighted"], cv=3)


def test_a_weighted_candidate_tells_what_it_pays(compared: steelyard.comparison.Comparison) -> None:
    """Its own probabilities are bent by the weights; the calibration brings them back to the real shares."""
    model = compared.model()
    X, y = rows(4000, 1)
    told = model.mean_expected_cost(X)
    paid = compared.runs.problem.costs.per_example(y)
    cost = paid[np.arange(len(y)), [list(model.classes_).index(d) for d in model.predict(X)]].mean()
    assert 0.8 < told.value / cost < 1.25
    assert told.low < cost < told.high
    assert model.predict_proba(X).mean(axis=0) == pytest.approx([(y == c).mean() for c in model.classes_], abs=0.05)


def test_more_rows_narrow_the_interval_down_to_what_the_calibration_knows(
    compared: steelyard.comparison.Comparison,
) -> None:
    model = compared.model()
    wide, narrow = (model.mean_expected_cost(rows(n, 2)[0]) for n in (50, 5000))
    assert narrow.standard_error < wide.standard_error
    assert model.judged_rows == 600
    forgetful = replace(model, training=None)
    assert np.isinf(forgetful.mean_expected_cost(rows(50, 2)[0]).high)


def test_predict_and_the_model_tell_the_same_mean(
    compared: steelyard.comparison.Comparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, _ = rows(300, 3)
    X.to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "m.steelyard"
    compared.save(model)
    run_predict(model, str(tmp_path / "new.csv"), PredictOptions(out=tmp_path / "o.csv", as_json=True, chunk=70))
    said = json.loads(capsys.readouterr().err)
    told = steelyard.load_model(model).mean_expected_cost(pd.read_csv(tmp_path / "new.csv"))
    assert said["expected_cost"] == pytest.approx(told.value)
    assert said["expected_cost_interval"] == pytest.approx([told.low, told.high])


def test_explanations_of_a_linear_model_add_up(compared: steelyard.comparison.Comparison) -> None:
    model = compared.model()
    X, _ = rows(20, 4)
    found = model.explain(X, n=3)
    usual = {reason["column"]: reason["usual"] for row in found for reason in row}
    plain = X.assign(**usual)
    plus = list(model.classes_).index("bad")

    def log_odds(frame: pd.DataFrame) -> np.ndarray:
        proba = model.predict_proba(frame)[:, plus]
        return np.log(proba / (1 - proba))

    assert {reason["method"] for row in found for reason in row} == {"exact"}
    assert [sum(r["log_odds"] for r in row) for row in found] == pytest.approx(log_odds(X) - log_odds(plain), abs=1e-6)


def test_explanations_of_a_linear_model_hold_its_dates_and_texts_too() -> None:
    X, y = rows(300, 6)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.round(60 * (X["a"] + 4)), unit="D")
    note = np.where(X["b"] > 0, "all is well again", "nothing came of it")
    mixed = pd.DataFrame({"b": X["b"], "when": days, "note": [f"{text} {i}" for i, text in enumerate(note)]})
    model = steelyard.compare(mixed, y, candidates="logistic regression, C=1", cv=2).model()
    assert (model.columns.dates, model.columns.texts) == (("when",), ("note",))
    found = model.explain(mixed[:20], n=3)
    assert {reason["column"] for row in found for reason in row} == {"b", "when", "note"}
    usual = mixed[:20].assign(b=model.training.medians[0], when=None, note=None)
    proba, plain = (model.predict_proba(frame)[:, 1] for frame in (mixed[:20], usual))
    distance = np.log(proba / (1 - proba)) - np.log(plain / (1 - plain))
    plus = 1 if model.costs.positive_index() == 1 else -1
    assert [plus * sum(r["log_odds"] for r in row) for row in found] == pytest.approx(distance, abs=1e-6)


def test_other_models_say_that_columns_are_looked_at_one_at_a_time() -> None:
    X, y = rows(200, 5)
    costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"], positive="bad")
    model = steelyard.compare(X, y, costs=costs, candidates=["LightGBM, 4 leaves"], cv=2).model()
    methods = {reason["method"] for row in model.explain(X[:5]) for reason in row}
    assert methods <= {"one column at a time"}


def test_other_prices_for_what_was_fitted_to_its_costs_are_a_warning_that_names_it(
    compared: steelyard.comparison.Comparison, tmp_path: Path
) -> None:
    X, _ = rows(50, 4)
    model = steelyard.load_model(compared.save(tmp_path / "m.steelyard"))
    model.decide(X, costs=Costs.binary(fn=np.arange(50.0), fp=1, classes=["good", "bad"], positive="bad"))
    with pytest.warns(CostsWarning, match="logistic regression, cost-weighted was fitted to its costs"):
        other = model.with_costs(Costs.binary(fn=9, fp=1, classes=["good", "bad"], positive="bad"))
    assert other.expected_cost(X).mean() > model.expected_cost(X).mean()
    spoilt = replace(model, training=replace(model.training, card={"members": ["?", {"fitted_to_costs": "yes"}]}))
    assert spoilt.with_costs(other.costs).predict(X).tolist() == other.predict(X).tolist()
