"""Every file of the gallery runs; those whose data are not at hand are skipped by name."""

import ast
import json
import runpy
from pathlib import Path

import pytest
from site_pages.gallery import configuration
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF

from steelyard import DataNotFoundError
from steelyard.stories import STORIES

GALLERY = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.py")), ids=lambda p: p.stem)
def test_the_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("STEELYARD_MIRROR", "http://127.0.0.1:9")  # never the network from a test
    try:
        runpy.run_path(str(path), run_name="__main__")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", sorted(GALLERY.glob("*.py")), ids=lambda p: p.stem)
def test_the_example_has_a_title_for_the_site(path: Path) -> None:
    title, rule = (ast.get_docstring(ast.parse(path.read_text())) or "\n").splitlines()[:2]
    assert rule == "=" * len(title)


def test_every_story_has_its_kept_picture_and_numbers_of_the_whole_form() -> None:
    for name in STORIES:
        folder = GALLERY.parent / "docs" / "stories" / name
        assert (folder / f"{name}.png").stat().st_size < 200_000
        numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
        assert numbers["story"] == name
        assert numbers["quick"] is False


def test_the_gallery_has_no_page_that_fetches_its_scripts_from_elsewhere() -> None:
    """The list of computation times does; a key that sphinx-gallery does not know would be ignored with a warning."""
    assert configuration(GALLERY.parent / "docs")["write_computation_times"] is False
    assert "write_computation_times" in DEFAULT_GALLERY_CONF
