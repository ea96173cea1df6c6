"""Anonymous memory of fit_parts, predict_parts and score_parts on few and on many rows.

Each runs in a process of its own on Parquet parts of ten float32 columns; the greatest RssAnon of /proc/self/status is
told, and the ratio of many rows to few.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

FEW, MANY = 100_000, 5_000_000
GROUPS = 100_000


def write(folder: Path, rows: int, parts: int = 2) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    names = [f"x{j}" for j in range(10)]
    schema = pa.schema([(name, pa.float32()) for name in names] + [("y", pa.int64())])
    rng = np.random.default_rng(0)
    for i in range(parts):
        with pq.ParquetWriter(folder / f"part-{i}.parquet", schema, write_page_checksum=True) as file:
            for start in range(0, rows // parts, GROUPS):
                X = rng.normal(size=(min(GROUPS, rows // parts - start), 10)).astype(np.float32)
                columns = [*(X[:, j] for j in range(10)), (X[:, 0] > 0).astype(np.int64)]
                file.write_table(pa.table(columns, schema=schema), row_group_size=GROUPS)


def worker(what: str, folder: str) -> None:
    from steelyard import AROW, OnlineClassifier, mean_cost
    from steelyard.scale import fit_parts, predict_parts, score_parts

    greatest, stopped = 0, threading.Event()

    def watch() -> None:
        nonlocal greatest
        while not stopped.is_set():
            line = next(s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith("RssAnon"))
            greatest = max(greatest, int(line.split()[1]))
            time.sleep(0.005)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    model = OnlineClassifier(AROW()).start(10, [0, 1])
    with ThreadPoolExecutor(1) as pool:
        if what == "fit":
            fit_parts(OnlineClassifier(AROW()), folder, target="y", classes=[0, 1])
        elif what == "predict":
            predict_parts(model, folder, tempfile.mkdtemp(), target="y", executor=pool)
        else:
            score_parts(model, folder, [mean_cost], target="y", executor=pool, replicates=20)
    stopped.set()
    thread.join()
    print(greatest)


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
        return
    with tempfile.TemporaryDirectory() as made:
        for name, rows in (("few", FEW), ("many", MANY)):
            write(Path(made) / name, rows)
        for what in ("fit", "predict", "score"):
            found = []
            for name in ("few", "many"):
                command = [sys.executable, __file__, "--worker", what, str(Path(made) / name)]
                found.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024)
            few, many = found
            print(f"{what:>8}  {FEW:,} rows {few:.0f} MB, {MANY:,} rows {many:.0f} MB, ratio {many / few:.3f}")


if __name__ == "__main__":
    main()
