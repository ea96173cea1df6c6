"""How long a row takes: one lane in CPU seconds beside plain loops, and what a second worker saves.

``python bench/scale/speed.py loops [--earlier TREE]``: CPU seconds of ``fit_parts(lanes=1)``, of a bare loop from
Arrow's batches to rows to the kernel, of the loop over ``iter_chunks`` that a user would write, and with a TREE of the
loop over the ``iter_chunks`` of that tree, on 1,000,000 rows. TREE is another commit's files, e.g.
``git archive c4d625d src | tar -x -C TREE``; its kernels are not built, those of today learn.
``speed.py flat``: ``fit_parts(lanes=1)`` on 1,000,000 and on 10,000,000 rows.
``speed.py workers``: seconds by the clock of one lane on one core and on two, and of sixteen lanes on a pool and on a
Dask cluster of one worker and of two, which have been started before; it needs two idle cores.

Thirty float32 columns and a label, uncompressed Parquet with page checksums. All ways in turn, five times; medians.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from steelyard import AROW, OnlineClassifier, _native
from steelyard.data import iter_chunks
from steelyard.scale import fit_parts, on_dask

TIMES = 5
CHUNK, COLUMNS = 10_000, [f"x{j}" for j in range(30)]
LANES, PARTS, PART, WORKERS = 16, 64, 250_000, (1, 2)  # of the runs on several workers


def write(folder: Path, rows: int, parts: int = 1) -> Path:
    """One part, and so many more names for it."""
    folder.mkdir()
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS] + [("y", pa.int64())])
    rng, first = np.random.default_rng(0), folder / "part-0.parquet"
    with pq.ParquetWriter(first, schema, compression="none", write_page_checksum=True) as file:
        for start in range(0, rows, 100_000):
            X = rng.normal(size=(min(100_000, rows - start), 30)).astype(np.float32)
            columns = [*(X[:, j] for j in range(30)), (X[:, 0] > 0).astype(np.int64)]
            file.write_table(pa.table(columns, schema=schema))
    for i in range(1, parts):
        (folder / f"part-{i}.parquet").hardlink_to(first)
    return folder


def in_turn(ways: Mapping[str, Callable[[], Any]], clock: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of each way, all of them once before any of them again."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _, (name, way) in itertools.product(range(TIMES), ways.items()):
        began = clock()
        way()
        seconds[name].append(clock() - began)
    return seconds


def parts(folder: Path, **given: Any) -> Any:
    learner = OnlineClassifier(AROW())
    return fit_parts(learner, folder, target="y", classes=[0, 1], rows=CHUNK, progress=False, **given)


# -- CPU seconds of one lane -------------------------------------------------------------------------------------------


def bare(folder: Path) -> Any:
    """Arrow's batches stacked as rows and handed to the kernel, nothing else."""
    model = OnlineClassifier(AROW()).start(30, [0, 1])
    for path in sorted(folder.glob("*.parquet")):
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=65536, page_checksum_verification=True)
        for batch in file.iter_batches(CHUNK):
            X = np.column_stack([batch.column(j).to_numpy(zero_copy_only=False) for j in range(30)])
            model.partial_fit(X, batch.column(30).to_numpy(zero_copy_only=False), classes=[0, 1])
    return model


def chunked(folder: Path, reader: Callable[..., Iterator[Any]]) -> Any:
    """What a user writes without fit_parts."""
    model = OnlineClassifier(AROW()).start(30, [0, 1])
    for path in sorted(folder.glob("*.parquet")):
        for chunk in reader(path, rows=CHUNK, target="y"):
            model.partial_fit(chunk.X, chunk.y, classes=[0, 1])
    return model


def reader_of(tree: Path) -> Callable[..., Iterator[Any]]:
    """The ``iter_chunks`` of another tree, beside today's kernels."""
    package = types.ModuleType("earlier")
    package.__path__ = [str(tree / "src" / "steelyard")]
    sys.modules |= {"earlier": package, "earlier._native": _native}
    return importlib.import_module("earlier.data.chunks").iter_chunks  # type: ignore[no-any-return]


