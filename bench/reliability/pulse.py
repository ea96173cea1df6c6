"""What looking for Ctrl-C and deadlines costs native loops (native/pulse.hpp): ``python bench/reliability/pulse.py``.

The module is built a second time with an empty ``Pulse::spend``; both then do the same work under callgrind, which
counts instructions between two marks. Counts do not depend on what else the machine does. Needs valgrind with its
headers, cmake, ninja and a C compiler. ``--without FILE`` takes a module that was built so before.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from callgrind import between_marks, count_instructions
from kept import ROOT, goal, keep

GOAL = 1.01


def kernels(native: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Loops that may run long, each on the rows that give a look at the clock the least to hide behind: narrow ones."""
    rng = np.random.default_rng(0)
    n = 600
    X, sign = rng.normal(size=(n, 4)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    gram = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    box = (-sign, np.where(sign > 0, 0.0, -1e3), np.where(sign > 0, 1e3, 0.0))
    for bits, dtype in ((32, np.float32), (64, np.float64)):
        solver = getattr(native, f"svm_on_gram{bits}")(gram.astype(dtype), np.arange(n), *box, 1e-3)
        yield f"SVM, steps on a kernel matrix, float{bits}", lambda solver=solver: solver.run(20_000)
    kernel = native.Kernel(2, 0.5, 3, 0.0)
    yield "SVM, rows of an RBF kernel", lambda: native.svm_dense32(kernel, X, 1 << 24, *box, 1e-3).run(2_000)
    yield "kernel matrix, dense rows", lambda: native.gram_dense(kernel, X, X, np.zeros((n, n)))
    starts, columns = np.arange(0, 4 * n + 1, 4), np.tile(np.arange(4, dtype=np.int32), n)
    csr = (X.ravel(), columns, starts)
    yield "kernel matrix, sparse rows", lambda: native.gram_csr(kernel, 4, *csr, *csr, 0, np.zeros((n, n)))
    eye = gram + np.eye(n)
    yield "kernel LDM", lambda: native.ldm_greedy(eye, -np.ones(n), np.ones(n), np.zeros(n), sign, 1e-12, 20_000)
    order = np.arange(n, dtype=np.int32)
    metric = (X, np.ones(n), -np.ones(n), np.ones(n), order)
    yield (
        "linear LDM, 500 passes",
        lambda: [native.ldm_metric_pass(*metric, np.zeros(n), np.zeros(4)) for _ in range(500)],
    )
    many = rng.normal(size=(4_000, 4))
    labels = (many.sum(axis=1) + rng.normal(size=4_000) > 0).astype(np.int32)
    table = native.TreeTable(many, np.zeros(4, np.uint8), labels, 2)
    options = native.TreeOptions(
        min_obj=2.0, confidence=0.25, prune=True, collapse=True, raising=True, binary_nominal=False, max_depth=100
    )
    yield "C4.5, growth and pruning", lambda: table.grow(np.ones(4_000), options)
    small = native.TreeTable(many[:500], np.zeros(4, np.uint8), labels[:500], 2)
    yield (
        "boosting, up to 50 trees",
        lambda: native.boost_trees(small, options, np.ones((5, 500)), 1.0, np.ones(500), 500.0, 50),
    )
    count = 20_000
    truth = np.resize(labels, count).astype(bool)
    for d in (4, 50):
        rows, out = rng.normal(size=(count, d)), [np.zeros(count), np.zeros(count)]
        out += [np.zeros(count, bool), np.zeros(count, np.int64)]
        stream = native.Stream(
            n_features=d, averaging=False, query=native.query_kernel("AskAll", []), floor=0.0, limit=np.inf,
            rate=np.inf, threshold=0.0, seed=0, cost_neg=1.0, cost_pos=1.0, adaptive_odds=0.0, adaptive_positive=True,
            fit_intercept=False,
        )  # fmt: skip
        learn = native.update_kernel("CSOGD2", [0.5])
        given = (stream, rows, truth, np.ones(count), False, np.zeros(count), *out, 0, 1)
        yield f"online pass, {d} columns", lambda learn=learn, given=given: learn.run(*given)
    lines = b"".join(b"%d 1:%.3f 2:%.3f\n" % (y, *x[:2]) for x, y in zip(many, labels, strict=True))
    text = np.frombuffer(20 * lines, np.uint8)

    def parse() -> None:
        parser = native.LibsvmParser64(1, -1)
        parser.feed(text, 1 << 30)
        parser.finish()

    yield "LIBSVM parser, 2 cells a line", parse


def work(module: str, only: str, marks: str) -> None:
    """The kernels of one module whose names hold ``only``, each between two marks."""
    spec = importlib.util.spec_from_file_location("_native", module)
    native = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(native)  # type: ignore[union-attr]
    for name, run in kernels(native):
        if only in name:
            between_marks(marks, name, run)


def built_without(folder: Path) -> Path:
    """The module whose loops never look whether they should stop."""
    for name in ("native", "CMakeLists.txt"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    header = folder / "native" / "pulse.hpp"
    text, changes = re.subn(
        r"void spend\(std::size_t work\) \{.*?\n  \}\n",
        "void spend(std::size_t) {}\n",
        header.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert changes == 1, "native/pulse.hpp has another shape"
    header.write_text(text, encoding="utf-8")
    ask = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    settings = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
    if shutil.which("ccache"):
        settings.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *settings], check=True)
    subprocess.run(["cmake", "--build", folder / "build", "--target", "_native"], check=True)
    return next((folder / "build").glob("_native*.so"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", type=Path, metavar="FILE", help="a module built with an empty spend()")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose names hold it; the others stay kept")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(*given.work)
        return
    from steelyard import _native

    with tempfile.TemporaryDirectory(prefix="pulse-") as folder:
        without = given.without or built_without(Path(folder))
        ours, bare = (
            count_instructions(
                [__file__, "--work", str(module), given.only], Path(folder, name), {"PYTHONMALLOC": "malloc"}
            )
            for name, module in (("a", _native.__file__), ("b", without))
        )
    if not ours or ours.keys() != bare.keys():
        sys.exit("callgrind left no counts")
    rows = [
        goal(
            name,
            f"{count:,} instructions",
            f"{bare[name]:,} without a look",
            f"<= {GOAL}x its instructions",
            count / bare[name],
            count <= GOAL * bare[name],
        )
        for name, count in ours.items()
    ]
    keep("pulse", "python bench/reliability/pulse.py", rows)


if __name__ == "__main__":
    main()
