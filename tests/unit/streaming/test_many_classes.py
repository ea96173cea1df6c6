"""``steelyard stream`` with more than two labels, and what it says to users who change their mind or stop."""

import io
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from steelyard import (
    CSOGD1,
    PA1,
    AdaptiveBalanced,
    AskSymmetric,
    Balanced,
    OnlineClassifier,
    OnlineCostClassifier,
    StreamScaler,
    cli,
    load_model,
    total_cost,
)
from steelyard.streaming import command
from steelyard.streaming import decision_log as log_module
from steelyard.streaming import session as session_module
from steelyard.streaming.command import Places
from steelyard.streaming.decision_log import DecisionLog
from steelyard.streaming.session import ConfusionCounts, Session
from steelyard.streaming.settings import StreamSettings

RNG = np.random.default_rng(8)
CODES = RNG.integers(0, 3, 157)
X = np.array([[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]])[CODES] + RNG.normal(size=(157, 2)) * [1, 2]
NAMES = np.array(["high", "low", "mid"])  # sorted, as the stream finds them
C = np.array([[0.0, 9, 4], [1, 0, 1], [2, 1, 0]])
ASKING = ["--query", "Symmetric(c=0.3)", "--budget", "70", "--seed", "4"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(level=NAMES[CODES])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True, double_precision=15)
    shown = [",".join(["level", *NAMES]), *(",".join([name, *map(str, c)]) for name, c in zip(NAMES, C, strict=True))]
    (tmp_path / "costs.csv").write_text("\n".join(shown) + "\n")
    return tmp_path / "rows.csv"


def run(*arguments: Any, feed: bytes | None = None) -> Any:
    return CliRunner().invoke(cli.app, ["stream", *map(str, arguments)], input=feed, catch_exceptions=False)


def test_it_does_what_the_library_does(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    costs = ["--costs", tmp_path / "costs.csv", "--update", "CSOGD1(eta=0.5)"]
    told = run(table, "--target", "level", *ASKING, *costs, "--decisions", out, "--chunk", 50, "--json")
    model = OnlineCostClassifier(CSOGD1(0.5), query=AskSymmetric(0.3), budget=70, costs=C, seed=4)
    trace = model.run(StreamScaler(unit_norm=True).run(X), CODES)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["decision"] for line in lines] == NAMES[trace.prediction].tolist()
    assert [line["score"] for line in lines] == trace.score.tolist()
    assert [line["queried"] for line in lines] == trace.queried.tolist()
    numbers = json.loads(told.output.splitlines()[-1])
    assert numbers["cost"] == C[CODES, trace.prediction].sum()
    assert numbers["labels_asked"] == trace.queried.sum() <= 70
    for k, name in enumerate(NAMES):
        assert numbers["recall"][name] == (trace.prediction[k == CODES] == k).mean()


def test_rules_averages_and_balanced_costs_of_many(table: Path, tmp_path: Path) -> None:
    out, state = tmp_path / "out.jsonl", tmp_path / "state.npz"
    options = ["--target", "level", "--decisions", out, "--state", state, "--chunk", 50, "--quiet"]
    asking = ["--query", "Symmetric(c=0.3)", "--budget", "40", "--seed", "4"]
    run(table, *options, "--update", "PA1(C=0.5)", "--costs", "balanced", *asking, "--after-budget", "average")
    model = OnlineCostClassifier(
        PA1(0.5), query=AskSymmetric(0.3), budget=40, costs=AdaptiveBalanced(), after_budget="average", seed=4
    )
    trace = model.run(StreamScaler(unit_norm=True).run(X), CODES)
    assert trace.queried.sum() == 40  # so the average was taken
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["score"] for line in lines] == trace.score.tolist()
    np.testing.assert_array_equal(load_model(state).learner.coef_, model.coef_)


def test_every_format_and_standard_input_tell_the_same(table: Path) -> None:
    options = ["--target", "level", *ASKING, "--json", "--quiet"]
    told = [run(table.with_suffix(suffix), *options).output for suffix in (".csv", ".parquet", ".jsonl")]
    told.append(run("-", "--format", "csv", *options, feed=table.read_bytes()).output)
    assert told[0] == told[1] == told[3] != ""
    csv, jsonl = (json.loads(told[i]) for i in (0, 2))
    assert csv.pop("data") != jsonl.pop("data")  # JSON was written with a digit less
    assert csv == jsonl


