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


@pytest.fixture(scope="session")
def browse() -> Browse:
    for program in ("chromium", "node"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}: scripts/browser")
    if not (HERE / "node_modules" / "playwright-core").is_dir():
        pytest.skip("needs playwright-core: scripts/browser")

    def run(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        done = subprocess.run(
            ["node", str(HERE / "drive.js")], input=json.dumps(tasks), capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    return run
