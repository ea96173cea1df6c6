"""Weights of rows: every figure is that of rows repeated so often; intervals draw rows, whatever these weigh."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, PredefinedSplit, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from steelyard import Costs, compare, load_model
from steelyard.comparison.choice import clearly_cheaper
from steelyard.comparison.data import read_data
from steelyard.comparison.given import weight_argument
from steelyard.comparison.page.levers import embed
from steelyard.comparison.page.what_if import what_if
from steelyard.comparison.registry import candidates, everyone
from steelyard.decision.calibration import FEWEST_FOR_SIGMOID, fit_calibration
from steelyard.errors import InvalidInputError

COSTS = Costs.binary(fn=4, fp=1)
LINEAR = ["logistic regression, C=1", "logistic regression, C=0.03", "logistic regression, cost-weighted"]


def signs(pairs: int = 120, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Rows of signs, each beside its opposite with the same weight and fold: their scale is one whatever they weigh."""
    rng = np.random.default_rng(seed)
    half = rng.choice([-1.0, 1.0], (pairs, 6))
    X = np.vstack([half, -half])
    y = (X[:, 0] + 0.8 * X[:, 1] + rng.normal(size=len(X)) > 0.3).astype(int)
    weight, fold = rng.integers(1, 5, pairs), np.arange(pairs) % 4
    return X, y, np.tile(weight, 2).astype(float), np.tile(fold, 2)


def both(estimators: dict[str, Any] | None = None, wanted: list[str] | None = None) -> tuple[Any, Any]:
    """The same question by weights and by repeated rows."""
    X, y, weight, fold = signs()
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    settings: dict[str, Any] = {"costs": COSTS, "candidates": wanted or LINEAR, "estimators": estimators}
    weighted = compare(X, y, sample_weight=weight, cv=PredefinedSplit(fold), **settings)
    repeated = compare(X[again], y[again], cv=PredefinedSplit(fold[again]), **settings)
    return weighted, repeated


def test_figures_are_those_of_repeated_rows() -> None:
    weighted, repeated = both({"bayes": BernoulliNB(), "tree": DecisionTreeClassifier(max_depth=3, random_state=0)})
    first, second = ({line.name: line for line in found.lines} for found in (weighted, repeated))
    assert first.keys() == second.keys()
    for name, line in first.items():
        other = second[name]
        assert line.mean_cost.value == pytest.approx(other.mean_cost.value, abs=1e-9), name
        assert line.total_cost == pytest.approx(other.total_cost, abs=1e-6)
        assert line.savings.value == pytest.approx(other.savings.value, abs=1e-9)
        assert line.g_mean.value == pytest.approx(other.g_mean.value, abs=1e-9)
        assert (line.weight or 0.0) == pytest.approx(other.weight or 0.0)
    assert weighted.promise.value == pytest.approx(repeated.promise.value, rel=0.1)
    X = weighted.runs.problem.X
    assert weighted.model().predict_proba(X) == pytest.approx(repeated.model().predict_proba(X), abs=1e-4)
    assert weighted.card["class_shares"] == repeated.card["class_shares"]


def test_a_row_that_weighs_much_is_still_one_row() -> None:
    X, y, _, fold = signs()
    settings: dict[str, Any] = {"costs": COSTS, "candidates": LINEAR[:1], "cv": PredefinedSplit(fold)}
    once = compare(X, y, **settings)
    alike = compare(X, y, sample_weight=np.full(len(y), 1.0), **settings)
    assert [line.mean_cost for line in alike.lines] == [line.mean_cost for line in once.lines]
    ends = [(found.promise.low, found.promise.value, found.promise.high) for found in (alike, once)]
    assert ends[0] == pytest.approx(ends[1], rel=0.1)  # other draws of the same law
    heavy = compare(X, y, sample_weight=np.where(np.arange(len(y)) % 120 < 6, 50.0, 1.0), **settings)
    spread = [found.lines[0].mean_cost.high - found.lines[0].mean_cost.low for found in (once, heavy)]
    assert spread[1] > 1.5 * spread[0]  # twelve rows decide
    wide = [found.promise.high - found.promise.low for found in (once, heavy)]
    assert wide[1] > 1.2 * wide[0]


