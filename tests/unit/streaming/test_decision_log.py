"""The decision log is append-only, and a state recognises its own."""

import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import Forked

from steelyard import CSOGD2, OnlineClassifier, StateError, cli
from steelyard.files import lock_file
from steelyard.streaming.decision_log import DecisionLog, LogMark
from steelyard.streaming.session import Session
from steelyard.trace import Trace

RNG = np.random.default_rng(1)


def part(path: Path, n: int = 40) -> Path:
    rows = "".join(f"{a:.4f},{b:.4f},{int(a + b > 0)}\n" for a, b in RNG.normal(size=(n, 2)))
    path.write_text("a,b,y\n" + rows)
    return path


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command in a folder with four files of 40 rows: exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    for k in range(4):
        part(tmp_path / f"p{k}.csv")

    def run(source: str, *arguments: str) -> tuple[int, str]:
        common = ["--target", "y", "--classes", "0,1", "--quiet"]
        monkeypatch.setattr(sys, "argv", ["steelyard", "stream", source, *common, *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return int(left.value.code or 0), capsys.readouterr().err

    return run


def rows_of(path: str) -> list[int]:
    return [json.loads(line)["t"] for line in Path(path).read_text().splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and not p.name.endswith(".lock")}


def test_a_run_without_a_log_in_between_erases_nothing(stream: Any) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    before = Path("log.jsonl").read_bytes()
    assert stream("p1.csv", "--state", "s")[0] == 0
    assert stream("p2.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    assert Path("log.jsonl").read_bytes().startswith(before)
    assert rows_of("log.jsonl") == [*range(40), *range(80, 120)]


@pytest.mark.parametrize("extra", [(), ("--append",)])
def test_another_file_is_refused_and_nothing_is_written(stream: Any, tmp_path: Path, extra: tuple[str, ...]) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    Path("other.jsonl").write_text("mine\n" * 3000)
    before = contents(tmp_path)
    code, said = stream("p1.csv", "--state", "s", "--decisions", "other.jsonl", *extra)
    assert (code, said.count("\n")) == (2, 1)
    assert "must begin with the" in said
    assert contents(tmp_path) == before


def test_a_log_without_a_state_needs_a_word(stream: Any, tmp_path: Path) -> None:
    assert stream("p0.csv", "--decisions", "log.jsonl")[0] == 0
    before = contents(tmp_path)
    code, said = stream("p1.csv", "--decisions", "log.jsonl")
    assert code == 2
    assert "--append" in said
    assert "--overwrite" in said
    assert stream("p1.csv", "--decisions", "log.jsonl", "--state", "s")[0] == 2
    assert contents(tmp_path) == before
    assert stream("p1.csv", "--decisions", "log.jsonl", "--append")[0] == 0
    assert rows_of("log.jsonl") == [*range(40), *range(40)]
    assert stream("p2.csv", "--decisions", "log.jsonl", "--overwrite")[0] == 0
    assert rows_of("log.jsonl") == [*range(40)]
    code, said = stream("p2.csv", "--decisions", "log.jsonl", "--overwrite", "--append")
    assert code == 2


def test_decisions_are_appended_to_a_log_alone(stream: Any, tmp_path: Path) -> None:
    assert stream("p0.csv", "--decisions", "log.csv")[0] == 0
    Path("log.txt").write_bytes(Path("log.csv").read_bytes())
    before = contents(tmp_path)
    for other in ("p1.csv", "log.txt"):  # no log at all, and one of another format than its name says
        code, said = stream("p0.csv", "--decisions", other, "--append")
        assert (code, said.count("\n")) == (2, 1)
        assert "--append must find a decision log of the same format" in said
    assert contents(tmp_path) == before
    assert stream("p1.csv", "--decisions", "log.csv", "--append")[0] == 0
    assert len(Path("log.csv").read_text().splitlines()) == 81


def test_a_log_with_keys_of_rows_is_appended_to_by_runs_with_the_same_key(stream: Any) -> None:
    assert stream("p0.csv", "--decisions", "log.csv", "--id", "a")[0] == 0
    assert stream("p1.csv", "--decisions", "log.csv", "--append")[0] == 2
    assert stream("p1.csv", "--decisions", "log.csv", "--append", "--id", "b")[0] == 2
    assert stream("p1.csv", "--decisions", "log.csv", "--append", "--id", "a")[0] == 0
    lines = Path("log.csv").read_text().splitlines()
    assert (len(lines), lines[0]) == (81, "t,a,score,decision,query_probability,queried")


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("torn", [0, 1, 17])
def test_decisions_that_were_never_learned_are_cut_and_it_is_said(stream: Any, suffix: str, torn: int) -> None:
    log = Path(f"log.{suffix}")
    assert stream("p0.csv", "--state", "s", "--decisions", str(log))[0] == 0
    old, state = log.read_bytes(), Path("s").read_bytes()
    assert stream("p1.csv", "--state", "s", "--decisions", str(log))[0] == 0
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) - torn])  # as after a crash that lost the state of the second run
    Path("s").write_bytes(state)
    code, said = stream("p1.csv", "--state", "s", "--decisions", str(log))
    assert code == 0
    assert f"cut {len(whole) - torn - len(old):,} bytes from log.{suffix} that its state never learned" in said
    assert log.read_bytes() == whole
    assert not list(Path.cwd().glob("*.cut-*"))


