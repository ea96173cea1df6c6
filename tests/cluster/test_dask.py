"""The same bits on a pool and on a cluster of any size, also while workers and the scheduler are killed."""

import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from steelyard import (
    AROW,
    SCW1,
    AdaC2M1Classifier,
    ClusterLost,
    Costs,
    CostSearchCV,
    InvalidInputError,
    OnlineClassifier,
    StateError,
    cli,
    compare,
    executors,
    load_model,
    mean_cost,
)
from steelyard.executors import PATIENCE
from steelyard.scale import dask as dask_module
from steelyard.scale import fit_parts, on_dask, score_parts
from steelyard.scale.tasks import run_tasks, say_nothing

distributed = pytest.importorskip("distributed", reason="distributed is not installed (extra scale)")

pytestmark = pytest.mark.filterwarnings("ignore:lanes of about")  # these are short, to be quick
RNG = np.random.default_rng(3)
LANES = 8
HASHED = 6  # bits, so that some columns share a feature with another's
CASES = {  # by workers: rule, passes and bits of hashing
    1: [("AROW", 3, None), ("SCW1", 1, None), ("SCW1", 3, HASHED)],
    3: [("AROW", 1, None), ("SCW1", 3, None), ("AROW", 3, HASHED)],
}
RULES: dict[str, Any] = {"AROW": AROW, "SCW1": SCW1}
FORKED = multiprocessing.get_context("forkserver")  # processes start with what they need, imported once for all
FORKED.set_forkserver_preload(["distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "steelyard.scale"])
SCHEDULER = "from distributed.cli.dask_scheduler import main; main(sys.argv[1:])"
WORKER = "from distributed.cli.dask_worker import main; main(sys.argv[1:])"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parts")
    for i in range(12):
        X = RNG.normal(size=(60, 4))
        lines = [",".join(map(repr, map(float, [*x, x[0] > 0]))) for x in X]
        (made / f"part-{i}.csv").write_text("\n".join(["a,b,c,d,y", *lines, ""]))
    return made


def weights(model: Any) -> bytes:
    return bytes(model.coef_.tobytes() + model.intercept_.tobytes())


def fit(
    folder: Path, work: Path, executor: Any, rule: str = "AROW", passes: int = 1, hash_bits: int | None = None
) -> bytes:
    model = OnlineClassifier(RULES[rule](), fit_intercept=True)
    given: Any = {"target": "y", "lanes": LANES, "passes": passes, "work": work, "progress": False}
    return weights(fit_parts(model, folder, executor=executor, hash_bits=hash_bits, **given))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters that are there answer at last, however slow or loaded the machine is."""
    for module in (executors, dask_module):
        monkeypatch.setattr(module, "PATIENCE", 300)


class Cluster:
    """A scheduler and workers in processes of their own, on the loopback interface, without dashboards."""

    def __init__(self) -> None:
        self.workers: list[Any] = []
        with tempfile.TemporaryDirectory() as folder:
            said = Path(folder) / "scheduler.json"  # where it is: a port that was free before may not be so any more
            options = ["--port", "0", "--no-dashboard", "--scheduler-file", str(said)]
            self.scheduler = start(SCHEDULER, "--host", "127.0.0.1", *options)
            self.address = address_in(said)

    def add_worker(self) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "300"]
        self.workers.append(start(WORKER, self.address, "--host", "127.0.0.1", *options))

    def have(self, count: int) -> None:
        """See to it that so many workers run: those of the test before, and new ones."""
        running = [process for process in self.workers if process.is_alive()]
        for process in running[count:]:
            end(process)
        self.workers = running[:count]
        while len(self.workers) < count:
            self.add_worker()
        with distributed.Client(self.address, timeout=300, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=300)
            until = time.monotonic() + 300
            while len(client.nthreads()) > count and time.monotonic() < until:
                time.sleep(0.02)
            assert len(client.nthreads()) == count

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            end(process)


def address_in(file: Path) -> str:
    """The address of the scheduler that writes this file."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        with suppress(FileNotFoundError, ValueError):  # it is not there yet, or not whole
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.01)
    raise TimeoutError("no scheduler has started for 300 s")


def start(code: str, *arguments: str) -> Any:
    """A process of its own that runs this code, quietly."""
    quiet = "import os, sys; os.dup2(os.open(os.devnull, os.O_WRONLY), 1); os.dup2(1, 2); "
    process = FORKED.Process(target=exec, args=(quiet + f"sys.argv[1:] = {arguments!r}\n{code}", {}), daemon=True)
    process.start()
    return process


def end(process: Any) -> None:
    process.kill()
    process.join()


@contextmanager
def new_cluster() -> Iterator[Cluster]:
    made = Cluster()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """One cluster for all tests but the one that kills its scheduler; each test says how many workers it needs."""
    with new_cluster() as made:
        yield made


@pytest.fixture(scope="module")
def expected(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[Any, ...], bytes]:
    with ThreadPoolExecutor(2) as pool:
        cases = [case for cases in CASES.values() for case in cases]
        return {case: fit(folder, tmp_path_factory.mktemp("work"), pool, *case) for case in cases}


def test_the_same_bits_on_a_pool_of_processes(folder: Path, tmp_path: Path, expected: Any) -> None:
    assert fit(folder, tmp_path, None) == expected["AROW", 1, None]


def test_a_wrong_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PATIENCE", PATIENCE)
    with socket.socket() as silent:  # that nobody listens to, and nobody else can bind meanwhile
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterLost, match=f"the cluster at {address} must answer within 7 s"), on_dask(address):
            pass


