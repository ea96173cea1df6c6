"""``compare`` from data to advice, report, JSON and model."""

import json
import os
import re
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
from steelyard.comparison import Model, load_model
from steelyard.comparison.data import read_data
from steelyard.comparison.evaluation import CandidateRun
from steelyard.comparison.refit import refit
from steelyard.comparison.registry import everyone
from steelyard.decision.calibration import fit_calibration
from steelyard.models.schema import Columns


def mixed(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    kind = rng.choice(["red", "green", "blue"], n)
    X = pd.DataFrame({"size": np.where(rng.random(n) < 0.1, np.nan, size), "kind": kind})
    X["code"] = [f"id{i}" for i in range(n)]
    y = np.where(size + (kind == "red") + rng.normal(size=n) * 0.5 > 0.7, "bad", "good")
    return X, y


def quick(X: Any, y: Any, costs: Any = None, **settings: Any) -> Any:
    """A few candidates: nothing here depends on the clock."""
    return steelyard.compare(X, y, costs=costs, **{"candidates": ["logistic"], "cv": 3, **settings})


PAIR = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad")


def test_columns_that_are_only_numbered_are_an_array() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 1] + rng.normal(size=120) > 1, "bad", "good")
    found, same = quick(pd.DataFrame(X), y, PAIR, drop=[2]), quick(X, y, PAIR, drop=[2])
    assert [(s.name, s.mean_cost) for s in found.lines] == [(s.name, s.mean_cost) for s in same.lines]
    model = found.refit()
    assert model.predict(pd.DataFrame(X)).tolist() == model.predict(X).tolist()
    with pytest.raises(InvalidInputError, match="columns must have text as names; got 5"):
        quick(pd.DataFrame(X, columns=[5, 6, 7]), y)


def test_pandas_and_polars_give_leaderboard_report_json_and_model(tmp_path: Path) -> None:
    X, y = mixed()
    for frame in (X, pl.from_pandas(X)):
        result = quick(frame, y, PAIR)
        costs = [line.mean_cost.value for line in result.lines[1:]]
        assert costs == sorted(costs)
        assert result.winner == result.lines[0].name
        assert any("'code'" in sentence for sentence in result.warnings)
        told = json.loads(result.to_json())
        assert told["winner"] == result.winner
        assert len(told["leaderboard"]) == len(result.lines)
        page = result.report(tmp_path / "report.html").read_text()
        assert result.winner in page
        assert "https://" not in page.replace(
            "https://github.com/leeoniya/uPlot", ""
        )  # a comment that names its makers
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
    with pytest.raises(InvalidInputError, match="column 'size' must be a number"):
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


