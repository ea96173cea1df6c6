"""Power, disks and processes fail at any moment: a file is then the old or the new one, whole, and a log a prefix."""

import io
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steelyard import CSOGD2, OnlineClassifier, cli
from steelyard.streaming import command
from steelyard.streaming.session import Session

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
ROWS, CHUNK = 60, 30
KILLS = int(os.environ.get("STEELYARD_KILLS", "12"))
STEP = int(os.environ.get("STEELYARD_STEP", "9"))  # 1 lets every operation fail once, in more time
STREAM = ["stream", "rows.csv", "--target", "y", "--classes", "0,1", "--quiet", "--skip-seen"]
KEPT = ["--state", "s", "--decisions", "log.csv"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, with rows and the log of an undisturbed run."""
    place = Path(tempfile.mkdtemp(prefix="steelyard-"))
    place.chmod(0o755)
    write_rows(place / "rows.csv", ROWS)
    assert run(place, [*STREAM, "--decisions", "whole.csv", "--chunk", str(CHUNK)])[0] == 0
    yield place
    shutil.rmtree(place)


def write_rows(path: Path, n: int) -> None:
    numbers = np.random.default_rng(2).normal(size=(n, 2))
    path.write_text("a,b,y\n" + "".join(f"{a:.4f},{b:.4f},{int(a + b > 0)}\n" for a, b in numbers))


def start(folder: Path, line: list[str], prepare: Callable[[], None] | None = None, stdin: int | None = None) -> int:
    """The command in a forked child; its process id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        said = os.open(folder / f"said.{os.getpid()}", os.O_WRONLY | os.O_CREAT)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        warnings.resetwarnings()
        os.chdir(folder)
        command.SAVING_SHARE = np.inf  # the state is saved after every chunk
        sys.argv = ["steelyard", *line]
        if prepare is not None:
            prepare()
        try:
            cli.main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 98
        sys.stderr.flush()
    finally:
        os._exit(code)


ENDED: dict[int, int] = {}  # children that were seen to have ended, and how


def has_ended(child: int) -> bool:
    """Whether a child has ended; :func:`finish` tells how."""
    found, status = os.waitpid(child, os.WNOHANG)
    if found:
        ENDED[child] = status
    return bool(found)


def finish(folder: Path, child: int) -> tuple[int, str]:
    status = ENDED.pop(child) if child in ENDED else os.waitpid(child, 0)[1]
    said = folder / f"said.{child}"
    text = said.read_text() if said.exists() else ""
    said.unlink(missing_ok=True)
    return os.waitstatus_to_exitcode(status), text


def run(folder: Path, line: list[str], prepare: Callable[[], None] | None = None) -> tuple[int, str]:
    return finish(folder, start(folder, line, prepare))


def check_survivors(folder: Path, log: str = "log.csv", whole: str = "whole.csv") -> None:
    """The state is whole if it is there, and the log is a prefix of the undisturbed one."""
    if (folder / "s").exists():
        rounds = Session.load(folder / "s").rounds
        assert rounds % CHUNK == 0 or rounds == ROWS
    if (folder / log).exists():
        assert (folder / whole).read_bytes().startswith((folder / log).read_bytes())


def check_recovery(folder: Path, whole: str = "whole.csv", source: list[str] = STREAM) -> None:
    code, said = run(folder, [*source, *KEPT, "--chunk", str(CHUNK)])
    assert code == 0, said
    assert (folder / "log.csv").read_bytes() == (folder / whole).read_bytes()
    assert not [p.name for p in folder.iterdir() if p.name.endswith(".tmp") or ".cut-" in p.name]


class FailingLayer:
    """Counts writes, syncs, truncations and renames, and fails the n-th of them, or all from the n-th on."""

    def __init__(self, n: int, forever: bool) -> None:
        self.left, self.forever = n, forever

    def count(self) -> None:
        self.left -= 1
        if self.left == 0 or (self.forever and self.left < 0):
            raise OSError(28, "No space left on device")

    def install(self) -> None:
        for name in ("write", "fsync", "replace", "ftruncate"):
            setattr(os, name, self.failing(getattr(os, name)))
        layer = self

        class Writer(io.BufferedWriter):
            def write(self, content: Any) -> int:
                layer.count()
                return super().write(content)

        os.fdopen = lambda handle, mode="r", *rest: Writer(io.FileIO(handle, "wb"))  # type: ignore[assignment,misc]

    def failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **named: Any) -> Any:
            self.count()
            return call(*given, **named)

        return counting


