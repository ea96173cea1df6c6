"""Projects in a folder in memory where the machine has one: these tests count effects, not syncs."""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDED = ("apsw", "msgspec", "starlette", "uvicorn", "prometheus_client", "argon2")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_[!e]*.py"]  # test_extra.py says what is missing


@pytest.fixture
def folder():
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    path = Path(tempfile.mkdtemp(prefix="service-test-", dir=place))
    yield path
    shutil.rmtree(path, ignore_errors=True)
