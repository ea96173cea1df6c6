"""The samples of every kind, for the tests of this folder."""

import importlib.util
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore = [] if find_spec("apsw") else ["test_service_files.py"]


@pytest.fixture(scope="session")
def samples():
    spec = importlib.util.spec_from_file_location("model_samples", Path(__file__).with_name("samples.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["model_samples"] = module
    spec.loader.exec_module(module)
    return module
