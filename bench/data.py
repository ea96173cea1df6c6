"""Reading 100 MB of text: LIBSVM beside scikit-learn, CSV beside pandas; and the memory our LIBSVM reader takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness import Goal, Round, candidate

LIBSVM = "LIBSVM text, 100 MB"
CSV = "CSV, 100 MB"
OURS = "steelyard read_libsvm"
MEGABYTES = 100
FOLDER = Path(tempfile.gettempdir()) / "steelyard-bench"

GOALS = [
    Goal(LIBSVM, OURS, against="scikit-learn load_svmlight_file", at_least=8),
]


def made(name: str, block: bytes, head: bytes = b"") -> Path:
    """A file of the right size, written once; a block of distinct rows is repeated, which no reader notices."""
    path = FOLDER / name
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        with open(part, "wb") as out:
            out.write(head)
            for _ in range(MEGABYTES * 1_000_000 // len(block)):
                out.write(block)
        part.replace(path)
    return path


def libsvm_file() -> Path:
    """Rows of 60 of 5000 features with 6 digits, like scaled text or sensor data."""
    rng = np.random.default_rng(0)
    lines = []
    for label in rng.choice([-1, 1], 10_000):
        where = np.sort(rng.choice(5000, 60, replace=False)) + 1
        pairs = " ".join(f"{i}:{v:.6g}" for i, v in zip(where, rng.random(60), strict=True))
        lines.append(f"{label:+d} {pairs}\n")
    return made("rows.svm", "".join(lines).encode())


def csv_file() -> Path:
    """30 numeric columns, one of text and a label."""
    rng = np.random.default_rng(0)
    names = ",".join([*(f"n{i}" for i in range(30)), "colour", "label"])
    lines = [
        ",".join([*(f"{v:.6g}" for v in row), colour, label]) + "\n"
        for row, colour, label in zip(
            rng.normal(size=(10_000, 30)),
            rng.choice(["red", "green", "blue"], 10_000),
            rng.choice(["yes", "no"], 10_000),
            strict=True,
        )
    ]
    return made("rows.csv", "".join(lines).encode(), names.encode() + b"\n")


# In a process of its own: the peak of this one may be older than the reading.
MEMORY = """
import resource, sys
from pathlib import Path
from steelyard import read_libsvm

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

now = Path("/proc/self/statm")  # importing has a peak of its own, higher than what is in use afterwards
before = int(now.read_text().split()[1]) * resource.getpagesize() if now.exists() else peak()
rows = read_libsvm(sys.argv[1])
taken = peak() - before
size = sum(part.nbytes for part in (rows.X.data, rows.X.indices, rows.X.indptr, rows.y))
print(f"memory of read_libsvm: {taken / 1e6:.0f} MB for a result of {size / 1e6:.0f} MB, {taken / size:.2f} times;")
print("goal: at most 1.5 times,", "reached" if taken <= 1.5 * size else "not reached")
"""


@candidate(LIBSVM, OURS, rounds=5)
def _() -> Round:
    from steelyard import read_libsvm

    path = libsvm_file()
    answer = subprocess.run([sys.executable, "-c", MEMORY, str(path)], check=True, capture_output=True, text=True)
    print(answer.stdout, end="", flush=True)
    return lambda: read_libsvm(path)


@candidate(LIBSVM, "steelyard read_libsvm, float32", rounds=5)
def _() -> Round:
    from steelyard import read_libsvm

    path = libsvm_file()
    return lambda: read_libsvm(path, dtype=np.float32)


@candidate(LIBSVM, "scikit-learn load_svmlight_file", rounds=3)
def _() -> Round:
    from sklearn.datasets import load_svmlight_file

    path = str(libsvm_file())
    return lambda: load_svmlight_file(path)


@candidate(CSV, "steelyard read_csv", rounds=3)
def _() -> Round:
    from steelyard import read_csv

    path = csv_file()
    return lambda: read_csv(path, target="label")


@candidate(CSV, "pandas read_csv", rounds=3)
def _() -> Round:
    import pandas as pd

    path = csv_file()
    return lambda: pd.read_csv(path)
