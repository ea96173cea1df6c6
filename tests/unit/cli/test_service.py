"""The commands below `service` say what they do, and refuse options that do not go together."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from steelyard import InvalidInputError
from steelyard.cli import app
from steelyard.cli.service import service_app

COMMANDS = typer.main.get_command(service_app).commands  # type: ignore[attr-defined]


def plain(text: str) -> str:
    return re.sub(r"[\s`│╭╮╰╯─]+", "", text)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_help_text_is_shown_whole(name: str) -> None:
    shown = CliRunner().invoke(app, ["service", name, "--help"], env={"COLUMNS": "600", "TERMINAL_WIDTH": "600"})
    assert shown.exit_code == 0
    assert plain(COMMANDS[name].help or "?") in plain(shown.output)
    for parameter in COMMANDS[name].params:
        said = getattr(parameter, "help", None)
        assert said, parameter.name
        assert plain(said) in plain(shown.output), said


def test_a_sample_goes_with_the_demo() -> None:
    pytest.importorskip("apsw")
    refused = CliRunner().invoke(app, ["serve", "german"])
    assert isinstance(refused.exception, InvalidInputError)
    assert str(refused.exception).startswith("--demo must be given together with a sample or --keep")


@pytest.mark.parametrize("left_out", ["--classes", "--budget", "--expected-rows"])
def test_a_new_project_names_the_option_it_misses(tmp_path: Path, left_out: str) -> None:
    pytest.importorskip("apsw")
    sample = tmp_path / "rows.csv"
    sample.write_text("x,c\n1,a\n2,b\n")
    given = {"--classes": "good,fraud", "--budget": "10", "--expected-rows": "100"}
    options = [part for option, value in given.items() if option != left_out for part in (option, value)]
    command = ["service", "new", "p", "--data", str(tmp_path / "desk"), "--sample", str(sample), *options]
    refused = CliRunner().invoke(app, command)
    assert str(refused.exception).startswith(f"{left_out} must be given with --sample")
    assert not (tmp_path / "desk").exists()


@pytest.mark.filterwarnings("ignore:C has right answers that cost something")
@pytest.mark.parametrize(
    ("classes", "costs", "expected"),
    [
        ("good,fraud", "fn=10,fp=1", {"fn": 10.0, "fp": 1.0}),
        ("good,fraud", "10:1", {"fn": 10.0, "fp": 1.0}),
        ("good,fraud", "fn=10,fp=2,tp=1", [[0.0, 2.0], [10.0, 1.0]]),  # what a hit costs was passed over
        ("low,mid,top", "costs.csv", [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]),
        ("good,fraud", "pair.toml", [[0.0, 7.0], [2.0, 0.0]]),  # a miss of the class that the file names
    ],
)
def test_costs_of_a_new_project_are_those_of_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classes: str, costs: str, expected: object
) -> None:
    pytest.importorskip("apsw")
    from steelyard.service.commands.project import settings_from

    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("x,c\n1,a\n2,b\n")
    Path("costs.csv").write_text(",top,low,mid\ntop,0,5,6\nlow,2,0,1\nmid,4,3,0\n")
    Path("pair.toml").write_text('fn = 7\nfp = 2\npositive = "good"\n')
    given = {"classes": classes, "costs": costs, "budget": 10, "expected_rows": 100}
    assert settings_from(None, Path("rows.csv"), [], [], given).costs == expected


@pytest.mark.parametrize(
    ("classes", "costs", "words"),
    [
        ("a,b,c", "fn=5,fp=1", r"--costs must be a \.csv or \.toml file with C\[true, predicted\] for 3 classes"),
        ("a,b", "fn=5,fp=1,abstain=2", "--costs must leave abstain out in a project"),
        ("a,b", "balanced", "--costs must be numbers or a file"),
        ("a,b", "fn=amount,fp=1", "--costs must be the same for all rows of a project"),
        ("a,b", "fn=5,fp=1,tp=-3", "costs must be numbers from 0 to 1e12"),
    ],
)
def test_costs_that_a_project_cannot_have_are_refused(tmp_path: Path, classes: str, costs: str, words: str) -> None:
    pytest.importorskip("apsw")
    from steelyard.service.commands.project import settings_from

    sample = tmp_path / "rows.csv"
    sample.write_text("x,c\n1,a\n2,b\n")
    given = {"classes": classes, "costs": costs, "budget": 10, "expected_rows": 100}
    with pytest.raises(InvalidInputError, match=words):
        settings_from(None, sample, [], [], given)
