"""Power cuts on a disk that drops and tears what was not synced, disks that are full and that fail."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from power_cut import CutVFS, Disk
from service_bench import Bench, HandClock, made_up, settings_of
from service_server import ServerProcess, ThreadedServer, call, free_port, make_service

from steelyard.service.database.sqlite import DATABASE, SQLiteStore
from steelyard.service.log.events import Kind, unpack
from steelyard.service.writer.clock import Clock
from steelyard.service.writer.jobs import AnswerJob, ExpireJob, RenewJob, RetainJob
from steelyard.service.writer.projects import create_project, load_project, replayed
from steelyard.service.writer.verify import verify_project

CUTS = int(os.environ.get("STEELYARD_SERVICE_CUTS", "50"))


class CutBench(Bench):
    """A project on a disk whose power can be cut."""

    def __init__(self, folder: Path, disk: Disk, vfs: str, synchronous: str) -> None:
        self.clock = HandClock()
        self.store = SQLiteStore(folder, vfs=vfs)
        if synchronous != "as it is":
            self.store.connection.execute(f"PRAGMA synchronous = {synchronous}")
        create_project(self.store, "p", settings_of(), at=self.clock.now())
        self.project = load_project(self.store, self.store.project("p"))


def cut_once(folder: Path, seed: int, synchronous: str) -> tuple[int, int]:
    """Decide and answer, cut the power, start again: (answered before, of them lost)."""
    source = random.Random(seed)
    disk = Disk(source)
    name = f"cut-{seed}-{synchronous}"
    vfs = CutVFS(name, disk)
    before, after = folder / "before", folder / "after"
    before.mkdir()
    after.mkdir()
    bench = CutBench(before, disk, name, synchronous)
    said: dict[int, float] = {}
    labelled: set[int] = set()
    for _ in range(source.randrange(3, 25)):
        for made in bench.decide(*(made_up(source, False) for _ in range(source.randrange(1, 6)))):
            said[made.id] = made.score
            if made.ask and source.random() < 0.7:
                bench.run(AnswerJob("p", 2, answers=[(made.id, "good", None)]))
                labelled.add(made.id)
        if source.random() < 0.2:
            bench.store.connection.wal_checkpoint()
    digest = bench.state.digest()
    disk.after_power_cut(after)
    bench.store.close()
    del vfs
    lost = 0
    try:
        store = SQLiteStore(after)
        head = store.project("p")
        if head is None:
            lost = len(said)
        else:
            events = {e.seq: unpack(e) for e in store.events(head.id, 0)}
            answered = {e.item for e in store.events(head.id, 0) if e.kind == Kind.ANSWER}
            lost = sum(i not in events or events[i].score != score for i, score in said.items())
            lost += len(labelled - answered)
            verify_project(store, head)
            if not lost:
                assert load_project(store, head).state.digest() == digest
        store.close()
    finally:
        shutil.rmtree(before)
        shutil.rmtree(after)
    return len(said), lost


def test_power_cuts_lose_nothing_that_was_answered(folder):
    assert sum(cut_once(folder, seed, "as it is")[1] for seed in range(CUTS)) == 0


def test_full_sync(folder):
    """The same, quickly: every commit is on the disk."""
    assert sum(cut_once(folder, seed, "as it is")[1] for seed in range(1000, 1006)) == 0


def test_the_control_loses_some(folder):
    """Without the sync of each commit the same disk loses answers: so the test can tell."""
    assert sum(cut_once(folder, seed, "NORMAL")[1] for seed in range(20)) > 0


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
"""
BROKEN_SYNC = """
import apsw
from steelyard.service.database import sqlite
class File(apsw.VFSFile):
    def __init__(self, name, flags):
        self.wal = (name.filename() if isinstance(name, apsw.URIFilename) else str(name)).endswith("-wal")
        super().__init__("", name, flags)
    def xSync(self, flags):
        File.syncs += self.wal
        if self.wal and File.syncs > {limit}:
            raise apsw.IOError("fsync")
        super().xSync(flags)
class Failing(apsw.VFS):
    def __init__(self):
        super().__init__("failing", "")
    def xOpen(self, name, flags):
        return File(name, flags)
File.syncs = 0
vfs = Failing()
opened = sqlite.open_database
def open_failing(path, *, readonly=False, vfs=None):
    return opened(path, readonly=readonly, vfs=None if readonly else "failing")
sqlite.open_database = open_failing
"""


