"""What goes wrong with files, disks and workers is named, and what was done stays."""

import errno
import io
import json
import multiprocessing
import os
import sys
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import deadly_part
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard import (
    AROW,
    ClusterLost,
    DataFileError,
    DataNotFoundError,
    InvalidInputError,
    OnlineClassifier,
    StateError,
    mean_cost,
)
from steelyard.data import Parts, iter_chunks
from steelyard.files import Node, write_container
from steelyard.scale import fit_parts, job, lbfgs, predict_parts, score_parts
from steelyard.scale.dask import ClusterExecutor, pass_on
from steelyard.scale.job import WorkFolder, read_note, write_note
from steelyard.scale.lanes import run_lane
from steelyard.scale.predict import predict_part
from steelyard.scale.progress import Progress
from steelyard.scale.rows import join_sums
from steelyard.scale.score import score_part
from steelyard.scale.tasks import run_tasks

pytestmark = pytest.mark.filterwarnings("ignore:lanes of about")  # these are short, to be quick
RNG = np.random.default_rng(1)


def parquet(folder: Path, parts: int = 3, rows: int = 200) -> Path:
    folder.mkdir()
    for i in range(parts):
        X = RNG.normal(size=(rows, 3))
        table = pa.table({name: X[:, j] for j, name in enumerate("abc")} | {"y": (X[:, 0] > 0).astype(int)})
        pq.write_table(table, folder / f"part-{i}.parquet", write_page_checksum=True, compression="none")
    return folder


@pytest.mark.parametrize("seed", range(20))
def test_a_flipped_bit_in_a_checksummed_part_is_refused_by_name(tmp_path: Path, seed: int) -> None:
    folder = parquet(tmp_path / "p")
    bad = folder / "part-1.parquet"
    content = bytearray(bad.read_bytes())
    column = pq.ParquetFile(bad).metadata.row_group(0).column(seed % 3)
    at = column.dictionary_page_offset + int(np.random.default_rng(seed).integers(100, 1500))  # 200 values of 8 bytes
    content[at] ^= 1 << (seed % 8)
    bad.write_bytes(content)
    model = OnlineClassifier(AROW())
    with pytest.raises(DataFileError, match=r"part-1\.parquet"):
        fit_parts(model, folder, target="y", classes=[0, 1])
    with pytest.warns(UserWarning, match="left out"):
        found = fit_parts(model, folder, target="y", classes=[0, 1], on_bad_part="skip")
    assert [Path(path).name for path in found.skipped_parts_] == ["part-1.parquet"]
    bad.unlink()
    assert (found.coef_ == fit_parts(model, folder, target="y").coef_).all()


@pytest.mark.parametrize("given", [{"finish": "lbfgs"}, {"sample": 300}, {"scale": "standard", "finish": "lbfgs"}])
def test_a_damaged_part_is_left_out_of_every_way_to_fit(tmp_path: Path, given: dict[str, Any]) -> None:
    folder = parquet(tmp_path / "p")
    bad = folder / "part-2.parquet"
    content = bytearray(bad.read_bytes())
    content[pq.ParquetFile(bad).metadata.row_group(0).column(0).dictionary_page_offset + 300] ^= 1
    bad.write_bytes(content)
    with ThreadPoolExecutor(2) as pool:
        asked: Any = {"target": "y", "executor": pool, "progress": False, **given}
        with pytest.raises(DataFileError, match=r"part-2\.parquet"):
            fit_parts(OnlineClassifier(), folder, **asked)
        with pytest.warns(UserWarning, match="left out"):
            found = fit_parts(OnlineClassifier(), folder, on_bad_part="skip", **asked)
        assert [Path(path).name for path in found.skipped_parts_] == ["part-2.parquet"]
        bad.unlink()
        rest = fit_parts(OnlineClassifier(), folder, **asked)
    if "sample" not in given:  # the share that is drawn counts the rows of all parts
        assert (found.coef_ == rest.coef_).all()


