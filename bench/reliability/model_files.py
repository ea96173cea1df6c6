"""Model files beside those of format 1 (0.1: skops): ``python bench/reliability/model_files.py [TEXT]``.

Every candidate of ``compare`` is fitted on a table of mixed columns, for two and for three classes where it can, and
its learner is written and read both ways: bytes of the file, CPU seconds to load. What format 1 could not hold is
compared with the bytes of the bare arrays. Then files that unpack to more than they may are refused in processes of
their own, and the peak of their memory is told. Needs skops; it is used on objects made here and on no file.
"""

from __future__ import annotations

import io
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from kept import goal, keep

from steelyard.comparison.data import read_data
from steelyard.comparison.registry import candidates
from steelyard.files import Node, read_container
from steelyard.models.storage import load_model, save_object

LARGER, SLOWER, ABOVE = 1.2, 1.5, 200 << 20
LIMIT = 256 << 20
ROWS = 600
FEW = 4096  # bytes: below, a file is its names and headers
rng = np.random.default_rng(0)


def table(classes: int) -> Any:
    X = rng.normal(size=(ROWS, 8))
    frame = pd.DataFrame(X, columns=[f"n{k}" for k in range(8)])
    frame["word"] = rng.choice(["red", "green", "blue", "rare"], ROWS, p=[0.4, 0.3, 0.28, 0.02])
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=ROWS)
    return read_data(frame, np.digitize(score, [0.8] if classes == 2 else [-0.7, 0.7]), None)


def learners(only: str) -> Iterator[tuple[str, Any]]:
    for classes in (2, 3):
        data, encoded = table(classes), {}
        for candidate in candidates():
            if candidate.unable(data) is not None or only not in candidate.name:
                continue
            if candidate.encoder not in encoded:
                encoded[candidate.encoder] = candidate.new_encoder(data).fit_transform(data.X, data.codes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield f"{candidate.name}, {classes} classes", candidate.fit(encoded[candidate.encoder], data)[0]


def seconds(load: Callable[[], Any]) -> float:
    """CPU seconds of the quickest of several loads."""
    found = []
    for _ in range(7):
        started = time.process_time()
        load()
        found.append(time.process_time() - started)
    return min(found)


def format_1(learner: Any) -> bytes:
    """The file of 0.1: a deflated archive around the archive of skops."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps({"format": 1, "steelyard": "0.1.0", "name": "x"}, indent=1))
        archive.writestr("estimator.skops", skops.io.dumps(learner))
    return out.getvalue()


def load_format_1(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        inner = archive.read("estimator.skops")
    return skops.io.loads(inner, trusted=skops.io.get_untrusted_types(data=inner))


def bare(node: Node) -> int:
    return sum(array.nbytes for array in node.arrays.values()) + sum(map(bare, node.parts))


def compare_files(name: str, learner: Any, folder: Path) -> Iterator[dict[str, Any]]:
    path = save_object(learner, folder / "m.steelyard")
    size = path.stat().st_size
    try:
        old = format_1(learner)
        load_format_1(old)
    except Exception as error:
        cells = bare(read_container(path))
        against = f"{cells:,} bytes of bare arrays; format 1 could not: {type(error).__name__}"
        yield goal(
            f"size: {name}",
            f"{size:,} bytes",
            against,
            "<= bare + 20% + names",
            size / cells,
            size <= LARGER * cells + FEW,
        )
        return
    yield goal(
        f"size: {name}",
        f"{size:,} bytes",
        f"{len(old):,} of format 1",
        f"<= {LARGER}x",
        size / len(old),
        size <= LARGER * len(old),
    )
    ours, theirs = seconds(lambda: load_model(path)), seconds(lambda: load_format_1(old))
    said = f"{1e3 * ours:.2f} CPU ms", f"{1e3 * theirs:.2f} of format 1"
    yield goal(f"loading: {name}", *said, f"<= {SLOWER}x", ours / theirs, ours <= SLOWER * theirs)


def header(size: int) -> bytes:
    text = json.dumps({"0": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(text)) + text


def bombs() -> Iterator[tuple[str, list[bytes], list[bytes]]]:
    """Pieces of the two members of hostile files."""
    empty, zeros = header(0), bytes(1 << 24)
    start = b'{"format":2,"steelyard":"0.2","kind":"Model/1","params":{},"arrays":{"a":"0"},"parts":['
    inner = b'{"kind":"Frozen/1","params":{},"arrays":{},"parts":['
    yield "1 GB of zeros", [start, b"]}"], [header(1 << 30), *[zeros] * 64]
    yield (
        "just below the limit, of no known model",
        [start, b"]}"],
        [header(LIMIT - (1 << 20)), *[zeros] * 15, bytes(15 << 20)],
    )
    yield "80 GB claimed", [start, b"]}"], [header(80 << 30)]
    yield "1 GB of spaces for JSON", [b" " * (1 << 24)] * 64, [empty]
    yield "15 MB of empty lists", [start, b"[]," * 5_000_000, b"[]]}"], [empty]
    yield "15 MB of numbers", [start[:-10], b'"parts":[', b"1," * 7_000_000, b"1]}"], [empty]
    yield "parts within parts", [start, inner * 200_000], [empty]


def peak_of(path: Path) -> tuple[int, str]:
    """Bytes that a refusal added to the peak of a fresh process, and what it said."""
    command = [sys.executable, __file__, "--refuse", str(path)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told["peak"], told["said"]


def refuse(path: str) -> None:
    from steelyard.errors import StateError

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        load_model(path, max_bytes=LIMIT)
        said = ""
    except StateError as error:
        said = str(error)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"peak": 1024 * peak, "said": said}))


def refusals(folder: Path, only: str) -> Iterator[dict[str, Any]]:
    for name, description, arrays in bombs():
        if only not in name:
            continue
        path = folder / "bomb.steelyard"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for member, pieces in (("model.json", description), ("arrays.safetensors", arrays)):
                with archive.open(member, "w") as file:
                    for piece in pieces:
                        file.write(piece)
        peak, said = peak_of(path)
        ours = f"{peak >> 20} MB above the process at rest; {'refused' if said else 'LOADED'}"
        against = f"a limit of {LIMIT >> 20} MB; {path.stat().st_size >> 10} kB on disk"
        yield goal(
            f"peak: {name}",
            ours,
            against,
            "<= limit + 200 MB",
            peak / (LIMIT + ABOVE),
            bool(said) and peak <= LIMIT + ABOVE,
        )


def main() -> None:
    if sys.argv[1:2] == ["--refuse"]:
        refuse(sys.argv[2])
        return
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    script = "python bench/reliability/model_files.py"
    with tempfile.TemporaryDirectory(prefix="models-") as name:
        keep("model_files", script, list(refusals(Path(name), only)))
        for case, learner in learners(only):
            keep("model_files", script, list(compare_files(case, learner, Path(name))))


if __name__ == "__main__":
    main()