def test_lines_of_another_kind_are_put_aside_before_they_are_cut(stream: Any) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    with Path("log.jsonl").open("a") as file:
        file.write("a note of the auditor\n")
    code, said = stream("p1.csv", "--state", "s", "--decisions", "log.jsonl")
    assert code == 0
    assert "they are in log.jsonl.cut-" in said
    (aside,) = Path.cwd().glob("*.cut-*")
    assert aside.read_text() == "a note of the auditor\n"
    assert rows_of("log.jsonl") == [*range(80)]


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace(b'"t": 3,', b'"t": 4,'),
        lambda text: text[:-1],
        lambda text: text[50:],
        lambda text: text + b"half a note",
        lambda text: b"\n" + text,
    ],
)
def test_an_edited_log_is_refused(stream: Any, tmp_path: Path, edit: Any) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    Path("log.jsonl").write_bytes(edit(Path("log.jsonl").read_bytes()))
    before = contents(tmp_path)
    assert stream("p1.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 2
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("missing.csv", "--decisions", "log.jsonl", "--overwrite"),
        ("p1.csv", "--decisions", "log.jsonl", "--overwrite", "--drop", "z"),
        ("p1.csv", "--decisions", "log.jsonl", "--overwrite", "--target", "b"),
        ("empty.csv", "--decisions", "log.jsonl", "--overwrite"),
        ("empty.csv", "--decisions", "new.jsonl"),
        ("wide.csv", "--state", "s", "--decisions", "log.jsonl"),
        ("wide.csv", "--state", "s", "--decisions", "log.jsonl", "--overwrite"),
        ("wide.csv", "--state", "s", "--decisions", "new.jsonl"),
        ("wide.csv", "--state", "s"),
        ("wide.csv", "--state", "s", "--decisions", "."),
    ],
)
def test_a_run_that_is_refused_at_its_first_rows_touches_nothing(
    stream: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    with Path("log.jsonl").open("a") as file:
        file.write("a note of the auditor\n")  # would be cut by a run that goes on
    Path("wide.csv").write_text("a,b,c,y\n1,2,3,0\n3,2,1,1\n")
    Path("empty.csv").write_text("a,b,y\n")
    before = contents(tmp_path)
    assert stream(*arguments)[0] == 2
    assert contents(tmp_path) == before


def test_a_learner_goes_on_with_a_log_and_is_a_state_that_knows_it(stream: Any) -> None:
    OnlineClassifier(CSOGD2()).fit(RNG.normal(size=(9, 2)), [0, 1, 0, 1, 0, 1, 0, 1, 0]).save("s")
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl", "--chunk", "7")[0] == 0
    assert rows_of("log.jsonl") == [*range(9, 49)]
    assert stream("p1.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    assert rows_of("log.jsonl") == [*range(9, 89)]


def test_a_log_that_was_rotated_away_starts_anew_with_its_header(stream: Any) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.csv")[0] == 0
    Path("log.csv").rename("log.1.csv")
    code, said = stream("p1.csv", "--state", "s", "--decisions", "log.csv")
    assert code == 0
    assert "starts anew at row 40" in said
    lines = Path("log.csv").read_text().splitlines()
    assert lines[0] == "t,score,decision,query_probability,queried"
    assert lines[1].startswith("40,")
    assert stream("p2.csv", "--state", "s", "--decisions", "log.csv")[0] == 0
    assert len(Path("log.csv").read_text().splitlines()) == 81


def test_a_log_of_another_stream_is_refused_even_if_no_byte_was_learned(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("unrelated\n")
    with pytest.raises(Exception, match="must be the log of stream ab"):
        DecisionLog(str(log), LogMark("ab", "log.jsonl"))
    assert log.read_text() == "unrelated\n"


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": -1},
        {"bytes": 1 << 62},
        {"bytes": True},
        {"bytes": 1.0},
        {"sha256": "0" * 63},
        {"sha256": "../x" * 16},
        {"stream": ""},
        {"stream": "\x1b[2J"},
        {"stream": "a" * 65},
        {"name": "n" * 5000},
        {"name": None},
        {"other": 1},
    ],
)
def test_a_mark_from_a_file_is_checked(change: dict[str, Any]) -> None:
    sound = LogMark("0123456789abcdef", "log.jsonl", 7).to_dict()
    assert LogMark.from_dict(sound, Path("s")) == LogMark(**sound)
    with pytest.raises(StateError, match=r"s must .* decision log"):
        LogMark.from_dict(sound | change, Path("s"))


def test_outputs_and_inputs_are_different_files(stream: Any, tmp_path: Path) -> None:
    Path("link.csv").symlink_to("p0.csv")
    before = contents(tmp_path)
    for arguments in (
        ("p0.csv", "--decisions", "p0.csv"),
        ("p0.csv", "--decisions", "link.csv"),
        ("link.csv", "--decisions", "p0.csv"),
        ("p0.csv", "--state", "p0.csv"),
        ("p0.csv", "--state", "sd", "--decisions", "sd"),
        ("p0.csv", "--costs", "p1.csv", "--decisions", "p1.csv"),
    ):
        code, said = stream(*arguments)
        assert (code, said.count("\n")) == (2, 1)
        assert "must not be" in said
    assert contents(tmp_path) == before


def test_a_second_process_stops_before_it_reads_a_row(stream: Any, tmp_path: Path) -> None:
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0
    before = contents(tmp_path)
    for path in ("s", "log.jsonl"):
        with lock_file(path):
            code, said = stream("missing.csv", "--state", "s", "--decisions", "log.jsonl")
        assert code == 2
        assert f"{path} is in use by process {os.getpid()} since" in said
    assert contents(tmp_path) == before
    assert stream("p1.csv", "--state", "s", "--decisions", "log.jsonl")[0] == 0


def test_files_of_the_user_beside_the_state_stay(stream: Any) -> None:
    Path("u.part").write_text("mine")
    Path("real").mkdir()
    Path("u").symlink_to("real/state")
    assert stream("p0.csv", "--state", "u")[0] == 0
    assert Path("u.part").read_text() == "mine"
    assert Path("u").is_symlink()
    assert Session.load(Path("real/state")).rounds == 40


def test_the_log_is_on_disk_before_the_state_takes_its_name(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def spy_fsync(handle: int) -> None:
        done.append("sync " + os.path.basename(os.readlink(f"/proc/self/fd/{handle}")).rsplit(".tmp")[0][:10])
        fsync(handle)

    def spy_replace(source: Any, target: Any) -> None:
        done.append(f"rename {os.path.basename(target)}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    for sync, expected in (("never", 0), ("state", 1), ("chunk", 4)):
        done.clear()
        options = ("--state", f"s{sync}", "--decisions", f"log-{sync}.jsonl", "--sync", sync, "--chunk", "10")
        assert stream("p0.csv", *options)[0] == 0
        synced = [i for i, step in enumerate(done) if step.startswith("sync log")]
        renamed = [i for i, step in enumerate(done) if step == f"rename s{sync}"]
        assert len(synced) >= expected
        assert (len(synced) == 0) == (sync == "never")
        if sync == "state":  # the first rename is of the state without rows
            assert all(any(a < i < b for i in synced) for a, b in pairwise(renamed))


def test_a_failed_write_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DecisionLog(str(tmp_path / "log.jsonl"), LogMark("ab"))
    trace = Trace(np.zeros(3), np.zeros(3, dtype=int), np.ones(3, dtype=bool), np.ones(3), np.zeros(3))
    log.write(0, trace, ("no", "yes"))
    before, mark = (tmp_path / "log.jsonl").read_bytes(), log.mark
    write = os.write

    def short(handle: int, content: Any) -> int:
        write(handle, bytes(content)[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(OSError, match="No space left"):
        log.write(3, trace, ("no", "yes"))
    assert log.mark == mark
    assert (tmp_path / "log.jsonl").read_bytes() == before
    log.close()


def test_a_killed_first_chunk_can_be_taken_again(stream: Any, tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom steelyard import cli\nfrom steelyard.streaming.decision_log import DecisionLog\n"
        "write = DecisionLog.write\n"
        "def killed(*args):\n    write(*args)\n    os.kill(os.getpid(), 9)\n"
        "DecisionLog.write = killed\n"
        "sys.argv = ['steelyard', 'stream', 'p0.csv', '--target', 'y', '--classes', '0,1', '--quiet', '--state', 's',"
        " '--decisions', 'log.jsonl']\ncli.main()\n"
    )
    process = Forked(code, modules=("steelyard.cli", "steelyard.streaming.command"))
    assert process.wait() == -9
    process.close()
    assert rows_of("log.jsonl") == [*range(40)]
    assert stream("p0.csv", "--state", "s", "--decisions", "log.jsonl", "--skip-seen")[0] == 0
    assert rows_of("log.jsonl") == [*range(40)]
    assert stream("p0.csv", "--decisions", "whole.jsonl")[0] == 0
    assert Path("log.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
