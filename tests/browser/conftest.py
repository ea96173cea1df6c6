"""A browser that is driven by a script; without Chromium, Node or playwright-core its tests skip with the name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_scripts import need_browser, run_script

collect_ignore = ["pictures.py"]  # no test
Browse = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def visit_pages() -> Callable[[Any], Any]:
    need_browser("axe-core")
    return lambda tasks: run_script("pages.js", tasks)


@pytest.fixture(scope="session")
def browse() -> Browse:
    need_browser()

    def run(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = run_script("drive.js", tasks)
        return found

    return run


@pytest.fixture
def place(tmp_path: Path, visit_pages: Callable[[Any], Any]) -> Iterator[Any]:
    from service_place import served  # the service's libraries may be missing where only reports are looked at

    with served(tmp_path, visit_pages) as made:
        yield made
