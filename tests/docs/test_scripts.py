"""What all scripts begin with: an environment that is built when what it is made from has changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = '#!/bin/sh\necho "$@" >>"$(dirname "$0")/../../calls"\n'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A tree that has all that scripts/env looks at, and a Python that only writes down what it is asked for."""
    tree = tmp_path / "a clone"
    for folder in ("scripts", "native/fuzz", "constraints", ".venv/bin"):
        (tree / folder).mkdir(parents=True)
    for name in ("native/one.hpp", "CMakeLists.txt", "pyproject.toml", "constraints/build.txt", "constraints/ci.txt"):
        (tree / name).write_text("as it was")
    shutil.copy(ROOT / "scripts" / "env", tree / "scripts")
    (tree / ".venv/bin/python").write_text(PYTHON)
    (tree / ".venv/bin/python").chmod(0o755)
    return tree


def installs(tree: Path, *, locked: bool = True) -> list[str]:
    """What was installed by one call of the script from another folder."""
    (tree / "calls").unlink(missing_ok=True)
    call = f'. "{tree}/scripts/env" dev'
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STEELYARD_")}
    environment |= {"STEELYARD_LOCKED": "1"} if locked else {}
    done = subprocess.run(["bash", "-c", call], cwd="/", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    called = (tree / "calls").read_text().splitlines() if (tree / "calls").exists() else []
    return [line for line in called if " install " in line]


@pytest.mark.parametrize("name", ["native/one.hpp", "CMakeLists.txt", "pyproject.toml", "constraints/ci.txt"])
def test_the_environment_follows_what_it_is_made_from(clone: Path, name: str) -> None:
    """After ``scripts/constraints --upgrade`` all scripts, ``.ci/run`` too, went on with the libraries of before."""
    first = installs(clone)
    assert any("-r constraints/ci.txt" in line for line in first)
    assert installs(clone) == []
    (clone / name).write_text("changed")
    assert sorted(installs(clone)) == sorted(first)


def test_without_pins_the_package_brings_its_libraries(clone: Path) -> None:
    [line] = installs(clone, locked=False)
    assert line.endswith("install --no-compile --editable .[dev]")