def with_none(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts as pandas before 3 has them: missing ones are None, not NaN."""
    texts = frame.select_dtypes(exclude="number")
    return frame.assign(**{name: texts[name].astype(object).where(texts[name].notna(), None) for name in texts})


@pytest.mark.parametrize(
    ("classes", "made"),
    [(2, pd.DataFrame), (3, pd.DataFrame), (2, with_none), (2, pl.from_pandas)],
    ids=["2", "3", "none", "polars"],
)
def test_every_candidate_can_win_and_be_kept(tmp_path: Path, classes: int, made: Any) -> None:
    rng = np.random.default_rng(classes)
    n = 90
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", None], n)})
    X["city"] = [f"c{i % 45}" for i in range(n)]
    X["when"] = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)]
    X["note"] = [f"alpha beta{i % 5} gamma{i}" for i in range(n)]
    y = np.digitize(X.a + rng.normal(size=n), [0.0, 0.9][: classes - 1])
    X = made(X)
    data = read_data(X, np.array(["p", "q", "r"])[y], np.abs(np.subtract.outer(range(classes), range(classes))) * 2.0)
    assert (data.columns.many, data.columns.dates, data.columns.texts) == (("city",), ("when",), ("note",))
    curves = fit_calibration(rng.dirichlet(np.ones(classes), n), data.codes)
    runs = [CandidateRun(c.name, c.family, c, calibration=curves) for c in everyone() if c.unable(data) is None]
    blend = CandidateRun("blend", "blend", members=[(run, 1.0 / len(runs)) for run in runs])
    for run in (*runs, blend):
        model = refit(run, data)
        loaded = load_model(model.save(tmp_path / "model.steelyard"))
        told = loaded.estimator.predict_proba(data.X)
        assert np.allclose(told, model.estimator.predict_proba(data.X), rtol=0, atol=1e-12), run.name
        assert loaded.predict(X).tolist() == model.predict(X).tolist(), run.name


def test_missing_cells_are_the_same_ones_for_every_library_of_frames(tmp_path: Path) -> None:
    """A model that has seen the null of polars knows the NaN of pandas and the None of object columns, and so on."""
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", None], n)})
    y = np.where((X.a > 0) ^ X.b.isna(), "yes", "no")
    frames = [X, with_none(X), pl.from_pandas(X)]
    assert X["b"].isna().any()
    for candidate in ("logistic", "lightgbm", "extra_trees"):
        for fitted in frames:
            result = quick(fitted, y, candidates=[candidate])
            loaded = load_model(result.save(tmp_path / "model.steelyard"))
            told = [model.predict_proba(frame) for frame in frames for model in (loaded, result.model())]
            for other in told[1:]:
                np.testing.assert_allclose(other, told[0], rtol=0, atol=1e-12, err_msg=f"{candidate} {type(fitted)}")


def test_five_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0], [-1.0, -0.3, 0.3, 1.0])
    result = quick(X, y, np.abs(np.subtract.outer(np.arange(5), np.arange(5))))
    assert result.lines[0].family != "constant"
    assert result.lines[0].savings.value > 0.5
    assert result.lines[0].sensitivity is None


def test_more_classes_than_a_table_can_show(tmp_path: Path) -> None:
    """Only the cheapest constants run; the page lists the costliest confusions instead of squares of all classes."""
    rng = np.random.default_rng(0)
    classes = 24
    y = np.arange(10 * classes) % classes
    X = rng.normal(size=(len(y), 3)) + y[:, None]
    result = quick(X, y, np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))))
    constants = [line.name for line in result.lines if line.family == "constant"]
    assert sorted(constants) == [f"always {k}" for k in (10, 11, 12, 13, 9)]  # in the middle mistakes are smallest
    page = result.report(tmp_path / "report.html").read_text()
    assert "24 classes, mistakes cost up to 23" in page
    assert "The costliest confusions" in page
    assert 'id="live-confusion"' not in page
    assert len(page) < 140_000


def test_advice_says_so_when_a_constant_wins() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 2)), (rng.random(150) < 0.5).astype(int)
    result = quick(X, y, {0: 1.0, 1: 200.0})
    assert next(line for line in result.lines if line.name == "always 1").tied_with_best
    assert result.recommendation[0].startswith(("Answer '1' whatever", "Nothing is demonstrably cheaper than always 1"))


def test_constant_wins_a_tie() -> None:
    X = np.zeros((60, 1))
    X[0] = 1.0
    result = quick(X, np.array([0, 1, 1] * 20), {0: 1.0, 1: 50.0})
    assert result.winner == "always 1"
    assert result.recommendation[0].startswith("Answer '1' whatever")


def test_same_seed_and_effort_same_json_for_any_number_of_jobs() -> None:
    X, y = mixed(100)
    alone = quick(X, y, PAIR).to_json()
    assert quick(X, y, PAIR, n_jobs=2).to_json() == alone
    assert quick(X, y, PAIR, random_state=1).to_json() != alone


def test_cut_by_units_then_resumed_is_the_uninterrupted_run(tmp_path: Path) -> None:
    X, y = mixed(100)
    whole = quick(X, y, PAIR).to_json()
    cut = quick(X, y, PAIR, out=tmp_path, effort=5)
    assert json.loads(cut.to_json())["units"] == 5
    assert any("Cut after 5 work units" in sentence for sentence in cut.recommendation)
    assert quick(X, y, PAIR, out=tmp_path, resume=True).to_json() == whole


def test_no_time_gives_the_cheapest_constant_and_says_so() -> None:
    result = quick(*mixed(100), PAIR, time_limit=1e-6)
    assert result.best.family == "constant"
    assert "no candidate has finished" in result.recommendation[0]
    assert result.promise.low < result.promise.value < result.promise.high


def test_promise_is_a_prediction_interval_for_the_asked_rows() -> None:
    X, y = mixed(150)
    few, many = (quick(X, y, PAIR, promise_rows=n).promise for n in (20, 100_000))
    assert (few.rows, many.rows, few.confidence) == (20, 100_000, 0.95)
    assert few.high - few.low > many.high - many.low > 0
    told = json.loads(quick(X, y, PAIR).to_json())["promise"]
    assert set(told) == {"value", "low", "high", "rows", "confidence", "method"}
    assert told["low"] <= told["value"] <= told["high"]


def test_rare_classes_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    y = np.array([0] * 100 + [1] * 96 + [2] * 3)
    X = rng.normal(size=(199, 2)) + y[:, None]
    result = quick(X, y, None, cv=5)
    assert result.runs.judged.n_folds == 5
    said = " ".join(result.recommendation)
    assert "cannot tell from 3 rows" in said
    assert "carry" not in said  # of mistakes that cost the same, three rows are next to none of the uncertainty
    costs = np.where(np.eye(3) > 0, 0.0, np.array([[1.0], [1.0], [100.0]]))
    said = " ".join(quick(X, y, costs, cv=5).recommendation)
    assert re.search(r"3 rows of class 2 carry \d\d% of the uncertainty", said)


def test_without_blend_the_best_single_is_named() -> None:
    X, y = mixed(150)
    result = quick(X, y, PAIR, blend=False)
    assert result.best.family == "baseline"
    assert all(line.family != "blend" for line in result.lines)


def test_texts_alone_can_be_learned_from() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    words = np.array([["paid", "fine", "thanks"], ["late", "debt", "refused"]])
    X = pd.DataFrame({"note": [" ".join(rng.choice(words[k], 2)) + f" {i}th letter{i}" for i, k in enumerate(y)]})
    result = steelyard.compare(X, y, cv=3, candidates=["logistic", "lightgbm"])
    assert result.lines[0].savings.value > 0.8
    assert {e.stopped for e in result.runs.entries if e.name.startswith("LightGBM")} == {"reads no texts"}


def test_resume_only_with_the_same_question(tmp_path: Path) -> None:
    X, y = mixed(100)
    first = quick(X, y, PAIR, out=tmp_path)
    again = quick(X, y, PAIR, out=tmp_path, resume=True)
    assert {line.name for line in first.lines} <= {line.name for line in again.lines}
    with pytest.raises(StateError, match="the same data, costs, folds"):
        quick(X, y, None, out=tmp_path, resume=True)


@pytest.mark.parametrize("kind", ["word", "number", "missing"])
def test_a_column_that_gives_the_labels_away_is_named_first_with_the_cost_without_it(kind: str) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.4).astype(int)
    leak = {
        "word": np.where(y == 1, "paid", "open"),
        "number": y * 3.5 + rng.random(120),
        "missing": np.where(y == 1, np.nan, rng.random(120)),
    }[kind]
    X = pd.DataFrame({"leak": leak, "few": rng.integers(0, 3, 120)})
    result = quick(X, y)
    assert result.recommendation[0].startswith("Column 'leak' alone gives away")
    assert result.recommendation[1].startswith("Without 'leak'")
    assert "costs" in result.recommendation[1]


def test_useless_columns_are_left_out_with_a_line_each() -> None:
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame({"same": 1.0, "none": [None] * n, "id": range(n), "code": [f"k{i}" for i in range(n)]})
    X["x"] = rng.normal(size=n)
    said = quick(X, rng.integers(0, 2, n)).warnings
    for name in ("same", "none", "id", "code"):
        assert sum(f"Column {name!r} was left out" in sentence for sentence in said) == 1


def test_repeated_rows_are_noticed_and_groups_named() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 2)), 3, axis=0)
    result = quick(X, np.repeat(rng.integers(0, 2, 40), 3))
    assert any("repeat an earlier row" in s and "--groups" in s for s in result.warnings)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((30, 2)), ["a"] * 30, "two or more classes"),
        (np.zeros((10, 2)), ["a", "b"] * 5, "at least 20 rows"),
        (np.zeros((30, 2)), ["a"] * 29 + ["b"], "at least 2 rows"),
        (np.zeros((30, 2)), ["a"] * 29, "30 labels"),
        (np.zeros((30, 2)), [0.0, 1.0, np.nan] * 10, "NaN at row 2"),
        (np.zeros((30, 2)), [0.5, 1.0, np.nan] * 10, "classes, not numbers; got 0.5"),
        (pd.DataFrame({"v": [None] * 30}), ["a", "b"] * 15, "a column to learn from"),
        (pd.DataFrame(np.zeros((30, 2)), columns=["v", "v"]), ["a", "b"] * 15, "v"),
    ],
)
def test_bad_input_is_one_sentence(X: Any, y: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        quick(X, np.asarray(y))


@pytest.mark.parametrize("seed", [None, -1, np.random.default_rng(0), 1.5, True])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(InvalidInputError, match="random_state must be a whole number >= 0"):
        quick(*mixed(), random_state=seed)


def test_a_seed_of_numpy_and_names_alone_are_taken(tmp_path: Path) -> None:
    X, y = mixed()
    plain = quick(X, y, candidates=["logistic regression, C=1"], drop=["kind"], random_state=3)
    other = quick(X, y, candidates="logistic regression, C=1", drop="kind", random_state=np.int64(3), out=tmp_path)
    assert other.to_json() == plain.to_json()


@pytest.mark.parametrize(
    "asked",
    [
        {"candidates": ["+AROW, one pass"]},
        {"candidates": None, "estimators": {"AROW, one pass": LogisticRegression()}},
        {"candidates": ["logistic", "LightGBM, 4 leaves", "AROW, one pass"]},
    ],
)
def test_what_is_asked_for_is_tried_however_small_the_effort(asked: dict[str, Any]) -> None:
    X, y = mixed(60)
    result = quick(X[["size"]], y, effort="quick", cv=2, **asked)
    names = {run.name for run in result.runs.entries if run.candidate is not None and run.complete}
    assert "AROW, one pass" in names
    assert len(names) == (7 if asked["candidates"] is None or len(asked["candidates"]) == 1 else len(names))


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_are_counted_from_one(jobs: int) -> None:
    with pytest.raises(InvalidInputError, match="n_jobs must be a whole number >= 1"):
        quick(*mixed(), n_jobs=jobs)


@pytest.mark.parametrize("by_row", [False, True])
def test_a_price_of_deciding_nothing_is_for_the_model_and_no_figure_counts_it(by_row: bool, tmp_path: Path) -> None:
    X, y = mixed()
    fn = np.linspace(2, 8, len(y)) if by_row else 5
    costs = Costs.binary(fn=fn, fp=1, classes=["bad", "good"], positive="bad")
    plain, careful = quick(X, y, costs), quick(X, y, costs.with_abstain(0.2))
    assert [(one.name, one.mean_cost) for one in careful.lines] == [(one.name, one.mean_cost) for one in plain.lines]
    assert any("answers 'abstain', at 0.2 each" in sentence for sentence in careful.recommendation)
    assert json.loads(careful.to_json())["costs"]["abstain"] == 0.2
    assert "abstain" in careful.model().predict(X).tolist()
    assert "abstain" not in plain.model().predict(X).tolist()
    assert careful.report(tmp_path / "report.html").read_text().count("abstain") > 0
