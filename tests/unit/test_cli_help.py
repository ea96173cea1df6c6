"""What --help shows is what the source says: no markup eats brackets."""

import re

import pytest
import typer
from typer.testing import CliRunner

from steelyard.cli import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def plain(text: str) -> str:
    return re.sub(r"[\s`│╭╮╰╯─]+", "", text)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"data"}))
def test_every_help_text_is_shown_whole(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "600", "TERMINAL_WIDTH": "600"})
    assert shown.exit_code == 0
    for parameter in COMMANDS[name].params:
        said = getattr(parameter, "help", None)
        assert said, parameter.name
        assert plain(said) in plain(shown.output), said
