"""Labels that come days later: learned as Python's own loop would, refused whole where one of them cannot be used."""

import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from forked import Forked

from steelyard import CSOGD2, AskUncertain, Costs, OnlineClassifier, StreamScaler, load_model
from steelyard.cli import main
from steelyard.streaming import late_labels
from steelyard.streaming.session import Session

RNG = np.random.default_rng(3)
N = 60
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0.4, "bad", "good")
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(key=[f"r{i:03}" for i in range(N)])
RULES = ["--query", "AskUncertain(c=0.3)", "--budget", "30", "--costs", "fn=5,fp=1", "--classes", "good,bad"]


def run(*words: Any) -> int:
    before, sys.argv = sys.argv, ["steelyard", "stream", *map(str, words), "--quiet"]
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


def begin(*more: Any) -> list[int]:
    """A stream of rows that have no label; the rounds whose label it asks for."""
    assert run("rows.csv", "--state", "s", "--id", "key", "--decisions", "log.jsonl", *RULES, *more) == 0
    lines = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == FRAME.key.tolist()
    asked = [line["t"] for line in lines if line["queried"]]
    assert 5 < len(asked) <= N
    return asked


def late(rounds: list[int], by: str = "key", labels: Any = None, name: str = "late.csv") -> None:
    keys = FRAME.key[rounds].tolist() if by == "key" else rounds
    told = Y[rounds] if labels is None else labels
    pd.DataFrame({by: keys, "label": told}).to_csv(name, index=False)


@pytest.mark.parametrize("by", ["key", "t"])
@pytest.mark.parametrize("chunk", [7, 1000])
def test_late_labels_are_learned_as_the_library_learns_them(folder: Path, by: str, chunk: int) -> None:
    asked = begin("--chunk", chunk)
    assert Session.load(Path("s")).learner.n_reserved_ == len(asked)
    order = asked[::-1]
    late(order, by)
    assert run("--labels", "late.csv", "--state", "s") == 0
    rows = StreamScaler(unit_norm=True).run(X)
    costs = Costs.binary(fn=5, fp=1)
    live = OnlineClassifier(CSOGD2(), query=AskUncertain(0.3), budget=30, costs=costs).start(3, [0, 1])
    decided = [live.decide(row) for row in rows]
    assert [d.t for d in decided if d.query] == asked
    for t in order:
        live.learn(rows[t], int(Y[t] == "bad"))
    state = load_model("s")
    np.testing.assert_array_equal(state.learner.coef_, live.coef_)
    assert (state.learner.n_spent_, state.learner.n_reserved_) == (len(asked), 0)
    assert state.awaited == ()
    wrong = [(Y[t] == "bad", decided[t].prediction) for t in asked]
    assert Session.load(Path("s")).cost() == sum(5 * (y and not p) + (p and not y) for y, p in wrong)


def test_a_stream_goes_on_between_the_labels_and_a_part_may_come(folder: Path) -> None:
    asked = begin()
    late(asked, labels=[Y[t] if t % 2 else "" for t in asked])
    assert run("--labels", "late.csv", "--state", "s") == 0
    some = [t for t in asked if t % 2]
    session = Session.load(Path("s"))
    assert list(session.awaited) == [t for t in asked if t % 2 == 0]
    assert session.learner.n_spent_ == len(some)
    assert run("rows.csv", "--state", "s", "--decisions", "log.jsonl") == 0  # the same rows again, as new ones
    assert Session.load(Path("s")).rounds == 2 * N
    late([t for t in asked if t % 2 == 0], by="t")
    assert run("--labels", "late.csv", "--state", "s") == 0


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f, t: pd.concat([f, f[:1].assign(key="r999")]), "r999 is not awaited: unknown, not asked for"),
        (lambda f, t: pd.concat([f, f[:1]]), "{k} comes twice;"),
        (lambda f, t: pd.concat([f, f[:1].assign(label="good" if Y[t] == "bad" else "bad")]), "{k} comes twice with"),
        (lambda f, t: f.assign(label="ugly"), "is no label of the stream ('good', 'bad')"),
        (lambda f, t: f.rename(columns={"key": "name"}), "must have a column 'key' or 't'"),
        (lambda f, t: f.assign(more=1).rename(columns={"label": "truth"}), "--target must name the column of labels"),
        (lambda f, t: f.assign(label=""), "--labels must hold a label"),
    ],
)
def test_what_cannot_be_used_is_named_and_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], spoil: Any, words: str
) -> None:
    asked = begin()
    late(asked)
    spoil(pd.read_csv("late.csv"), asked[0]).to_csv("late.csv", index=False)
    before = Path("s").read_bytes()
    assert run("--labels", "late.csv", "--state", "s") == 2
    said = capsys.readouterr().err
    assert words.replace("{k}", FRAME.key[asked[0]]).rstrip(";") in said
    assert said.count("\n") == 1
    assert Path("s").read_bytes() == before