def test_stopped_and_resumed_is_the_same_to_the_last_byte(table: Path, tmp_path: Path) -> None:
    whole, parts, state = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "state.npz"
    run(table, "--target", "level", *ASKING, "--costs", tmp_path / "costs.csv", "--decisions", whole, "--quiet")
    head = tmp_path / "head.csv"
    head.write_text("".join(table.read_text().splitlines(keepends=True)[:81]))
    options = ["--target", "level", "--decisions", parts, "--state", state, "--quiet"]
    run(head, *options, *ASKING, "--costs", tmp_path / "costs.csv", "--chunk", 17)
    run(table, *options, "--skip-seen", "--chunk", 33)  # what the state knows need not be said again
    assert parts.read_bytes() == whole.read_bytes()


def test_missing_labels_are_decided_and_give_their_budget_back(table: Path, tmp_path: Path) -> None:
    text = table.read_text().splitlines(keepends=True)
    for i in range(1, 40, 2):
        text[i] = text[i].rsplit(",", 1)[0] + ",\n"
    holes, out = tmp_path / "holes.csv", tmp_path / "out.jsonl"
    holes.write_text("".join(text))
    options = [
        "--target",
        "level",
        "--classes",
        "low,mid,high",
        "--budget",
        60,
        "--decisions",
        out,
        "--json",
        "--quiet",
    ]
    numbers = json.loads(run(holes, *options).output)
    assert numbers["rows"] == len(out.read_text().splitlines()) == 157
    assert numbers["labels_asked"] == 60
    assert list(numbers["recall"]) == ["low", "mid", "high"]


