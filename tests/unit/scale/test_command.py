"""The commands fit and score, and predict on what fit wrote."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from steelyard import (
    AROW,
    CSOGD1,
    Costs,
    DataFileError,
    InvalidInputError,
    OnlineClassifier,
    cli,
    g_mean_score,
    load_model,
    mean_cost,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=120) > 0.3, "bad", "good")
COSTS = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad")


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(4):
        rows = zip(X[30 * i : 30 * i + 30], Y[30 * i : 30 * i + 30], strict=True)
        lines = [",".join([*map(repr, map(float, x)), y]) for x, y in rows]
        (folder / f"part-{i}.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))
    return folder


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(cli.app, [*map(str, arguments)], catch_exceptions=False)


def test_fit_predict_and_score(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.steelyard"
    told = run(
        "fit", parts, "--target", "y", "--update", "AROW", "--costs", "fn=5,fp=1", "--positive", "bad", "--out", out
    )
    assert told.exit_code == 0
    expected = OnlineClassifier(AROW(), costs=COSTS).fit(X, Y)
    model: Any = load_model(out)
    np.testing.assert_array_equal(model.learner.coef_, expected.coef_)
    told = run("predict", out, parts)
    assert [line.strip() for line in told.stdout.splitlines()[1:]] == expected.predict(X).tolist()
    told = run("score", out, parts, "--target", "y", "--costs", "5:1", "--json", "--jobs", "1")
    found = json.loads(told.stdout)
    bare = Costs.binary(fn=5, fp=1)
    assert found["mean_cost"]["value"] == pytest.approx(mean_cost(Y, expected.predict(X), costs=bare))
    assert found["mean_cost"]["low"] < found["mean_cost"]["value"] < found["mean_cost"]["high"]
    given = ("score", out, parts, "--target", "y", "--costs", "5:1", "--json", "--jobs", "1")
    found = json.loads(run(*given, "--positive", "bad").stdout)
    assert found["mean_cost"]["value"] == pytest.approx(mean_cost(Y, expected.predict(X), costs=COSTS))
    told = run("score", out, parts, "--target", "y", "--json", "--jobs", "1")
    assert "Costs are those of the model" in told.stderr
    assert json.loads(told.stdout)["mean_cost"] == found["mean_cost"]
    with pytest.raises(InvalidInputError, match=r"--positive must be one of two labels \(bad, good\); got 'odd'"):
        run(*given, "--positive", "odd")


def test_parts_without_a_suffix_have_the_format_that_is_named(parts: Path, tmp_path: Path) -> None:
    named, bare = tmp_path / "named", tmp_path / "bare"
    given = ["--target", "y", "--costs", "fn=5,fp=1", "--quiet"]
    run("fit", parts, *given, "--out", named)
    told = run("score", named, parts, "--target", "y", "--json", "--jobs", 1).stdout
    for i, part in enumerate(sorted(parts.glob("*.csv"))):
        part.rename(parts / f"part-{i:05}")  # as jobs of Hadoop leave them
    with pytest.raises(InvalidInputError, match="Or name its format"):
        run("fit", parts, *given, "--out", bare)
    run("fit", parts, *given, "--format", "csv", "--out", bare)
    assert bare.read_bytes() == named.read_bytes()
    assert run("score", bare, parts, "--target", "y", "--json", "--jobs", 1, "--format", "csv").stdout == told


def test_score_says_what_it_counts(parts: Path, tmp_path: Path) -> None:
    for name, costs in (("plain", []), ("priced", ["--costs", "fn=5,fp=1"])):
        assert run("fit", parts, "--target", "y", *costs, "--out", tmp_path / name, "--quiet").exit_code == 0
    said = run("score", tmp_path / "plain", parts, "--target", "y", "--jobs", 1).stderr
    assert said == "Every mistake counts 1, since neither --costs nor the model states what it costs.\n"
    said = run("score", tmp_path / "priced", parts, "--target", "y", "--jobs", 1).stderr
    assert said == "Costs are those of the model; --costs states others.\n"
    assert run("score", tmp_path / "plain", parts, "--target", "y", "--costs", "5:1", "--jobs", 1).stderr == ""


def test_fit_heeds_what_a_hit_gains_whichever_class_is_positive(parts: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.steelyard"
    given = ["--target", "y", "--update", "CSOGD1", "--costs", "fn=5,fp=1,tp=-4", "--positive", "bad", "--out", out]
    assert run("fit", parts, *given, "--quiet").exit_code == 0
    costs = Costs.binary(fn=5, fp=1, tp=-4, classes=["bad", "good"], positive="bad")
    expected = OnlineClassifier(CSOGD1(), costs=costs).fit(X, Y)
    model: Any = load_model(out)
    np.testing.assert_array_equal(model.learner.coef_, expected.coef_)


@pytest.mark.parametrize("prices", ["fn = 5\nfp = 1", 'fn = 5\nfp = "c"'])
def test_a_file_of_costs_may_name_the_positive_class(parts: Path, tmp_path: Path, prices: str) -> None:
    for part in parts.glob("*.csv"):  # costs of rows cannot be below 0
        part.write_text("".join(line.replace(",-", ",") for line in part.read_text().splitlines(keepends=True)))
    (tmp_path / "named.toml").write_text(f'{prices}\npositive = "bad"\n')
    (tmp_path / "bare.toml").write_text(prices)
    weights = []
    for name, more in (("named", ()), ("bare", ("--positive", "bad")), ("bare", ("--positive", "good"))):
        out = tmp_path / f"{len(weights)}.steelyard"
        given = ("--target", "y", "--costs", tmp_path / f"{name}.toml", "--out", out, "--quiet")
        assert run("fit", parts, *given, *more).exit_code == 0
        weights.append(load_model(out).learner.coef_.tolist())
    assert weights[0] == weights[1] != weights[2]


def test_fit_writes_neither_over_a_part_nor_over_another_file(parts: Path, tmp_path: Path) -> None:
    mine, part = tmp_path / "mine.txt", parts / "part-2.csv"
    mine.write_text("mine")
    before = part.read_bytes()
    with pytest.raises(InvalidInputError, match=r"--out must not be the part part-2\.csv"):
        run("fit", parts, "--target", "y", "--out", part, "--overwrite")
    with pytest.raises(InvalidInputError, match="--out must be a new file"):
        run("fit", parts, "--target", "y", "--out", mine)
    assert (part.read_bytes(), mine.read_text()) == (before, "mine")
    assert run("fit", parts, "--target", "y", "--out", mine, "--overwrite", "--quiet").exit_code == 0
    assert load_model(mine)


@pytest.mark.filterwarnings("ignore:1 parts could not be read")
def test_fit_leaves_a_part_out_that_ends_within_a_line(parts: Path, tmp_path: Path) -> None:
    damaged, whole = parts / "part-1.csv", parts / "part-0.csv"
    damaged.write_text(whole.read_text()[: len(whole.read_text()) // 2].rpartition(",")[0])
    given = ["--target", "y", "--costs", "fn=5,fp=1", "--quiet"]
    with pytest.raises(DataFileError, match=r"part-1\.csv, line 16: expected 4 cells; got 2"):
        run("fit", parts, *given, "--out", tmp_path / "all.steelyard")
    assert run("fit", parts, *given, "--on-bad-part", "skip", "--out", tmp_path / "rest.steelyard").exit_code == 0
    damaged.unlink()
    assert run("fit", parts, *given, "--out", tmp_path / "without.steelyard").exit_code == 0
    found: list[Any] = [load_model(tmp_path / f"{name}.steelyard") for name in ("rest", "without")]
    rest, without = (model.learner for model in found)
    np.testing.assert_array_equal(rest.coef_, without.coef_)


def test_what_fit_cannot_do_is_said(parts: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "m.steelyard"]
    for given, words in [
        (["--target", "y"], "--out must name the model file"),
        (["--target", "y", "--lanes", 3, *out], "lanes must be 1 for CSOGD2"),
        (["--target", "y", "--costs", "5:1", "--positive", "odd", *out], "--positive must be one of two labels"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            run("fit", parts, *given)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    folder = tmp_path / "mixed"
    folder.mkdir()
    for i in range(4):
        rows = zip(X[30 * i : 30 * i + 30], Y[30 * i : 30 * i + 30], strict=True)
        lines = [f"{x[0]:.6f},{'Ulm' if x[1] > 0 else 'Bern'},{abs(x[2]):.2f},{y}" for x, y in rows]
        (folder / f"part-{i}.csv").write_text("\n".join(["a,town,amount,y", *lines, ""]))
    return folder


def test_text_scale_and_row_costs_on_the_command_line(mixed: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "m.steelyard", tmp_path / "decided"
    given = ["--target", "y", "--costs", "fn=amount,fp=1", "--positive", "bad"]
    fitting = ["--update", "AROW", "--scale", "standard", "--hash-bits", 10, "--quiet", "--out", model]
    assert run("fit", mixed, *given, *fitting).exit_code == 0
    state: Any = load_model(model)
    assert state.encoder.columns == ("a", "town")
    assert state.learner.n_features_in_ == 2**10
    told = run("predict", model, mixed, "--jobs", 1, "--out", out, "--keep", "amount", "--quiet")
    assert told.exit_code == 0
    manifest = json.loads((out / "_manifest.json").read_text())
    assert [part["rows"] for part in manifest["parts"]] == [30] * 4
    decided = pq.read_table(out / "part-0.parquet").to_pydict()
    assert set(decided) == {"amount", "decision"}
    alone = [line for line in run("predict", model, mixed / "part-0.csv").stdout.splitlines()[1:] if line]
    assert decided["decision"] == [line.split(",")[-1] for line in alone]
    told = run("score", model, mixed, "--target", "y", "--costs", "fn=amount,fp=1", "--json", "--jobs", "1")
    found = json.loads(told.stdout)
    assert 0.5 < found["auc"]["value"] <= 1
    assert found["auc"]["error"] < 0.01
    assert "best_threshold" not in found  # which thresholds cost what, is told for costs by class
    told = run("score", model, mixed, "--target", "y", "--costs", "5:1", "--jobs", "1")
    assert "AUC" in told.stdout
    assert "cheapest threshold" in told.stdout
    with pytest.raises(InvalidInputError, match="--out must be a folder with --cluster or --jobs"):
        run("predict", model, mixed, "--jobs", 1)
    with pytest.raises(InvalidInputError, match="--proba must be left out"):
        run("predict", model, mixed, "--jobs", 1, "--proba", "--out", out)


def test_a_column_of_numbers_read_as_categories(mixed: Path, tmp_path: Path) -> None:
    for i, path in enumerate(sorted(mixed.iterdir())):
        lines = path.read_text().splitlines()
        path.write_text(
            "\n".join([f"{lines[0]},shop", *(f"{line},{2**60 + (i + j) % 3}" for j, line in enumerate(lines[1:]))])
        )
    model, given = (
        tmp_path / "m.steelyard",
        ["--target", "y", "--update", "AROW", "--quiet", "--out", tmp_path / "m.steelyard"],
    )
    assert run("fit", mixed, *given, "--category", "shop").exit_code == 0
    state: Any = load_model(model)
    assert set(state.encoder.nominal) == {"town", "shop"}
    assert run("score", model, mixed, "--target", "y", "--json", "--jobs", 1).exit_code == 0


def test_compare_on_parts_from_the_command_line(mixed: Path, tmp_path: Path) -> None:
    given = ["--target", "y", "--costs", "fn=5,fp=1", "--sample", 100, "--effort", 6, "--folds", 3, "--no-blend"]
    candidates = ["--candidates", "logistic regression, C=1", "--candidates", "arow"]
    told = run("compare", mixed, *given, *candidates, "--jobs", 1, "--json", "--quiet", "--out", tmp_path / "r")
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert {line["sampled"] for line in found["lines"]} == {True, False}
    assert len(found["held_out"]) == 1
    assert "were held out" in (tmp_path / "r" / "report.html").read_text()
    assert load_model(tmp_path / "r" / "model.steelyard") is not None
    with pytest.raises(InvalidInputError, match="--groups must be left out with --sample"):
        run("compare", mixed, *given, "--groups", "town", "--out", tmp_path / "r")


@pytest.mark.parametrize("names", [["low", "mid", "top"], [1, 2, 3, 4]])
def test_score_of_more_than_two_labels_needs_no_positive_one(tmp_path: Path, names: list[Any]) -> None:
    codes = np.arange(120) % len(names)
    labels = np.array(names)[codes]
    rows = np.eye(len(names))[codes] + 0.6 * RNG.normal(size=(120, len(names)))
    text = [",".join([*map(repr, row), str(y)]) for row, y in zip(rows.tolist(), labels, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join([*"abcd"[: len(names)], "y"]), *text, ""]))
    matrix = np.arange(len(names) ** 2).reshape(len(names), -1) * (1 - np.eye(len(names)))
    lines = [f"{name}," + ",".join(map(str, row)) for name, row in zip(names, matrix, strict=True)]
    (tmp_path / "costs.csv").write_text("\n".join([",".join(["", *map(str, names)]), *lines, ""]))
    data, out = tmp_path / "rows.csv", tmp_path / "m.steelyard"
    assert run("fit", data, "--target", "y", "--costs", tmp_path / "costs.csv", "--out", out, "--quiet").exit_code == 0
    told = run("score", out, data, "--target", "y", "--json", "--jobs", 1)
    assert told.exit_code == 0
    found, model = json.loads(told.stdout), load_model(out)
    answers = np.array(model.predict(rows).tolist())
    costs = Costs.from_matrix(matrix, classes=names)
    assert list(found) == ["mean_cost", "total_cost", "g_mean_score"]
    assert found["mean_cost"]["value"] == pytest.approx(mean_cost(labels, answers, costs=costs))
    assert found["g_mean_score"]["value"] == pytest.approx(g_mean_score(labels, answers))
    assert found["mean_cost"]["low"] < found["mean_cost"]["value"] < found["mean_cost"]["high"]
