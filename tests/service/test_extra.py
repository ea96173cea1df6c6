"""What the service needs besides the library, and that the library needs none of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

TOOLS = str(Path(__file__).parents[1] / "tools")
ENV = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [TOOLS, os.environ.get("PYTHONPATH")]))}


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
        "import sys, steelyard.service.commands.serve\n"
        "others = {'lightgbm', 'matplotlib', 'optuna', 'dask', 'psycopg', 'sklearn.ensemble', 'sklearn.linear_model',\n"
        "          'sklearn.model_selection', 'steelyard.comparison', 'steelyard.search', 'steelyard.boosting'}\n"
        "assert not others & set(sys.modules), others & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_server_decides_and_learns_without_what_takes_half_of_a_start(folder):
    """scikit-learn imports them for others; they are loaded when something uses them, as a champion may."""
    pytest.importorskip("apsw", reason="apsw is not installed: pip install 'steelyard[serve]'")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from steelyard.cli.service import _serve_extra\n"
        "with _serve_extra():\n"
        "    import steelyard.service.commands.serve\n"
        "others = {'pandas', 'pyarrow', 'scipy.stats', 'scipy.optimize', 'sklearn.metrics'}\n"
        "assert not others & set(sys.modules), others & set(sys.modules)\n"
        "from service_server import ThreadedServer, make_service\n"
        "from service_bench import settings_of\n"
        "folder = Path(sys.argv[1])\n"
        "tokens = make_service(folder, settings=settings_of(query='AskAll()', pace=False))\n"
        "with ThreadedServer(folder) as server:\n"
        "    made = list(server.client(tokens['producer']).decide_many([{'x': n} for n in range(40)]))\n"
        "    assert any(one['ask'] for one in made)\n"
        "    for one in made:\n"
        "        if one['ask']:\n"
        "            server.client(tokens['annotator']).answer(one['id'], 'good')\n"
        "    server.client(tokens['reader']).estimates()\n"
        "assert not others & set(sys.modules), others & set(sys.modules)\n"
        "from sklearn import metrics\n"
        "from steelyard import OnlineClassifier\n"
        "assert metrics.accuracy_score([0, 1], [0, 1]) == 1\n"
        "assert OnlineClassifier().fit([[1.0], [-1.0]], [1, 0]).score([[1.0], [-1.0]], [1, 0]) == 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], check=False, capture_output=True, text=True, env=ENV
    )
    assert done.returncode == 0, done.stderr


def test_a_server_whose_output_nobody_reads_serves_and_says_nothing(folder):
    """The reader of its pipe has gone before it says where it is."""
    pytest.importorskip("apsw", reason="apsw is not installed: pip install 'steelyard[serve]'")
    from service_server import free_port

    port, (read, write) = free_port(), os.pipe()
    os.close(read)
    code = "from steelyard.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--data", str(folder), "--port", str(port)]
    server = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    said = None
    while said is None and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
                said = answer.read()
        except urllib.error.HTTPError:
            raise
        except OSError:  # not yet
            time.sleep(0.05)
    server.send_signal(signal.SIGTERM)
    _, errors = server.communicate(timeout=60)
    assert said is not None
    assert errors == ""
    assert server.returncode == 0
