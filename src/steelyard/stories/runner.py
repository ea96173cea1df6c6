"""Find a story, see that everything it needs is there, run it, and keep its picture and its numbers."""

from __future__ import annotations

import ast
import json
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.catalogue import dataset_info
from ..data.fetch import find
from ..errors import DataNotFoundError
from ..files import write_atomically
from ..validation.values import invalid, require

PICTURE_DPI = 100


@dataclass(frozen=True)
class Story:
    """One scene.

    Parameters
    ----------
    name : str
        What the command calls it; its file has underscores for dashes.
    data : tuple of str
        Data sets of the catalogue that it loads.
    extras : tuple of (module, extra)
        Optional libraries beside matplotlib.
    stands_in : str
        What to use where the data cannot be had.
    quick_needs_data : bool
        Whether the short form loads them too.
    """

    name: str
    data: tuple[str, ...] = ()
    extras: tuple[tuple[str, str], ...] = ()
    stands_in: str = ""
    quick_needs_data: bool = True

    @property
    def path(self) -> Path:
        """Its file."""
        return story_folder() / f"{self.name.replace('-', '_')}.py"

    @property
    def title(self) -> str:
        """The first line of its text."""
        return self.text.partition("\n")[0]

    @property
    def text(self) -> str:
        """The text at the head of its file."""
        return ast.get_docstring(ast.parse(self.path.read_text(encoding="utf-8"))) or ""

    def missing_data(self) -> list[str]:
        """The data sets that are not on this machine."""
        return [name for name in self.data if not _at_hand(name)]


STORIES = {
    story.name: story
    for story in (
        Story("malicious-urls"),
        Story("news-desk", ("reuters-money-fx",), stands_in="malicious-urls tells the same with generated data"),
        Story("intrusion", ("kdd99-10pct",), stands_in="triage shows the same learners on generated data"),
        Story("triage", ("new-thyroid",), (), "--quick tells the half that needs no data", quick_needs_data=False),
        Story("credit"),
        Story("screening", ("wdbc", "heart"), stands_in="credit needs only the bundled data"),
        Story("rare-grades", ("car", "nursery"), (("optuna", "search"),), "sklearn.datasets.make_classification"),
        Story("large-sparse", ("w8a", "ijcnn1", "a9a", "reuters-money-fx"), stands_in="steelyard.make_urls, hashed"),
        Story("bounds"),
        Story("many-classes", ("letter",), stands_in="sklearn.datasets.load_digits"),
    )
}


def story_folder() -> Path:
    """``examples/`` of the source tree, or the copies of its files that are installed beside this module."""
    installed = Path(__file__).parent / "examples"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "examples"


def find_story(name: str) -> Story:
    """The story of a name."""
    if name not in STORIES:
        raise invalid("story", f"be one of {', '.join(STORIES)}", name)
    return STORIES[name]


def run_story(name: str, *, quick: bool = False, to: Path | None = None) -> dict[str, Any]:
    """Run a story and write ``NAME.png`` and ``numbers.json`` into a folder.

    Parameters
    ----------
    name : str
        One of ``STORIES``.
    quick : bool
        The short form: less data, a few seconds.
    to : Path or None
        Folder; ``steelyard-story/NAME`` if None.

    Returns
    -------
    dict
        The numbers.
    """
    story = find_story(name)
    matplotlib = require("matplotlib", why=f"The story {name}", extra="plots")
    for module, extra in story.extras:
        require(module, why=f"The story {name}", extra=extra)
    if story.quick_needs_data or not quick:
        _check_data(story)
    folder = story_output(name, to)
    folder.mkdir(parents=True, exist_ok=True)  # a place that cannot be used is found out before minutes of work
    matplotlib.use("Agg")  # nothing is shown: the picture goes into a file
    returned: tuple[Any, dict[str, Any]] = runpy.run_path(str(story.path), run_name="story")["main"](quick=quick)
    figure, numbers = returned
    with write_atomically(folder / f"{name}.png") as file:
        figure.savefig(file, dpi=PICTURE_DPI, format="png", metadata={"Software": None})
    with write_atomically(folder / "numbers.json") as file:
        file.write((json.dumps({"story": name, "quick": quick, **numbers}, indent=2) + "\n").encode())
    return numbers


def story_output(name: str, to: Path | None) -> Path:
    """The folder that a story writes to."""
    return Path("steelyard-story") / name if to is None else to


def _check_data(story: Story) -> None:
    missing = story.missing_data()
    if missing:
        fetch = " and ".join(f"steelyard data fetch {name}" for name in missing)
        hint = f" Or: {story.stands_in}." if story.stands_in else ""
        raise DataNotFoundError(f"The story {story.name} needs the data {', '.join(missing)}. Run {fetch}.{hint}")


def _at_hand(name: str) -> bool:
    try:
        for file in dataset_info(name).files:
            find(file, download=False)
    except DataNotFoundError:
        return False
    return True