def test_a_flipped_bit_anywhere_in_the_pages_of_a_part_is_refused_or_changes_no_row() -> None:
    file = io.BytesIO()
    X = RNG.normal(size=(20, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": (X[:, 0] > 0).astype(int)})
    pq.write_table(table, file, write_page_checksum=True, compression="none", row_group_size=10)
    whole = file.getvalue()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    wanted, refused, renamed = rows_in(whole), 0, [len(whole)]
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << (at * 5 % 8)
        try:
            rows, names = rows_in(bytes(damaged))
        except DataFileError:
            refused += 1
            continue
        except InvalidInputError:  # the column of labels has another name now
            renamed.append(at)
            continue
        assert len(rows) == 20, f"byte {at}"
        # nothing vouches for the footer: a column of a part that is alone may have another name or type
        assert (rows, names) == wanted or at >= footer, f"byte {at}"
    assert min(renamed) >= footer
    assert refused > len(whole) / 2


def rows_in(content: bytes) -> tuple[list[Any], tuple[str, ...]]:
    chunks = list(iter_chunks(io.BytesIO(content), format="parquet", target="y"))
    rows = [(x, label) for chunk in chunks for x, label in zip(chunk.X.tolist(), chunk.y.tolist(), strict=True)]
    return rows, chunks[0].features if chunks else ()


@pytest.mark.parametrize("group", [0, 2, 3])
def test_a_flipped_bit_names_its_row_group(tmp_path: Path, group: int) -> None:
    path = tmp_path / "part.parquet"
    table = pa.table({"a": RNG.normal(size=200), "y": np.arange(200) % 2})
    pq.write_table(table, path, row_group_size=50, write_page_checksum=True, compression="none", use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(group).column(0)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 5] ^= 16
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=rf"part\.parquet, row group {group}: expected a whole"):
        fit_parts(OnlineClassifier(AROW()), [path], target="y", classes=[0, 1], rows=25)
    with pytest.raises(DataFileError, match=rf"row group.* \b{group}\b"):
        fit_parts(OnlineClassifier(AROW()), [path], target="y", classes=[0, 1], rows=75)


def test_truncated_vanished_and_changed_parts_are_named(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "p")
    listed = Parts(folder)
    part = folder / "part-2.parquet"
    content = part.read_bytes()
    part.write_bytes(content[:-20])
    with pytest.raises(DataFileError, match=r"part-2\.parquet"):
        fit_parts(OnlineClassifier(), folder, target="y", classes=[0, 1])
    part.unlink()
    with pytest.raises(DataNotFoundError, match=r"part-2\.parquet does not exist"):
        fit_parts(OnlineClassifier(), listed, target="y", classes=[0, 1])
    with pytest.warns(UserWarning, match="left out"):
        assert fit_parts(OnlineClassifier(), listed, target="y", classes=[0, 1], on_bad_part="skip").n_rounds_ == 400
    part.write_bytes(content + b"x")
    with pytest.raises(DataFileError, match=r"part-2\.parquet.*changed"):
        fit_parts(OnlineClassifier(), listed, target="y", classes=[0, 1])


def test_a_full_disk_names_the_folder_and_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, work = parquet(tmp_path / "p"), tmp_path / "w"
    real, saved = OnlineClassifier.save, []

    def save(self: Any, path: Any) -> None:
        if len(saved) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", os.fspath(path))
        real(self, path)
        saved.append(path)

    monkeypatch.setattr(OnlineClassifier, "save", save)
    with ThreadPoolExecutor(1) as pool:
        given: Any = {"target": "y", "lanes": 3, "work": work, "executor": pool, "progress": False}
        with pytest.raises(OSError, match=r"has no room for [\d,]+ more bytes"):
            fit_parts(OnlineClassifier(AROW()), folder, **given)
        assert len(list(work.glob("pass-000-lane-*.steelyard"))) == 2
        monkeypatch.undo()
        fit_parts(OnlineClassifier(AROW()), folder, **given)


def test_a_full_disk_is_said_of_notes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, work = parquet(tmp_path / "p"), tmp_path / "w"
    real = job.write_atomically

    def write(path: Path) -> Any:
        if path.name == "pass-000-lane-00001.json":
            raise OSError(errno.ENOSPC, "No space left on device", os.fspath(path))
        return real(path)

    monkeypatch.setattr(job, "write_atomically", write)
    with ThreadPoolExecutor(1) as pool:
        given: Any = {"target": "y", "lanes": 3, "work": work, "executor": pool, "progress": False}
        with pytest.raises(OSError, match=rf"{work} has no room for [\d,]+ more bytes.*lane-00001\.json"):
            fit_parts(OnlineClassifier(AROW()), folder, **given)
        assert (work / "pass-000-lane-00000.json").exists()


class Cluster(ClusterExecutor):
    """A cluster of one thread."""

    address = "tcp://10.0.0.1:8786"

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.client = SimpleNamespace(submit=lambda task, *given, retries, pure: self.pool.submit(task, *given))
        self._retries, self._tasks, self._is_shut_down = 0, WeakSet(), False

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.pool.shutdown(wait, cancel_futures=cancel_futures)


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "w has no room for 8 more bytes"), "w has no room for 8 more bytes"),
        (PermissionError(errno.EACCES, "Permission denied", "part-1.csv"), r"Permission denied: 'part-1\.csv'"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), r"tcp://10\.0\.0\.1:8786 went away after 0 of 1 lanes"),
        (OSError("Stream is closed"), r"tcp://10\.0\.0\.1:8786 went away after 0 of 1 lanes"),
    ],
)
def test_what_is_wrong_with_a_disk_is_not_taken_for_a_lost_cluster(error: Exception, words: str) -> None:
    given: Any = {"names": ["lane 0"], "kind": "lanes", "work": "w", "on_done": done}
    with Cluster() as executor, pytest.raises((OSError, ClusterLost), match=words):
        run_tasks(executor, fail, [(error,)], **given)


