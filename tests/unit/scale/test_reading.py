"""Parts decoded ahead give the rows and errors of parts read one after the other."""

import bz2
import zipfile
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from steelyard import ClusterLost, DataFileError, InvalidInputError, cli
from steelyard.data import Parts
from steelyard.scale import reading
from steelyard.scale.reading import chunks_ahead

RNG = np.random.default_rng(4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "parts"
    made.mkdir()
    for i in range(5):
        X = RNG.normal(size=(40 + i, 3))
        lines = [f"{a!r},{b!r},{'red' if c > 0 else 'blue'},{int(a > 0)}" for a, b, c in X.tolist()]
        (made / f"part-{i}.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))
    return made


def rows_of(chunks: Any) -> list[Any]:
    return [(np.asarray(chunk.X).tolist(), chunk.y.tolist(), chunk.features) for chunk in chunks]


@pytest.mark.parametrize("share", [0, 3, 5])  # so many of the parts are small enough for the executor
@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_chunks(folder: Path, monkeypatch: pytest.MonkeyPatch, share: int, workers: int) -> None:
    parts = Parts(folder)
    sizes = sorted(part.size for part in parts.files)
    monkeypatch.setattr(reading, "LARGEST", sizes[share - 1] if share else 0)
    assert sum(size <= reading.LARGEST for size in sizes) == share
    with ThreadPoolExecutor(workers) as pool:
        found = rows_of(chunks_ahead(parts, pool, rows=7, target="y"))
    assert found == rows_of(parts.iter_chunks(rows=7, target="y"))


@pytest.mark.parametrize("kind", ["text", "numbers", "sparse"])
def test_parts_that_hold_too_many_rows_are_read_a_chunk_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Compressed they may be small: what counts is what a worker would hold, and the answer would carry."""
    given: dict[str, Any] = {"target": "y"} | ({"drop": ["c"]} if kind == "numbers" else {})
    if kind == "sparse":
        given, folder = {}, folder.parent / "sparse"
        folder.mkdir()
        for i in range(5):
            (folder / f"{i}.svm").write_text("1 1:1 3:2\n-1 2:1\n" * (20 + i))
    parts, sent = Parts(folder), []
    monkeypatch.setattr(reading, "MOST_DECODED", 250)

    class Noted(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Future[Any]:
            sent.append(super().submit(*given, **named))
            return sent[-1]

    with Noted(1) as pool:
        found = list(chunks_ahead(parts, pool, rows=7, **given))
        assert all(future.result() == (None, None) for future in sent)
    assert 0 < len(sent) < 5  # what is as large is not sent any more
    assert [shape_and_labels(chunk) for chunk in found] == [
        shape_and_labels(chunk) for chunk in parts.iter_chunks(rows=7, **given)
    ]


def shape_and_labels(chunk: Any) -> Any:
    return chunk.X.shape, chunk.y.tolist()


def test_few_parts_are_ahead(folder: Path) -> None:
    parts, asked = Parts(folder), []

    class Counted(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Future[Any]:
            asked.append(given[1]["name"])
            return super().submit(*given, **named)

    with Counted(1) as pool:
        chunks = chunks_ahead(parts, pool, rows=1000, target="y")
        assert asked == []
        next(chunks)
        assert asked == ["part-0.csv", "part-1.csv"]
        chunks.close()  # type: ignore[attr-defined]


def test_rows_before_the_damage_come_first(folder: Path) -> None:
    good = "1,2,red,0\n3,4,blue,1\n" * 20_000  # more than the check of columns looks at
    (folder / "part-2.csv").write_text(f"a,b,c,y\n{good}5,6,red,0,9,9\n")
    seen: list[list[Any]] = []
    said = []
    for ahead in (False, True):
        parts = Parts(folder)
        with ThreadPoolExecutor(2) as pool:
            chunks = (
                chunks_ahead(parts, pool, rows=500, target="y") if ahead else parts.iter_chunks(rows=500, target="y")
            )
            seen.append([])
            with pytest.raises(DataFileError) as caught:
                seen[-1].extend(row for chunk in chunks for row in rows_of([chunk]))
            said.append(str(caught.value))
    assert seen[0] == seen[1]
    assert sum(len(labels) for _, labels, _ in seen[0]) > 40 + 41 + 30_000
    assert said[0] == said[1]
    assert "part-2.csv" in said[0]


def test_a_lost_executor_is_said(folder: Path) -> None:
    class Lost(Executor):
        def submit(self, *given: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("ended"))
            return future

    with pytest.raises(ClusterLost, match=r"went away during the decoding of part-0\.csv\. Run the same command"):
        next(chunks_ahead(Parts(folder), Lost(), rows=9, target="y"))


def run(*arguments: Any) -> str:
    told = CliRunner().invoke(cli.app, ["stream", *map(str, arguments)], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    return told.stdout


def test_a_stream_of_parts_that_other_processes_decode(folder: Path, tmp_path: Path) -> None:
    (folder / "part-1.csv.bz2").write_bytes(bz2.compress((folder / "part-1.csv").read_bytes()))
    (folder / "part-1.csv").unlink()
    found = []
    for name, more in (("one", []), ("two", ["--jobs", 2])):
        log, state = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.steelyard"
        given = ["--target", "y", "--chunk", 10, "--query", "AskRandom(0.5)", "--decisions", log, "--state", state]
        told = run(folder, *given, "--json", *more)
        found.append((told, log.read_bytes(), zipfile.ZipFile(state).read("arrays.safetensors")))
    assert found[0] == found[1]


@pytest.mark.parametrize("more", [["--jobs", "2"], ["--cluster", "tcp://127.0.0.1:1"]])
def test_one_file_has_nothing_to_decode_ahead(folder: Path, more: list[str]) -> None:
    with pytest.raises(InvalidInputError, match=f"{more[0]} must come with a folder or pattern of parts"):
        run(folder / "part-0.csv", "--target", "y", *more)
