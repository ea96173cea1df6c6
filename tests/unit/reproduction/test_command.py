"""``steelyard reproduce`` from end to end, on a paper of two short recipes and one that cannot be run."""

import csv
import io
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import Forked
from rich.console import Console

from steelyard import (
    AskRandom,
    Balanced,
    DataNotFoundError,
    InvalidInputError,
    OnlineClassifier,
    Perceptron,
    cli,
    f_score,
    load_dataset,
    load_orders,
)
from steelyard.reproduction.check import CheckResult, check_kept, write_checked
from steelyard.reproduction.claims import Verdict
from steelyard.reproduction.command import Mode, Place, decide, one_item, reproduce, run_reproduce, show_committed
from steelyard.reproduction.recipe import find_recipes
from steelyard.reproduction.results import FIXED, Results, Run, signed
from steelyard.reproduction.runs import task_of
from steelyard.reproduction.terminal import verdict_table

STREAM = """
paper = "000"
item = "Table 1"
claim = "Table 1, german"
data = { name = "german" }
protocol = { use = "Stream", runs = 2, seed = 0, points = 5 }
costs = { use = "Balanced", eta_pos = 0.5 }
measure = [{ use = "f_score", name = "PE" }, { use = "f_score", name = "PQE", shown = "push_and_query" }]
quick = { runs = 1 }
figure = { kind = "curves", x = "examples", y = ["f1", "f1 push_and_query"] }

[[learner]]
name = "asks at random"
use = "OnlineClassifier"
update = { use = "Perceptron" }
query = { use = "AskRandom", rate = 0.3 }

[[learner]]
name = "asks nothing"
use = "OnlineClassifier"
update = { use = "Perceptron" }
query = { use = "AskFirst" }
budget = 1
"""
SWEEP = """
paper = "000"
item = "Figure 1"
claim = "Figure 1, german"
data = { name = "german" }
protocol = { use = "Sweep", runs = 2, parameter = "max_depth", values = [1, 3, 5, 8], balance = ["TPR", "TNR"] }
measure = [{ use = "sensitivity_score", name = "TPR" }, { use = "specificity_score", name = "TNR" }]
figure = { kind = "sweep" }

[[learner]]
name = "tree"
use = "sklearn.tree.DecisionTreeClassifier"
random_state = 0
"""
SKIPPED = """
paper = "000"
item = "Table 2"
claim = "Table 2, lost"
data = { name = "lost" }
skip = "the data are lost"
"""
CLAIMS = """
[[claim]]
item = "Table 1"
claim = "asking at random is better"
kind = "better"
measure = ["PE"]
better = ["asks at random"]
worse = ["asks nothing"]

[[claim]]
item = "Table 2"
claim = "the lost data say so"
kind = "better"
data = ["lost"]
better = ["a"]
worse = ["b"]
"""
PRINTED = """item,data,learner,measure,mean,spread,spread_kind,runs
Table 1,german,asks at random,PE,0.9876,0.001,std,20
"""


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "papers" / "000-toy"
    (folder / "results").mkdir(parents=True)
    named = {"table1-german.toml": STREAM, "figure1-german.toml": SWEEP, "table2-lost.toml": SKIPPED}
    for name, text in {**named, "claims.toml": CLAIMS, "printed.csv": PRINTED}.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("STEELYARD_PAPERS", str(tmp_path / "papers"))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=200, file=io.StringIO())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def numbers(folder: Path) -> dict[str, list[Any]]:
    """Everything in a folder's result files that does not depend on the clock."""
    timed = ("took", "checksum")
    return {
        path.name: [{k: v for k, v in row.items() if k not in timed} for row in rows(path)]
        for path in sorted(folder.glob("*.csv"))
    }


@pytest.fixture
def kept(paper: Path, console: Console) -> Path:
    reproduce("000", place=Place(keep=True), console=console)
    return paper


