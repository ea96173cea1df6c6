"""The build backend: scikit-build-core, except that an sdist holds exactly the files that git tracks.

Left to itself an sdist ships whatever lies in a work tree: coverage data, notes, builds. Outside of a git work tree,
as in an unpacked sdist, every file belongs to it.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Build the sdist from a copy of the tracked files, as they are in the work tree now."""
    root = Path.cwd()
    if not (root / ".git").exists():
        return _build.build_sdist(sdist_directory, config_settings)
    target = str(Path(sdist_directory).resolve())
    with tempfile.TemporaryDirectory() as folder:
        for name in tracked_files(root):
            copy = Path(folder, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy, follow_symlinks=False)
        with contextlib.chdir(folder):
            return _build.build_sdist(target, config_settings)


def tracked_files(root: Path) -> list[str]:
    """Every path git tracks that is there; git must work, since guessing would ship strangers' files."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error).encode()
        raise SystemExit(f"an sdist needs `git ls-files` to work here: {reason.decode().strip()}") from error
    names = [name for name in listed.decode().split("\0") if name]
    return [name for name in names if (root / name).exists() or (root / name).is_symlink()]
