"""Stories: found by name, checked before they start, kept whole."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steelyard import DataNotFoundError, InvalidInputError, MissingDependencyError, cli
from steelyard.stories import STORIES, run_story, runner


def test_the_ten_are_there_and_short() -> None:
    assert len(STORIES) == 10
    for story in STORIES.values():
        lines = story.path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 120, story.name
        assert story.title


@pytest.mark.parametrize("name", STORIES)
def test_a_story_uses_the_public_interface_only_and_loads_what_it_says(name: str) -> None:
    text = STORIES[name].path.read_text(encoding="utf-8")
    assert "steelyard." not in text.replace("steelyard.data fetch", "")
    assert all(data in text for data in STORIES[name].data)


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"story must be one of malicious-urls, .*, many-classes; got 'x'\."):
        run_story("x")


def test_a_library_that_is_missing_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.setattr(runner.runpy, "run_path", lambda *a, **k: pytest.fail("it began"))
    with pytest.raises(MissingDependencyError, match=r"steelyard\[plots\]"):
        run_story("bounds")


def test_missing_data_say_what_to_fetch_and_what_stands_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("STEELYARD_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataNotFoundError, match=r"steelyard data fetch letter\. Or: sklearn"):
        run_story("many-classes", quick=True)


def test_picture_and_numbers_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()

    def a_story(path: str, run_name: str) -> dict:  # type: ignore[type-arg]
        return {"main": lambda quick: (figure, {"found": 1.5, "short": quick})}

    monkeypatch.setattr(runner.runpy, "run_path", a_story)
    assert run_story("credit", quick=True, to=tmp_path / "a" / "b") == {"found": 1.5, "short": True}
    assert (tmp_path / "a" / "b" / "credit.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((tmp_path / "a" / "b" / "numbers.json").read_text())
    assert kept == {"story": "credit", "quick": True, "found": 1.5, "short": True}


def test_a_place_that_cannot_be_used_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(runner.runpy, "run_path", lambda *a, **k: pytest.fail("it began"))
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FileExistsError, match="file"):
        run_story("credit", to=tmp_path / "file")


def test_the_command_lists_and_complains_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = CliRunner().invoke(cli.app, ["story"], env={"COLUMNS": "200"})
    assert listed.exit_code == 0
    assert all(name in listed.output for name in STORIES)
    monkeypatch.setattr("sys.argv", ["steelyard", "story", "x"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("steelyard: story must be one of malicious-urls")
