"""``python -m bench.quality.memory [ROWS ...]``: peak memory of `compare` and its workers beside what it may take.

The labels are mostly noise, so that trees grow as large as they can. One line a table: its size in single precision,
the peak of the command and of its worker, each in a process of its own, and six times the table plus 400 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

_COLUMNS = 30
_PROGRAM = """
import json, resource
import numpy as np
from steelyard.comparison import compare
X, y = np.load("X.npy"), np.load("y.npy")
result = compare(X, y, isolate=True)
result.refit()
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([peak / 1024 for peak in peaks]))
"""


def peaks(rows: int) -> tuple[float, float]:
    """Megabytes at the peak of the comparison's own process and of its worker, with the whole portfolio."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, _COLUMNS)).astype(np.float32)
    y = (X[:, 0] + 3 * rng.normal(size=rows) > 1).astype(int)
    with tempfile.TemporaryDirectory() as name:
        np.save(Path(name) / "X.npy", X)
        np.save(Path(name) / "y.npy", y)
        done = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=name, capture_output=True, check=True, text=True)
    own, worker = json.loads(done.stdout.splitlines()[-1])
    return own, worker


def main() -> None:
    print("| rows | table, MB | command, MB | worker, MB | limit, MB |\n|---|---|---|---|---|")
    for rows in [int(given) for given in sys.argv[1:]] or [2_000, 20_000]:
        own, worker = peaks(rows)
        table = 4 * rows * _COLUMNS / (1 << 20)
        print(f"| {rows:,} | {table:.1f} | {own:.0f} | {worker:.0f} | {6 * table + 400:.0f} |", flush=True)


if __name__ == "__main__":
    main()