@pytest.mark.parametrize("forever", [False, True])
def test_whichever_write_sync_or_rename_fails(folder: Path, forever: bool) -> None:
    failed = 0
    for n in range(1, 1000, STEP * (4 if forever else 1)):
        code, said = run(folder, [*STREAM, *KEPT, "--chunk", str(CHUNK)], FailingLayer(n, forever).install)
        assert code in (0, 2), said
        assert "Traceback" not in said
        check_survivors(folder)
        if code == 0:
            break
        failed += 1
        assert said.startswith("steelyard: "), said
        if n % 5 == 0:
            check_recovery(folder)
        for name in ("s", "log.csv"):
            (folder / name).unlink(missing_ok=True)
    assert 2 < failed < 900


def test_a_disk_that_fills_up_in_the_middle_of_a_write(folder: Path) -> None:
    size = len((folder / "whole.csv").read_bytes())
    for limit in range(400, size, size // 5):  # what is said must fit as well
        line = [*STREAM, *KEPT, "--chunk", str(CHUNK)]
        code, said = run(folder, line, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))  # noqa: B023
        assert code == 2, said
        check_survivors(folder)
        check_recovery(folder)
        for name in ("s", "log.csv"):
            (folder / name).unlink()


def test_killed_at_random_moments(folder: Path) -> None:
    """Moments are counted in bytes of the log, from none to all of them, and a little time: load does not move them."""
    write_rows(folder / "many.csv", 3000)
    source = ["stream", "many.csv", *STREAM[2:]]
    assert run(folder, [*source, "--decisions", "many-whole.csv", "--chunk", str(CHUNK)])[0] == 0
    draw, log = random.Random(7), folder / "log.csv"
    size = (folder / "many-whole.csv").stat().st_size
    killed = 0
    for moment in sorted(draw.randrange(size) for _ in range(KILLS)):
        child = start(folder, [*source, *KEPT, "--chunk", str(CHUNK)])
        while not has_ended(child) and (log.stat().st_size if log.exists() else 0) < moment:
            time.sleep(0.001)
        time.sleep(0.02 * draw.random())
        if child not in ENDED:
            os.kill(child, signal.SIGKILL)
        killed += finish(folder, child)[0] == -signal.SIGKILL
        if (folder / "s").exists():
            assert Session.load(folder / "s").rounds % CHUNK == 0
        if (folder / "log.csv").exists():
            assert (folder / "many-whole.csv").read_bytes().startswith((folder / "log.csv").read_bytes())
        for left in folder.glob(".s.*.tmp"):  # a killed process cannot clean up after itself
            left.unlink()
    assert killed > 0
    check_recovery(folder, "many-whole.csv", source)


def test_of_two_writers_the_second_stops_and_spoils_nothing(folder: Path) -> None:
    reading, writing = os.pipe()
    rows = (folder / "rows.csv").read_bytes().splitlines(keepends=True)
    line = ["stream", "-", "--format", "csv", *STREAM[2:], *KEPT, "--chunk", str(CHUNK)]
    first = start(folder, line, lambda: os.close(writing), stdin=reading)
    os.close(reading)
    os.write(writing, b"".join(rows[: CHUNK + 10]))
    while not (folder / "log.csv").exists():  # the first chunk is learned, and the second is waited for
        assert not has_ended(first), finish(folder, first)[1]
        time.sleep(0.01)
    code, said = run(folder, [*STREAM, *KEPT], lambda: os.close(writing))
    assert code == 2
    assert f"is in use by process {first} since" in said
    os.write(writing, b"".join(rows[CHUNK + 10 :]))
    os.close(writing)
    assert finish(folder, first)[0] == 0
    assert (folder / "log.csv").read_bytes() == (folder / "whole.csv").read_bytes()


