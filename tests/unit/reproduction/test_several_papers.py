"""``steelyard reproduce`` with several papers at once, and options that were silently passed over."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from steelyard import InvalidInputError
from steelyard.reproduction import command
from steelyard.reproduction.check import check_kept
from steelyard.reproduction.command import Mode, Place, reproduce, run_reproduce, show_committed
from steelyard.reproduction.recipe import Recipe, find_recipes, learners_of
from steelyard.reproduction.results import Run
from steelyard.reproduction.tables import Printed, lines_of
from steelyard.reproduction.terminal import line_table

RECIPE = """
paper = "{paper}"
item = "Table 1"
claim = "Table 1, {data}"
data = {{ name = "{data}" }}
protocol = {{ use = "Holdout", runs = 2, train = 0.5, seed = 0 }}
measure = ["accuracy_score"]

[[learner]]
name = "{learner}"
use = "sklearn.dummy.DummyClassifier"

[[learner]]
name = "uniform"
use = "sklearn.dummy.DummyClassifier"
strategy = "uniform"
"""
CLAIMS = """
[[claim]]
item = "Table 1"
claim = "{learner} is better than chance"
kind = "better"
better = ["{learner}"]
worse = ["uniform"]
"""
PAPERS = {"000": ("german", "most frequent"), "001": ("heart", "the same"), "002": ("german", "again")}


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for paper, (data, learner) in PAPERS.items():
        folder = tmp_path / "papers" / f"{paper}-toy"
        folder.mkdir(parents=True)
        text = RECIPE.format(paper=paper, data=data, learner=learner)
        (folder / "table1.toml").write_text(text.replace("accuracy_score", "sklearn.metrics.accuracy_score"))
        (folder / "claims.toml").write_text(CLAIMS.format(learner=learner))
    monkeypatch.setenv("STEELYARD_PAPERS", str(tmp_path / "papers"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "papers"


@pytest.fixture
def console() -> Console:
    return Console(record=True, width=200, file=io.StringIO())


def call(papers: list[str], *, item: str | None = None, data: str | None = None, **given: Any) -> int:
    wish = {"learners": [], "runs": None, "quick": False, "hours": None, "n_jobs": 1}
    wish |= {name: given.pop(name) for name in list(given) if name in wish}
    return run_reproduce(papers, {"item": item, "data": data}, wish, Mode(**given))


def test_the_hours_are_those_of_all_papers_together(papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each paper once began a clock of its own: all five with 2 hours took 10."""
    now, given = [0.0], list[tuple[str, float]]()
    monkeypatch.setattr(command.time, "monotonic", lambda: now[0])

    def takes_an_hour(paper: str, *, hours: float, **_: Any) -> None:
        given.append((paper, hours))
        now[0] += 3600.0

    monkeypatch.setattr(command, "reproduce", takes_an_hour)
    call(["000", "001", "002"], hours=1.5)
    assert given == [("000", 1.5), ("001", 0.5), ("002", 0.0)]
    given.clear()
    monkeypatch.setattr(command, "decide", takes_an_hour)
    call(["000", "001"], hours=1.5, decide=True, to=Path("out"))
    assert given == [("000", 1.5), ("001", 0.5)]


def test_hours_are_a_number(papers: Path) -> None:
    """NaN is never over: the limit was ignored."""
    with pytest.raises(InvalidInputError, match="--hours must be a finite number >= 0; got nan"):
        call(["000"], hours=float("nan"))
    assert not Path("steelyard-reproduce").exists()


def test_what_several_papers_cannot_do_is_said_before_the_first_run(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "reproduce", lambda *_, **__: pytest.fail("ran"))
    (Path("steelyard-reproduce") / "002").mkdir(parents=True)
    (Path("steelyard-reproduce") / "002" / "table1.csv").write_text("earlier")
    with pytest.raises(InvalidInputError, match=r"--to must name a folder without results; got .*002"):
        call(["000", "001", "002"])


