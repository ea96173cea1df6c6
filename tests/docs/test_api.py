"""docs/api.md is what the docstrings say."""

from pathlib import Path

import steelyard
from steelyard.lab.api import api_page

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == api_page(), "run: python -m steelyard.lab.api"


def test_every_public_name_is_on_it() -> None:
    text = PAGE.read_text()
    assert all(f"### `{name}`" in text for name in steelyard.__all__)
