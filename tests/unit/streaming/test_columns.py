"""Costs that stand in the rows of a stream."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steelyard import CSOGD2, OnlineClassifier, StateError, StreamScaler, load_model
from steelyard.cli import main
from steelyard.costs.spec import CostSpec
from steelyard.streaming.columns import CostUnit, SideColumns
from steelyard.streaming.session import Session

RNG = np.random.default_rng(4)
N = 80
X = RNG.normal(size=(N, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0.4, "bad", "good")
AMOUNT, FEE = RNG.lognormal(3, 1, N), RNG.uniform(5, 20, N)
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(amount=AMOUNT, fee=FEE, y=Y)


def run(*words: Any, positive: str | None = "bad") -> int:
    named = [] if positive is None else ["--positive", positive]
    before, sys.argv = sys.argv, ["steelyard", "stream", *map(str, words), "--target", "y", *named]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    return int(ended.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    return tmp_path


COLUMNS = ("--fn-cost-column", "amount", "--fp-cost-column", "fee")


def test_costs_of_rows_are_learned_from_and_paid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rows.csv", *COLUMNS, "--json", "--state", "s", "--chunk", 9, "--decisions", "log.jsonl") == 0
    out = capsys.readouterr()
    assert "Not learned from, since they hold costs: amount, fee." in out.err
    unit = np.cumsum(FEE) / np.arange(1, N + 1)
    bad = Y == "bad"
    wrong = np.where(bad, AMOUNT, FEE) / unit
    table = np.column_stack([np.where(bad, wrong, 0), np.where(bad, 0, wrong)])
    model = OnlineClassifier(CSOGD2())
    trace = model.run(StreamScaler(unit_norm=True).run(X), bad.astype(int), costs=table)
    decided = [json.loads(line)["decision"] == "bad" for line in Path("log.jsonl").read_text().splitlines()]
    assert decided == trace.prediction.astype(bool).tolist()
    np.testing.assert_array_equal(load_model("s").learner.coef_, model.coef_)
    told = json.loads(out.out)
    paid = np.where(bad & ~np.array(decided), AMOUNT, 0) + np.where(~bad & decided, FEE, 0)
    assert told["cost"] == pytest.approx(paid.sum(), rel=1e-12)
    assert told["costs"] == {"fn": "amount", "fp": "fee", "tp": 0.0, "tn": 0.0}


def test_equal_costs_in_all_rows_are_costs_by_class_to_the_last_bit(folder: Path) -> None:
    FRAME.assign(amount=35.0, fee=7.0).to_csv("rows.csv", index=False)
    rules = ("--query", "AskUncertain(c=0.5)", "--budget", 40, "--quiet")
    assert run("rows.csv", *COLUMNS, *rules, "--state", "rows.state", "--chunk", 13) == 0
    FRAME[["a", "b", "y"]].to_csv("rows.csv", index=False)
    assert run("rows.csv", "--costs", "fn=35,fp=7", *rules, "--state", "class.state") == 0
    one, other = Session.load(Path("rows.state")), Session.load(Path("class.state"))
    np.testing.assert_array_equal(one.learner.coef_, other.learner.coef_)
    assert one.cost() == pytest.approx(other.cost(), rel=1e-12)
    assert one.cost() > 0


@pytest.mark.parametrize("chunk", [1, 7, 80])
def test_a_label_that_comes_late_counts_its_own_costs(folder: Path, chunk: int) -> None:
    FRAME.assign(y="").to_csv("rows.csv", index=False)
    words = ("--costs", "fn=amount,fp=fee,tp=-1", "--classes", "good,bad", "--quiet")
    assert run("rows.csv", *words, "--state", "s", "--chunk", chunk) == 0
    pd.DataFrame({"t": range(N), "label": Y}).to_csv("late.csv", index=False)
    answers = [entry.answer for entry in Session.load(Path("s")).awaited.values()]
    before, sys.argv = sys.argv, ["steelyard", "stream", "--labels", "late.csv", "--state", "s", "--quiet"]
    with pytest.raises(SystemExit):
        main()
    sys.argv = before
    bad = Y == "bad"
    paid = np.where(bad, np.where(answers, -1.0, AMOUNT), np.where(answers, FEE, 0.0))
    session = Session.load(Path("s"))
    assert session.cost() == pytest.approx(paid.sum(), rel=1e-12)
    unit = np.cumsum(FEE) / np.arange(1, N + 1)
    live = OnlineClassifier(CSOGD2()).start(2, [0, 1])
    rows = StreamScaler(unit_norm=True).run(X)
    for row in rows:
        live.decide(row)
    for i, row in enumerate(rows):
        live.learn(row, int(bad[i]), cost=(AMOUNT[i] + 1 if bad[i] else FEE[i]) / unit[i])
    np.testing.assert_array_equal(session.learner.coef_, live.coef_)


def test_a_state_knows_its_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rows.csv", *COLUMNS, "--state", "s", "--quiet") == 0
    assert run("rows.csv", "--state", "s", "--quiet") == 0
    assert Session.load(Path("s")).rounds == 2 * N
    before = Path("s").read_bytes()
    assert run("rows.csv", "--fn-cost-column", "fee", "--costs", "fp=1", "--state", "s", "--quiet") == 2
    assert "--costs must stay {'fn': 'amount', 'fp': 'fee'" in capsys.readouterr().err
    FRAME.drop(columns="fee").to_csv("other.csv", index=False)
    assert run("other.csv", "--state", "s", "--quiet") == 2
    assert "cost columns must be among the columns (a, b, amount); got 'fee'" in capsys.readouterr().err
    assert Path("s").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"amount": np.where(np.arange(N) == 33, np.nan, AMOUNT)},
            "'amount' must hold finite numbers; got nan. See row 33",
        ),
        ({"amount": np.where(np.arange(N) == 33, -1.0, AMOUNT)}, "make the right answer the cheapest"),
        ({"amount": "much"}, "cost column 'amount' must hold numbers; got 'much'"),
        ({"y": np.resize(["bad", "good", "ugly"], N)}, "cost columns must be given for two labels; got '3 labels'"),
    ],
)
def test_costs_that_cannot_be_used_are_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    FRAME.assign(**change).to_csv("rows.csv", index=False)
    sys.argv = ["steelyard", "stream", "rows.csv", "--target", "y", *COLUMNS, "--quiet", "--chunk", "10"]
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert words in said


@pytest.mark.parametrize("stated", [COLUMNS, ("--costs", "fn=5,fp=1")])
def test_a_miss_is_about_the_class_that_a_file_of_costs_names(
    folder: Path, capsys: pytest.CaptureFixture[str], stated: tuple[str, ...]
) -> None:
    assert run("rows.csv", *stated, "--json", "--state", "by-option") == 0
    wanted = capsys.readouterr().out
    prices = 'fn = "amount"\nfp = "fee"' if stated == COLUMNS else "fn = 5\nfp = 1"
    Path("costs.toml").write_text(f'{prices}\npositive = "bad"\n')
    assert run("rows.csv", "--costs", "costs.toml", "--json", "--state", "by-file", positive=None) == 0
    assert capsys.readouterr().out == wanted
    assert run("rows.csv", "--costs", "costs.toml", "--state", "by-option", positive=None) == 0  # the same stream
    assert run("rows.csv", "--costs", "costs.toml", positive="good") != 0
    assert "--positive must be bad, as the --costs file has it" in capsys.readouterr().err


def test_kept_cost_columns_are_learned_from(folder: Path) -> None:
    assert run("rows.csv", *COLUMNS, "--keep-cost-columns", "--state", "s", "--quiet") == 0
    assert load_model("s").encoder.columns == ("a", "b", "amount", "fee")


def test_side_columns_survive_their_dict() -> None:
    side = SideColumns("key", CostSpec(fn="amount", fp=20.0), keep=True)
    assert SideColumns.from_dict(side.to_dict()) == side
    assert SideColumns.from_dict({}) == SideColumns()
    with pytest.raises(StateError):
        SideColumns.from_dict({"id": 3})
    with pytest.raises(StateError):
        SideColumns.from_dict({"cost_fn": 1})


def test_the_unit_is_of_the_past_and_starts_with_misses_where_alarms_are_free() -> None:
    free = np.array([[[0.0, 0.0], [10.0, 0.0]], [[0.0, 4.0], [20.0, 0.0]]])
    costs, unit = CostUnit().measured(free)
    np.testing.assert_array_equal(costs, [[0.0, 1.0], [2.0, 10.0]])
    assert unit == CostUnit(30.0, 4.0, 2)