def test_weights_change_the_winner_where_they_should() -> None:
    X, y, _, fold = signs()
    rare = np.where(y == 1, 0.01, 1.0)  # a positive row stands for next to nothing
    found = compare(X, y, costs=COSTS, candidates=LINEAR[:1], sample_weight=rare, cv=PredefinedSplit(fold))
    assert found.winner == "always 0"
    assert found.model().expected_cost(X)[0] == pytest.approx(4 * rare[y == 1].sum() / rare.sum())


def test_page_json_card_and_predictions_know_the_weights(tmp_path: Path) -> None:
    X, y, weight, fold = signs()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    settings: dict[str, Any] = {"costs": COSTS, "candidates": LINEAR, "cv": PredefinedSplit(fold)}
    found = compare(frame, y, sample_weight=weight, segments=["a"], **settings)
    body = json.loads(found.to_json())
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert body["sample_weight"] == pytest.approx({"sum": weight.sum(), "effective_rows": effective})
    assert found.card["sample_weight"] == body["sample_weight"]
    assert json.loads(compare(frame, y, **settings).to_json())["sample_weight"] is None
    assert body["data"] != json.loads(compare(frame, y, **settings).to_json())["data"]
    told = found.predictions
    assert np.average(told["cost"], weights=told["weight"]) == pytest.approx(found.lines[0].mean_cost.value)
    embedded = embed(found._page_source())
    answer = what_if(embedded)
    runs = {run.name: run for run in found.runs.entries if run.complete}
    for entry, priced in zip(embedded["entries"], answer.entries, strict=True):
        paid = np.asarray(runs[entry["name"]].paid)
        mean = np.average(paid, weights=weight)
        assert priced.mean == pytest.approx(mean, abs=1e-9)
        assert priced.error == pytest.approx(np.sqrt((weight**2 * (paid - mean) ** 2).sum()) / weight.sum(), abs=1e-6)
    page = found.report(tmp_path / "page.html").read_text()
    assert f"Rows count by their weights, {weight.sum():,.0f} in all" in page
    model = load_model(found.save(tmp_path / "m.model"))
    assert model.card_["sample_weight"] == body["sample_weight"]


def test_costs_of_rows_and_weights_on_the_page() -> None:
    X, y, weight, fold = signs()
    amounts = np.random.default_rng(1).lognormal(1, 1, len(y))
    costs = Costs.binary(fn=amounts, fp=1.0)
    found = compare(X, y, costs=costs, candidates=LINEAR[:2], sample_weight=weight, cv=PredefinedSplit(fold))
    embedded = embed(found._page_source())
    runs = {run.name: run for run in found.runs.entries if run.complete}
    for entry, priced in zip(embedded["entries"], what_if(embedded).entries, strict=True):
        paid = np.asarray(runs[entry["name"]].paid)
        mean = np.average(paid, weights=weight)
        assert priced.mean == pytest.approx(mean, rel=1e-5)
        error = np.sqrt((weight**2 * (paid - mean) ** 2).sum()) / weight.sum()
        assert priced.error == pytest.approx(error, rel=1e-3)