def test_a_line_that_names_no_row_is_counted_from_the_head_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = begin()
    late(asked)
    monkeypatch.setattr(late_labels, "_ROWS", 2)
    pd.read_csv("late.csv").astype({"key": object}).replace({"key": {FRAME.key[asked[4]]: None}}).to_csv(
        "late.csv", index=False
    )
    assert run("--labels", "late.csv", "--state", "s") == 2
    assert "See row 5." in capsys.readouterr().err


@pytest.mark.parametrize("piped", [True, False])
def test_labels_come_through_a_pipe_or_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, piped: bool
) -> None:
    asked = begin()
    late(asked)
    content = Path("late.csv").read_bytes()
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    source = f"/dev/fd/{reading}" if piped else "-"
    assert run("--labels", source, "--format", "csv", "--state", "s") == 0
    os.close(reading)
    assert Session.load(Path("s")).learner.n_spent_ == len(asked)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--decisions", "log.jsonl"], "--decisions must be left out with --labels"),
        (["--skip-seen"], "--skip-seen must be left out with --labels"),
        (["--await", 0], "--await must be left out with --labels"),
        (["--drop", "a"], "--drop must be left out with --labels"),
        (["--jobs", 2], "--jobs must be left out with --labels"),
        (["--costs", "fn=6,fp=1"], "--costs must stay"),
        (["--id", "a"], "--id must stay key"),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[Any], said: str
) -> None:
    asked = begin()
    late(asked)
    before = Path("s").read_bytes()
    assert run("--labels", "late.csv", "--state", "s", *words) == 2
    assert said in capsys.readouterr().err
    assert Path("s").read_bytes() == before
    assert run("--labels", "late.csv", "--state", "s", "--id", "key", *RULES) == 0  # those that it began with


def test_labels_that_came_before_are_told_from_those_that_contradict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = begin()
    late(asked)
    assert run("--labels", "late.csv", "--state", "s") == 0
    before = Path("s").read_bytes()
    assert run("--labels", "late.csv", "--state", "s") == 2
    assert "has its label already" in capsys.readouterr().err
    late(asked, labels=np.where(Y[asked] == "bad", "good", "bad"))
    assert run("--labels", "late.csv", "--state", "s") == 2
    assert "has another label already, 'bad'" in capsys.readouterr().err
    never = next(t for t in range(N) if t not in asked)
    late([never])
    assert run("--labels", "late.csv", "--state", "s") == 2
    assert f"{FRAME.key[never]} is not awaited" in capsys.readouterr().err
    assert Path("s").read_bytes() == before