def test_a_job_on_several_papers_goes_on_also_in_those_it_had_not_begun(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduce("000", place=Place(to=Path("out/000")), console=Console(file=io.StringIO()))
    places: dict[str, Place] = {}
    monkeypatch.setattr(command, "reproduce", lambda paper, place, **_: places.update({paper: place}))
    call(["000", "002"], resume=Path("out"))
    assert places == {"000": Place(resume=Path("out/000")), "002": Place(to=Path("out/002"))}
    with pytest.raises(InvalidInputError, match="--resume must name a folder of results; got 'nowhere/000'"):
        call(["000", "002"], resume=Path("nowhere"))


def test_papers_without_the_part_are_passed_over(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(["000", "001", "002"], data="german", to=Path("out"))
    assert sorted(path.name for path in Path("out").iterdir()) == ["000", "002"]
    shown = capsys.readouterr().out
    assert "most frequent" in shown
    assert "the same" not in shown
    part = {"item": None, "data": "german"}
    assert learners_of(["000", "001", "002"], part, ["again"]) == {"002": ["again"]}
    assert learners_of(["000", "001", "002"], part, ["again", "uniform"]) == {
        "000": ["uniform"],
        "002": ["again", "uniform"],
    }
    with pytest.raises(
        InvalidInputError, match="--learner must be one of again, most frequent, uniform; got 'the same'"
    ):
        learners_of(["000", "001", "002"], part, ["the same"])
    with pytest.raises(InvalidInputError, match=r"must name something that a paper has; got .*'data': 'iris'"):
        call(["000", "001"], data="iris")


@pytest.mark.parametrize("name", ["/000", "**", "*", "00?", "", "000-toy/../000"])
def test_a_paper_is_a_number_and_no_pattern(papers: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="paper must be one of 000, 001, 002; got "):
        find_recipes(name)


def test_no_option_is_passed_over(papers: Path, console: Console) -> None:
    for ignored in ({"quick": True}, {"runs": 3}, {"hours": 1.0}):
        with pytest.raises(InvalidInputError, match="--show must stand alone"):
            call(["000"], show=True, **ignored)
    with pytest.raises(InvalidInputError, match="--to must not be combined with --resume; got 'a'"):
        reproduce("000", place=Place(to=Path("a"), resume=papers), console=console)
    reproduce("000", place=Place(keep=True), console=console)
    found = show_committed("000", learners=["uniform"], console=console)
    assert {line.learner for line in found.lines} == {"uniform"}
    with pytest.raises(InvalidInputError, match="--learner must be one of"):
        show_committed("000", learners=["nobody"], console=console)


def test_a_check_says_what_has_no_kept_runs(papers: Path, console: Console) -> None:
    """Nothing to compare is no agreement: a recipe that has changed must not pass with the runs of the old one."""
    nothing = check_kept("000", console=console)
    assert (nothing.cells, nothing.left_out) == (0, {"table1": "no runs are kept; --keep makes them"})
    reproduce("000", learners=["uniform"], place=Place(keep=True), console=console)
    partly = check_kept("000", console=console)
    assert partly.left_out == {"table1": "no runs are kept of most frequent"}
    assert partly.without == {"table1": ["most frequent"]}
    assert check_kept("000", learners=["uniform"], console=console).left_out == {}
    recipe = papers / "000-toy" / "table1.toml"
    recipe.write_text(recipe.read_text().replace("train = 0.5", "train = 0.6"))
    changed = check_kept("000", console=console)
    assert changed.different == ["table1: the kept runs are those of another recipe"]
    assert str(changed) == "0 of 1 cells equal"


def test_names_are_whole_on_a_terminal_of_80_columns(papers: Path, console: Console) -> None:
    """``CSOGD-II`` and ``CSOGD-I`` were both cut off before their numbers."""
    recipe: Recipe = find_recipes("000")[0]
    names = ["Perceptron", "CSOGD-I", "CSOGD-II"]
    values = {"weighted_sum_score": 70.69, "total_cost": 871.072}
    runs = [Run(name, k, 0.0, {m: v + k for m, v in values.items()}) for name in names for k in (0, 1)]
    theirs = {name: Printed("Table 1", "german", "", name, v, 12.103, "std", 20, 3) for name, v in values.items()}
    console.width = 80
    shown = [replace(line, printed=theirs[line.measure]) for line in lines_of(recipe, runs)]
    console.print(line_table(recipe, shown))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    for name in names:
        for measure in values:
            assert any(line.split()[:2] == [name, measure] for line in lines), (name, measure)
    assert any("871.072  12.103" in line for line in lines)
