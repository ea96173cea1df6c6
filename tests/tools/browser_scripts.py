"""Scripts of ``tests/browser`` that drive Chromium; what is missing for them skips a test by its name."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "browser"


def need_browser(*packages: str) -> None:
    """Skip, saying what is missing."""
    for program in ("chromium", "node"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}: scripts/browser")
    for package in ("playwright-core", *packages):
        if not (FOLDER / "node_modules" / package).is_dir():
            pytest.skip(f"needs {package}: scripts/browser")


def run_script(script: str, tasks: Any, seconds: float = 240) -> Any:
    """What a script of the folder answers to its tasks."""
    done = subprocess.run(
        ["node", str(FOLDER / script)], input=json.dumps(tasks), capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
