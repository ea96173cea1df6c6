"""The gallery: which examples run here, and how sphinx-gallery shows them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from steelyard import DataNotFoundError, load_dataset
from steelyard.stories import STORIES


def configuration(here: Path) -> dict[str, Any]:
    """Settings of sphinx-gallery: examples whose data are not at hand are shown without being run."""
    return {
        "examples_dirs": [str(here.parent / "examples")],
        "gallery_dirs": ["gallery"],
        "filename_pattern": pattern_of(sorted((here.parent / "examples").glob("*.py"))),
        "within_subsection_order": "FileNameSortKey",
        "backreferences_dir": "generated/backreferences",
        "doc_module": ("steelyard",),
        "reference_url": {"steelyard": None},
        "inspect_global_variables": True,
        "download_all_examples": False,
        "remove_config_comments": True,
        "default_thumb_file": str(here / "images" / "compare-top.png"),  # of examples that only print
        "show_memory": False,
        "show_signature": False,
        "write_computation_times": False,  # pages of zeros, and the only ones that ask other origins for scripts
        "abort_on_example_error": True,
        "min_reported_time": 1e9,  # a page that says how long it took differs from build to build
        "plot_gallery": os.environ.get("STEELYARD_GALLERY", "1") == "1",
    }


def pattern_of(paths: list[Path]) -> str:
    """A pattern that matches the examples that can run: all the data they load are here.

    Stories are shown without being run: their pages have the picture and the numbers of the whole form.
    """
    stories = {story.path.name for story in STORIES.values()}
    names = [path.name for path in paths if path.name not in stories and all(map(at_hand, datasets_of(path)))]
    return "(" + "|".join(rf"{os.sep}{re.escape(name)}$" for name in names) + ")"


def datasets_of(path: Path) -> list[str]:
    """The data sets a file loads by name."""
    return re.findall(r'load_dataset\("([\w-]+)"', path.read_text(encoding="utf-8"))


def at_hand(name: str) -> bool:
    """Whether a data set can be loaded without a network."""
    try:
        load_dataset(name)
    except DataNotFoundError:
        return False
    return True
