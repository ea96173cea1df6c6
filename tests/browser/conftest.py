"""A browser that is driven by a script; without Chromium, Node or playwright-core its tests skip with the name."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
Browse = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def need_browser(*packages: str) -> None:
    """Skip, saying what is missing."""
    for program in ("chromium", "node"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}: scripts/browser")
    for package in ("playwright-core", *packages):
        if not (HERE / "node_modules" / package).is_dir():
            pytest.skip(f"needs {package}: scripts/browser")


def run_script(script: str, tasks: Any, seconds: float = 240) -> Any:
    """What a script of this folder answers to its tasks."""
    done = subprocess.run(
        ["node", str(HERE / script)], input=json.dumps(tasks), capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


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
