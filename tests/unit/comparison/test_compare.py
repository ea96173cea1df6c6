"""``compare`` from data to advice, report, JSON and model."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import steelyard
from steelyard import Costs, InvalidInputError, StateError
from steelyard import comparison as compare_room
from steelyard.comparison import Model, load_model
from steelyard.comparison.data import read_data
from steelyard.comparison.fold import as_in_the_race
from steelyard.comparison.registry import candidates
from steelyard.models.model import unwrap_search
from steelyard.models.schema import Columns


def mixed(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    kind = rng.choice(["red", "green", "blue"], n)
    X = pd.DataFrame({"size": np.where(rng.random(n) < 0.1, np.nan, size), "kind": kind})
    X["code"] = [f"id{i}" for i in range(n)]
    y = np.where(size + (kind == "red") + rng.normal(size=n) * 0.5 > 0.7, "bad", "good")
    return X, y


QUICK = ("logistic regression", "CSOGD-II", "online cost", "AdaC2.M1 on C4.5, s", "always")


@pytest.fixture(autouse=True)
def only_quick_contenders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few contenders and all the time they want: nothing here depends on the clock."""
    monkeypatch.setattr(
        compare_room, "candidates", lambda problem: [c for c in candidates(problem) if c.name.startswith(QUICK)]
    )


def quick(X: Any, y: Any, costs: Any = None, **settings: Any) -> Any:
    return steelyard.compare(X, y, costs=costs, **{"time_limit": 1000.0, "cv": 3, **settings})


PAIR = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad")


def test_columns_that_are_only_numbered_are_an_array() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 1] + rng.normal(size=120) > 1, "bad", "good")
    found, same = quick(pd.DataFrame(X), y, PAIR, drop=[2]), quick(X, y, PAIR, drop=[2])
    assert [(s.name, s.mean_cost) for s in found.leaderboard] == [(s.name, s.mean_cost) for s in same.leaderboard]
    model = found.refit()
    assert model.predict(pd.DataFrame(X)).tolist() == model.predict(X).tolist()
    with pytest.raises(InvalidInputError, match="columns must have text as names; got 5"):
        quick(pd.DataFrame(X, columns=[5, 6, 7]), y)


def test_pandas_and_polars_give_leaderboard_report_json_and_model(tmp_path: Path) -> None:
    X, y = mixed()
    for frame in (X, pl.from_pandas(X)):
        result = quick(frame, y, PAIR)
        costs = [line.mean_cost.value for line in result.leaderboard if line.stopped is None]
        assert costs == sorted(costs)
        assert result.winner == result.leaderboard[0].name
        assert any("'code'" in sentence for sentence in result.warnings)
        told = json.loads(result.to_json())
        assert told["winner"] == result.winner
        assert len(told["leaderboard"]) == len(result.leaderboard)
        page = result.write_report(tmp_path / "report.html").read_text()
        assert result.winner in page
        assert "https://" not in page.replace("https://www.w3.org", "").replace("http://www.w3.org", "")
        model = load_model(result.save(tmp_path / "model.steelyard"))
        assert np.array_equal(model.predict(frame), result.refit().predict(frame))
        assert set(model.predict(frame)) <= {"bad", "good"}


def test_model_meets_changed_data(tmp_path: Path) -> None:
    X, y = mixed()
    model = load_model(quick(X, y, PAIR).save(tmp_path / "m"))
    new = X.drop(columns="code").assign(kind="purple", size=np.nan, label=y)
    assert len(model.predict(new)) == len(y)
    with pytest.raises(InvalidInputError, match="no column 'size'"):
        model.predict(X.drop(columns="size"))
    with pytest.raises(InvalidInputError, match="'size' must hold numbers"):
        model.predict(X.assign(size="big"))


class Foreign(LogisticRegression):
    """A type of no library that is let in."""


def some_model(estimator: Any) -> Model:
    return Model("some", estimator, Columns((0, 1), ()), Costs.zero_one([0, 1]))


def test_a_model_of_foreign_types_is_not_saved(tmp_path: Path) -> None:
    X, y = np.eye(2)[[0, 1] * 5], np.array([0, 1] * 5)
    path = some_model(LogisticRegression().fit(X, y)).save(tmp_path / "model.steelyard")
    assert steelyard.load_model(path).predict(X).tolist() == y.tolist()
    for foreign in (Foreign(), make_pipeline(FunctionTransformer(os.fspath), LogisticRegression())):
        with pytest.raises(StateError, match=r"that can be saved|function must not be part"):
            some_model(fitted(foreign, X, y)).save(tmp_path / "other.steelyard")
    assert [each.name for each in tmp_path.iterdir()] == ["model.steelyard"]


def fitted(estimator: Any, X: Any, y: Any) -> Any:
    if isinstance(estimator, Foreign):
        return estimator.fit(X, y)
    estimator.steps[-1][1].fit(X, y)
    return estimator


@pytest.mark.parametrize("classes", [2, 3])
def test_every_contender_can_win_and_be_kept(tmp_path: Path, classes: int) -> None:
    rng = np.random.default_rng(classes)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y", None], 90)})
    y = np.digitize(X.a + rng.normal(size=90), [0.0, 0.9][: classes - 1])
    problem = read_data(X, y, np.abs(np.subtract.outer(range(classes), range(classes))) * 2.0)
    for candidate in candidates(problem):
        with as_in_the_race():
            estimator = unwrap_search(candidate.fit(problem))
        model = Model(candidate.name, estimator, problem.columns, problem.mean_costs())
        loaded = load_model(model.save(tmp_path / "model.steelyard"))
        assert loaded.predict(X).tolist() == model.predict(X).tolist(), candidate.name


