"""CPU seconds of fit_parts(lanes=1) beside a bare loop from Arrow to rows to the kernel, and the loop of iter_chunks.

Thirty float32 columns, uncompressed Parquet; ``python bench/scale/speed.py [ROWS]``. Each way in turn, three times; the
median is told, in nanoseconds a row, and its ratio. CPU seconds of all threads, so that other work beside it matters
little. ``--flat`` has ``fit_parts`` alone, on one part and on ten copies of it in turn.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from steelyard import AROW, OnlineClassifier
from steelyard.data import iter_chunks
from steelyard.scale import fit_parts

CHUNK, COLUMNS = 10_000, [f"x{j}" for j in range(30)]


def write(path: Path, rows: int) -> None:
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS] + [("y", pa.int64())])
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, schema, compression="none", write_page_checksum=True) as file:
        for _ in range(0, rows, 100_000):
            X = rng.normal(size=(100_000, 30)).astype(np.float32)
            columns = [*(X[:, j] for j in range(30)), (X[:, 0] > 0).astype(np.int64)]
            file.write_table(pa.table(columns, schema=schema))


def bare(folder: Path) -> Any:
    """Arrow's batches stacked as rows and handed to the kernel, nothing else."""
    model = OnlineClassifier(AROW()).start(30, [0, 1])
    for path in sorted(folder.glob("*.parquet")):
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=65536, page_checksum_verification=True)
        for batch in file.iter_batches(CHUNK):
            X = np.column_stack([batch.column(j).to_numpy(zero_copy_only=False) for j in range(30)])
            model.partial_fit(X, batch.column(30).to_numpy(zero_copy_only=False), classes=[0, 1])
    return model


def chunked(folder: Path) -> Any:
    """What a user writes without fit_parts."""
    model = OnlineClassifier(AROW()).start(30, [0, 1])
    for path in sorted(folder.glob("*.parquet")):
        for chunk in iter_chunks(path, rows=CHUNK, target="y"):
            model.partial_fit(chunk.X, chunk.y, classes=[0, 1])
    return model


def parts(folder: Path) -> Any:
    return fit_parts(OnlineClassifier(AROW()), folder, target="y", classes=[0, 1], rows=CHUNK, progress=False)


def flat(rows: int) -> None:
    """Nanoseconds a row of one part, and of ten times as many rows."""
    found: dict[int, list[float]] = {1: [], 10: []}
    with tempfile.TemporaryDirectory() as made:
        for count in found:
            (Path(made) / str(count)).mkdir()
        write(Path(made) / "1" / "part-0.parquet", rows)
        for i in range(10):
            (Path(made) / "10" / f"part-{i}.parquet").hardlink_to(Path(made) / "1" / "part-0.parquet")
        for _ in range(3):
            for count, times in found.items():
                began = time.process_time()
                parts(Path(made) / str(count))
                times.append((time.process_time() - began) / (count * rows) * 1e9)
    for count, times in found.items():
        print(f"{count * rows:>12,} rows: {statistics.median(times):.0f} ns a row")


def main() -> None:
    if sys.argv[1:2] == ["--flat"]:
        flat(1_000_000)
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    ways = {"fit_parts": parts, "bare": bare, "iter_chunks": chunked}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as made:
        write(Path(made) / "part-0.parquet", rows)
        bits = set()
        for _ in range(3):
            for name, way in ways.items():
                began = time.process_time()
                bits.add(way(Path(made)).coef_.astype(np.float32).tobytes())
                seconds[name].append(time.process_time() - began)
    found = {name: statistics.median(times) / rows * 1e9 for name, times in seconds.items()}
    for name, nanoseconds in found.items():
        print(f"{name:>12} {nanoseconds:6.0f} ns a row, fit_parts / it = {found['fit_parts'] / nanoseconds:.2f}")
    print(f"{rows:,} rows; {len(bits)} different weights (one expected, float32)")


if __name__ == "__main__":
    main()
