"""Anonymous memory of fit_parts, predict_parts, score_parts and stream on few and on many rows.

Each runs in a process of its own on Parquet parts of ten float32 columns, with row groups of 100,000 and of a million
rows; the greatest RssAnon of /proc/self/status is told, and the ratio of many rows to few. A line that ``memory.jsonl``
has is not measured again. ``python bench/scale/memory.py [ROWS]``: 10,000,000 rows unless told otherwise.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

FEW, MANY = 100_000, 10_000_000
GROUPS = (100_000, 1_000_000)
WAYS = ("fit", "score", "predict", "stream")
COLUMNS = [f"x{j}" for j in range(10)]
KEPT = Path(__file__).with_name("memory.jsonl")


def write(folder: Path, rows: int, group: int, parts: int = 2) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS] + [("y", pa.int64())])
    rng = np.random.default_rng(0)
    for i in range(parts):
        with pq.ParquetWriter(folder / f"part-{i}.parquet", schema, write_page_checksum=True) as file:
            for start in range(0, rows // parts, group):
                X = rng.normal(size=(min(group, rows // parts - start), 10)).astype(np.float32)
                columns = [*(X[:, j] for j in range(10)), (X[:, 0] > 0).astype(np.int64)]
                file.write_table(pa.table(columns, schema=schema), row_group_size=group)


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
    with ThreadPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as out:
        if what == "fit":
            fit_parts(OnlineClassifier(AROW()), folder, target="y", classes=[0, 1])
        elif what == "predict":
            predict_parts(model, folder, out, target="y", executor=pool)
        elif what == "score":
            score_parts(model, folder, [mean_cost], target="y", executor=pool, replicates=20)
        else:
            from typer.testing import CliRunner

            from steelyard import cli

            told = CliRunner().invoke(cli.app, ["stream", folder, "--target", "y", "--json"])
            assert told.exit_code == 0, told.output
    stopped.set()
    thread.join()
    print(greatest)


def measured(what: str, folder: Path) -> float:
    command = [sys.executable, __file__, "--worker", what, str(folder)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
        return
    many = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    kept = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []
    done = {(one["what"], one["group"], one["rows"]): one["mb"] for one in kept}
    # parts of few rows have one row group in either case, and are measured once
    for group, rows in [(GROUPS[0], FEW), *((group, many) for group in reversed(GROUPS))]:
        missing = [what for what in WAYS if (what, group, rows) not in done]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as made:
            write(Path(made) / "parts", rows, group)
            for what in missing:
                done[what, group, rows] = found = measured(what, Path(made) / "parts")
                with KEPT.open("a") as file:
                    file.write(json.dumps({"what": what, "group": group, "rows": rows, "mb": found}) + "\n")
    for group, what in itertools.product(GROUPS, WAYS):
        few, most = done[what, GROUPS[0], FEW], done[what, group, many]
        line = f"{FEW:,} rows {few:.0f} MB, {many:,} rows {most:.0f} MB, ratio {most / few:.3f}"
        print(f"{what:>8}, row groups of {group:,}: {line}", flush=True)


if __name__ == "__main__":
    main()