WRONG = """
import sys
from typer.testing import CliRunner
from steelyard import cli, executors
executors.PATIENCE = 0.1
for words in ("fit p/ --out m", "score m p/", "predict m p/ --out d", "stream p/", "compare p/ --sample 9"):
    told = CliRunner().invoke(cli.app, [*words.split(), "--cluster", sys.argv[1]])
    print(type(told.exception).__name__, told.exception)
print(sorted({"sklearn", "pandas", "pyarrow"} & {*sys.modules}))
"""


def test_commands_ask_for_the_cluster_before_they_load_and_read_anything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", WRONG, address]
        *told, loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(told) == 5
    assert all(line.startswith(f"ClusterLost the cluster at {address} must answer") for line in told)
    assert loaded == "[]"


def test_an_address_of_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PATIENCE", PATIENCE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"

        def answer() -> None:
            with server.accept()[0] as caller:
                caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")  # read as lengths, it is exabytes
                caller.recv(1 << 16)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(ClusterLost, match=f"the cluster at {address} must answer"), on_dask(address):
            pass


CLIENT = """
from steelyard import AROW, OnlineClassifier, executors
from steelyard.scale import dask, fit_parts, on_dask
executors.PATIENCE = dask.PATIENCE = 300
with on_dask(sys.argv[1]) as executor:
    fit_parts(OnlineClassifier(AROW(), fit_intercept=True), sys.argv[2], target="y", lanes=8, work=sys.argv[3],
              executor=executor, progress=False)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_or_stopped_client_takes_its_tasks_along(
    running: Cluster, folder: Path, tmp_path: Path, expected: Any, number: int
) -> None:
    work = tmp_path / "w"
    running.have(1)
    client = start(CLIENT, running.address, str(folder), str(work))
    until = time.monotonic() + 300
    while time.monotonic() < until and not list(work.glob("pass-000-lane-*.steelyard")):
        time.sleep(0.002)
    os.kill(client.pid, number)
    client.join(300)
    assert client.exitcode is not None
    with distributed.Client(running.address, set_as_default=False) as watching:
        while time.monotonic() < until and any(watching.processing().values()):
            time.sleep(0.02)
        assert not any(watching.processing().values())  # nobody works for a client that is gone
    done = {path: path.stat().st_mtime_ns for path in work.glob("pass-000-lane-*.json")}
    with on_dask(running.address) as executor:
        assert fit(folder, work, executor) == expected["AROW", 1, None]
    assert {path: path.stat().st_mtime_ns for path in done} == done


def test_a_cluster_that_would_give_other_bits_is_refused(
    running: Cluster, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.have(1)
    with distributed.Client(running.address, set_as_default=False) as client, on_dask(client) as executor:
        with pytest.raises(InvalidInputError, match="work must be a folder that all workers share"):
            fit_parts(OnlineClassifier(AROW()), folder, target="y", lanes=2, executor=executor)
        monkeypatch.setattr(dask_module, "versions", OtherVersions(dask_module.versions()))
        with pytest.raises(StateError, match=r"numpy must be 0\.1 on every worker; got"), on_dask(client):
            pass


class Asked:
    """A client whose cluster answers the question for versions with an error."""

    class scheduler:  # noqa: N801 - as the attribute of a client
        address = "tcp://10.0.0.1:8786"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, _: Any) -> Any:
        raise self.error


def test_versions_that_cannot_be_asked_are_said() -> None:
    lost: Any = Asked(OSError("in <TCP (closed)>: Stream is closed"))
    with pytest.raises(ClusterLost, match=r"the cluster at tcp://10\.0\.0\.1:8786 went away while"), on_dask(lost):
        pass
    other: Any = Asked(Exception("ImportError(\"No module named 'steelyard'\")"))
    with pytest.raises(StateError, match=r"workers must have steelyard .*; got ImportError"), on_dask(other):
        pass


class OtherVersions:
    """This process has another numpy than the workers; sent to them it tells theirs."""

    def __init__(self, real: dict[str, str]) -> None:
        self.real, self.here = real, os.getpid()

    def __call__(self) -> dict[str, str]:
        return {**self.real, "numpy": "0.1"} if os.getpid() == self.here else self.real


def run(*arguments: Any) -> Any:
    told = CliRunner().invoke(cli.app, [*map(str, arguments)], catch_exceptions=False)
    assert told.exit_code == 0
    return told.stdout


def test_the_commands_on_a_cluster(running: Cluster, folder: Path, tmp_path: Path, expected: Any) -> None:
    running.have(1)
    there = ["--cluster", running.address]
    asked, model = ["--target", "y", "--costs", "fn=1,fp=1"], tmp_path / "m.steelyard"
    fitting = [
        "--update",
        "AROW",
        "--fit-intercept",
        "--lanes",
        LANES,
        "--work",
        tmp_path / "w",
        "--out",
        model,
        "--quiet",
    ]
    run("fit", folder, *asked, *fitting, *there)
    fitted: Any = load_model(model)
    assert weights(fitted.learner) == expected["AROW", 1, None]
    found = json.loads(run("score", model, folder, *asked, "--json", *there))
    with ThreadPoolExecutor(1) as pool:
        given: Any = {"target": "y", "costs": Costs.binary(fn=1, fp=1), "executor": pool}
        here = score_parts(model, folder, [mean_cost], **given)["mean_cost"]
    assert found["mean_cost"] == {"value": here.value, "low": here.low, "high": here.high}
    run("predict", model, folder, "--out", tmp_path / "decided", "--quiet", *there)
    assert len(json.loads((tmp_path / "decided" / "_manifest.json").read_text())["parts"]) == 12
    assert run("stream", folder, *asked, "--json", *there) == run("stream", folder, *asked, "--json")
    candidates = ["--candidates", "logistic regression, C=1", "--candidates", "arow", "--effort", 4, "--folds", 2]
    sampled = ["--sample", 200, "--no-blend", "--lanes", 2, "--work", tmp_path / "v", "--out", tmp_path / "r"]
    lines = json.loads(run("compare", folder, *asked, *sampled, *candidates, "--json", "--quiet", *there))["lines"]
    assert {line["sampled"] for line in lines} == {True, False}


def test_a_large_value_is_sent_without_a_warning(running: Cluster) -> None:
    running.have(1)
    with on_dask(running.address) as executor:
        assert executor.submit(len, executor.share(bytes(11 << 20))).result() == 11 << 20  # Dask warns from 10 MB on


def worker_replaced_at(task: int, running: Cluster, executor: Any) -> Any:
    """The executor's submit, which at one task adds a worker and kills the only one so far, which holds the data."""
    real, calls, before = executor.submit, itertools.count(1), running.workers[-1]

    def submit(*given: Any) -> Any:
        if next(calls) == task:
            running.add_worker()
            executor.client.wait_for_workers(2, timeout=300)
            end(before)
        return real(*given)

    return submit