class Unfetched(Future[None]):
    """Of a task that has ended, on a cluster that goes away as its result is fetched."""

    def result(self, timeout: float | None = None) -> None:
        raise OSError("in <TCP (closed)>: ConnectionResetError")


def test_a_cluster_that_goes_away_as_a_result_is_fetched_is_an_error_and_no_wait() -> None:
    ended = Unfetched()
    ended.set_result(None)
    given: Any = {"names": ["lane 0"], "kind": "lanes", "work": "w", "on_done": done}
    with Cluster() as executor:
        executor.client.submit = lambda task, *given, retries, pure: ended
        with pytest.raises(ClusterLost, match=r"tcp://10\.0\.0\.1:8786 went away after 0 of 1 lanes"):
            run_tasks(executor, fail, [(OSError(),)], **given)


def test_a_task_that_was_taken_back_on_either_side_is_taken_back_on_the_other() -> None:
    there: Future[None] = Future()
    here: Future[None] = Future()
    there.cancel()
    pass_on(there, here)
    assert here.cancelled()
    with Cluster() as executor:
        waiting: Future[None] = Future()
        executor.client.submit = lambda task, *given, retries, pure: waiting
        assert executor.submit(fail).cancel()
        assert waiting.cancelled()


def test_nothing_is_handed_to_a_cluster_after_the_block() -> None:
    taken_back: list[Any] = []
    with Cluster() as executor:
        waiting: Future[None] = Future()
        executor.client = SimpleNamespace(submit=lambda task, *given, retries, pure: waiting, cancel=taken_back.extend)
        executor.submit(fail)
        ClusterExecutor.shutdown(executor, wait=False)
        assert taken_back == [waiting]
        with pytest.raises(RuntimeError, match="was shut down"):
            executor.submit(fail)