def test_two_rows_of_one_name_need_their_round(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.assign(key="same").to_csv("rows.csv", index=False)
    assert run("rows.csv", "--state", "s", "--id", "key", *RULES) == 0
    asked = list(Session.load(Path("s")).awaited)
    pd.DataFrame({"key": ["same"], "label": ["bad"]}).to_csv("late.csv", index=False)
    assert run("--labels", "late.csv", "--state", "s") == 2
    assert f"same names the rows t = {asked[0]}" in capsys.readouterr().err
    late(asked[:1], by="t")
    assert run("--labels", "late.csv", "--state", "s") == 0


def test_the_oldest_are_given_up_and_their_budget_is_free(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin("--await", 4)
    session = Session.load(Path("s"))
    assert len(session.awaited) == session.learner.n_reserved_ == 4
    assert session.most_awaited == 4
    assert run("rows.csv", "--state", "s", "--decisions", "log.jsonl", "--await", 0) == 0
    assert "given up: 4 labels" in capsys.readouterr().err
    assert Session.load(Path("s")).learner.n_reserved_ == 0


def test_numbers_as_names_and_json_lines_keep_every_digit(folder: Path) -> None:
    big = [2**60 + i for i in range(N)]
    FRAME.assign(key=big).to_csv("rows.csv", index=False)
    assert run("rows.csv", "--state", "s", "--id", "key", *RULES) == 0
    asked = Session.load(Path("s")).awaited
    assert [entry.id for entry in asked.values()] == [str(big[t]) for t in asked]
    lines = [json.dumps({"key": big[t], "label": str(Y[t])}) for t in asked]
    Path("late.jsonl").write_text("\n".join(lines) + "\n")
    assert run("--labels", "late.jsonl", "--state", "s") == 0


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (0.5, 1.5)])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_labels_that_are_no_texts_are_found_again(folder: Path, labels: Any, suffix: str) -> None:
    """The stream saw them as numbers, or as true and false, which a file of labels gives as texts."""
    known = [labels[int(y == "bad")] for y in Y]
    rows = [
        {"a": float(x), "y": None if i % 5 == 2 else y} for i, (x, y) in enumerate(zip(X[:, 0], known, strict=True))
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("rows.jsonl", "--target", "y", "--state", "s") == 0
    frame = pd.DataFrame({"t": range(2, N, 5), "label": known[2::5]})
    if suffix == "csv":
        frame.to_csv("late.csv", index=False)
    else:
        frame.to_json("late.jsonl", orient="records", lines=True)
    assert run("--labels", f"late.{suffix}", "--state", "s") == 0
    assert not Session.load(Path("s")).awaited


def test_hashed_rows_wait_as_well(folder: Path) -> None:
    FRAME.assign(city=np.where(X[:, 1] > 0, "Oslo", "Rome")).to_csv("rows.csv", index=False)
    asked = begin("--hash-bits", 10)
    assert load_model("s").awaited[0].row.shape == (1, 1024)
    late(asked)
    assert run("--labels", "late.csv", "--state", "s") == 0


_KILLED = """
import os, signal, sys
from steelyard.files import atomic
import steelyard.streaming.session as session
where, kill = sys.argv.pop(1), lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
if where == "learn":
    session.Session.learn_late = kill
elif where == "replace":
    os.replace = kill
else:
    real = os.replace
    os.replace = lambda *a, **k: (real(*a, **k), kill())
from steelyard.cli import main
main()
"""


@pytest.mark.parametrize(("where", "learned"), [("learn", False), ("replace", False), ("behind", True)])
def test_killed_it_leaves_the_old_or_the_new_whole(folder: Path, where: str, learned: bool) -> None:
    asked = begin()
    late(asked)
    before = Path("s").read_bytes()
    words = ("stream", "--labels", "late.csv", "--state", "s", "--quiet")
    process = Forked(_KILLED, where, *words, modules=("steelyard.cli", "steelyard.streaming.command"))
    assert process.wait() == -signal.SIGKILL
    process.close()
    assert (Path("s").read_bytes() == before) is not learned
    assert Session.load(Path("s")).learner.n_spent_ == (len(asked) if learned else 0)
    assert run("--labels", "late.csv", "--state", "s") == (2 if learned else 0)  # told twice it is named, not learned
    assert Session.load(Path("s")).learner.n_spent_ == len(asked)