def leave_memory(megabytes: float) -> Callable[[], None]:
    """Lets the process have so much more than it has now."""

    def prepare() -> None:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + int(megabytes * 2**20),) * 2)

    return prepare


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose content takes some ten megabytes each, whichever reader takes them."""
    place = tmp_path_factory.mktemp("large")
    numbers = np.random.default_rng(0).normal(size=(3000, 40))
    frame = pd.DataFrame(numbers, columns=[f"c{k}" for k in range(40)]).assign(y=(numbers[:, 0] > 0).astype(int))
    frame.to_json(place / "rows.jsonl", orient="records", lines=True)
    frame.to_parquet(place / "rows.parquet")
    with open(place / "rows.libsvm", "w") as file:
        for row, label in zip(numbers, frame.y, strict=True):
            file.write(f"{label} " + " ".join(f"{k + 1}:{v:.4f}" for k, v in enumerate(row)) + "\n")
    wide = OnlineClassifier(CSOGD2()).start(1 << 21, [0, 1])
    wide.save(place / "wide.steelyard")
    return place


# Comma-separated text is left out: its library ends the process itself when it cannot start a thread.
HUNGRY = {
    "jsonl": ["stream", "rows.jsonl", "--target", "y", "--quiet", "--chunk", "3000"],
    "parquet": ["stream", "rows.parquet", "--target", "y", "--quiet", "--chunk", "3000"],
    "libsvm": ["stream", "rows.libsvm", "--quiet", "--chunk", "3000"],
    "a state": ["stream", "rows.libsvm", "--quiet", "--n-features", str(1 << 21), "--state", "wide.steelyard"],
}


@pytest.mark.parametrize("case", HUNGRY)
def test_little_memory_ends_in_a_result_or_one_line(large: Path, case: str) -> None:
    before = {p.name: p.read_bytes() for p in large.iterdir()}
    ends = set()
    for megabytes in (0.5, 2, 6, 15, 30, 3000):
        code, said = run(large, [*HUNGRY[case]], leave_memory(megabytes))
        assert code in (0, 2), f"{megabytes} MB: {code} {said}"
        assert "Traceback" not in said
        if code == 2:
            assert said.startswith("steelyard: "), f"{megabytes} MB: {said}"
            assert said.count("\n") == 1
            assert {p.name: p.read_bytes() for p in large.glob("[!.]*")} == before
        ends.add(code)
        (large / "wide.steelyard").write_bytes(before["wide.steelyard"])
        for left in large.glob(".*"):
            left.unlink()
    assert 0 in ends


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_may_not_be_written_to(folder: Path) -> None:
    def become_nobody() -> None:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

    folder.chmod(0o555)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    for extra in (["--state", "s"], ["--decisions", "log.csv"], KEPT):
        code, said = run(folder, [*STREAM, *extra], become_nobody)
        assert code == 2, said
        assert "Permission denied" in said
        assert said.count("\n") == 1
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    folder.chmod(0o755)


SAVED = """
import resource, sys
from pathlib import Path
import numpy as np
from steelyard.files import write_tensors

arrays = {"w": np.zeros(int(sys.argv[1]))}
write_tensors({"v": np.zeros(3)})  # what it takes once
for share in np.arange(0.1, 3.0, 0.2):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(share * arrays["w"].nbytes), resource.RLIM_INFINITY))
    try:
        print(len(write_tensors(arrays)))
    except MemoryError:
        print("refused")
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
"""


def test_arrays_that_are_saved_with_little_memory_do_not_end_the_process() -> None:
    """Their library would: as long as there is memory for none, or for one, of the two copies that it makes."""
    cells = 4 << 20
    done = subprocess.run([sys.executable, "-c", SAVED, str(cells)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends = done.stdout.split()
    assert len(ends) == 15
    assert ends[:9] == ["refused"] * 9
    assert int(ends[-1]) > 8 * cells
    assert done.stderr == ""
