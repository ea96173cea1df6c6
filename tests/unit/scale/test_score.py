"""Scoring by parts: the measures themselves, whatever the cut, and intervals whose draws depend on nothing else."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

from steelyard import (
    AROW,
    Costs,
    CostsError,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    bootstrap_interval,
    cli,
    compare,
    f_score,
    load_model,
    mean_cost,
    savings_score,
    sensitivity_score,
    total_cost,
)
from steelyard._native import draw, poisson_costs, poisson_tables
from steelyard.scale import predict_parts, score_parts

RNG = np.random.default_rng(2)
X = RNG.normal(size=(600, 3))
Y = np.where(X[:, 0] + RNG.normal(size=600) > 0.5, "bad", "good")
COSTS = Costs.binary(fn=5.25, fp=1.1, classes=["bad", "good"], positive="bad")
MODEL = OnlineClassifier(AROW(), costs=COSTS).fit(X[:200], Y[:200])


def written(folder: Path, cuts: list[int]) -> Path:
    folder.mkdir()
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        lines = [",".join([*map(repr, map(float, x)), y]) for x, y in zip(X[a:b], Y[a:b], strict=True)]
        (folder / f"part-{i}.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))
    return folder


def scored(parts: Path, **given: Any) -> Any:
    with ThreadPoolExecutor(2) as pool:
        measures = [mean_cost, total_cost, f_score, sensitivity_score]
        return score_parts(MODEL, parts, measures, target="y", costs=COSTS, executor=pool, **given)


@pytest.mark.parametrize("cuts", [[0, 600], [0, 1, 250, 600], [0, 100, 200, 300, 400, 500, 600]])
def test_any_cut_gives_the_measures_themselves(tmp_path: Path, cuts: list[int]) -> None:
    found = scored(written(tmp_path / "p", cuts), rows=37, interval=None)
    answers = MODEL.predict(X)
    for measure in (mean_cost, total_cost, f_score, sensitivity_score):
        assert found[measure.__name__].value == pytest.approx(measure(Y, answers, costs=COSTS), rel=1e-14)


def test_intervals_do_not_depend_on_workers_or_chunks_and_agree_with_the_bootstrap(tmp_path: Path) -> None:
    parts = written(tmp_path / "p", [0, 250, 600])
    one, two = scored(parts, rows=1000, seed=5), scored(parts, rows=13, seed=5)
    assert one == two
    assert scored(parts, seed=6)["mean_cost"] != one["mean_cost"]
    other = bootstrap_interval(mean_cost, Y, MODEL.predict(X), costs=COSTS, stratify=False, random_state=0)
    assert one["mean_cost"].low == pytest.approx(other.low, abs=0.25 * (other.high - other.low))
    assert one["mean_cost"].high == pytest.approx(other.high, abs=0.25 * (other.high - other.low))


def poisson_twin(uniform: float) -> int:
    """The inverse of the distribution function of the Poisson distribution with mean 1."""
    count, share, total = 0, np.exp(-1.0), np.exp(-1.0)
    while uniform >= total and count < 12:
        count += 1
        share /= count
        total += share
    return count


def test_the_kernel_counts_as_its_twin() -> None:
    cells, part, first, seed = RNG.integers(0, 4, 50), 3, 1000, 11
    tables = np.zeros((6, 4), dtype=np.int64)
    poisson_tables(cells, seed, part, first, tables)
    for r in range(6):
        expected = np.zeros(4, dtype=np.int64)
        own = (seed * 0x9E3779B97F4A7C15 + part * 0xBF58476D1CE4E5B9 + r) % 2**64
        for i, cell in enumerate(cells):
            expected[cell] += poisson_twin(draw(own, first + i))
        np.testing.assert_array_equal(tables[r], expected)


def test_counts_are_poisson() -> None:
    tables = np.zeros((200, 1), dtype=np.int64)
    poisson_tables(np.zeros(1000, dtype=np.int64), 1, 0, 0, tables)
    assert tables.mean() == pytest.approx(1000, abs=10)
    assert tables.var() == pytest.approx(1000, rel=0.35)


def test_labels_that_the_model_does_not_know_are_named(tmp_path: Path) -> None:
    parts = written(tmp_path / "p", [0, 60])
    (parts / "part-0.csv").write_text("a,b,c,y\n1,2,3,odd\n")
    with pytest.raises(InvalidInputError, match=r"y must hold the classes .*; got 'odd'"):
        scored(parts)
    with pytest.raises(InvalidInputError, match="interval must be"):
        scored(parts, interval="normal")


@pytest.mark.parametrize(
    ("content", "suffix", "classes"),
    [
        ("".join(f"{'+1' if i % 3 else '-1'} 1:{i % 5}\n" for i in range(60)), "svm", "-1,+1"),
        ("a,y\n" + "".join(f"{i % 5},0{int(i % 3 > 0)}\n" for i in range(60)), "csv", "00,01"),
        ("".join(f'{{"a": {i % 5}, "y": {"true" if i % 3 else "false"}}}\n' for i in range(60)), "jsonl", "false,true"),
    ],
)
def test_a_state_whose_labels_were_named_as_they_stand_in_the_file(
    tmp_path: Path, content: str, suffix: str, classes: str
) -> None:
    rows, state = tmp_path / f"rows.{suffix}", tmp_path / "state"
    rows.write_text(content)
    target: Any = {} if suffix == "svm" else {"target": "y"}
    options = ["--target", "y"] if target else []
    told = CliRunner().invoke(
        cli.app, ["stream", str(rows), *options, f"--classes={classes}", "--state", str(state)], catch_exceptions=False
    )
    assert told.exit_code == 0
    answers = load_model(state).predict(np.arange(5.0)[:, None] if suffix != "svm" else sparse.csr_matrix(np.c_[:5.0]))
    wrong = np.mean([answers[i % 5] != classes.split(",")[int(i % 3 > 0)] for i in range(60)])
    with ThreadPoolExecutor(1) as pool:
        found = score_parts(state, rows, [mean_cost], executor=pool, interval=None, **target)
    assert found["mean_cost"].value == pytest.approx(wrong)


def test_many_classes(tmp_path: Path) -> None:
    three = np.where(X[:, 1] > 1, "top", Y)
    folder = tmp_path / "p"
    folder.mkdir()
    lines = [",".join([*map(repr, map(float, x)), y]) for x, y in zip(X, three, strict=True)]
    (folder / "part-0.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))
    model = OnlineCostClassifier().fit(X, three)
    with ThreadPoolExecutor(1) as pool:
        found = score_parts(model, folder, {"cost": mean_cost}, target="y", executor=pool, replicates=20)
    assert found["cost"].value == pytest.approx(mean_cost(three, model.predict(X)))


def test_sums_of_row_costs_count_as_the_tables_and_lose_nothing() -> None:
    cells, part, first, seed = RNG.integers(0, 4, 300), 2, 70, 9
    cost = RNG.normal(size=300) * 10.0 ** RNG.integers(-8, 9, 300)
    sums, lost, table = np.zeros((5, 4)), np.zeros((5, 4)), np.zeros((5, 4), dtype=np.int64)
    poisson_costs(cells, cost, seed, part, first, sums, lost)
    for r in range(5):
        own = (seed * 0x9E3779B97F4A7C15 + part * 0xBF58476D1CE4E5B9 + r) % 2**64
        counts = np.array([poisson_twin(draw(own, first + i)) for i in range(300)])
        exact = [math.fsum((cost * counts)[cells == k].tolist()) for k in range(4)]
        np.testing.assert_allclose(sums[r] + lost[r], exact, rtol=1e-15)
    poisson_tables(cells, seed, part, first, table)
    assert (table.sum(axis=1) > 200).all()
    with pytest.raises(ValueError, match="one cost for every cell"):
        poisson_costs(cells, cost[:5], seed, part, first, sums, lost)


def test_thresholds_and_auc_come_with_the_scores(tmp_path: Path) -> None:
    from sklearn.metrics import roc_auc_score

    found = scored(written(tmp_path / "p", [0, 250, 600]), interval=None)
    curve = found.curve
    assert curve is not None
    exact = roc_auc_score(MODEL.classes_[1] == Y, MODEL.decision_function(X))
    assert abs(curve.auc - exact) <= curve.auc_error < 0.01
    at = int(np.searchsorted(curve.thresholds, 0.0))
    answers = MODEL.classes_[(MODEL.decision_function(X) >= curve.thresholds[at]).astype(int)]
    assert curve.cost[at] == pytest.approx(mean_cost(Y, answers, costs=COSTS))
    assert curve.best_cost <= curve.cost[at]


@pytest.mark.parametrize("costs", [{"bad": 5.25, "good": 1.1}, [[0, 5.25], [1.1, 0]]])
def test_costs_in_every_form_count_for_measures_and_thresholds(tmp_path: Path, costs: Any) -> None:
    parts = written(tmp_path / "p", [0, 600])
    with ThreadPoolExecutor(1) as pool:
        given: Any = {"target": "y", "executor": pool, "interval": None}
        found = score_parts(MODEL, parts, [mean_cost], costs=costs, **given)
        wanted = score_parts(MODEL, parts, [mean_cost], costs=COSTS, **given)
    assert found["mean_cost"].value == wanted["mean_cost"].value
    assert found.curve is not None
    assert wanted.curve is not None
    assert found.curve.best_cost == wanted.curve.best_cost


def test_savings_are_not_told_of_costs_they_do_not_count(tmp_path: Path) -> None:
    parts = written(tmp_path / "p", [0, 600])
    by_row = Costs.binary(fn=np.full(600, 5.0), fp=1, classes=["bad", "good"])
    with pytest.raises(CostsError, match="costs must be the same for all rows, or in columns of the parts"):
        score_parts(MODEL, parts, [mean_cost], target="y", costs=by_row, interval=None)
    with pytest.raises(InvalidInputError, match="measures must hold no savings_score where columns hold the costs"):
        score_parts(MODEL, parts, [mean_cost, savings_score], target="y", costs="fn=a,fp=1", interval=None)


def test_a_miss_is_about_the_class_it_was_about_when_the_model_was_compared(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    costs = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad")
    model = compare(frame[:200], Y[:200], costs=costs, candidates=["logistic"], cv=3).model()
    parts, answers = written(tmp_path / "p", [0, 300, 600]), model.predict(frame)
    measures: list[Any] = [mean_cost, f_score, sensitivity_score]
    with ThreadPoolExecutor(2) as pool:
        given: dict[str, Any] = {"target": "y", "executor": pool, "interval": None}
        for stated in ("fn=5,fp=1", "5:1", costs):
            found = score_parts(model, parts, measures, costs=stated, **given)
            for measure in measures:
                assert found[measure.__name__].value == pytest.approx(measure(Y, answers, costs=costs))
        turned = score_parts(model, parts, measures, costs="fn=5,fp=1", positive="good", **given)
        bare = score_parts(model, parts, [sensitivity_score], **given)
        out = predict_parts(model, parts, tmp_path / "out", costs="fn=1,fp=20", executor=pool).parent
        with pytest.raises(InvalidInputError, match="positive must be one of two classes"):
            score_parts(model, parts, measures, positive="odd", **given)
    other = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="good")
    assert turned["mean_cost"].value == pytest.approx(mean_cost(Y, answers, costs=other))
    assert turned["sensitivity_score"].value == pytest.approx(sensitivity_score(Y, answers, positive="good"))
    assert bare["sensitivity_score"].value == pytest.approx(sensitivity_score(Y, answers, positive="bad"))
    prices = Costs.binary(fn=1, fp=20, classes=["bad", "good"], positive="bad")
    decided = [row for i in range(2) for row in pd.read_parquet(out / f"part-{i}.parquet")["decision"]]
    assert decided == model.predict(frame, costs=prices).tolist()
