"""The commands compare and predict: files in, files out, exit codes."""

import csv
import gzip
import io
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from forked import Forked
from rich.console import Console

from steelyard import Costs
from steelyard.cli import main
from steelyard.comparison import Comparison, command, compare, load_model
from steelyard.comparison.progress import ProgressBar, leaderboard_table
from steelyard.comparison.registry import portfolio
from steelyard.comparison.schedule import Unit

SETTINGS = ("--candidates", "logistic", "--folds", "2", "--jobs", "1", "--out", "out")


@pytest.fixture
def steelyard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command in a folder of its own, units in this process: exit code, output and error messages."""
    monkeypatch.setattr(
        command, "compare", lambda *given, **settings: compare(*given, **(settings | {"isolate": False}))
    )
    monkeypatch.setattr(Comparison, "_page_seconds", lambda self: 0.0)  # what a page fits is tested in page/
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["steelyard", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        shown = capsys.readouterr()
        return int(left.value.code or 0), shown.out, shown.err

    return run


def table(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    amount = np.round(10 * rng.random(n), 2)
    y = np.where(a + rng.normal(size=n) > 0.3, "bad", "good")
    return pd.DataFrame({"a": np.round(a, 3), "b": rng.choice(["u", "v"], n), "amount": amount, "y": y})


def write_arff(frame: pd.DataFrame, path: Path) -> None:
    heads = ["@relation r", "@attribute a real", "@attribute b {u, v}", "@attribute amount real"]
    rows = [",".join(map(str, row)) for row in frame.itertuples(index=False)]
    path.write_text("\n".join([*heads, "@attribute y {bad, good}", "@data", *rows]) + "\n")


def write_gz(frame: pd.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


def write_libsvm(frame: pd.DataFrame, path: Path) -> None:
    lines = [f"{1 if r.y == 'bad' else -1} 1:{r.a} 3:{r.amount}" for r in frame.itertuples()]
    path.write_text("\n".join(lines) + "\n")


WRITERS = {
    "data.csv": lambda frame, path: frame.to_csv(path, index=False),
    "data.csv.gz": write_gz,
    "data.parquet": lambda frame, path: frame.to_parquet(path),
    "data.arff": write_arff,
    "data.dat": write_arff,
    "data.libsvm": write_libsvm,
}


@pytest.mark.parametrize("name", WRITERS)
def test_compare_then_predict_in_every_format(steelyard, tmp_path: Path, name: str) -> None:
    WRITERS[name](table(), tmp_path / name)
    target = () if name.endswith("libsvm") else ("--target", "y")
    code, shown, complaint = steelyard("compare", name, *target, *SETTINGS, "--json")
    assert code == 0, complaint
    assert json.loads(shown)["leaderboard"]
    assert (tmp_path / "out" / "report.html").exists()
    code, shown, complaint = steelyard("predict", "out/model.steelyard", name)
    assert code == 0, complaint
    lines = shown.splitlines()
    assert lines[0].startswith("decision")
    assert len(lines) == 81


WRITERS["data.jsonl"] = lambda frame, path: frame.to_json(path, orient="records", lines=True)
WRITERS["data.tsv"] = lambda frame, path: frame.to_csv(path, index=False, sep="\t")
WRITERS["data.arrow"] = lambda frame, path: frame.to_feather(path)


@pytest.mark.parametrize("name", ["data.jsonl", "data.tsv", "data.parquet", "data.arrow", "data.libsvm", "data.arff"])
def test_rows_come_through_a_pipe_in_every_format(
    steelyard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    WRITERS[name](table(), tmp_path / name)
    format = ("--format", name.removeprefix("data."))

    def pipe() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))

    told = []
    for file in (name, "-"):
        pipe()
        target = () if name.endswith("libsvm") else ("--target", "y")
        code, shown, complaint = steelyard("compare", file, *format, *target, *SETTINGS, "--json")
        assert code == 0, complaint
        told.append(json.loads(shown))
    assert told[0] == told[1]
    assert "standard input" in (tmp_path / "out" / "report.html").read_text()
    decided = []
    for file in (name, "-"):
        pipe()
        code, shown, complaint = steelyard("predict", "out/model.steelyard", file, *format)
        assert code == 0, complaint
        decided.append(shown)
    assert decided[0] == decided[1]


def test_a_pipe_needs_its_format(steelyard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,2\n")))
    code, _, complaint = steelyard("compare", "-", "--target", "y")
    assert code == 2
    assert "--format must be one of csv, tsv" in complaint


def test_what_a_miss_is_about_is_said_unless_it_was_chosen(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    ask = ("compare", "data.csv", "--target", "y", "--costs", "fn=5,fp=1")
    for costs in ("fn=5,fp=1", "5:1"):
        assert "A miss (fn) is about class 'good'" in steelyard(*ask[:-1], costs, *SETTINGS)[1]
    assert "A miss" not in steelyard(*ask, "--positive", "bad", *SETTINGS)[1]


def test_the_positive_class_is_heeded_whatever_the_costs(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "costs.csv").write_text("true,bad,good\nbad,0,5\ngood,1,0\n")
    for costs in ((), ("--costs", "costs.csv"), ("--costs", "fn=5,fp=1"), ("--costs", "5:1"), ("--costs", "Balanced")):
        for positive in ("bad", "good"):
            chosen = ("--positive", positive)
            code, shown, complaint = steelyard(
                "compare", "data.csv", "--target", "y", *costs, *chosen, *SETTINGS, "--json"
            )
            assert code == 0, complaint
            found = {line["name"]: line["sensitivity"]["value"] for line in json.loads(shown)["leaderboard"]}
            assert found[f"always {positive}"] == 1.0


def test_one_column_may_hold_both_costs(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    columns = ("--fn-cost-column", "amount", "--fp-cost-column", "amount")
    code, _, complaint = steelyard("compare", "data.csv", "--target", "y", *columns, *SETTINGS)
    assert code == 0, complaint


def test_new_rows_must_be_some(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    assert steelyard("compare", "data.csv", "--target", "y", *SETTINGS)[0] == 0
    table(0).to_csv(tmp_path / "none.csv", index=False)
    code, _, complaint = steelyard("predict", "out/model.steelyard", "none.csv")
    assert code == 2
    assert "the file must have rows" in complaint


def test_new_libsvm_rows_need_not_have_the_last_column(steelyard, tmp_path: Path) -> None:
    write_libsvm(table(), tmp_path / "data.libsvm")
    assert steelyard("compare", "data.libsvm", *SETTINGS)[0] == 0
    (tmp_path / "new.libsvm").write_text("0 1:2.5\n0 2:1\n")
    code, shown, _ = steelyard("predict", "out/model.steelyard", "new.libsvm")
    assert (code, len(shown.splitlines())) == (0, 3)
    (tmp_path / "new.libsvm").write_text("0 9:1\n")
    code, _, complaint = steelyard("predict", "out/model.steelyard", "new.libsvm")
    assert (code, complaint.count("\n")) == (2, 1)


def test_costs_of_new_rows_come_from_their_columns(steelyard, tmp_path: Path) -> None:
    frame = table()
    frame.to_csv(tmp_path / "data.csv", index=False)
    costs = ("--costs", "fp=1", "--fn-cost-column", "amount", "--positive", "bad")
    code, said, _ = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, *costs)
    assert code == 0
    assert "Not learned from, since they hold costs: amount. --keep-cost-columns" in " ".join(said.split())
    code, shown, complaint = steelyard("predict", "out/model.steelyard", "data.csv", "--fn-cost-column", "amount")
    assert code == 0, complaint
    model = load_model(tmp_path / "out" / "model.steelyard")
    proba = model.estimator.predict_proba(frame[["a", "b"]])  # bad, good
    from_rows = Costs.binary(fn=frame.amount.to_numpy(), fp=1.0, classes=["bad", "good"], positive="bad").expected(
        proba
    )
    told = list(csv.DictReader(shown.splitlines()))
    assert [row["decision"] for row in told] == [["bad", "good"][k] for k in from_rows.argmin(axis=1)]
    assert np.allclose([float(row["expected_cost"]) for row in told], from_rows.min(axis=1), rtol=1e-4)
    code, plain, _ = steelyard("predict", "out/model.steelyard", "data.csv")
    assert (code, plain) == (0, shown)  # the model remembers the column
    code, plain, _ = steelyard("predict", "out/model.steelyard", "data.csv", "--typical-costs")
    assert code == 0
    assert plain != shown
    frame.drop(columns="amount").to_csv(tmp_path / "new.csv", index=False)
    code, _, complaint = steelyard("predict", "out/model.steelyard", "new.csv")
    assert code == 2
    assert "have the cost columns the model was compared with (amount)" in complaint
    code, _, complaint = steelyard("predict", "out/model.steelyard", "data.csv", "--fn-cost-column", "price")
    assert code == 2
    assert "be a number or one of the columns" in complaint


XZ = [f"{i},{'xz'[i % 2]}" for i in range(30)]
XYZ = [f"{i},1,{'xz'[i % 2]}" for i in range(30)]


@pytest.mark.parametrize(
    ("header", "rows", "extra", "message"),
    [
        ("a,b", ["1,2"] * 30, (), "target"),
        ("a,y", [f"{i},x" for i in range(30)], (), "two or more classes"),
        ("a,y", [f"{i},{i + 0.5}" for i in range(30)], (), "classes, not numbers"),
        ("a,y", [f"{i},{i}" for i in range(30)], (), "classes, not numbers|at least 2 rows"),
        ("a,y", XZ, ("--costs", "costs.csv"), "every class"),
        ("a,y", XZ, ("--costs", "fn=much,fp=1"), "cost column"),
        ("a,y", XZ, ("--costs", "fn=5,fp=1", "--positive", "q"), "--positive"),
        ("a,y", XZ, ("--positive", "q"), "--positive"),
        ("a,y", XZ, ("--costs", "fn=5,fn=6"), "--costs"),
        ("a,y", XZ, ("--costs", "fn=8"), "fp is missing"),
        ("a,y", XZ, ("--fn-cost-column", "price", "--costs", "fp=1"), "cost column"),
        ("a,b,y", XYZ, ("--fn-cost-column", "b", "--costs", "fn=5"), "--costs"),
        ("a,b,y", XYZ, ("--fn-cost-column", "b", "--costs", "costs.csv"), "--costs"),
        ("a,b,y", [*XYZ, "1,1,v"] * 2, ("--positive", "x"), "--positive"),
        ("b,y", [f",{'xz'[i % 2]}" for i in range(30)], (), "a column to learn from"),
        ("a,y", XZ, ("--groups", "b"), "--groups"),
        ("a,y", XZ, ("--candidates", "magic"), "candidates"),
        ("a,y", XZ, ("--effort", "much"), "effort"),
        ("a,y", XZ, ("--text", "b"), "--category, --text and --date must name columns of the data"),
        ("a,a,y", ["1,2,x", "3,4,z"] * 20, (), "twice"),
        ("a,y", XZ[:10], (), "at least 20 rows"),
        ("a,y", [], (), "expected at least one row; got the names of columns alone"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(
    steelyard, tmp_path: Path, header: str, rows: list[str], extra: tuple[str, ...], message: str
) -> None:
    (tmp_path / "data.csv").write_text("\n".join([header, *rows]) + "\n")
    (tmp_path / "costs.csv").write_text("true,x,q\nx,0,1\nq,1,0\n")
    code, _, complaint = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, *extra)
    assert code == 2
    assert any(subset in complaint for subset in message.split("|")), complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "extra", "message"),
    [
        ("data.csv", b"", ("--target", "y"), "empty file"),
        ("data.csv", bytes(range(256)), ("--target", "y"), "UTF-8"),
        ("data.parquet", b"hello", ("--target", "y"), "Parquet"),
        ("data.xlsx", b"PK", ("--target", "y"), "end in one of"),
        ("data.arff", b"@relation r\n@data\n1\n", ("--target", "y"), "@attribute"),
        ("data.libsvm", b"1 hello\n", (), "index:value"),
        ("data.libsvm", b"1 1:2\n", ("--target", "y"), "--target"),
        ("data.csv.gz", gzip.compress(b"a,y\n1,2\n", mtime=0)[:-9], ("--target", "y"), "data.csv.gz"),
    ],
)
def test_wrong_file_is_a_sentence_and_exit_code_2(
    steelyard, tmp_path: Path, name: str, content: bytes, extra: tuple[str, ...], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    code, _, complaint = steelyard("compare", name, *extra, *SETTINGS)
    assert code == 2
    assert message in complaint
    assert complaint.count("\n") == 1


def test_a_place_that_cannot_be_written_to_is_a_sentence_and_exit_code_2(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "taken").write_text("no folder")
    compared = ("compare", "data.csv", "--target", "y", *SETTINGS)
    assert steelyard(*compared)[0] == 0
    streamed = ("stream", "data.csv", "--target", "y", "--quiet")
    predicted = ("predict", "out/model.steelyard", "data.csv")
    for arguments in (
        (*compared, "--out", "taken"),
        (*predicted, "--out", "nowhere/answers.csv"),
        (*streamed, "--decisions", "."),
    ):
        code, _, complaint = steelyard(*arguments)
        assert (code, complaint.count("\n")) == (2, 1), complaint
        assert "cannot be used" in complaint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_sentence_and_exit_code_2(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    assert steelyard("compare", "data.csv", "--target", "y", *SETTINGS)[0] == 0
    code, _, complaint = steelyard("predict", "out/model.steelyard", "data.csv", "--out", "/dev/full")
    assert (code, complaint) == (
        2,
        "steelyard: /dev/full cannot be used: No space left on device. Free some space, or write elsewhere.\n",
    )


def test_labels_that_look_like_markup_are_printed_as_they_are(steelyard, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(40) % 7, "y": ["[/good]"] * 35 + ["[bold]bad"] * 5})
    frame.to_csv(tmp_path / "data.csv", index=False)
    code, shown, complaint = steelyard("compare", "data.csv", "--target", "y", "--costs", "fn=1,fp=1", *SETTINGS)
    assert code == 0, complaint
    assert "A miss (fn) is about class '[bold]bad'" in shown
    assert "Answer '[/good]' whatever" in shown


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_no_time_for_a_unit_is_no_failure(steelyard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    given = command.compare
    monkeypatch.setattr(command, "compare", lambda *rows, **settings: given(*rows, **settings | {"time_limit": 1e-6}))
    code, shown, errors = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, "--time", "1", "--json")
    assert code == 0, errors
    assert json.loads(shown)["winner"].startswith("always ")
    assert "no candidate has finished" in json.loads(shown)["recommendation"][0]
    assert (tmp_path / "out" / "model.steelyard").exists()


def test_progress_tells_units_done_of_planned_the_best_cost_and_the_cpu_time() -> None:
    frame, shown = table(), io.StringIO()
    console = Console(file=shown, force_terminal=True, width=160)
    compare(frame[["a"]], frame["y"], candidates=["logistic regression, C=1"], cv=2, console=console)
    assert "2/2" in shown.getvalue()
    assert re.search(r"logistic regression, C=1 +best cost 0\.\d+ +\d+\.\d s CPU", shown.getvalue())


def wait_until(holds, seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a process group")
def test_a_signal_gives_the_best_so_far_and_resume_ends_alike(steelyard, tmp_path: Path) -> None:
    frame = table(60)
    frame["a"] = np.random.default_rng(1).normal(size=60)
    frame.to_csv(tmp_path / "data.csv", index=False)
    asked = ("compare", "data.csv", "--target", "y", "--folds", "2", "--json", "--effort", "12")
    code, fresh, errors = steelyard(*asked, "--out", "fresh")
    assert code == 0, errors
    for number in (signal.SIGINT, signal.SIGTERM):
        out = tmp_path / f"out-{number}"
        start = "import os; os.setsid(); from steelyard.cli import main; main()"
        modules = ("steelyard.cli", "steelyard.comparison.command")
        process = Forked(start, *asked, "--out", out, "--jobs", "2", modules=modules)
        wait_until(lambda out=out, process=process: any((out / "state").glob("*.npz")) or process.has_ended())
        os.kill(process.pid, number)
        shown, errors = process.communicate()
        assert process.returncode == 130, errors
        assert "Traceback" not in shown + errors
        assert "steelyard: stopping; what is done will be shown and saved" in errors
        assert json.loads(shown)["interrupted"] is True
        assert (out / "report.html").exists()
        assert (out / "model.steelyard").exists()
        wait_until(lambda process=process: not alive(process.pid))
        code, resumed, errors = steelyard(*asked, "--out", str(out), "--resume")
        assert code == 0, errors
        assert resumed == fresh


def test_the_second_signal_ends_at_once_but_not_one_that_is_passed_on_twice(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with command._signals(quiet=False) as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # a wrapper's
        assert interrupted()
        monkeypatch.setattr(command, "_AGAIN", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capfd.readouterr().err.count("stopping") == 1
    with command._signals(quiet=True):
        signal.raise_signal(signal.SIGTERM)
    assert capfd.readouterr().err == ""


def test_rows_count_by_the_column_of_their_weights(steelyard, tmp_path: Path) -> None:
    frame = table().assign(times=np.arange(80) % 3 + 1)
    frame.to_csv(tmp_path / "data.csv", index=False)
    code, shown, errors = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, "--weight", "times", "--json")
    assert code == 0, errors
    found = json.loads(shown)
    assert found["sample_weight"]["sum"] == frame.times.sum()
    constants = {line["name"]: line["total_cost"] for line in found["leaderboard"] if line["family"] == "constant"}
    assert constants["always good"] == frame.times[frame.y == "bad"].sum()
    assert "times" not in json.loads((tmp_path / "out" / "card.json").read_text())["columns_used"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("b", "--weight must name a column of numbers; see 'b', row 1"), ("nothing", "--weight must name a column")],
)
def test_a_column_that_holds_no_weights_is_a_sentence(steelyard, tmp_path: Path, name: str, words: str) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    code, _, errors = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, "--weight", name)
    assert code == 2
    assert words in errors


def test_kept_cost_columns_are_learned_from_and_nothing_is_said(steelyard, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "data.csv", index=False)
    costs = ("--costs", "fp=1", "--fn-cost-column", "amount", "--positive", "bad", "--keep-cost-columns")
    code, said, _ = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, *costs)
    assert (code, "Not learned from" in said) == (0, False)
    assert "amount" in load_model(tmp_path / "out" / "model.steelyard").feature_names_in_


def test_decisions_of_today_may_be_numbers_as_the_labels_are(steelyard, tmp_path: Path) -> None:
    frame = table()
    frame = frame.assign(rule=(frame.a > 0).astype(int), y=(frame.y == "bad").astype(int))
    frame.to_csv(tmp_path / "data.csv", index=False)
    code, shown, errors = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, "--current", "rule", "--json")
    assert code == 0, errors
    costs = {line["name"]: line["total_cost"] for line in json.loads(shown)["leaderboard"]}
    assert costs["today's rule"] == (frame.rule != frame.y).sum()


def test_codes_read_as_a_category_stay_as_they_are_written(steelyard, tmp_path: Path) -> None:
    frame = table().assign(shop=[("007", "7", "12")[i % 3] for i in range(80)])
    frame.to_csv(tmp_path / "data.csv", index=False)
    code, _, errors = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, "--category", "shop")
    assert code == 0, errors
    model = load_model(tmp_path / "out" / "model.steelyard")
    assert model.training is not None
    assert {"007", "7", "12"} in [set(levels or ()) for levels in model.training.levels]
    code, shown, told = steelyard("predict", "out/model.steelyard", "data.csv")
    assert (code, "never seen" in told) == (0, False)
    assert shown.splitlines()[1:]
    code, _, errors = steelyard("compare", "data.csv", "--target", "y", *SETTINGS, "--category", "shops")
    assert code == 2
    assert "--category, --text and --date must name columns of the data (a, b, amount, y, shop); got 'shops'" in errors


@pytest.mark.parametrize(("cell", "shown"), [("", "nan"), ("EUR 5", "'EUR 5'")])
def test_a_cell_that_is_no_cost_is_named_with_file_and_row(steelyard, tmp_path: Path, cell: str, shown: str) -> None:
    table().to_csv(tmp_path / "good.csv", index=False)
    costs = ("--costs", "fp=1", "--fn-cost-column", "amount", "--positive", "bad")
    assert steelyard("compare", "good.csv", "--target", "y", *SETTINGS, *costs)[0] == 0
    table().assign(amount=[cell if i == 70 else f"{i + 1}" for i in range(80)]).to_csv("bad.csv", index=False)
    place = f"bad.csv, row 71, column 'amount': expected a finite number as cost; got {shown}"
    predict = ("predict", "out/model.steelyard", "bad.csv", "--chunk", "30")
    for given in (("compare", "bad.csv", "--target", "y", *SETTINGS, *costs), predict):
        code, _, errors = steelyard(*given)
        assert code == 2
        assert place in errors


def test_columns_that_are_dropped_or_unknown_need_not_be_readable(steelyard, tmp_path: Path) -> None:
    frame = table().assign(order=2**60 + np.arange(80), took=pd.to_timedelta(np.arange(80), unit="s"))
    frame.to_parquet(tmp_path / "data.parquet")
    given = ("compare", "data.parquet", "--target", "y", *SETTINGS)
    code, _, errors = steelyard(*given)
    assert code == 2
    assert "numbers within 2^53 in column order" in errors
    assert "(--drop)" in errors
    code, _, errors = steelyard(*given, "--drop", "order")
    assert code == 2
    assert "leave it out with drop= (--drop)" in errors
    code, shown, errors = steelyard(*given, "--drop", "order", "--drop", "took", "--json")
    assert code == 0, errors
    assert "Column 'order' was left out: as asked." in json.loads(shown)["warnings"]
    code, shown, errors = steelyard("predict", "out/model.steelyard", "data.parquet", "--id", "order")
    assert code == 0, errors
    assert shown.splitlines()[1].startswith(f"{2**60},")
    assert steelyard(*given, "--drop", "nothing")[2].count("--drop must name columns of the data") == 1
    code, _, errors = steelyard(*given, "--drop", "y")
    assert code == 2
    assert "leave the column of labels in" in errors


@pytest.mark.parametrize("scale", [1e-4, 1.0, 12_345.6, 4e8])
def test_no_number_of_the_leaderboard_is_cut_or_has_an_exponent(scale: float) -> None:
    X = table()[["a"]]
    costs = Costs.binary(fn=5 * scale, fp=scale, classes=["good", "bad"], positive="bad")
    result = compare(X, table()["y"], costs=costs, candidates=["LightGBM, ordered categories, 31 leaves"], cv=2)
    text = io.StringIO()
    Console(file=text, width=80).print(leaderboard_table(result.lines, "EUR"))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert not re.search("e[+-]", text.getvalue())
    costs_shown = [float(re.findall(r"(-?[\d.]+)\*? +[\d.]+(?:-| to )[\d.]+ ", line)[0]) for line in lines[2:]]
    assert costs_shown == [float(f"{line.mean_cost.value:.4g}") for line in result.lines]


def test_progress_fits_into_80_columns() -> None:
    """Units done, planned and the time passed stand at the end, and were the first to be cut."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    everyone = [next(c for c in portfolio() if c.name == "LightGBM, ordered categories, 31 leaves")]
    work: Any = SimpleNamespace(everyone=everyone, best_cost=0.53712, cpu_used=123.4, planned=345, done=117)
    with ProgressBar(console) as progress:
        progress(work, Unit(0, 100, 0))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "117/345 0:00:0" in shown
    assert "best cost 0.5371 123.4 s CPU" in shown