def loops(made: Path, earlier: Path | None) -> None:
    rows = 1_000_000
    folder = write(made / "one", rows)
    bits = []
    learners: dict[str, Callable[[], Any]] = {
        "fit_parts(lanes=1)": lambda: parts(folder),
        "bare loop": lambda: bare(folder),
        "iter_chunks": lambda: chunked(folder, iter_chunks),
    }
    if earlier is not None:
        reader = reader_of(earlier)
        learners["iter_chunks of the earlier tree"] = lambda: chunked(folder, reader)
    ways = {name: lambda learn=learn: bits.append(learn().coef_.tobytes()) for name, learn in learners.items()}
    found = {name: statistics.median(times) / rows * 1e9 for name, times in in_turn(ways, time.process_time).items()}
    first = next(iter(found.values()))
    print("| way | ns a row | `fit_parts` / it |\n|---|---|---|")
    for name, nanoseconds in found.items():
        print(f"| {name} | {nanoseconds:.0f} | {first / nanoseconds:.2f} |")
    print(f"{rows:,} rows; {len(set(bits))} different weights (one expected)")


def flat(made: Path) -> None:
    rows = {1: 1_000_000, 10: 10_000_000}
    folders = {count: write(made / str(count), rows[1], count) for count in rows}
    ways = {f"{rows[count]:,}": lambda folder=folder: parts(folder) for count, folder in folders.items()}
    print("| rows | ns a row |\n|---|---|")
    for (name, times), count in zip(in_turn(ways, time.process_time).items(), rows.values(), strict=True):
        print(f"| {name} | {statistics.median(times) / count * 1e9:.0f} |")


# -- what a second worker saves ----------------------------------------------------------------------------------------


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """This process on so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def alone(folder: Path, cores: int) -> None:
    with on_cores(cores):
        parts(folder)


def in_lanes(folder: Path, executor: Any) -> None:
    with tempfile.TemporaryDirectory() as work:
        parts(folder, lanes=LANES, work=work, executor=executor)


def workers(made: Path) -> None:
    from distributed import Client, LocalCluster

    folder = write(made / "parts", PART, PARTS)
    ways: dict[str, Callable[[], Any]] = {}
    with ExitStack() as opened:
        for n in WORKERS:
            ways[f"one lane, cores {n}"] = lambda n=n: alone(folder, n)
            pool = opened.enter_context(ProcessPoolExecutor(n, mp_context=multiprocessing.get_context("spawn")))
            ways[f"{LANES} lanes on a pool, processes {n}"] = lambda pool=pool: in_lanes(folder, pool)
            made_of = {"n_workers": n, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
            client = opened.enter_context(Client(opened.enter_context(LocalCluster(**made_of)), set_as_default=False))
            there = opened.enter_context(on_dask(client))
            ways[f"{LANES} lanes on Dask, workers {n}"] = lambda there=there: in_lanes(folder, there)
        for way in ways.values():
            way()  # what is started, imported and loaded the first time only
        found = {name: statistics.median(times) for name, times in in_turn(ways, time.perf_counter).items()}
    print("| | 1 | 2 | speed-up |\n|---|---|---|---|")
    for name in {name[:-2]: None for name in found}:
        one, two = (found[f"{name} {n}"] for n in WORKERS)
        print(f"| {name} | {one:.2f} s | {two:.2f} s | {one / two:.2f} |")
    print(f"{PARTS * PART:,} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic", choices=["loops", "flat", "workers"])
    parser.add_argument("--earlier", type=Path, metavar="TREE")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        if told.topic == "loops":
            loops(Path(made), told.earlier)
        else:
            {"flat": flat, "workers": workers}[told.topic](Path(made))


if __name__ == "__main__":
    main()
