"""A page per story: its text, the picture and the numbers of the whole form, kept in docs/stories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steelyard.stories import STORIES, Story

KEPT = "stories"


def pages(root: Path) -> dict[str, str]:
    """The overview and one page per story."""
    found = {f"stories/{name}.md": page(story, root) for name, story in STORIES.items()}
    found["stories/index.md"] = overview()
    return found


def overview() -> str:
    """What each tells and what it needs."""
    lines = [
        "# Stories\n",
        "Whole scenes, each a file of at most 120 lines: `steelyard story` lists them, `steelyard story NAME` runs one "
        "within two minutes and writes a picture and `numbers.json`; `--quick` takes seconds.\n",
        "| story | what it tells | data |",
        "|---|---|---|",
    ]
    lines += [
        f"| [{story.name}]({story.name}.md) | {story.title} | {', '.join(story.data) or 'none to fetch'} |"
        for story in STORIES.values()
    ]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *STORIES, "```", ""])


def page(story: Story, root: Path) -> str:
    """Text, picture, numbers and how to run it."""
    title, _, text = story.text.partition("\n")
    body = text.partition("\n\n")[2].replace("``", "`")
    numbers = json.loads((root / "docs" / KEPT / story.name / "numbers.json").read_text(encoding="utf-8"))
    shown = {key: value for key, value in numbers.items() if key not in ("story", "quick")}
    file = story.path.name
    return "\n".join(
        [
            f"# {title}\n",
            f"{body}\n",
            f"![{title}](../../{KEPT}/{story.name}/{story.name}.png)\n",
            "## Numbers\n",
            "| | |",
            "|---|---|",
            *[f"| {name} | {value} |" for name, value in flat(shown)],
            "",
            "## Run it\n",
            f"```\nsteelyard story {story.name}\n```\n",
            f"The code is `examples/{file}`; the [gallery](../../gallery/{story.path.stem}.rst) shows it.\n",
        ]
    )


def flat(numbers: Any, path: str = "") -> list[tuple[str, str]]:
    """Nested numbers as rows: the way to each, and its value."""
    if not isinstance(numbers, dict):
        value = ", ".join(map(str, numbers)) if isinstance(numbers, list) else str(numbers)
        return [(path, value)]
    return [row for key, value in numbers.items() for row in flat(value, f"{path}: {key}" if path else str(key))]