def test_five_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0], [-1.0, -0.3, 0.3, 1.0])
    result = quick(X, y, np.abs(np.subtract.outer(np.arange(5), np.arange(5))))
    assert result.leaderboard[0].family != "constant"
    assert result.leaderboard[0].savings.value > 0.5
    assert result.leaderboard[0].sensitivity is None


def test_more_classes_than_a_table_can_show(tmp_path: Path) -> None:
    """Only the cheapest constants run, and the page lists the dearest confusions instead of squares of all classes."""
    rng = np.random.default_rng(0)
    classes = 24
    y = np.arange(10 * classes) % classes
    X = rng.normal(size=(len(y), 3)) + y[:, None]
    result = quick(X, y, np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))))
    assert not any(c.early for c in candidates(read_data(X, y, None)))  # boosting grows 24 trees a round
    constants = [line.name for line in result.leaderboard if line.family == "constant"]
    assert sorted(constants) == [f"always {k}" for k in (10, 11, 12, 13, 9)]  # in the middle mistakes are smallest
    page = result.write_report(tmp_path / "report.html").read_text()
    assert "24 classes, too many for a table: a wrong answer costs 1 to 23" in page
    assert "The confusions that cost most." in page
    assert len(page) < 40_000


def test_advice_says_so_when_a_constant_wins() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 2)), (rng.random(150) < 0.5).astype(int)
    result = quick(X, y, {0: 1.0, 1: 200.0})
    assert next(line for line in result.leaderboard if line.name == "always 1").tied_with_best
    assert result.recommendation[0].startswith(("Answer '1' whatever", "Nothing is demonstrably cheaper than always 1"))


def test_constant_wins_a_tie() -> None:
    X = np.zeros((60, 1))
    X[0] = 1.0
    result = quick(X, np.array([0, 1, 1] * 20), {0: 1.0, 1: 50.0})
    assert result.winner == "always 1"
    assert result.recommendation[0].startswith("Answer '1' whatever")


def test_advice_names_gradient_boosting_when_it_wins() -> None:
    """Stripes: only trees can follow them, and only a cost decision answers at these costs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 8, size=(500, 2))
    y = ((X[:, 0].astype(int) % 2 == 0) ^ (rng.random(500) < 0.03)).astype(int)
    from steelyard.comparison.data import read_data
    from steelyard.comparison.evaluation import evaluate
    from steelyard.comparison.leaderboard import leaderboard, recommend

    problem = read_data(X, y, {0: 1.0, 1: 3.0})
    names = ("logistic regression", "gradient boosting, expected cost", "CSOGD-II, one pass", "CS-SVM, RBF kernel")
    chosen = [c for c in candidates(problem) if c.name in names or c.family == "constant"]
    evaluation = evaluate(problem, chosen, folds=3)
    lines = leaderboard(evaluation)
    assert lines[0].name == "gradient boosting, expected cost"
    said = recommend(evaluation, lines)
    assert said[0].startswith("Use gradient boosting, expected cost")
    assert any("significantly dearer" in sentence for sentence in said)


def test_resume_only_with_the_same_question(tmp_path: Path) -> None:
    X, y = mixed(100)
    first = quick(X, y, PAIR, out=tmp_path)
    again = quick(X, y, PAIR, out=tmp_path, resume=True)
    assert {line.name for line in first.leaderboard} <= {line.name for line in again.leaderboard}
    with pytest.raises(StateError, match="same data, costs, folds and seed"):
        quick(X, y, None, out=tmp_path, resume=True)


def test_leak_duplicates_and_constant_columns_are_noticed() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.4).astype(int)
    X = pd.DataFrame({"leak": np.where(y == 1, "paid", "open"), "same": 1.0, "few": rng.integers(0, 3, 120)})
    warnings = " ".join(quick(X, y).warnings)
    assert "'leak' alone gives away" in warnings
    assert "'same' is the same in every row" in warnings
    assert "repeat an earlier row" in warnings


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((30, 2)), ["a"] * 30, "two or more classes"),
        (np.zeros((10, 2)), ["a", "b"] * 5, "at least 20 rows"),
        (np.zeros((30, 2)), ["a"] * 29 + ["b"], "at least 2 rows"),
        (np.zeros((30, 2)), ["a"] * 29, "30 labels"),
        (np.zeros((30, 2)), [0.0, 1.0, np.nan] * 10, "NaN at row 2"),
        (np.zeros((30, 2)), [0.5, 1.0, np.nan] * 10, "classes, not numbers; got 0.5"),
        (pd.DataFrame({"v": [None] * 30}), ["a", "b"] * 15, "--drop v"),
        (np.column_stack([np.zeros(30), np.full(30, np.nan)]), ["a", "b"] * 15, r"drop=\[1\]"),
        (pd.DataFrame(np.zeros((30, 2)), columns=["v", "v"]), ["a", "b"] * 15, "v"),
    ],
)
def test_bad_input_is_one_sentence(X: Any, y: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        quick(X, np.asarray(y))


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_are_counted_from_one(jobs: int) -> None:
    with pytest.raises(InvalidInputError, match="n_jobs must be a whole number >= 1"):
        quick(*mixed(), n_jobs=jobs)
