"""``steelyard story``: list the stories, or tell one and print its numbers.

Tested in ``tests/unit/stories/test_runner.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .runner import STORIES, run_story, story_output


def list_stories() -> None:
    """Print every story with its data and whether they are at hand."""
    table = Table("story", "what it tells", "data", box=None)
    for story in STORIES.values():
        missing = story.missing_data()
        needs = ", ".join(f"{name} (to fetch)" if name in missing else name for name in story.data)
        table.add_row(story.name, story.title, needs or "generated or bundled")
    Console().print(table)


def tell_story(name: str, *, quick: bool, to: Path | None) -> None:
    """Run a story; print its numbers and where the picture lies."""
    numbers = run_story(name, quick=quick, to=to)
    console = Console()
    console.print_json(json.dumps(numbers))
    folder = story_output(name, to)
    console.print(f"{folder / f'{name}.png'} and numbers.json are written.", soft_wrap=True, highlight=False)
