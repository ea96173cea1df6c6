"""Where a number comes from: the package that computed it, down to its bytes, its commit and its libraries.

Tested in ``tests/unit/reproduction/test_results.py``.
"""

from __future__ import annotations

import hashlib
import subprocess
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from .. import _native

PACKAGE = Path(__file__).parents[1]


class Provenance(NamedTuple):
    """What stands on every kept line beside the digests of recipe and data."""

    package: str
    commit: str
    dirty: str
    numpy: str
    scipy: str
    scikit_learn: str


@lru_cache(maxsize=1)
def provenance() -> Provenance:
    """Describe the package at work: digest of its files, commit and state of its source tree, libraries."""
    commit, dirty = source_commit()
    return Provenance(package_digest(), commit, dirty, *(version(name) for name in ("numpy", "scipy", "scikit-learn")))


def package_digest(folder: Path = PACKAGE, extension: Path | None = None) -> str:
    """Digest the installed package: every Python file and the extension, by name and content.

    The extension is the one at work, wherever it lies: an editable install keeps it outside the source tree.
    """
    extension = extension or Path(str(_native.__file__))
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.suffix in (".py", ".toml")}
    files[extension.name] = extension
    hasher = hashlib.sha256()
    for name in sorted(files):
        hasher.update(f"{name}\0".encode())
        hasher.update(hashlib.sha256(files[name].read_bytes()).digest())
    return hasher.hexdigest()[:12]


def source_commit(folder: Path = PACKAGE) -> tuple[str, str]:
    """Tell the commit of the tree the package's own sources are tracked in, and whether they differ from it.

    A package installed elsewhere, be it inside another project's repository, has neither: ``unknown``.
    """
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return "unknown", "unknown"
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    # Results and records of checks are written by the runs themselves: they are what comes out, not what goes in.
    sources = (":/", ":(top,exclude)papers/*/results/*", ":(top,exclude)papers/CHECKED.toml")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", *sources)
    if commit is None or changes is None:
        return "unknown", "unknown"
    return commit.strip(), "yes" if changes.strip() else "no"


def _git(folder: Path, *arguments: str) -> str | None:
    """What git answers in ``folder``, or None where it has none or is not installed."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