def test_a_comparison_and_a_search_outlive_the_worker_that_holds_the_data(
    running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = RNG.normal(size=(150, 3))
    y = (X[:, 0] + RNG.normal(size=150) > 0.3).astype(int)
    given: Any = {"costs": [[0, 1], [5, 0]], "effort": 6, "cv": 3, "candidates": ["logistic regression, C=1", "arow"]}
    running.have(1)
    with on_dask(running.address) as executor:
        with monkeypatch.context() as patched:
            patched.setattr(executor, "submit", worker_replaced_at(3, running, executor))
            found = compare(X, y, executor=executor, **given)
        assert not running.workers[0].is_alive()
        assert found.to_json() == compare(X, y, **given).to_json()
        one = AdaC2M1Classifier(n_estimators=3)
        search: Any = {"sampler": "power_grid", "cv": 2, "random_state": 0}
        with monkeypatch.context() as patched:
            patched.setattr(executor, "submit", worker_replaced_at(3, running, executor))
            there = CostSearchCV(one, executor=executor, **search).fit(X, y)
        assert not running.workers[1].is_alive()
        here = CostSearchCV(one, **search).fit(X, y)
    assert there.validation_fitness_ == here.validation_fitness_


def test_the_same_bits_on_one_worker_and_on_three(
    running: Cluster, folder: Path, tmp_path: Path, expected: Any
) -> None:
    for workers in (1, 3):
        running.have(workers)
        with on_dask(running.address) as executor:
            assert executor.workers == workers
            for i, case in enumerate(CASES[workers]):
                assert fit(folder, tmp_path / f"{workers}-{i}", executor, *case) == expected[case]


def test_two_of_four_workers_killed_in_mid_lane(running: Cluster, folder: Path, tmp_path: Path, expected: Any) -> None:
    running.have(4)
    with on_dask(running.address) as executor:
        killed = KilledAfter(running.workers[:2], tmp_path / "w")
        killed.start()
        assert fit(folder, tmp_path / "w", executor) == expected["AROW", 1, None]
        killed.join()
        assert not any(process.is_alive() for process in running.workers[:2])


class KilledAfter:
    """Kills processes as soon as the first lane is noted as done."""

    def __init__(self, processes: list[Any], work: Path) -> None:
        self.processes, self.work = processes, work
        self.thread = threading.Thread(target=self.run)

    def start(self) -> None:
        self.thread.start()

    def join(self) -> None:
        self.thread.join()

    def run(self) -> None:
        until = time.monotonic() + 300
        while time.monotonic() < until and not list(self.work.glob("pass-000-lane-*.json")):
            time.sleep(0.002)
        for process in self.processes:
            end(process)


def test_a_task_that_ends_four_workers_is_named(running: Cluster) -> None:
    deadly = eval("lambda i: __import__('os').kill(__import__('os').getpid(), 9) if i else i")  # sent by value
    running.have(4)
    with on_dask(running.address) as executor:
        given: Any = {"names": ["lane 0 (a)", "lane 1 (b)"], "kind": "lanes", "work": "w", "on_done": say_nothing}
        words = r"workers ended at lane 1 \(b\).*more memory than a worker has \([\d.]+ GB\)"
        with pytest.raises(ClusterLost, match=words):
            run_tasks(executor, deadly, [(0,), (1,)], **given)
    for process in running.workers:  # the scheduler knows of their end before they have ended
        process.join()


def lost_at(task: int, cluster: Cluster, executor: Any) -> Any:
    """The executor's submit, which loses the cluster right after one task, of which its only worker does nothing."""
    real, calls = executor.submit, itertools.count(1)

    def submit(*given: Any) -> Any:
        if next(calls) != task:
            return real(*given)
        os.kill(cluster.workers[0].pid, signal.SIGSTOP)
        submitted = real(*given)
        for process in (cluster.scheduler, *cluster.workers):
            end(process)
        return submitted

    return submit


def test_a_lost_scheduler_is_said_and_another_cluster_goes_on(
    folder: Path, tmp_path: Path, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "w"
    monkeypatch.setattr(dask_module, "PATIENCE", PATIENCE)  # for so long a client looks for a scheduler it has lost
    with new_cluster() as lost:
        lost.have(1)
        words = r"the cluster at tcp://.* went away after \d of 8 lanes\. Run the same call"
        with on_dask(lost.address) as executor:
            monkeypatch.setattr(executor, "submit", lost_at(LANES, lost, executor))
            with pytest.raises(ClusterLost, match=words):
                fit(folder, work, executor)
    done = {path: path.stat().st_mtime_ns for path in work.glob("pass-000-lane-*.json")}
    assert 1 <= len(done) < LANES
    with ThreadPoolExecutor(1) as pool:
        assert fit(folder, work, pool) == expected["AROW", 1, None]
    assert {path: path.stat().st_mtime_ns for path in done} == done
