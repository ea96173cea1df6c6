"""Anonymous memory of fit_parts, predict_parts, score_parts and stream on few and on many rows.

Each runs in a process of its own on Parquet parts of thirty float32 columns and a label, 128 bytes a row, with row
groups of 100,000 and of a million rows; the greatest RssAnon of /proc/self/status is told, and the ratio of many rows
to few. "plain" files hold the numbers as they are; "encoded" ones are what pyarrow writes unless told otherwise, with
dictionaries and compressed. Lines of ``memory.jsonl`` are not measured again; the table of ``memory.md`` is printed.
``python bench/scale/memory.py [ROWS [FOLDER]]``: 10,000,000 rows unless told otherwise, as parts of a million; in a
FOLDER the files stay, so that a run that was ended goes on with them.
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
from typing import Any

import numpy as np

FEW, MANY, PART = 100_000, 10_000_000, 1_000_000
GROUPS = (100_000, 1_000_000)
WAYS = {"fit": "`fit_parts`", "score": "`score_parts`", "predict": "`predict_parts`", "stream": "`stream`"}
WRITTEN: dict[str, dict[str, Any]] = {"plain": {"compression": "none", "use_dictionary": False}, "encoded": {}}
COLUMNS = [f"x{j}" for j in range(30)]
KEPT = Path(__file__).with_name("memory.jsonl")


def write(folder: Path, rows: int, group: int, kind: str) -> None:
    """Rows as parts of at most a million, which consist of whole row groups; all are the first one again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS] + [("y", pa.int64())])
    rng = np.random.default_rng(0)
    first, size = folder / "part-0.parquet", min(rows, PART)
    with pq.ParquetWriter(first, schema, write_page_checksum=True, **WRITTEN[kind]) as file:
        for _ in range(0, size, group):
            X = rng.standard_normal((min(group, size), len(COLUMNS)), dtype=np.float32)
            columns = [*(X[:, j] for j in range(len(COLUMNS))), (X[:, 0] > 0).astype(np.int64)]
            file.write_table(pa.table(columns, schema=schema), row_group_size=group)
    for i in range(1, rows // PART):
        (folder / f"part-{i}.parquet").hardlink_to(first)


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
    model = OnlineClassifier(AROW()).start(len(COLUMNS), [0, 1])
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
    done = {(one["what"], one["kind"], one["group"], one["rows"]): one["mb"] for one in kept}
    # few rows are one row group in either case, and are measured once
    for kind, (group, rows) in itertools.product(WRITTEN, [(GROUPS[0], FEW), *((group, many) for group in GROUPS)]):
        missing = [what for what in WAYS if (what, kind, group, rows) not in done]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as made:
            folder = Path(sys.argv[2] if len(sys.argv) > 2 else made) / f"{kind}-{group}-{rows}"
            if not folder.exists():
                write(folder.with_suffix(".tmp"), rows, group, kind)
                folder.with_suffix(".tmp").rename(folder)
            for what in missing:
                done[what, kind, group, rows] = found = measured(what, folder)
                about = {"what": what, "kind": kind, "group": group, "rows": rows, "mb": round(found, 1)}
                with KEPT.open("a") as file:
                    file.write(json.dumps(about) + "\n")
    heads = [f"{many:,} rows, groups of {group:,} | ratio" for group in GROUPS]
    print(f"| files | | {FEW:,} rows | {' | '.join(heads)} |\n|---|---|---|{'---|---|' * len(GROUPS)}")
    for kind, (what, name) in itertools.product(WRITTEN, WAYS.items()):
        few = done[what, kind, GROUPS[0], FEW]
        found = [done[what, kind, group, many] for group in GROUPS]
        cells = " | ".join(f"{most:.0f} | {most / few:.2f}" for most in found)
        print(f"| {kind} | {name} | {few:.0f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