class KilledWorker(Exception):  # noqa: N818 - named as the one of distributed
    """What a cluster says of a task that ended its workers."""


def done(*_: Any) -> None:
    return None


def test_a_task_that_ends_its_workers_is_named() -> None:
    names, words = ["lane 0 (a)", "lane 1 (b)"], r"workers ended at lane 1 \(b\), at part 1, .*\(2 GB\).*smaller rows="
    given: Any = {"names": names, "kind": "lanes", "work": "w", "on_done": done, "detail": lambda i: f", at part {i}"}
    with ThreadPoolExecutor(1) as pool:
        pool.memory_limit = 2 << 30  # type: ignore[attr-defined]
        with pytest.raises(ClusterLost, match=words):
            run_tasks(pool, fail_second, [(0,), (1,)], **given)


def fail_second(i: int) -> int:
    if i == 1:
        raise KilledWorker
    return i


def test_a_script_that_its_processes_run_again_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    script.write_text("fit_parts(...)\n")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    given: Any = {"names": ["part-0"], "kind": "parts", "work": "", "on_done": done}
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ClusterLost, match=r"each runs this script again .* below `if __name__ == \"__main__\":`"):
            run_tasks(pool, fail, [(BrokenProcessPool(),)], **given)
        script.write_text('if __name__ == "__main__":\n    fit_parts(...)\n')
        with pytest.raises(ClusterLost, match=r"more memory to each worker\.$"):  # nothing is kept, and none said to be
            run_tasks(pool, fail, [(BrokenProcessPool(),)], **given)


def test_a_folder_that_workers_do_not_see_or_nobody_may_write_to(tmp_path: Path) -> None:
    words = r"must hold {} wherever work is done; it does not\. Give a folder that all machines see"
    tasks = {"job.json": (run_lane, 0, 0), "_job.json": (predict_part, 0), "_score.json": (score_part, 0)}
    for name, (task, *given) in tasks.items():
        with pytest.raises(StateError, match=words.format(name)):
            task(str(tmp_path), *given)
    folder, no_folder = parquet(tmp_path / "p"), tmp_path / "file"
    no_folder.write_text("")
    learner: Any = OnlineClassifier(AROW()).start(3, [0, 1])
    with ThreadPoolExecutor(1) as pool:
        for place in (no_folder, no_folder / "w"):
            unusable = pytest.raises(
                StateError, match=rf"{place} must be a folder for files; got .*\. Give one that you"
            )
            with unusable:
                fit_parts(learner, folder, target="y", work=place, executor=pool)
            with unusable:
                predict_parts(learner, folder, place, target="y", executor=pool)
            with unusable:
                score_parts(learner, folder, [mean_cost], target="y", work=place, executor=pool)


def test_an_interrupt_takes_back_what_has_not_begun() -> None:
    taken: list[Future[Any]] = []

    class Noted(ThreadPoolExecutor):
        def submit(self, task: Any, /, *given: Any, **named: Any) -> Future[Any]:
            taken.append(super().submit(task, *given, **named))
            return taken[-1]

    held = threading.Event()

    def interrupt(count: int, result: Any, waiting: list[str]) -> None:
        threading.Timer(0.2, held.set).start()  # the one that has begun may end
        raise KeyboardInterrupt

    tasks = [(held, i) for i in range(5)]
    with Noted(1) as pool, pytest.raises(KeyboardInterrupt):
        run_tasks(pool, wait_for, tasks, names=list("abcde"), kind="lanes", work="w", on_done=interrupt)
    assert sum(future.cancelled() for future in taken) >= 3


def wait_for(held: Any, i: int) -> int:
    if i:
        held.wait(10)
    return i