def test_it_computes_by_default_and_leaves_the_committed_results_alone(paper: Path, console: Console) -> None:
    made = reproduce("000", console=console)
    assert list((paper / "results").iterdir()) == []
    here = Path("steelyard-reproduce/000")
    assert made.page == here / "index.html"
    found = {path.name for path in here.iterdir() if not path.name.startswith(".")}
    pictures = {f"{name}{suffix}" for name in ("table1-german", "figure1-german") for suffix in (".png", ".svg")}
    files = {f"{name}{suffix}" for name in ("table1-german", "figure1-german") for suffix in (".csv", ".curves.csv")}
    assert found == {"index.html", "summary.csv", "verdicts.csv", "comparisons.csv"} | pictures | files
    assert made.skipped == {"table2-lost": "the data are lost"}
    assert [(v.word, v.reason) for v in made.verdicts][1] == ("not judged", "missing: lost (the data are lost)")
    assert "skipped Table 2, lost: the data are lost" in console.export_text()


def test_learners_that_raise_are_noticed(kept: Path, monkeypatch: pytest.MonkeyPatch, console: Console) -> None:
    """Committed results must not stand in for a computation."""

    def refuse(*_: object) -> None:
        raise RuntimeError("ran")

    monkeypatch.setattr(OnlineClassifier, "run", refuse)
    with pytest.raises(RuntimeError, match="ran"):
        reproduce("000", item="Table 1", console=console)
    show_committed("000", console=console)


def test_ours_and_the_printed_stand_in_their_own_columns(kept: Path, console: Console) -> None:
    [line] = [r for r in rows(kept / "results" / "summary.csv") if r["printed"]]
    ours = np.mean(
        [float(r["PE"]) for r in rows(kept / "results" / "table1-german.csv") if r["learner"] == line["learner"]]
    )
    assert float(line["ours"]) == pytest.approx(ours)
    assert float(line["printed"]) == 0.9876
    assert line["equal"] == "no"
    show_committed("000", console=console)
    text = next(each for each in console.export_text().splitlines() if "asks at random" in each and " PE " in each)
    shown = re.split(" {2,}", text.strip())
    assert (shown[2], shown[5]) == (f"{ours:.4f}", "0.9876")


def test_cells_without_runs_leave_the_summary(kept: Path, console: Console) -> None:
    (kept / "table1-german.toml").write_text(STREAM.replace("Table 1", "Table 3"))  # the same runs under another name
    reproduce("000", place=Place(keep=True), console=console)
    assert {row["item"] for row in rows(kept / "results" / "summary.csv")} == {"Figure 1", "Table 3"}


def test_push_and_query_counts_what_was_asked(kept: Path) -> None:
    """Both measures from one trace, against a run by hand."""
    german = load_dataset("german")
    labels = np.asarray(german.y)
    order = np.random.default_rng(1).permutation(len(labels))
    y = labels[order]
    learner = OnlineClassifier(Perceptron(), query=AskRandom(rate=0.3), seed=1, costs=Balanced(0.5))
    trace = learner.run(german.X[order], y)
    positive = np.unique(y)[-1]
    pushed = f_score(y, trace.prediction, positive=positive)
    asked = f_score(y, np.where(trace.queried, positive, trace.prediction), positive=positive)
    [row] = [
        r for r in rows(kept / "results" / "table1-german.csv") if (r["learner"], r["run"]) == ("asks at random", "1")
    ]
    assert float(row["PE"]) == pytest.approx(pushed, abs=1e-9)
    assert float(row["PQE"]) == pytest.approx(asked, abs=1e-9)
    assert row["PE"] != row["PQE"]
    last = [r for r in rows(kept / "results" / "table1-german.curves.csv") if r["learner"] == "asks at random"][-1]
    assert float(last["f1"]) == pytest.approx(pushed, rel=1e-5)
    assert float(last["f1 push_and_query"]) == pytest.approx(asked, rel=1e-5)


def test_a_sweep_takes_the_value_where_its_two_measures_are_nearest(kept: Path) -> None:
    for row in rows(kept / "results" / "figure1-german.csv"):
        curve = [r for r in rows(kept / "results" / "figure1-german.curves.csv") if r["run"] == row["run"]]
        gaps = {float(r["max_depth"]): abs(float(r["train TPR"]) - float(r["train TNR"])) for r in curve}
        assert len(set(gaps.values())) > 1
        assert gaps[float(row["balanced max_depth"])] == min(gaps.values())


