"""README.md names every public name, and nothing that is not there."""

import inspect
import re
from pathlib import Path

import pytest

import steelyard

README = Path(__file__).parents[2] / "README.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def table() -> dict[str, tuple[str, str, str]]:
    """Public name -> (what it is, paper, file)."""
    if not README.exists():
        pytest.skip("README.md is not beside an installed package")
    return {name: (what, paper, file) for name, what, paper, file in ROW.findall(README.read_text())}


def test_every_public_name_is_in_the_table_and_the_other_way_round() -> None:
    assert set(table()) == set(steelyard.__all__)


@pytest.mark.parametrize("name", steelyard.__all__)
def test_the_table_names_the_file_it_lives_in(name: str) -> None:
    file = table()[name][2]
    source = inspect.getsourcefile(getattr(steelyard, name))
    assert source is not None
    assert f"/steelyard/{file}" in Path(source).as_posix()


@pytest.mark.parametrize("name", steelyard.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(steelyard, name))