def test_sample_weight_groups_cv_estimators_and_segments_work_together() -> None:
    X, y, weight, _ = signs()
    groups = np.tile(np.arange(120) // 6, 2)
    found = compare(
        pd.DataFrame(X, columns=list("abcdef")),
        y,
        costs=COSTS,
        candidates=LINEAR[:1],
        estimators={"neighbours": KNeighborsClassifier(5)},
        sample_weight=weight,
        groups=groups,
        cv=GroupKFold(4),
        segments={"group": groups % 3},
    )
    assert found.runs.judged.n_folds == 4
    for group in range(20):
        assert len(set(found.runs.judged.fold[groups == group])) == 1
    assert {"neighbours", LINEAR[0]} <= {line.name for line in found.lines}
    assert any("Fitted without the weights" in said and "neighbours" in said for said in found.recommendation)
    assert list(found.segments) == ["group"]


@pytest.mark.parametrize("name", [c.name for c in everyone() if not c.name.startswith(("CatBoost", "XGBoost"))])
def test_every_candidate_learns_from_weights_or_says_that_it_cannot(name: str) -> None:
    X, y, _, _ = signs()
    data = read_data(X, y, COSTS)
    (candidate,) = candidates([name])
    prepared = candidate.new_encoder(data).fit_transform(data.X, data.codes)
    heavy = [replace(data, weights=np.where(y == k, 40.0, 0.02)) for k in (0, 1)]
    plain, *weighed = (candidate.fit(prepared, d, rounds=5)[0].predict_proba(prepared) for d in (data, *heavy))
    changed = any(not np.allclose(plain, each) for each in weighed)
    assert changed == candidate.kind.takes_weights


@pytest.mark.parametrize("rows", [FEWEST_FOR_SIGMOID - 10, 3 * FEWEST_FOR_SIGMOID])
def test_calibration_with_whole_weights_is_that_of_repeated_rows(rows: int) -> None:
    rng = np.random.default_rng(3)
    codes = rng.permutation(np.arange(2 * rows) % 2)
    proba = rng.dirichlet([1, 1], len(codes))
    count = rng.integers(1, 4, len(codes))
    if rows < FEWEST_FOR_SIGMOID:
        count = np.where(codes == 0, 1, count)  # repeated rows of the rarest class stay too few for a curve
    again = np.repeat(np.arange(len(codes)), count)
    found = fit_calibration(proba, codes, count.astype(float)).apply(proba)
    assert found == pytest.approx(fit_calibration(proba[again], codes[again]).apply(proba), abs=1e-6)


def test_weights_that_are_alike_change_no_choice() -> None:
    rng = np.random.default_rng(5)
    paid, blended = rng.exponential(size=(200, 3)), rng.exponential(size=200) + 0.3
    count = rng.multinomial(200, np.full(200, 1 / 200)).astype(float)
    assert clearly_cheaper(paid, blended, count) == clearly_cheaper(paid, blended, count, np.full(200, 7.0))


def test_a_lead_that_ten_rows_decide_is_not_clear() -> None:
    gap = np.random.default_rng(6).normal(0.0, 0.5, 400)
    gap[:10] -= gap[:10].mean()
    gap[10:] -= gap[10:].mean()
    blended, cheaper = np.full(400, 2.0), (1.9 - gap)[:, None]
    heavy = np.where(np.arange(400) < 10, 1000.0, 1.0)
    assert clearly_cheaper(cheaper, blended) == 0
    assert clearly_cheaper(cheaper, blended, None, heavy) is None


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(3), "give 240 rows a weight each"),
        (np.zeros(240), "be positive numbers.*See row 1"),
        (np.where(np.arange(240) == 7, np.nan, 1.0), "be positive numbers.*See row 8"),
        (["x"] * 240, "hold numbers"),
    ],
)
def test_wrong_weights_are_said(weights: Any, words: str) -> None:
    X, y, _, _ = signs()
    with pytest.raises(InvalidInputError, match=words):
        compare(X, y, costs=COSTS, sample_weight=weights)


@pytest.mark.parametrize("cv", [1, "five", ShuffleSplit(3), StratifiedKFold])
def test_wrong_folds_are_said(cv: Any) -> None:
    X, y, _, _ = signs()
    with pytest.raises(InvalidInputError, match="cv"):
        compare(X, y, costs=COSTS, cv=cv)


def test_a_splitter_deals_the_folds() -> None:
    X, y, _, _ = signs()
    splitter = StratifiedKFold(3, shuffle=True, random_state=8)
    found = compare(X, y, costs=COSTS, candidates=LINEAR[:1], cv=splitter)
    for k, (_, held) in enumerate(splitter.split(X, y)):
        assert np.flatnonzero(found.runs.judged.fold == k).tolist() == held.tolist()


def test_the_keyword_of_weights_is_found_in_pipelines() -> None:
    nothing = FunctionTransformer()
    assert weight_argument(make_pipeline(nothing, LogisticRegression())) == "logisticregression__sample_weight"
    assert weight_argument(make_pipeline(nothing, KNeighborsClassifier())) is None
    assert weight_argument(DummyClassifier()) == "sample_weight"
