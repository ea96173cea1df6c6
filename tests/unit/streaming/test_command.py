"""``steelyard stream``: what it writes equals what the library does, and cutting or resuming changes nothing."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from steelyard import (
    AROW,
    CSOGD2,
    AskAsymmetric,
    AskAtLeast,
    AskUncertain,
    Costs,
    InvalidInputError,
    OnlineClassifier,
    StateError,
    StreamScaler,
    cli,
)
from steelyard.models.parsing import query_rule
from steelyard.models.records import RecordEncoder
from steelyard.streaming.session import Session

RNG = np.random.default_rng(5)
X = RNG.normal(size=(157, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -2]
Y = np.where(X[:, 0] + (X[:, 1] - 5) / 10 + 0.3 * RNG.normal(size=157) > 0.6, "bad", "good")
RULES = ["--update", "CSOGD2(eta=0.3)", "--query", "Asymmetric(c_pos=0.1, c_neg=0.4)", "--budget", "60"]
COSTS = ["--costs", "fn=5,fp=1", "--positive", "bad"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "outcome"])
        writer.writerows([*map(repr, map(float, row)), label] for row, label in zip(X, Y, strict=True))
    return path


def run(*arguments: Any, feed: bytes | None = None) -> Any:
    return CliRunner().invoke(cli.app, ["stream", *map(str, arguments)], input=feed, catch_exceptions=False)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_it_does_what_the_library_does(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    told = run(table, "--target", "outcome", *RULES, *COSTS, "--decisions", out, "--chunk", 50, "--json")
    model = OnlineClassifier(CSOGD2(0.3), query=AskAsymmetric(0.1, 0.4), budget=60, costs=Costs.binary(fn=5, fp=1))
    trace = model.run(StreamScaler(unit_norm=True).run(X), Y == "bad")
    assert [line["score"] for line in lines(out)] == trace.score.tolist()
    assert [line["decision"] for line in lines(out)] == ["bad" if p else "good" for p in trace.prediction]
    assert [line["queried"] for line in lines(out)] == trace.queried.tolist()
    assert [line["t"] for line in lines(out)] == list(range(157))
    numbers = json.loads(told.output.splitlines()[-1])
    wrong = trace.prediction != trace.y
    assert numbers["cost"] == 5 * (wrong & trace.y).sum() + (wrong & ~trace.y).sum()
    assert numbers["labels_asked"] == trace.queried.sum() <= 60
    assert (numbers["negative"], numbers["positive"], numbers["rows"]) == ("good", "bad", 157)


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_stopped_and_resumed_is_the_same_to_the_last_byte(table: Path, tmp_path: Path, suffix: str) -> None:
    whole, parts, state = tmp_path / f"whole.{suffix}", tmp_path / f"parts.{suffix}", tmp_path / "state.npz"
    run(table, "--target", "outcome", *RULES, *COSTS, "--decisions", whole, "--quiet")
    head = tmp_path / "head.csv"
    text = table.read_text().splitlines(keepends=True)
    head.write_text("".join(text[:81]))
    options = ["--target", "outcome", *RULES, *COSTS, "--decisions", parts, "--state", state, "--quiet"]
    run(head, *options, "--chunk", 7)
    with parts.open("a") as file:
        file.write("a line that was written after the state was saved\n")
    run(table, *options, "--skip-seen", "--chunk", 33)
    assert parts.read_bytes() == whole.read_bytes()


def test_a_second_file_goes_on(table: Path, tmp_path: Path) -> None:
    text = table.read_text().splitlines(keepends=True)
    first, second, state = tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "state.npz"
    first.write_text("".join(text[:100]))
    second.write_text(text[0] + "".join(text[100:]))
    alone = run(table, "--target", "outcome", *RULES, *COSTS, "--json", "--quiet").output
    run(first, "--target", "outcome", *RULES, *COSTS, "--state", state, "--quiet")
    both = run(second, "--target", "outcome", *RULES, *COSTS, "--state", state, "--json", "--quiet").output
    assert json.loads(both) == json.loads(alone)


def test_standard_input_with_texts_and_missing_labels(tmp_path: Path) -> None:
    records = [{"n": float(x[0]), "city": "Oslo" if x[0] > 0 else "Rome", "y": int(x[0] > 0)} for x in X]
    records[3]["y"] = records[40]["y"] = None  # type: ignore[typeddict-item]
    records[5]["n"] = None  # type: ignore[typeddict-item]
    feed = "".join(json.dumps(r) + "\n" for r in records).encode()
    out = tmp_path / "out.jsonl"
    told = run("-", "--format", "jsonl", "--target", "y", "--update", "AROW", "--decisions", out, "--json", feed=feed)
    numbers = json.loads(told.output.splitlines()[-1])
    assert len(lines(out)) == numbers["rows"] == 157
    assert numbers["labels_asked"] == 155
    assert numbers["f1"] > 0.95


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_state_says_which_columns_hold_texts_and_not_the_next_file(tmp_path: Path, suffix: str) -> None:
    """Codes that look like numbers stay texts, and in JSON lines fields may be missing or in another order."""
    codes = [*(("A1", "007", "12")[i % 3] for i in range(80)), *(("007", "12")[i % 2] for i in range(77))]
    table = zip(X.tolist(), codes, Y.tolist(), strict=True)
    records: list[dict[str, Any]] = [{"a": x[0], "b": x[1], "code": code, "y": label} for x, code, label in table]
    if suffix == "jsonl":
        records[:80] = [dict(reversed(one.items())) for one in records[:80]]
        records[120:] = [{name: one[name] for name in ("a", "y", "b")} for one in records[120:]]
    given = ["--target", "y", "--scale", "none", "--classes", "good,bad"]
    for i, (start, end) in enumerate([(0, 80), (80, 120), (120, 157)]):
        place, part = tmp_path / f"{i}.{suffix}", pd.DataFrame(records[start:end])
        if suffix == "jsonl":
            place.write_text("".join(json.dumps(one) + "\n" for one in records[start:end]))
        elif suffix == "csv":
            part.to_csv(place, index=False)
        else:
            part.to_parquet(place, index=False)
        run(place, *given, "--state", tmp_path / "parts")
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    run(tmp_path / "all.jsonl", *given, "--state", tmp_path / "whole")
    one, other = (Session.load(tmp_path / name).learner for name in ("parts", "whole"))
    assert one.coef_.tolist() == other.coef_.tolist()


def test_fields_of_json_lines_keep_their_order_beside_ids_and_costs(tmp_path: Path) -> None:
    """The digest of the rows depends on it: what two calls have read is found again by a third."""
    records = [{"loss": 2.0 + i % 3, "a": x[0], "key": f"k{i}", "b": x[1]} for i, x in enumerate(X.tolist())]
    records = [one | {"y": label} for one, label in zip(records, Y.tolist(), strict=True)]
    for name, some in {"all": records, "0": records[:60], "1": records[60:90]}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in some))
    given = ["--target", "y", "--id", "key", "--fn-cost-column", "loss", "--costs", "fp=1", "--classes", "good,bad"]
    (tmp_path / "1").mkdir()
    (tmp_path / "1.jsonl").rename(tmp_path / "1" / "part.jsonl")
    for place, more in [("0.jsonl", []), ("1/", []), ("all.jsonl", ["--skip-seen"])]:
        run(f"{tmp_path}/{place}", *given, "--state", tmp_path / "s", *more)
    run(tmp_path / "all.jsonl", *given, "--state", tmp_path / "whole")
    one, other = (Session.load(tmp_path / name) for name in ("s", "whole"))
    assert (one.seen, one.order, one.rounds) == (other.seen, ("loss", "a", "key", "b"), 157)
    assert one.learner.coef_.tolist() == other.learner.coef_.tolist()


def test_a_column_that_has_become_text_or_is_gone_is_said(table: Path, tmp_path: Path) -> None:
    state, other = tmp_path / "s", tmp_path / "other.csv"
    run(table, "--target", "outcome", "--state", state)
    other.write_text("a,b,c,d,outcome\n1,2,x,3,good\n1,2,y,3,bad\n")
    with pytest.raises(InvalidInputError, match=r"column 'c' must hold numbers, as in the state; got"):
        run(other, "--target", "outcome", "--state", state)
    texts = tmp_path / "t"
    run(other, "--target", "outcome", "--state", texts)
    (tmp_path / "parts").mkdir()
    gone = tmp_path / "parts" / "gone.csv"
    gone.write_text("a,b,d,outcome\n1,2,3,good\n")
    for source in (gone, tmp_path / "parts"):
        with pytest.raises(InvalidInputError, match=r"columns must stay the 4 of the state; got .no column 'c'"):
            run(source, "--target", "outcome", "--state", texts)
        with pytest.raises(InvalidInputError, match="--id must name columns that exist"):
            run(source, "--target", "outcome", "--id", "key")


def test_predict_reads_the_texts_of_a_state_as_texts(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "a,code,y\n" + "".join(f"{i % 5},{('A1', '007', '12')[i % 3]},{int(i % 3 == 1)}\n" for i in range(60))
    )
    run(rows, "--target", "y", "--scale", "none", "--state", tmp_path / "s")
    (tmp_path / "new.csv").write_text("a,code\n0,007\n0,12\n")
    told = CliRunner().invoke(
        cli.app, ["predict", str(tmp_path / "s"), str(tmp_path / "new.csv")], catch_exceptions=False
    )
    assert told.stdout.split() == ["decision", "1", "0"]


@pytest.mark.parametrize(
    ("content", "format", "classes"),
    [
        ("".join(f"{'+1' if x[0] > 0 else '-1'} 1:{x[0]!r}\n" for x in X.tolist()), "libsvm", "-1,+1"),
        ("a,y\n" + "".join(f"{x[0]!r},0{int(x[0] > 0)}\n" for x in X.tolist()), "csv", "00,01"),
        ("".join(json.dumps({"a": x[0], "y": x[0] > 0}) + "\n" for x in X.tolist()), "jsonl", "false,true"),
    ],
)
def test_labels_may_be_named_as_they_stand_in_the_file(content: str, format: str, classes: str, tmp_path: Path) -> None:
    (tmp_path / "rows").write_text(content)
    target = [] if format == "libsvm" else ["--target", "y"]
    told = run(tmp_path / "rows", "--format", format, *target, f"--classes={classes}", "--json", "--quiet")
    assert json.loads(told.output)["positive"] == classes.split(",")[1]
    assert json.loads(told.output)["f1"] > 0.9


def test_libsvm(tmp_path: Path) -> None:
    path = tmp_path / "rows.libsvm"
    path.write_text("".join(f"{1 if x[0] > 0 else -1} 1:{x[0]!r} 3:1\n" for x in X.tolist()))
    numbers = json.loads(run(path, "--update", "PA1(C=1)", "--json", "--quiet").output)
    assert numbers["positive"] == 1
    assert numbers["f1"] > 0.9
    from_0 = tmp_path / "from_0.libsvm"
    from_0.write_text(path.read_text().replace(" 1:", " 0:").replace(" 3:", " 2:"))
    assert json.loads(run(from_0, "--zero-based", "--update", "PA1(C=1)", "--json", "--quiet").output) == numbers


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--update", "NoRule"], "--update must be one of ACOG, AROW"),
        (["--update", "CSOGD2(rate=1)"], "--update must give CSOGD2 its parameters (eta)"),
        (["--update", "CSOGD2(eta=-1)"], "eta must be a finite number > 0"),
        (["--update", "__import__('os').system('true')"], "--update must be one of"),
        (["--update", "CSOGD2(eta=__import__('os'))"], "--update must be one of"),
        (["--query", "CSOGD2"], "--query must be one of AskAll"),
        (["--update", "CSOGD2("], "--update must be a rule such as"),
        (["--budget", "many"], "--budget must be a number of labels"),
        (["--costs", "fn=x"], "--costs must state both fn and fp; fp is missing"),
        (["--costs", "fn=x,fp=1"], "cost columns must be among the columns (a, b, c, d); got 'x'"),
        (["--id", "x"], "--id must name columns that exist (a, b, c, d, outcome); got 'x'"),
        (["--id", "score"], "--id must be called otherwise than the columns of the log"),
        (["--await", "5"], "--await must come with --state"),
        (["--labels", "late.csv"], "stream must be given rows or --labels; got 'both'"),
        (["--costs", "miss=3"], "--costs must look like fn=8,fp=1"),
        (["--costs", "fn=5,fn=7,fp=1"], "--costs must state fn once"),
        (["--update", "-" * 5000], "--update must be a rule such as"),
        (["--update", "CSOGD2(" + "-" * 400 + "1)"], "--update must"),
        (["--chunk", "99999999999999999999"], "Invalid value for '--chunk'"),
        (["--positive", "ugly"], "--positive must be one of the labels ['bad', 'good']"),
        (["--classes", "bad"], "--classes must name two labels"),
        (["--classes", "fine,bad"], "labels must be 'fine' or 'bad'; got 'good'"),
        (["--scale", "much"], "--scale must be one of"),
        (["--chunk", "1"], "the first chunk must hold two labels"),
    ],
)
def test_mistakes_are_one_sentence(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["steelyard", "stream", str(table), "--target", "outcome", "--quiet", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("steelyard: ")
    assert words in said
    assert said.count("\n") == 1


def test_a_state_that_is_none_is_said(table: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.npz"
    state.write_bytes(b"PK nothing")
    said = rf"^--state {state} must be a file written by Steelyard; .* Give a state of steelyard stream, or a new file"
    with pytest.raises(StateError, match=said):
        run(table, "--target", "outcome", "--state", state)
    with pytest.raises(StateError, match=said):
        run("--labels", table, "--target", "outcome", "--state", state)


def test_a_refusal_is_one_line_where_no_terminal_is(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    rows = tmp_path / "rows.libsvm"
    rows.write_text("1 999999999999999999:1\n")
    monkeypatch.setattr(sys, "argv", ["steelyard", "stream", str(rows)])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err.count("\n") == 1


def test_rules_within_rules() -> None:
    assert query_rule("AtLeast(0.2, rule=AskUncertain(c=0.5))") == AskAtLeast(0.2, AskUncertain(0.5))


def test_a_bad_row_keeps_the_state_of_the_chunk_before(table: Path, tmp_path: Path) -> None:
    text = table.read_text().splitlines(keepends=True)
    broken = [*text[:100], text[100].rsplit(",", 1)[0] + ",ugly\n", *text[101:]]
    bad, state, out = tmp_path / "bad.csv", tmp_path / "state.npz", tmp_path / "out.jsonl"
    bad.write_text("".join(broken))
    options = ["--target", "outcome", *RULES, *COSTS, "--state", state, "--decisions", out, "--chunk", 30, "--quiet"]
    with pytest.raises(InvalidInputError, match="See row 99 of the stream"):
        run(bad, *options)
    assert len(lines(out)) == 90
    run(table, *options, "--skip-seen")
    whole = tmp_path / "whole.jsonl"
    run(table, "--target", "outcome", *RULES, *COSTS, "--decisions", whole, "--quiet")
    assert out.read_bytes() == whole.read_bytes()


def test_texts_are_read_word_by_word(tmp_path: Path) -> None:
    path, log = tmp_path / "rows.csv", tmp_path / "log.jsonl"
    notes = [
        f"please {'pay the late fee' if bad else 'meet us'} at {hour}"
        for bad, hour in zip(Y == "bad", X[:, 0], strict=True)
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["note", "n", "outcome"])
        writer.writerows([note, repr(float(n)), label] for note, n, label in zip(notes, X[:, 1], Y, strict=True))
    options = [path, "--target", "outcome", "--classes", "good,bad", "--hash-bits", "14", "--update", "AROW"]
    state = tmp_path / "s.steelyard"
    assert run(*options, "--text", "note", "--decisions", log, "--state", state).exit_code == 0
    encoder = RecordEncoder(hash_bits=14, text=["note"]).begin(["note", "n"])
    model = OnlineClassifier(AROW()).start(2**14, [0, 1])
    for line, note, n, label in zip(lines(log), notes, X[:, 1].tolist(), Y, strict=True):
        row = encoder.one({"note": note, "n": n})
        assert model.decide(row).score == line["score"]
        model.learn(row, int(label == "bad"))
    with pytest.raises(InvalidInputError, match="--text must stay"):
        run(*options, "--text", "n", "--state", state)
    with pytest.raises(InvalidInputError, match="--url must name a column of texts; got 'n'"):
        run(*options, "--url", "n")


def test_where_no_row_has_a_label_neither_cost_nor_f1_is_told(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("a,y\n" + "".join(f"{i},\n" for i in range(30)))
    options = [rows, "--target", "y", "--classes", "good,bad"]
    numbers = json.loads(run(*options, "--json", "--quiet").output)
    assert (numbers["labels_known"], numbers["cost"], numbers["f1"], numbers["sensitivity"]) == (0, None, None, None)
    told = run(*options).output
    assert "cost  no labels" in told
    assert "f1  no labels" in told
    rows.write_text("a,y\n" + "".join(f"{i},\n" for i in range(30)) + "1,good\n")
    numbers = json.loads(run(*options, "--json", "--quiet").output)
    assert numbers["labels_known"] == 1
    assert numbers["cost"] in (0, 1)


def test_decimal_commas_are_numbers_and_other_writings_of_numbers_are_told(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    lines = [
        f"{i % 7},5;{i},000;{i} %;{i};{'?!' if i == 3 else i};ab{i};{'bad' if i % 3 else 'good'}" for i in range(40)
    ]
    rows.write_text("\n".join(["a;b;c;d;e;f;y", *lines]) + "\n")
    state = tmp_path / "state.steelyard"
    told = " ".join(run(rows, "--target", "y", "--state", state).output.split())
    assert Session.load(state).encoder.nominal == ("c", "e", "f")
    assert "Column 'c' is learned as text: numbers with a sign, such as '0 %'" in told
    assert "Column 'e' is learned as text: numbers, but also '?!'; leave cells empty" in told
    assert told.count("is learned as text") == 2
    with_total = tmp_path / "total.csv"
    with_total.write_text("a;y\n" + "".join(f"{i},5;{'bad' if i % 3 else 'good'}\n" for i in range(40)) + "Total;\n")
    assert "numbers, but also 'Total'" in " ".join(run(with_total, "--target", "y").output.split())
    assert "is learned as text" not in run(rows, "--target", "y", "--state", state).output  # it was said
