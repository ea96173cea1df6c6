"""A followed file: every row once and in its order, through rotation, truncation and kills at any moment."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
import time
import warnings

import pytest
from service_bench import Bench, recount, settings_of
from service_champion import bytes_of, crowned, fitted
from service_server import ServerProcess, ThreadedServer, call, free_port, make_service

from steelyard import cli
from steelyard.errors import InvalidInputError
from steelyard.service.commands.log import run_verify
from steelyard.service.commands.serve import run_serve
from steelyard.service.database.checkpoints import pack_state, unpack_state
from steelyard.service.database.sqlite import SQLiteStore
from steelyard.service.http.runtime import Runtime
from steelyard.service.log.records import RecordReader
from steelyard.service.sources import tail as tail_module
from steelyard.service.sources.tail import CHUNK, HEAD, FollowedFile, Tail
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.jobs import RefusedError, StoreJob
from steelyard.service.writer.projects import replayed

KILLS = int(os.environ.get("STEELYARD_SERVICE_TAIL_KILLS", "8"))
KINDS = {"n": "number", "c": "category", "note": "shown"}
PATIENCE = 120.0  # seconds: on a busy machine a start takes long


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Looks often, and closes what was opened."""
    monkeypatch.setattr(tail_module, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(tail_module, "GRACE", 0.05)
    made, begin = [], FollowedFile.__init__

    def noted(file, handle, offset=0):
        begin(file, handle, offset)
        made.append(handle)

    monkeypatch.setattr(FollowedFile, "__init__", noted)
    yield
    for handle in made:
        handle.close()


def taken(followed, count):
    """So many rows, and that no more come."""
    found, end = [], time.monotonic() + 30
    while len(found) < count and time.monotonic() < end:
        found += [line for line in followed.take(KINDS) if line.row]
    for _ in range(20):
        assert not [line for line in followed.take(KINDS) if line.row]
        time.sleep(0.01)
    return found


def rows_of(lines):
    return [line.row for line in lines]


# -- one file --------------------------------------------------------------------------------------------------------


def open_with(path, text, offset=0):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return FollowedFile(path.open("rb"), offset)


def test_lines_count_once_they_are_complete(tmp_path):
    path = tmp_path / "rows.jsonl"
    file = open_with(path, '{"n": 1}\n\n{"n": 2')
    assert [line.row for line in file.take(KINDS)] == [{"n": 1}, None]
    assert file.take(KINDS) == []
    with path.open("a") as more:
        more.write(', "c": "a"}\n[1]\n{"n": NaN}\n{"n": {"a": 1}}\n{"n": 3}\n')
    found = file.take(KINDS)
    assert [line.row for line in found] == [{"n": 2, "c": "a"}, None, None, None, {"n": 3}]
    assert [bool(line.problem) for line in found] == [False, True, True, True, False]
    assert found[-1].end == path.stat().st_size


def test_csv_with_quotes_and_lines_within_cells(tmp_path):
    path = tmp_path / "rows.csv"
    file = open_with(path, '\ufeffn,c,note\r\n1.5,007,"a, ""b""\nsecond"\r\n,x,\r\n2,y\n')
    found = file.take(KINDS)
    assert rows_of(found)[:2] == [{"n": 1.5, "c": "007", "note": 'a, "b"\nsecond'}, {"n": None, "c": "x", "note": None}]
    assert "3 cells; it has 2" in found[2].problem
    again = FollowedFile(path.open("rb"), found[0].end)  # from the middle, by the header at the beginning
    assert rows_of(again.take(KINDS))[0] == {"n": None, "c": "x", "note": None}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"n,\xe4", "the header cannot be read: .* UTF-8"),
        (b"n,n", "the header must name each column once"),
        (b"n;c", "the header must name columns of the project"),
    ],
)
def test_a_header_that_cannot_be_used_decides_no_row_until_the_file_is_written_anew(tmp_path, header, said):
    path = tmp_path / "rows.csv"
    file = open_with(path, header + b"\n1,a\n2,b\n")
    found = file.take(KINDS)
    assert [line.row for line in found] == [None, None]
    assert all(re.match(said, line.problem) for line in found)
    path.write_bytes(b"\nn,c\n1,a\n")
    assert file.was_cut()
    assert rows_of(file.take(KINDS)) == [{"n": 1.0, "c": "a"}]


def test_a_stray_quote_and_an_endless_line_cost_one_row_each(tmp_path):
    path = tmp_path / "rows.csv"
    lines = "".join(f"{n},a,b\n" for n in range(20_000))
    file = open_with(path, 'n,c,note\n0,"stray,b\n' + lines)
    found = []
    while more := file.take(KINDS):
        found += more
    assert [line.row["n"] for line in found if line.row] == list(range(20_000))
    assert [bool(line.problem) for line in found].count(True) == 1
    file = open_with(path, b'{"n": 1}\n{"c": "' + b"a" * (CHUNK + 5) + b'"}\n{"n": 2}\n{"c": "' + b"b" * CHUNK)
    found = []
    while more := file.take(KINDS):
        found += more
    assert [line.row for line in found] == [{"n": 1}, None, {"n": 2}]


