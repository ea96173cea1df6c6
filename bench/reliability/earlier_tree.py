"""This tree beside an earlier one, in one go: ``python bench/reliability/earlier_tree.py OLD [TOPIC ...]``.

OLD is a clone of the project at another commit, e.g. the last before the renovation (c96bee0).

build   CPU seconds of the C++ compiler, both trees from nothing, one file after the other, no compiler cache.
demo    CPU seconds of scripts/demo in a new clone of each tree: environment, packages, compiler (no cache) and its run.
passes  Instructions of whole passes and of single rows through the public API, counted by valgrind's callgrind, which
        does not depend on what else the machine does. Both trees see the same rows; what they answer is compared.
start   CPU seconds of a process that imports or asks little, the median of many, all in turn; this tree alone.

``--builds FOLDER`` keeps the two modules there, for the next time without ``build``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from callgrind import between_marks, count_instructions
from kept import ROOT, goal, keep
from scipy import sparse

TOPICS = ("build", "demo", "passes", "start")
BUILD, DEMO, PASS = 0.6, 0.6, 1.03
STARTS = 21
# What is started, against what, and how many times its CPU seconds are allowed.
START_GOALS = (
    ("import steelyard", ["python", "-c", "import steelyard"], "import typer", 3.0),
    ("steelyard --version", ["steelyard", "--version"], "import typer", 3.0),
    ("steelyard --help", ["steelyard", "--help"], "import typer", 4.0),
    (
        "scripts/test FILE, until its tests are known",
        [str(ROOT / "scripts" / "test"), "tests/unit/test_executors.py", "--collect-only", "-q"],
        "import sklearn.base",
        2.0,
    ),
)


# -- build ----------------------------------------------------------------------------------------------------------


def build(tree: Path, folder: Path) -> float:
    """Compile the module of a tree into ``folder`` and return the CPU seconds of it."""
    shutil.rmtree(folder, ignore_errors=True)
    ask = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    settings = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")}
    environment["CCACHE_DISABLE"] = "1"
    configure = ["cmake", "-S", str(tree), "-B", str(folder), "-G", "Ninja", *settings]
    subprocess.run(configure, env=environment, check=True, stdout=subprocess.DEVNULL)
    before = children()
    compile_ = ["cmake", "--build", str(folder), "--target", "_native", "--parallel", "1"]
    subprocess.run(compile_, env=environment, check=True, stdout=subprocess.DEVNULL)
    return children() - before


def children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare_builds(new: Path, old: Path, folder: Path) -> list[dict[str, Any]]:
    seconds, before = build(new, folder / "new"), build(old, folder / "old")
    ratio = seconds / before
    text = f"<= {BUILD} of its CPU time"
    return [goal("compiling from nothing", f"{seconds:.1f} s", f"{before:.1f} s", text, ratio, ratio <= BUILD)]


# -- demo -----------------------------------------------------------------------------------------------------------


def demo(tree: Path, folder: Path) -> float:
    """CPU seconds of ``scripts/demo`` in a clone of the last commit of a tree."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(tree.resolve()), str(folder)], check=True)
    environment = dict(os.environ) | {"CCACHE_DISABLE": "1"}
    for name in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"):
        environment.pop(name, None)
    before = children()
    subprocess.run([str(folder / "scripts" / "demo")], env=environment, check=True, stdout=subprocess.DEVNULL)
    return children() - before


def compare_demos(new: Path, old: Path, folder: Path) -> list[dict[str, Any]]:
    seconds, before = demo(new, folder / "demo-new"), demo(old, folder / "demo-old")
    ratio = seconds / before
    text = f"<= {DEMO} of its CPU time"
    return [goal("scripts/demo in a new clone", f"{seconds:.1f} s", f"{before:.1f} s", text, ratio, ratio <= DEMO)]


# -- passes ---------------------------------------------------------------------------------------------------------


def streams() -> Iterator[tuple[str, Any, np.ndarray]]:
    rng = np.random.default_rng(0)
    for name, n, d, stored in (("dense, 54 columns", 20_000, 54, 54), ("sparse, 12 of 300", 20_000, 300, 12)):
        yield name, *rows(rng, n, d, stored)
    yield "sparse, 30 of 2^17", *rows(rng, 10_000, 2**17, 30)


def rows(rng: np.random.Generator, n: int, d: int, stored: int) -> tuple[Any, np.ndarray]:
    """Unit rows and a label that a linear rule explains, with noise."""
    values = rng.normal(size=(n, stored)) / np.sqrt(stored)
    truth = rng.normal(size=d)
    if stored == d:
        X: Any = values
    else:
        step = d // stored  # one column in each stretch: sorted, and none twice
        columns = (np.arange(stored) * step + rng.integers(0, step, (n, stored))).astype(np.int32)
        starts = np.arange(0, n * stored + 1, stored, dtype=np.int32)
        X = sparse.csr_matrix((values.ravel(), columns.ravel(), starts), (n, d))
    return X, (X @ truth + 0.3 * rng.normal(size=n) > 0.5).astype(np.int64)


