"""What --help shows is what the source says: no markup eats brackets."""

import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import steelyard
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


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_wait_for_no_library(option: str) -> None:
    program = (
        "import sys; from steelyard.cli import main; sys.argv = ['steelyard', sys.argv[1]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'rich', 'numpy', 'sklearn', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program, option], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["steelyard", "steelyard.cli"])
def test_python_m_is_the_command(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"steelyard {steelyard.__version__}\n"