def test_a_folder_with_results_is_taken_only_by_resume(paper: Path, console: Console) -> None:
    reproduce("000", item="Table 1", runs=1, place=Place(to=Path("out")), console=console)
    with pytest.raises(InvalidInputError, match=r"--to must name a folder without results; got 'out'. Go on there by"):
        reproduce("000", place=Place(to=Path("out")), console=console)
    reproduce("000", item="Table 1", place=Place(resume=Path("out")), console=console)
    assert len(rows(Path("out/table1-german.csv"))) == 4
    with pytest.raises(InvalidInputError, match="--resume must name a folder of results"):
        reproduce("000", place=Place(resume=Path("nowhere")), console=console)
    with pytest.raises(InvalidInputError, match="--keep must not be combined"):
        reproduce("000", place=Place(to=Path("new"), keep=True), console=console)
    with pytest.raises(InvalidInputError, match="--keep must not be combined with --quick"):
        reproduce("000", quick=True, place=Place(keep=True), console=console)


def test_some_learners_and_another_number_of_runs(paper: Path, console: Console) -> None:
    made = reproduce("000", learners=["asks nothing"], runs=3, console=console)
    assert {(line.learner, line.runs) for line in made.lines} == {("asks nothing", 3)}
    assert made.verdicts[0].word == "not judged"
    assert made.verdicts[0].reason == "missing: german (asks at random: 2 of 2 runs)"
    with pytest.raises(InvalidInputError, match=r"--learner must be one of .*asks nothing"):
        reproduce("000", learners=["nobody"], place=Place(to=Path("other")), console=console)


def test_a_part_leaves_the_picture_of_the_whole(paper: Path, console: Console) -> None:
    text = "\n".join(line for line in STREAM.splitlines() if not line.startswith("figure"))
    (paper / "table1-german.toml").write_text(text)
    for learners in ([], ["asks nothing"]):
        reproduce("000", item="Table 1", learners=learners, place=Place(keep=True), console=console)
        assert "asks at random" in (paper / "results" / "table1-german.svg").read_text()


def test_quick_says_how_much_was_run_and_judges_nothing(paper: Path, console: Console) -> None:
    made = reproduce("000", quick=True, console=console)
    assert made.verdicts[0].word == "quick: 1 of 2 runs"


def test_hours_stop_cleanly_and_say_what_is_left(paper: Path, console: Console) -> None:
    made = reproduce("000", item="Table 1", hours=0.0, console=console)
    assert made.left["table1-german"].left == 4
    assert "Time is up: 4 runs left, for how long is not known." in console.export_text()
    assert made.verdicts[0].word == "not judged"