def test_a_part_that_ends_a_process_of_the_pool_is_named(tmp_path: Path) -> None:
    folder, work = tmp_path / "p", tmp_path / "w"
    folder.mkdir()
    for i in range(3):
        (folder / f"part-{i}.csv").write_text("a,b,y\n1,2,0\n2,1,1\n")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=deadly_part.plant) as pool:
        given: Any = {"target": "y", "lanes": 3, "work": work, "executor": pool, "progress": False}
        with pytest.raises(
            ClusterLost, match=r"workers ended at lane 1 \(part-1\.csv\), at .*part-1\.csv, after 1 of 3"
        ):
            fit_parts(OnlineClassifier(AROW()), folder, **given)
    assert [p.name for p in work.glob("pass-000-lane-*.steelyard")] == ["pass-000-lane-00000.steelyard"]


def test_two_copies_of_one_lane_do_no_harm(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "p")
    bits = set()
    for copies in (1, 2):
        work = WorkFolder(tmp_path / f"w{copies}")
        with ThreadPoolExecutor(1) as pool:
            given: Any = {"target": "y", "lanes": 3, "work": work, "executor": pool, "progress": False}
            fitted = fit_parts(OnlineClassifier(AROW()), folder, **given)
            if copies == 2:
                for path in work.path.glob("pass-000*"):
                    path.unlink()
                with ThreadPoolExecutor(2) as both:
                    for lane in range(3):
                        list(both.map(run_lane, [os.fspath(work)] * 2, [0, 0], [lane, lane]))
                fitted = fit_parts(OnlineClassifier(AROW()), folder, **given)
        bits.add(fitted.coef_.tobytes())
    assert len(bits) == 1


def test_progress_names_the_slowest(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Progress(False, workers=4)
    clock = [10.0]
    monkeypatch.setattr("steelyard.scale.progress.time.monotonic", lambda: clock[0])
    shown.begin("pass 1 of 1, lanes", 8)
    clock[0] = 12.0
    shown.step(2, {"rows": 500}, ["lane 3 (a)"] * 6)
    assert shown.text(2, ["lane"] * 6) == "pass 1 of 1, lanes: 2 of 8, 4 workers, 250 rows/s, 6 s left"
    assert shown.text(7, ["lane 3 (part-3.csv)"]).endswith("s left; waiting for lane 3 (part-3.csv)")


def test_notes_carry_their_checksum(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    write_note(path, {"a": [1, 2.5, "ü"]})
    assert read_note(path) == {"a": [1, 2.5, "ü"]}
    content = json.loads(path.read_text())
    content["content"]["a"][0] = 3
    path.write_text(json.dumps(content))
    with pytest.raises(StateError, match="it is damaged"):
        read_note(path)
    path.write_text("{")
    with pytest.raises(StateError, match="it is damaged"):
        read_note(path)


def test_files_without_their_job_are_refused(tmp_path: Path) -> None:
    folder, work = parquet(tmp_path / "p"), tmp_path / "w"
    work.mkdir()
    (work / "pass-000.steelyard").write_bytes(b"")
    with pytest.raises(StateError, match=r"job\.json is gone"):
        fit_parts(OnlineClassifier(AROW()), folder, target="y", work=work)
    with pytest.raises(StateError, match=r"must hold job\.json"):
        WorkFolder(work).job()


def test_sums_of_another_length_than_the_job_has_are_refused(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path)
    for position, width in enumerate((3, 6)):
        arrays = {name: np.ones(width) for name in ("counts", "mean", "squares")}
        node = Node("ScaleSums/1", {"part": position}, arrays)
        write_container(tmp_path / f"scale-part-{position:06}.steelyard", node, version="0")
    job: Any = SimpleNamespace(files=[None, None])
    with pytest.raises(StateError, match=r"scale-part-000001\.steelyard must hold counts"):
        join_sums(folder, job)
    lbfgs._save(tmp_path / "numbers.steelyard", np.ones(8))
    assert len(lbfgs._load(tmp_path / "numbers.steelyard", 8)) == 8
    with pytest.raises(StateError, match=r"numbers\.steelyard must hold numbers"):
        lbfgs._load(tmp_path / "numbers.steelyard", 4)
