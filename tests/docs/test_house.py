"""What the pages about the project say of the tree is so; the papers' READMEs leave out no table and no figure."""

import re
import tomllib
from pathlib import Path

import pytest
from site_pages import commands
from typer.testing import CliRunner

from steelyard.cli import app
from steelyard.reproduction.recipe import read_recipe

ROOT = Path(__file__).parents[2]
HOUSE = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")]
TABLES_AND_FIGURES = {
    "000-csogd": {"Table I", "Table II"},
    "001-asymmetric-active": {f"Table {n}" for n in (1, 2)} | {f"Figure {n}" for n in range(1, 7)},
    "002-one-sided-svr": {f"Table {n}" for n in range(1, 4)} | {f"Figure {n}" for n in (1, 2)},
    "003-adac2m1": {f"Table {n}" for n in range(1, 14)} | {f"Figure {n}" for n in range(1, 4)},
    "004-cs-ldm": {f"Table {n}" for n in range(1, 6)} | {f"Figure {n}" for n in range(1, 5)},
}


@pytest.mark.parametrize("page", HOUSE, ids=lambda path: path.name)
def test_files_that_are_named_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|native|scripts|tests|docs|bench|papers|\.ci|\.github|deploy)/[\w./*-]+)", text)
    assert [path for path in named if not list(ROOT.glob(path.rstrip(".")))] == []


def test_everything_at_the_top_of_the_tree_has_a_line_in_the_plan() -> None:
    rooms = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## 2. The rooms")[1].split("## 3.")[0]
    tests = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## 7. Tests")[1].split("## 8.")[0]
    for folder, text in ((ROOT, rooms), (ROOT / "src" / "steelyard", rooms), (ROOT / "tests", tests)):
        kept = [path for path in folder.iterdir() if path.is_dir() and _has_sources(path)]
        assert [path.name for path in kept if not re.search(rf"(?<![\w.]){re.escape(path.name)}/", text)] == []


@pytest.mark.parametrize("room", ["comparison", "streaming", "scale", "reproduction"])
def test_every_module_of_a_command_is_in_the_plan(room: str) -> None:
    """The rooms that one command needs whole are told module by module, or by the floors of their contract."""
    rooms = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## 2. The rooms")[1].split("## 3.")[0]
    text = re.split(r"\n  (?=\S)", rooms.split(f"\n  {room}/")[1])[0]
    modules = {path.stem for path in (ROOT / "src" / "steelyard" / room).iterdir() if path.suffix == ".py"} - {
        "__init__"
    }
    assert sorted(name for name in modules if not re.search(rf"\b{name}\b", text)) == []


def _has_sources(folder: Path) -> bool:
    """Whether a folder is of the project, and not one that tools leave behind."""
    made = ("build", "dist", "__pycache__", "node_modules", "steelyard-")
    hidden = folder.name.startswith(".") and folder.name not in (".ci", ".github")
    return not hidden and not folder.name.startswith(made) and not folder.name.endswith(".egg-info")


def test_the_recipe_of_the_plan_is_the_one_it_names(tmp_path: Path) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    [name] = re.findall(r"^# (papers/\S+\.toml)", shown)
    (tmp_path / "shown.toml").write_text(shown, encoding="utf-8")
    read_recipe(tmp_path / "shown.toml")
    said, kept = tomllib.loads(shown), tomllib.loads((ROOT / name).read_text(encoding="utf-8"))
    [learner] = said.pop("learner")
    learners = kept.pop("learner")
    assert learner in learners
    assert len(learners) == 9
    assert said == kept


def test_the_version_is_set_where_the_build_reads_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [field] = project["tool"]["dynamic-metadata"]
    assert f"Set the version in `{field['input']}`" in (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.*)"$', (ROOT / field["input"]).read_text(encoding="utf-8"), re.MULTILINE)
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_help_and_site_say_every_exit_code() -> None:
    shown = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "0 done, 1 reproduce --check found other numbers, 2 could not be done" in shown
    assert commands.exit_codes() in commands.pages()["commands.md"]
    assert commands.exit_codes() in shown


@pytest.mark.parametrize("folder", TABLES_AND_FIGURES)
def test_a_papers_readme_says_of_every_table_and_figure_where_it_is(folder: str) -> None:
    text = (ROOT / "papers" / folder / "README.md").read_text(encoding="utf-8")
    found = set()
    for line in text.split("## Where it is")[1].split("\n## ")[0].splitlines():
        for kind, numbers in re.findall(
            r"(Table|Figure)s? ((?:[\dIV]+(?:, | and )?)+)", line.split("|")[1] if "|" in line else ""
        ):
            found |= {f"{kind} {number}" for number in re.findall(r"[\dIV]+", numbers)}
    assert found >= TABLES_AND_FIGURES[folder], TABLES_AND_FIGURES[folder] - found