# -- a path ----------------------------------------------------------------------------------------------------------


def test_rotation_truncation_and_a_file_that_comes_later(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    followed = Tail(path, "p")
    assert followed.take(KINDS) == []
    path.write_text('{"n": 1}\n')
    assert rows_of(taken(followed, 1)) == [{"n": 1}]
    writer = path.open("a")
    path.rename(tmp_path / "rows.jsonl.1")
    writer.write('{"n": 2}\n')  # by one that has not noticed the rotation yet
    writer.flush()
    path.write_text('{"n": 3}\n')
    assert rows_of(taken(followed, 2)) == [{"n": 2}, {"n": 3}]
    writer.close()
    path.unlink()
    assert followed.take(KINDS) == []
    path.write_text('{"n": 4}\n')
    assert rows_of(taken(followed, 1)) == [{"n": 4}]
    with path.open("r+") as cut:  # as copytruncate does
        cut.truncate(0)
        cut.write('{"n": 5, "c": "longer than before"}\n')
    assert rows_of(taken(followed, 1)) == [{"n": 5, "c": "longer than before"}]
    assert "written anew" in capsys.readouterr().err


def known(followed, lines):
    """What the log would say after these lines."""
    file = followed._file
    return file.name_at(lines[-1].end, file.head()), lines[-1].end


def reopened(path, position):
    made = Tail(path, "p")
    made._known = position
    return made


def test_after_a_stop_it_goes_on_with_the_file_it_knew(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("n,c\n1,a\n2,b\n")
    followed = Tail(path, "p")
    position = known(followed, taken(followed, 2))
    with path.open("a") as more:
        more.write("3,c\n")
    assert rows_of(taken(reopened(path, position), 1)) == [{"n": 3.0, "c": "c"}]
    # rotated twice while nobody looked
    for n, old in ((4, "rows.csv.2"), (5, "rows.csv.1")):
        path.rename(tmp_path / old)
        path.write_text(f"n,c\n{n},d\n")
        os.utime(path, ns=(n * 10**18, n * 10**18))
    os.utime(tmp_path / "rows.csv.2", ns=(3 * 10**18, 3 * 10**18))
    (tmp_path / "rows.csv.bak").write_text("n,c\n99,z\n")
    assert [row["n"] for row in rows_of(taken(reopened(path, position), 3))] == [3, 4, 5]
    # a copy that another beginning took the place of, and one that is gone
    (tmp_path / "rows.csv.2").unlink()
    assert [row["n"] for row in rows_of(taken(reopened(path, position), 1))] == [5]
    assert "is not found" in capsys.readouterr().err


def test_a_long_file_is_known_again_on_another_disk(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(600)))
    assert path.stat().st_size > HEAD
    followed = Tail(path, "p")
    position = known(followed, taken(followed, 600))
    copied = path.read_text() + '{"n": 600}\n'
    path.rename(tmp_path / "elsewhere")
    path.write_text(copied)
    assert rows_of(taken(reopened(path, position), 1)) == [{"n": 600}]
    path.write_text('{"n": -1}\n' + copied)  # another one
    assert len(taken(reopened(path, position), 602)) == 602


# -- a service -------------------------------------------------------------------------------------------------------


def decided(folder):
    """The column n of every row, in the order of decisions."""
    store = SQLiteStore(folder, readonly=True)
    reader = RecordReader(settings_of(columns=KINDS))
    found = [reader.record(payload)["n"] for event, payload in store.history(1, 1) if event.kind == 3]
    store.close()
    return found


def counted(folder):
    """How many rows were decided."""
    store = SQLiteStore(folder, readonly=True)
    count = store.connection.execute("SELECT count(*) FROM item").get
    store.close()
    return count


def wait_for(folder, count, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while counted(folder) < count:
        assert time.monotonic() < end, (counted(folder), count)
        time.sleep(0.02)


def test_rows_are_decided_and_the_place_stands_in_the_event(folder, tmp_path, capsys):
    path, settings = tmp_path / "rows.jsonl", settings_of(columns=KINDS, hash_bits=6)
    tokens = make_service(folder, settings=settings)
    path.write_text('{"n": 0, "c": "a", "note": "x"}\n{"n": "no number"}\nnonsense\n{"n": 1, "other": 2}\n')
    for first in (2, 4):
        with ThreadedServer(folder, beside=Tail(path, "p").run) as server:
            wait_for(folder, first)
            with path.open("a") as more:
                more.write(f'{{"n": {first}}}\n{{"n": {first + 1}}}\n')
            wait_for(folder, first + 2)
            _, _, said = call(server.url, "GET", "/v1/p/events?after=1", token=tokens["reader"])
    assert decided(folder) == [0, 1, 2, 3, 4, 5]
    bodies = [event["body"] for event in said["events"] if event["kind"] == "decide"]
    assert [body["offset"] for body in bodies][-1] == path.stat().st_size
    assert len({body["source"][:16] for body in bodies}) == 1
    assert capsys.readouterr().err.count("was not decided") >= 2
    store = SQLiteStore(folder)
    state, _ = replayed(store, store.project("p"))
    assert list(state.tails.values()) == [(bytes.fromhex(bodies[-1]["source"])[8:], path.stat().st_size)]
    assert unpack_state(pack_state(state)).digest() == state.digest()
    store.close()
    assert run_verify(folder, None, None) == 0


def test_a_full_disk_at_the_start_is_waited_for(folder, tmp_path, monkeypatch):
    """The file keeps its rows: they are decided once there is room, without another start."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": 1, "y": 2}\n')
    tokens, tried, run = make_service(folder), threading.Event(), Runtime.run

    async def noted(runtime, job):
        try:
            return await run(runtime, job)
        except RefusedError:
            if isinstance(job, StoreJob):  # by which it is found out how far the file was read
                tried.set()
            raise

    monkeypatch.setattr(Runtime, "run", noted)
    monkeypatch.setattr(Runtime, "free_disk", lambda runtime: 0 if not tried.is_set() else runtime.least_disk)
    monkeypatch.setattr(tail_module, "TRY_AGAIN", 0.01)
    with ThreadedServer(folder, beside=Tail(path, "p").run) as server:
        assert tried.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while not (rows := server.client(tokens["reader"]).summary()["rows"]) and time.monotonic() < end:
            time.sleep(0.01)
    assert rows == 1


def test_a_champion_decides_what_a_file_brings(folder, tmp_path):
    bench = Bench(folder, settings_of(), Clock())
    model = fitted()
    crowned(bench, bytes_of(model, folder))
    bench.store.close()
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{n},{-n}\n" for n in range(30)))
    with ThreadedServer(folder, beside=Tail(path, "p").run) as server:
        end = time.monotonic() + PATIENCE
        while server.service.runtime.snapshot("p").rounds < 30:
            assert time.monotonic() < end
            time.sleep(0.02)
        labels = server.service.runtime.snapshot("p").settings.labels
    decisions, _, _ = recount(folder)
    expected = model.predict([{"x": n, "y": -n} for n in range(30)]).tolist()
    assert [labels[one.answer] for one in decisions.values()] == expected


class Growing(threading.Thread):
    """Appends numbered rows in parts that end anywhere, and rotates now and then."""

    def __init__(self, path):
        super().__init__()
        self.path, self.written, self.rotated, self.stopping = path, 0, 0, threading.Event()
        self.source = random.Random(1)

    def run(self):
        handle = self.path.open("a")
        part = ""
        while not self.stopping.is_set():
            for _ in range(self.source.randrange(1, 40)):
                part += f'{{"n": {self.written}, "c": "{self.source.choice("abc")}", "note": "text of some length"}}\n'
                self.written += 1
            cut = self.source.randrange(len(part))
            handle.write(part[:cut])
            handle.flush()
            part = part[cut:]
            if self.source.random() < 0.05:
                handle.write(part)
                handle.close()
                self.rotated += 1
                self.path.rename(self.path.with_name(f"{self.path.name}-{self.rotated:06d}"))
                handle, part = self.path.open("a"), ""
            time.sleep(0.03)
        handle.write(part)
        handle.close()


def test_kills_neither_lose_nor_repeat_a_row(folder, tmp_path):
    path = tmp_path / "rows.jsonl"
    make_service(folder, settings=settings_of(columns=KINDS, hash_bits=6, budget=5000, expected_rows=100_000))
    extra = (
        "import functools; import steelyard.service.sources.tail as tail; tail.LOOK_EVERY, tail.GRACE = 0.02, 0.1;"
        f" run_serve = functools.partial(run_serve, tail=(Path({str(path)!r}), 'p'))"
    )
    server, source = ServerProcess(folder, free_port(), extra=extra), random.Random(0)
    growing = Growing(path)
    assert server.start()
    growing.start()
    for _ in range(KILLS):
        wait_for(folder, counted(folder) + source.randrange(1, 150))
        time.sleep(source.uniform(0.0, 0.05))
        assert server.kill() == -signal.SIGKILL
        assert server.start()
    growing.stopping.set()
    growing.join()
    wait_for(folder, growing.written)
    assert server.kill(signal.SIGTERM) == 0
    server.close()
    assert decided(folder) == list(range(growing.written))
    recount(folder)


def test_what_cannot_be_followed_is_said_before_anything_is_served(folder, tmp_path, monkeypatch, capsys):
    make_service(folder)
    with pytest.raises(InvalidInputError, match="--tail"):
        run_serve(folder, "127.0.0.1", 0, [], None, None, (tmp_path, "p"))
    for name in ("q", "_service"):
        with pytest.raises(InvalidInputError, match="--project"):
            run_serve(folder, "127.0.0.1", 0, [], None, None, (tmp_path / "rows.csv", name))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the entry point sets its own
    monkeypatch.setattr(sys, "argv", ["steelyard", "serve", "--data", str(folder), "--tail", "rows.csv"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert "--project" in said.err
    assert not said.out