@pytest.mark.parametrize(
    ("extra", "limits"),
    [(FULL_DISK, (220_000, 260_000, 300_000, 420_000)), (BROKEN_SYNC, (2, 5, 9))],
    ids=["full", "fsync"],
)
def test_a_commit_that_fails_ends_the_server_without_an_answer(extra, limits, folder):
    for limit in limits:
        data = folder / str(limit)
        data.mkdir()
        tokens = make_service(data)
        port = free_port()
        said = {}
        server = ServerProcess(data, port, extra=extra.format(limit=limit))
        if server.start():
            for n in range(2000):
                try:
                    headers = {"Idempotency-Key": f"k{n}"}
                    body = {"row": {"x": n % 7, "y": 1.5}}
                    status, _, made = call(
                        server.url, "POST", "/v1/p/decide", token=tokens["producer"], body=body, headers=headers
                    )
                except OSError:
                    break
                if status != 200:
                    assert status == 507
                    break
                said[made["id"]] = made["score"]
            assert server.end() == 70
        server.close()
        assert len(said) < 2000
        store = SQLiteStore(data)
        head = store.project("p")
        verify_project(store, head)
        events = {e.seq: unpack(e) for e in store.events(head.id, 0)}
        store.close()
        assert all(events[item].score == score for item, score in said.items())


def test_below_the_least_free_disk_writes_are_refused(folder):
    tokens = make_service(folder)
    with ThreadedServer(folder) as server:
        server.service.runtime.least_disk = 2**62
        headers = {"Idempotency-Key": "k"}
        said = call(server.url, "POST", "/v1/p/decide", token=tokens["producer"], body={"row": {}}, headers=headers)
        assert (said[0], said[2]["error"]) == (507, "disk_full")
        assert call(server.url, "GET", "/ready")[0] == 503
        assert call(server.url, "GET", "/v1/p/summary", token=tokens["reader"])[2]["rows"] == 0


# -- clocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [-86400.0, 10 * 365 * 86400.0, 0.0], ids=["back", "forward", "frozen"])
def test_the_clock_moves_no_decision_and_closes_nothing(jump, folder):
    runs = []
    for jumping in (False, True):
        clock, source = HandClock(), random.Random(2)
        place = folder / str(jumping)
        place.mkdir()
        bench = Bench(place, settings_of(), clock)
        made, at = [], []
        for n in range(120):
            if jumping and n == 50:
                clock.seconds += jump
            elif not (jumping and jump == 0.0):
                clock.advance(0.5)
            (one,) = bench.decide(made_up(source, n % 4 == 0))
            made.append((one.t, one.score, one.chance, one.ask))
            at.append(bench.project.at)
            if one.ask and n % 2:
                bench.run(AnswerJob("p", 2, answers=[(one.id, "good", None)]))
        assert at == sorted(at)
        if jumping:
            assert clock.trusted() == (jump == 0.0)  # the timer closes nothing while it is not
        runs.append(made)
        bench.store.close()
    assert runs[0] == runs[1]


@pytest.mark.parametrize("restart", [False, True])
def test_a_jump_that_has_ended_closes_no_question_and_erases_no_row(restart, folder):
    """Its events stay ahead of the clock, since their time never falls; what is due goes by the clock."""
    clock, source, jump = HandClock(), random.Random(2), 3650 * 86400.0
    bench = Bench(folder, settings_of(keep_payloads="30d"), clock)
    bench.decide(*(made_up(source, n % 2 == 0) for n in range(60)))
    waiting = sorted(bench.state.open_rows)
    clock.seconds += jump
    bench.decide(made_up(source, True))
    clock.seconds -= jump
    clock.advance(60.0)
    assert clock.trusted()
    if restart:
        bench.restart()
    for job in (ExpireJob("p", 0), RetainJob("p", 0)):
        assert bench.run(job) == 0
    assert waiting[0] in bench.state.open_rows
    clock.advance(14 * 86400.0)
    assert bench.run(ExpireJob("p", 0)) == len(waiting)  # not before their time, and then all the same
    bench.store.close()


def test_after_a_jump_that_has_ended_questions_expire_and_budgets_renew(folder):
    clock, source, hour = HandClock(), random.Random(2), 3600.0
    settings = settings_of(query="AskAll()", pace=False, renew="3/hour", expire=6 * 3600, budget=20)
    bench = Bench(folder, settings, clock)
    clock.seconds += 3650 * 86400.0
    (asked,) = bench.decide(made_up(source, True))
    clock.seconds -= 3650 * 86400.0
    closed = renewed = 0
    for n in range(24):
        clock.advance(hour)
        bench.decide(made_up(source, True))
        closed += bench.run(ExpireJob("p", 0))
        renewed += bench.run(RenewJob("p", 0))
        if n == 4:
            assert asked.id in bench.state.open_rows
        if n == 12:
            bench.restart()
    assert asked.id not in bench.state.open_rows
    assert closed >= 10
    assert renewed >= 3 * 10
    state, _ = replayed(bench.store, bench.store.project("p"))
    assert state.digest() == bench.state.digest()
    bench.store.close()


def test_a_clock_that_comes_back_is_trusted_again():
    clock = HandClock()
    clock.seconds += 86400
    assert not clock.trusted()
    clock.seconds -= 86400
    assert clock.trusted()
    assert Clock().trusted()


def test_a_second_server_is_refused(folder):
    make_service(folder)
    port = free_port()
    first, second = ServerProcess(folder, port), ServerProcess(folder, free_port())
    assert first.start()
    assert not second.start()
    first.kill()
    assert second.start()
    second.kill()
    first.close()
    second.close()
    assert (folder / DATABASE).is_file()
