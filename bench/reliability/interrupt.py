"""How long after Ctrl-C a process goes on: ``python bench/reliability/interrupt.py [TEXT]``, cases that hold TEXT.

Each case starts work that would take long, gets SIGINT at several moments, counted in CPU seconds since its start,
and is watched until it answers: a solver by KeyboardInterrupt, a command by its end. The wall-clock time tells what a
person waits and grows with whatever else the machine does; the CPU seconds after the signal tell what the process
itself still did. Needs Linux.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kept import goal, keep
from sklearn.linear_model import LogisticRegression

import steelyard as sy

GOAL = 1.0
MOMENTS = (0.02, 0.1, 0.3, 0.7, 1.5)
STARTED = (1.0, 5.0)  # of a command: the first one meets its imports
LIMIT = 120.0
TICK = os.sysconf("SC_CLK_TCK")
NOTES = """
`compare` says at once that it is stopping: the line is written by the signal handler, whatever else runs. It then
ends its workers, and what it still does is the price of an answer: on these 300,000 rows, before any candidate was
done, 1.5 CPU seconds for the promise (200 resamples of the whole choice; fewer would make its ends less sure), 0.3
for the page, 0.3 for the checks of the data and the leaderboard, 0.2 for fitting and writing the model
(`time.process_time`, one run). The rest is what the workers had begun. A model that won is fitted on all rows once
more, which takes as long as it takes. The fits that only the page shows (what matters, the learning curve) and the
size of a single model are left out after Ctrl-C. A second Ctrl-C ends at once, without report and model; the
finished units stay for `--resume`.
"""
rng = np.random.default_rng(0)


class Stop(NamedTuple):
    wall: float
    cpu: float


def noise(n: int, d: int, classes: int = 2) -> tuple[Any, Any]:
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return rng.normal(size=(n, d)), y


def weak(n: int, d: int) -> tuple[Any, Any]:
    X = rng.normal(size=(n, d))
    return X, (X.sum(axis=1) + 3 * rng.normal(size=n) > 0).astype(int)


def solvers(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Work in this process, each prepared here and run in a forked child."""
    fits: list[tuple[str, Any, tuple[Any, Any]]] = [
        ("CS-SVM, RBF kernel, 20,000 rows", sy.CSSVMClassifier(1e4, "rbf"), noise(20_000, 20)),
        ("one-sided SVR, 12,000 rows, 4 classes", sy.OneSidedClassifier(kernel="rbf", lam=1e-6), noise(12_000, 20, 4)),
        ("C4.5, 200,000 x 20", sy.C45Classifier(), weak(200_000, 20)),
        ("AdaC2.M1 on C4.5", sy.AdaC2M1Classifier(n_estimators=100_000), weak(20_000, 30)),
        (
            "AdaBoost.M1 on another learner",
            sy.AdaBoostM1Classifier(LogisticRegression(), n_estimators=100_000),
            weak(20_000, 30),
        ),
        ("CS-LDM, RBF kernel, 3,000 rows", sy.CSLDMClassifier(kernel="rbf", gamma=0.01), noise(3_000, 10)),
        ("CS-LDM, coordinates, 700 rows", sy.CSLDMClassifier(1e6, kernel="rbf", tol=1e-14), noise(700, 10)),
        ("CS-LDM, linear, 200,000 x 60", sy.CSLDMClassifier(), noise(200_000, 60)),
        (
            "CS-LDM, linear, SDCA",
            sy.CSLDMClassifier(solver="sdca", max_iter=1_000_000, tol=1e-14, random_state=0),
            noise(20_000, 200),
        ),
        ("online, full covariance", sy.OnlineClassifier(sy.AROW(full=True)), noise(6_000, 1_500)),
        ("online costs, 1,000 classes", sy.OnlineCostClassifier(sy.CSOGD2(1e-6)), noise(20_000, 250, 1_000)),
        ("filter tree of SVMs", sy.FilterTreeClassifier(sy.CSSVMClassifier(1e4, "rbf")), noise(8_000, 20, 8)),
        ("all pairs of SVMs", sy.AllPairsClassifier(sy.CSSVMClassifier(1e4, "rbf")), noise(8_000, 20, 8)),
    ]
    for name, model, (X, y) in fits:
        yield name, lambda model=model, X=X, y=y: model.fit(X, y)
    X, y = noise(300_000, 10)
    text = folder / "rows.libsvm"
    line = " ".join(f"{k + 1}:{v:.6f}" for k, v in enumerate(X[0]))
    text.write_text("".join(f"{label} {line}\n" for label in y))
    yield "LIBSVM reader, 300,000 rows", lambda: [sy.read_libsvm(text) for _ in range(1_000)]
    table = folder / "rows.csv"
    table.write_text(
        "a,b,c,y\n"
        + "".join(f"{a:.4f},{b:.4f},{c:.4f},{label}\n" for (a, b, c), label in zip(X[:, :3], y, strict=True))
    )
    yield "CSV reader, 300,000 rows", lambda: [sy.read_table(table, target="y") for _ in range(1_000)]
    many = np.resize(y, 300_000)
    costs = sy.Costs.binary(fn=5, fp=1)
    yield (
        "bootstrap of a measure, 300,000 rows",
        lambda: sy.bootstrap_interval(sy.mean_cost, many, many[::-1], costs=costs, n_resamples=1_000_000),
    )


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Commands as a terminal starts them: the signal reaches all processes of the group.

    ``compare`` does not leave at once: it ends the evaluation, then shows and saves what is done.
    """
    compare = ["compare", "rows.csv", "--target", "y", "--costs", "fn=5,fp=1", "--effort", "thorough"]
    yield "compare, until what is done is shown and saved", compare
    yield "compare, the same for LightGBM alone", [*compare, "--candidates", "lightgbm"]
    yield "compare, the same for CS-SVM alone", [*compare, "--candidates", "cs_svm"]
    yield "stream", ["stream", "rows.csv", "--target", "y", "--chunk", "200", "--state", "s", "--decisions", "log.csv"]


def seconds(stat: str) -> float:
    """CPU seconds of a process and of those it has waited for."""
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / TICK


def of_tree(root: int) -> float:
    """CPU seconds of a process and all below it: workers may have a group of their own."""
    below: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text()
        except OSError:
            continue
        below.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
        spent[int(path.parent.name)] = seconds(stat)
    total, left = 0.0, [root]
    while left:
        pid = left.pop()
        total += spent.get(pid, 0.0)
        left += below.get(pid, [])
    return total


def wait_for(done: Callable[[], bool], spent: Callable[[], float], moment: float) -> bool:
    """Whether the work reached the moment before its end."""
    started, end = spent(), time.monotonic() + 20 * LIMIT
    while spent() < started + moment:
        if done() or time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def stop_solver(work: Callable[[], Any], moment: float) -> Stop | None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(writing, b"+")
        try:
            work()
            os.write(writing, b"finished")
        except KeyboardInterrupt:
            os.write(writing, b"stopped")
        finally:
            os._exit(0)
    os.close(writing)
    os.read(reading, 1)
    stat = Path(f"/proc/{child}/stat")
    heard = lambda: bool(select.select([reading], [], [], 0)[0])  # noqa: E731
    try:
        if not wait_for(heard, lambda: seconds(stat.read_text()), moment):
            return None
        before, asked = seconds(stat.read_text()), time.monotonic()
        os.kill(child, signal.SIGINT)
        if not select.select([reading], [], [], LIMIT)[0]:
            return Stop(LIMIT, seconds(stat.read_text()) - before)
        answered = time.monotonic()
        after = seconds(stat.read_text())
        return Stop(answered - asked, after - before) if os.read(reading, 100) == b"stopped" else None
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def stop_command(folder: Path, words: list[str], moment: float) -> Stop | None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        os.symlink(folder / "rows.csv", f"{place}/rows.csv")
        known = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(
            [sys.executable, "-c", "from steelyard.cli import main; main()", *words],
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if not wait_for(lambda: process.poll() is not None, lambda: of_tree(process.pid), moment):
                return None
            before, asked = of_tree(process.pid), time.monotonic()
            os.killpg(process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LIMIT)
            answered = time.monotonic()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = now.ru_utime + now.ru_stime - known.ru_utime - known.ru_stime
        return Stop(answered - asked, max(0.0, spent - before))


def main() -> None:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # shells let background jobs, and their children, ignore it
    with tempfile.TemporaryDirectory(prefix="interrupt-") as name:
        folder = Path(name)
        for case, work in solvers(folder):
            if only in case:
                tell(case, [stop_solver(work, moment) for moment in MOMENTS])
        for case, words in commands(folder):
            if only in case:
                tell(case, [stop_command(folder, words, moment) for moment in STARTED])


def tell(case: str, stops: list[Stop | None]) -> None:
    """The line of one case, kept at once: a run of all takes a while."""
    found = [stop for stop in stops if stop is not None]
    if not found:
        sys.exit(f"{case}: ended before the signal")
    wall, cpu = sorted(stop.wall for stop in found), sorted(stop.cpu for stop in found)
    said = f"{cpu[-1]:.2f} CPU s at worst, median {statistics.median(cpu):.2f}; {len(found)} moments"
    waited = f"waited {wall[-1]:.2f} s at worst, median {statistics.median(wall):.2f}"
    keep(
        "interrupt",
        "python bench/reliability/interrupt.py",
        [goal(case, said, waited, f"<= {GOAL} CPU s after SIGINT", cpu[-1] / GOAL, cpu[-1] <= GOAL)],
        NOTES,
    )


if __name__ == "__main__":
    main()