@pytest.mark.parametrize("costs", [C.tolist(), {"high": 9.0, "low": 1.0, "mid": 2.0}, Balanced()])
@pytest.mark.parametrize("many", [True, False])
def test_a_learner_from_python_goes_on_with_its_costs_in_whatever_form(tmp_path: Path, costs: Any, many: bool) -> None:
    kept = np.ones(157, bool) if many else CODES < 2
    rows, labels = X[kept], NAMES[CODES[kept]]
    if not many:
        costs = (
            {"high": 9.0, "low": 1.0} if isinstance(costs, dict) else [[0, 9], [1, 0]] if costs == C.tolist() else costs
        )
    kind: Any = OnlineCostClassifier if many else OnlineClassifier
    model = kind(CSOGD1(0.5), costs=costs).fit(rows[:60], labels[:60])
    model.save(tmp_path / "learner.steelyard")
    pd.DataFrame(rows[60:], columns=["a", "b"]).assign(level=labels[60:]).to_csv(tmp_path / "rest.csv", index=False)
    told = run(
        tmp_path / "rest.csv", "--target", "level", "--state", tmp_path / "learner.steelyard", "--json", "--quiet"
    )
    assert told.exit_code == 0
    numbers = json.loads(told.output.splitlines()[-1])
    paid = costs.costs_for(labels[:60]) if isinstance(costs, Balanced) else costs  # of the rows it was fitted on
    answers = model.run(rows[60:], labels[60:]).prediction
    assert numbers["cost"] == pytest.approx(total_cost(labels[60:], answers, costs=paid, classes=model.classes_)) != 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--update", "AROW"], "update must be a rule for many classes"),
        (["--positive", "high"], "--positive must be left out where there are more than two labels"),
        (["--classes", "low,mid,high", "--positive", "high"], "--positive must be one of two labels"),
        (["--classes", "low,low,high"], "--classes must name two labels or more"),
        (["--classes", "low,mid,top"], "labels must be one of ('low', 'mid', 'top'); got 'high'. See row"),
        (["--costs", "fn=5,fp=1"], "--costs must be balanced or a matrix for 3 labels"),
        (["--costs", "nowhere.csv"], "costs file nowhere.csv cannot be read"),
        (["--threshold", "0.5"], "--threshold must be left out"),
        (["--after-budget", "average"], 'budget must be a number of labels for after_budget="average"'),
        (["--target", "a"], "the first chunk must hold no more than 50 labels"),
        (["--n-features", "3"], "n_features must be left out for csv"),
        (["--state", "nowhere/state.npz"], "--state must lie in a folder that exists"),
        (["--decisions", "nowhere/out.csv"], "--decisions must lie in a folder that exists"),
    ],
)
def test_mistakes_are_one_sentence(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in said(["stream", str(table), "--target", "level", "--quiet", *arguments], monkeypatch, capsys)


def said(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["steelyard", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith("steelyard: ")
    assert sentence.count("\n") == 1
    return sentence


def test_standard_input_needs_its_format(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--format must be one of csv, tsv, whitespace, jsonl, libsvm, arff, parquet, arrow" in said(
        ["stream", "-"], monkeypatch, capsys
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "71"], "--budget must stay 70, as"),
        (["--query", "AskAll(3)"], "--query must give AskAll its parameters"),
        (["--query", "Uncertain(0.5)"], "--query must stay AskSymmetric(c=0.3), as"),
        (["--update", "CSOGD1(0.7)"], "--update must stay CSOGD1(eta=0.2), as"),
        (["--classes", "low,mid,high"], "--classes must stay ['high', 'low', 'mid'], as"),
        (["--seed", "5"], "--seed must stay 4, as"),
    ],
)
def test_a_state_keeps_what_it_was_begun_with(
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    state = tmp_path / "state.npz"
    run(table, "--target", "level", *ASKING, "--state", state, "--quiet")
    before = state.read_bytes()
    options = ["stream", str(table), "--target", "level", "--state", str(state), "--quiet"]
    assert words in said([*options, *arguments], monkeypatch, capsys)
    assert state.read_bytes() == before


def test_killed_it_has_saved_the_chunks_before(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, state, seen = Session.take, tmp_path / "state.npz", []

    def take(self: Session, chunk: Any, positive: str | None) -> Any:
        if self.rounds:
            seen.append(Session.load(state).rounds)  # all that a process that ends here and now leaves behind
        return taken(self, chunk, positive)

    monkeypatch.setattr(Session, "take", take)
    monkeypatch.setattr(command, "SAVING_SHARE", np.inf)
    run(table, "--target", "level", *ASKING, "--state", state, "--chunk", 50, "--quiet")
    assert seen == [50, 100, 150]


def test_interrupted_it_keeps_the_chunks_that_are_done(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Session.take

    def take(self: Session, chunk: Any, positive: str | None) -> Any:
        if self.rounds == 60:
            raise KeyboardInterrupt
        return taken(self, chunk, positive)

    state, out, error = tmp_path / "state.npz", tmp_path / "out.csv", io.StringIO()
    monkeypatch.setattr(Session, "take", take)
    monkeypatch.setattr(sys, "stderr", error)
    settings = StreamSettings(query="Symmetric(c=0.3)", budget="70", seed=4)
    rest: dict[str, Any] = {"quiet": False, "as_json": False, "skip": True}
    with pytest.raises(KeyboardInterrupt):
        command.run_stream(Places(str(table), str(out), state), settings, reader={"target": "level"}, chunk=20, **rest)
    assert "stopped after 60 rows. What was learned is in" in " ".join(error.getvalue().split())
    monkeypatch.undo()
    run(table, "--target", "level", "--state", state, "--decisions", out, "--skip-seen", "--quiet")
    whole = tmp_path / "whole.csv"
    run(table, "--target", "level", *ASKING, "--decisions", whole, "--quiet")
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("place", ["the digest", "the counts", "the log", "the file"])
def test_interrupted_between_learner_and_log_the_state_speaks_of_whole_chunks(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """What the learner has seen it cannot be made to forget: then the file stays as it was saved before."""
    owner: Any = {"the digest": session_module, "the counts": ConfusionCounts, "the log": DecisionLog}.get(
        place, log_module
    )
    name = {"the digest": "rows_digest", "the counts": "plus", "the log": "write", "the file": "_write_all"}[place]
    real, calls = getattr(owner, name), itertools.count(1)

    def stopped(*given: Any) -> Any:
        if next(calls) == 3:
            if place == "the file":
                os.write(given[0], given[1][:50])  # in the middle
            raise KeyboardInterrupt
        return real(*given)

    state, out, error = tmp_path / "state", tmp_path / "out.csv", io.StringIO()
    monkeypatch.setattr(owner, name, stopped)
    monkeypatch.setattr(command, "SAVING_SHARE", np.inf)
    monkeypatch.setattr(sys, "stderr", error)
    settings = StreamSettings(query="Symmetric(c=0.3)", budget="70", seed=4)
    rest: dict[str, Any] = {"quiet": False, "as_json": False, "skip": True}
    with pytest.raises(KeyboardInterrupt):
        command.run_stream(Places(str(table), str(out), state), settings, reader={"target": "level"}, chunk=20, **rest)
    kept, rows = Session.load(state), 60 if place in ("the log", "the file") else 40  # what is learned is logged
    assert (kept.rounds, kept.counts.counts.sum()) == (rows, rows)
    words = "holds the first 40; --skip-seen goes on from there." if place == "the counts" else "What was learned is in"
    assert f"stopped after {rows} rows." in " ".join(error.getvalue().split())
    assert words in " ".join(error.getvalue().split())
    monkeypatch.undo()
    run(table, "--target", "level", "--state", state, "--decisions", out, "--skip-seen", "--quiet")
    run(table, "--target", "level", *ASKING, "--decisions", tmp_path / "whole.csv", "--quiet")
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_the_tally_of_many() -> None:
    tally = ConfusionCounts(np.zeros((3, 3))).plus(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    assert tally.recalls() == [0.5, 1.0, None]
    assert tally.f1() == pytest.approx((2 / 3 + 4 / 5) / 2)  # the third label neither came nor was answered
