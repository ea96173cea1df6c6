"""What the service needs besides the library, and that the library needs none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["apsw", "msgspec", "starlette", "uvicorn", "prometheus_client", "argon2"])
def test_the_extra_is_there(module):
    pytest.importorskip(module, reason=f"{module} is not installed: pip install 'steelyard[serve]'")


def test_the_library_and_the_client_import_none_of_it():
    code = (
        "import sys, steelyard, steelyard.client, steelyard.cli\n"
        "assert not {'apsw', 'msgspec', 'starlette', 'uvicorn', 'prometheus_client', 'argon2'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_client_needs_the_standard_library_alone():
    code = (
        "import sys; before = set(sys.modules); import steelyard.client\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert new <= set(sys.stdlib_module_names) | {'steelyard'}, new"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_server_imports_nothing_that_only_other_commands_need():
    pytest.importorskip("apsw", reason="apsw is not installed: pip install 'steelyard[serve]'")
    code = (
        "import sys, steelyard.service.command\n"
        "others = {'lightgbm', 'matplotlib', 'optuna', 'dask', 'psycopg', 'sklearn.ensemble', 'sklearn.linear_model',\n"
        "          'sklearn.model_selection', 'steelyard.comparison', 'steelyard.search', 'steelyard.boosting'}\n"
        "assert not others & set(sys.modules), others & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
