"""The commands fit and score, and predict on what fit wrote."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from steelyard import AROW, Costs, InvalidInputError, OnlineClassifier, cli, load_model, mean_cost

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


def test_what_fit_cannot_do_is_said(parts: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "m.steelyard"]
    for given, words in [
        (["--target", "y"], "--out must name the model file"),
        (["--target", "y", "--lanes", 3, *out], "lanes must be 1 for CSOGD2"),
        (["--target", "y", "--costs", "5:1", "--positive", "odd", *out], "--positive must be one of two labels"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            run("fit", parts, *given)
