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
