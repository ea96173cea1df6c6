"""Planted faults fit the code of today: one that no longer applies would be found out on the day it is drawn."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).parent / "faults"
GIT = shutil.which("git")


@pytest.mark.skipif(GIT is None, reason="not installed: git")
def test_every_planted_fault_applies_and_names_tests_that_exist() -> None:
    assert GIT is not None
    patches = sorted(FAULTS.glob("*.patch"))
    assert len(patches) > 150
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(ROOT.parent)}
    faulty = []
    for patch in patches:
        checked = subprocess.run([GIT, "apply", "--check", str(patch)], cwd=ROOT, env=outside, capture_output=True)
        if checked.returncode:
            faulty.append(f"{patch.name}: {checked.stderr.decode()}")
        words = [word for line in lines_of(patch) if line.startswith("# tests: ") for word in line.split()[2:]]
        named = [word.partition("::") for word in words if word.startswith("tests/")]
        if not named:
            faulty.append(f"{patch.name}: no test is named")
        for path, _, name in named:
            function = name.partition("[")[0].split("::")[-1]
            if not (ROOT / path).exists() or (function and f"def {function}(" not in (ROOT / path).read_text()):
                faulty.append(f"{patch.name}: there is no {path} {name}")
    assert not faulty


def lines_of(patch: Path) -> list[str]:
    return patch.read_text(encoding="utf-8").splitlines()