def workloads() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Passes and single rows by names that both trees have; each returns numbers that say what was learned."""
    import steelyard as sy

    costs = [[0, 1], [2, 0]]
    updates = (sy.CSOGD1(0.1), sy.CSOGD2(0.1), sy.PA1(), sy.Perceptron(), sy.ROMMA(), sy.AROW(), sy.SCW1())
    for name, X, y in streams():
        for query in (sy.AskAll(), sy.AskAsymmetric()):
            for update in updates:
                title = f"pass, {name}, {type(update).__name__}, {type(query).__name__}"
                yield title, lambda u=update, q=query, X=X, y=y: pass_over(u, q, costs, X, y)
        many = (y + 2 * (np.arange(len(y)) % 2))[:4_000]
        yield f"pass, {name}, CSOGD2, 4 classes", lambda X=X[:4_000], y=many: many_classes(X, y)
        row = X[0] if name.startswith("dense") else X[:1]
        for update in (sy.CSOGD2(0.1), sy.AROW()):
            title = f"2,000 rows one by one, {name}, {type(update).__name__}"
            yield title, lambda u=update, X=X, row=row: one_by_one(u, X.shape[1], row)


def pass_over(update: Any, query: Any, costs: Any, X: Any, y: np.ndarray) -> list[float]:
    import steelyard as sy

    learner = sy.OnlineClassifier(update, query=query, costs=costs)
    trace = learner.run(X, y)
    return [float(trace.score.sum()), float(np.abs(learner.coef_).sum())]


def many_classes(X: Any, y: np.ndarray) -> list[float]:
    import steelyard as sy

    learner = sy.OnlineCostClassifier(sy.CSOGD2(0.1))
    learner.run(X, y)
    return [float(np.abs(learner.coef_).sum())]


def one_by_one(update: Any, d: int, row: Any) -> list[float]:
    import steelyard as sy

    learner = sy.OnlineClassifier(update).start(d, [0, 1])
    total = 0.0
    for i in range(2_000):
        total += learner.decide(row).score
        learner.learn(row, i % 2)
    return [total]


def work(answers: str, only: str, marks: str) -> None:
    """Each workload between two marks; once before, so that what is imported late is not counted."""
    found = {}
    for name, run in workloads():
        if only in name:
            run()
            found[name] = between_marks(marks, name, run)
    Path(answers).write_text(json.dumps(found), encoding="utf-8")


def measured(tree: Path, module: Path, folder: Path, only: str) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Instructions of each workload, and its answers, with the Python files and the module of a tree."""
    shutil.copytree(tree / "src" / "steelyard", folder / "steelyard", ignore=shutil.ignore_patterns("*.so"))
    shutil.copy2(module, folder / "steelyard")
    answers = folder / "answers.json"
    # Without site, and so without the editable install of this tree, whose finder would come first.
    places = [str(folder), sysconfig.get_path("purelib")]
    environment = {"PYTHONPATH": os.pathsep.join(places), "PYTHONHASHSEED": "0"}
    counts = count_instructions(["-S", __file__, "--work", str(answers), only], folder, environment)
    return counts, json.loads(answers.read_text(encoding="utf-8"))


def compare_passes(new: Path, old: Path, folder: Path, only: str) -> list[dict[str, Any]]:
    found = []
    for name, tree in (("new", new), ("old", old)):
        module = next((folder / name).glob("_native*.so"), None)
        if module is None:
            sys.exit(f"{folder / name} holds no module: name build, too")
        with tempfile.TemporaryDirectory(prefix="passes-") as scratch:
            found.append(measured(tree, module, Path(scratch), only))
    (counts, answers), (before, expected) = found
    if not counts or counts.keys() != before.keys():
        sys.exit("callgrind left no counts")
    different = [name for name in answers if answers[name] != expected[name]]
    if different:
        sys.exit(f"the trees answer differently: {', '.join(different)}")
    return [
        goal(
            name,
            f"{count:,} instructions",
            f"{before[name]:,}",
            f"<= {PASS}x its instructions",
            count / before[name],
            count <= PASS * before[name],
        )
        for name, count in counts.items()
    ]


# -- start ----------------------------------------------------------------------------------------------------------


def compare_starts() -> list[dict[str, Any]]:
    against = {name: ["python", "-c", name] for name in ("import typer", "import sklearn.base")}
    commands = against | {name: command for name, command, _, _ in START_GOALS}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for round_ in range(STARTS + 1):
        for name, command in commands.items():
            before = children()
            environment = {**os.environ, "PATH": place, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start would compile what it imports
            subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
            if round_:  # the first one fills the caches of files
                seconds[name].append(children() - before)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    return [
        goal(
            name,
            f"{median[name]:.3f} s",
            f"{median[other]:.3f} s, {other}",
            f"<= {most:g}x its CPU time",
            median[name] / median[other],
            median[name] <= most * median[other],
        )
        for name, _, other, most in START_GOALS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?", metavar="OLD", help="a clone of the project at an earlier commit")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"{', '.join(TOPICS)}; all of them if none is named")
    parser.add_argument("--builds", type=Path, metavar="FOLDER", help="where the two modules are built and kept")
    parser.add_argument("--only", default="", metavar="TEXT", help="passes whose names hold it; the others stay kept")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(*given.work)
        return
    if given.old is None:
        parser.error("an earlier tree must be named")
    topics = given.topics or TOPICS
    if unknown := set(topics) - set(TOPICS):
        parser.error(f"unknown topic {', '.join(sorted(unknown))}; there are: {', '.join(TOPICS)}")
    with tempfile.TemporaryDirectory(prefix="earlier-tree-") as scratch:
        folder = given.builds or Path(scratch)
        script = "python bench/reliability/earlier_tree.py OLD"
        if "build" in topics:
            keep("earlier_tree", script, compare_builds(ROOT, given.old, folder))
        if "demo" in topics:
            keep("earlier_tree", script, compare_demos(ROOT, given.old, folder))
        if "passes" in topics:
            keep("earlier_tree", script, compare_passes(ROOT, given.old, folder, given.only))
        if "start" in topics:
            keep("earlier_tree", script, compare_starts())


if __name__ == "__main__":
    main()