def test_show_says_so_in_its_first_line_and_writes_nothing(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    monkeypatch.setattr(OnlineClassifier, "run", lambda *_: pytest.fail("ran"))
    call(show=True)
    assert capsys.readouterr().out.splitlines()[0] == "The committed results are shown; nothing is run."
    assert {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()} == before


def call(**given: Any) -> None:
    wish: dict[str, Any] = {"learners": [], "runs": None, "quick": False, "hours": None, "n_jobs": 1}
    run_reproduce(["000"], {"item": None, "data": None}, wish, Mode(**given))


def test_options_that_exclude_one_another(kept: Path) -> None:
    with pytest.raises(InvalidInputError, match="SHARE must be given with --check only"):
        call(share=0.5)
    with pytest.raises(InvalidInputError, match="--show must stand alone"):
        call(show=True, keep=True)
    with pytest.raises(InvalidInputError, match="--check must not be combined with --to, --resume and --runs"):
        call(check=True, to=Path("out"))
    with pytest.raises(InvalidInputError, match="--decide must go with --hours"):
        call(decide=True, check=True)


def test_one_item_is_named_once() -> None:
    assert one_item(None, None, None) is None
    assert one_item("2", None, None) == "Table 2"
    assert one_item(None, "3", None) == "Figure 3"
    assert one_item(None, None, "Option II") == "Option II"
    with pytest.raises(InvalidInputError, match="--table and --item must not be combined; got 'Table 2, Option II'"):
        one_item("2", None, "Option II")


def test_check_compares_every_digit_and_records_what_passed(kept: Path, console: Console) -> None:
    checked = check_kept("000", 1.0, console=console)
    assert not checked.different
    assert checked.cells == 8 + 2 * 5 + 4 * 5 * 4 + 2 * 4 * 5
    assert f"{checked.cells:,} of {checked.cells:,} cells equal" in console.export_text()
    assert checked.left_out == {"table2-lost": "the data are lost"}
    text = write_checked(kept.parent, "000", checked).read_text()
    assert f'table1-german = {{ recipe = "{checked.digests["table1-german"]}", commit = ' in text
    assert write_checked(kept.parent, "000", checked).read_text() == text


def test_check_takes_at_least_one_run_of_every_learner(kept: Path, console: Console) -> None:
    assert check_kept("000", 0.001, item="Table 1", console=console).cells == 2 * (2 + 4 * 5)


def test_check_of_one_learner_names_the_others(kept: Path, console: Console) -> None:
    """What takes hours with all its learners can be checked without the slow ones."""
    checked = check_kept("000", 1.0, item="Table 1", learners=["asks at random"], console=console)
    assert checked.cells == 2 * (2 + 4 * 5)
    assert 'without = "asks nothing"' in write_checked(kept.parent, "000", checked).read_text()
    with pytest.raises(InvalidInputError, match="--learner must be one of"):
        check_kept("000", learners=["asks everybody"], console=console)


def test_a_quick_check_takes_one_run_of_every_learner_and_no_search(kept: Path, console: Console) -> None:
    assert check_kept("000", item="Table 1", quick=True, console=console).cells == 2 * (2 + 4 * 5)
    text = SWEEP.replace(
        '"Sweep", runs = 2, parameter = "max_depth", values = [1, 3, 5, 8], balance = ["TPR", "TNR"]', '"ChosenOnce"'
    )
    (kept / "figure1-german.toml").write_text(text)
    left_out = check_kept("000", quick=True, console=console).left_out
    assert left_out["figure1-german"] == "its search takes too long for --quick"


def test_a_quick_check_names_what_takes_too_long(kept: Path, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.reproduction.check.QUICK_SECONDS", 0.0)
    checked = check_kept("000", item="Table 1", quick=True, console=console)
    assert checked.cells == 0
    assert checked.left_out["table1-german"].startswith("too long for --quick: asks ")
    assert "asks nothing (0 s)" in checked.left_out["table1-german"]
    assert checked.without == {"table1-german": ["asks at random", "asks nothing"]}
    assert "table1-german" not in write_checked(kept.parent, "000", checked).read_text()
    left_out, digests = {"table1-german": ["asks nothing"], "figure1-german": []}, {"table1-german": "d"}
    partly = CheckResult(passed={"table1-german": 2}, without=left_out, digests=digests)
    assert 'cells = 2, without = "asks nothing" }' in write_checked(kept.parent, "000", partly).read_text()
    other = CheckResult(digests={"table1-german": "of another recipe"})
    assert "table1-german" not in write_checked(kept.parent, "000", other).read_text()


def test_check_finds_one_changed_digit(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number that changed together with its checksum is found by computing it."""
    recipe = find_recipes("000", item="Table 1")[0]
    results = Results.committed(recipe)
    runs = results.runs(recipe)
    lines = results.path(recipe).read_text().splitlines()
    header = lines[0].split(",")
    cells = next(csv.reader([lines[1]]))[:-1]
    cells[len(FIXED)] = repr(runs[0].values["PE"] + 1e-10)
    lines[1] = signed(header, cells).rstrip("\n")
    results.path(recipe).write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("sys.argv", ["steelyard", "reproduce", "000", "--check", "1.0", "--jobs", "1"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert "run 0, PE: kept " in capsys.readouterr().out.replace("\n", " ")


def test_decide_goes_from_look_to_look_until_claims_are_decided(paper: Path, console: Console) -> None:
    """One run leaves the claim undecided; the rule is declared first, and only the claim's learners are run."""
    (paper / "table1-german.toml").write_text(STREAM.replace("runs = 2,", "runs = 1,"))
    kept = paper
    reproduce("000", place=Place(keep=True), console=console)
    assert show_committed("000", console=console).verdicts[0].word == "undecided"
    made = decide("000", place=Place(keep=True), console=console)
    assert made.verdicts[0].word == "holds"
    assert "look at 20, level 0.013" in made.verdicts[0].reason
    assert 'asking at random is better" = "AFTER"' in (kept / "results" / "plans.toml").read_text()
    assert show_committed("000", console=console).verdicts[0] == made.verdicts[0]
    runs = rows(kept / "results" / "table1-german.csv")
    assert sorted(int(row["run"]) for row in runs if row["learner"] == "asks nothing") == list(range(20))
    assert [row["curve"] != "" for row in runs] == [int(row["run"]) < 1 for row in runs]
    assert len(rows(kept / "results" / "figure1-german.csv")) == 2
    assert "Looks at 20, 40, 80, ... 10,240 runs" in console.export_text()


def test_decide_stops_in_time_and_goes_on_where_it_stopped(paper: Path, console: Console) -> None:
    stopped = decide("000", hours=0, place=Place(to=Path("out")), console=console)
    assert stopped.verdicts[0].word == "undecided"
    assert stopped.verdicts[0].left == "its next look is at 20 runs; how long they take is not known"
    assert "undecided Table 1: asking at random is better" in console.export_text(clear=False)
    assert 'asking at random is better" = "FRESH"' in Path("out/plans.toml").read_text()
    reproduce("000", item="Table 1", runs=3, place=Place(resume=Path("out")), console=console)
    decided = decide("000", place=Place(resume=Path("out")), console=console)
    whole = decide("000", place=Place(to=Path("whole")), console=console)
    assert decided.verdicts == whole.verdicts
    assert decided.verdicts[0].word == "holds"
    assert decided.verdicts[0].left == ""


def test_what_an_undecided_claim_would_still_take_stands_beside_it(paper: Path, console: Console) -> None:
    """Hours follow from what the kept runs took: 20 runs of two learners beyond the 20 that each has."""
    (paper / "table1-german.toml").write_text(STREAM.replace("runs = 2,", "runs = 20,"))
    recipe = find_recipes("000", item="Table 1")[0]
    results, data = Results.committed(recipe), task_of(recipe)[1]
    for run in range(20):
        for learner, value in (("asks at random", 0.25 + (-1) ** run), ("asks nothing", 0.0)):
            results.append(recipe, data, Run(learner, run, 900.0, {"PE": value, "PQE": 0.0}), {})
    stopped = decide("000", hours=0, place=Place(keep=True), console=console).verdicts[0]
    assert stopped.word == "undecided"
    assert stopped.left.startswith("about 10.0 hours to its next look, at 40 runs; about ")
    assert stopped.left.endswith(" until decided, at 320 runs and the difference seen")
    assert rows(paper / "results" / "verdicts.csv")[0]["to decide it"] == stopped.left
    assert "about 10.0 hours to its next look" in console.export_text().replace("\n", "")


def test_an_experiment_that_was_begun_is_not_planned_anew(paper: Path, console: Console) -> None:
    """Its own number of runs is its first look: with a part of them --decide waits for the rest."""
    reproduce("000", item="Table 1", runs=1, place=Place(to=Path("out")), console=console)
    decide("000", hours=0, place=Place(resume=Path("out")), console=console)
    assert "asking at random is better" not in Path("out/plans.toml").read_text()


def test_after_the_last_look_nothing_is_run(paper: Path, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.reproduction.sequential.MOST", 40)
    (paper / "table1-german.toml").write_text(STREAM.replace("runs = 2,", "runs = 20,"))
    (paper / "claims.toml").write_text(CLAIMS.replace('worse = ["asks nothing"]', 'worse = ["asks at random"]'))
    reproduce("000", item="Table 1", place=Place(to=Path("out")), console=console)
    made = decide("000", place=Place(resume=Path("out")), console=console)
    last = "its runs are used up: the last look, at 40 runs, did not decide at the difference seen"
    assert made.verdicts[0].left == last
    told = console.export_text()
    assert "asking at random is better: to 40 runs" in told
    assert "asking at random is better: to 20 runs" not in told
    assert "asking at random is better: its runs are used up" in told


def test_published_orders_cannot_be_continued(paper: Path, console: Console) -> None:
    try:
        load_orders("german")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    recipe = (paper / "table1-german.toml").read_text()
    (paper / "table1-german.toml").write_text(recipe.replace("runs = 2,", 'runs = 20, orders = "german",'))
    hopeless = CLAIMS.replace('worse = ["asks nothing"]', 'worse = ["asks at random"]')
    (paper / "claims.toml").write_text(hopeless)
    reproduce("000", item="Table 1", place=Place(to=Path("out")), console=console)
    made = decide("000", place=Place(resume=Path("out")), console=console)
    assert made.verdicts[0].left == "its runs are used up: no more than 20 orders of table1-german were published"
    assert "asking at random is better: its runs are used up" in console.export_text()


def test_claims_are_read_on_a_narrow_terminal(console: Console) -> None:
    """Every comparison begins a line of its own beside both words."""
    compared = "glass RED - FT = -0.94 [-4.2, 2.4], p = 0.29; vehicle RED - FT = -5.7 [-9.9, -1.6], p = 0.004"
    verdict = Verdict(
        "Table 2", "RED costs less than FT", "undecided", compared, "fails (conservative)", left="an hour"
    )
    console.width = 70
    console.print(verdict_table([verdict, Verdict("Table 3", "[sic] as printed", "holds", "4 of 4 equal")]))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert max(map(len, lines)) <= 70
    first = next(k for k, line in enumerate(lines) if line.startswith(" undecided"))
    begin = lines[first].index("Table 2: RED costs less than FT")
    assert lines[first][:begin].split() == ["undecided", "fails"]
    assert lines[first + 1][:begin].split() == ["(conservative)"]
    starts = [line[begin:] for line in lines]
    for beginning in ("glass RED - FT = -0.94", "vehicle RED - FT = -5.7", "to decide it: an hour", "Table 3: [sic]"):
        assert any(start.startswith(beginning) for start in starts)


SCRIPT = "import sys; from pathlib import Path; from steelyard.reproduction.command import Place, reproduce; "


def start(code: str) -> Forked:
    return Forked(SCRIPT + code, modules=("steelyard.reproduction.command",))


def wait_for(what: Callable[[], bool], process: Forked) -> None:
    while not what() and not process.has_ended():
        time.sleep(0.002)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_job_killed_at_random_moments_ends_like_an_undisturbed_one(paper: Path, console: Console, kills: int) -> None:
    """Each time it goes on, learns some runs, and is killed while it writes or learns the next."""
    rng = np.random.default_rng(kills)
    runs = 6 * kills  # more than are learned until the last kill
    reproduce("000", item="Table 1", runs=runs, place=Place(to=Path("whole")), console=console)
    path, place = Path("killed/table1-german.csv"), "to"
    for _ in range(kills):
        before = path.read_text().count("\n") if path.exists() else 0
        process = start(f"reproduce('000', item='Table 1', runs={runs}, place=Place({place}=Path('killed')))")
        more = before + int(rng.integers(1, 4))
        wait_for(lambda more=more: path.exists() and path.read_text().count("\n") > more, process)
        time.sleep(float(rng.uniform(0, 0.02)))
        process.kill()
        process.close()
        place = "resume"
    reproduce("000", item="Table 1", runs=runs, place=Place(resume=Path("killed")), console=console)
    assert numbers(Path("killed")) == numbers(Path("whole"))


def test_a_second_process_is_told_of_the_first(paper: Path, console: Console) -> None:
    with Results(Path("out")).locked():
        process = start("reproduce('000', item='Table 1', place=Place(to=Path('out')))")
        error = process.communicate()[1]
    assert process.returncode == 1
    assert f"StateError: out/results is in use by process {os.getpid()}" in error
    reproduce("000", item="Table 1", place=Place(to=Path("out")), console=console)
