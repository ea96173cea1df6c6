"""Trials reserved by processes that live, that are gone, and that are silent."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import optuna
import pytest
from forked import Forked
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from steelyard.search import reservations
from steelyard.search.reservations import Reservations, machine, may_live
from steelyard.search.study import open_storage

SPACE = {"c": FloatDistribution(0.1, 1.0)}
optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    optuna.create_study(study_name="s", storage=open_storage(tmp_path / "j.log"))
    return tmp_path / "j.log"


def open_journal(journal: Path, n_trials: int) -> Reservations:
    return Reservations(optuna.load_study(study_name="s", storage=open_storage(journal)), n_trials)


def states(made: Reservations) -> list[str]:
    return [trial.state.name for trial in made.study.get_trials(deepcopy=False)]


def test_no_more_than_wanted_are_reserved_however_many_ask_at_once(journal: Path) -> None:
    found: list[int] = []
    ready = threading.Barrier(4)

    def ask() -> None:
        one = open_journal(journal, 10)
        assert one.left() == 10
        ready.wait()  # all have seen that ten are left
        found.extend(trial.number for trial in one.reserve(5, SPACE))

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(found) == list(range(10))
    assert states(open_journal(journal, 10)).count("FAIL") == 10


KILLED = """
import sys, time
import optuna
from optuna.distributions import FloatDistribution
from steelyard.search.reservations import Reservations
from steelyard.search.study import open_storage
made = Reservations(optuna.load_study(study_name="s", storage=open_storage(sys.argv[1])), 3)
with made.alive():
    made.reserve(2, {"c": FloatDistribution(0.1, 1.0)})
    print("reserved", flush=True)
    time.sleep(60)
"""


def test_vectors_of_a_killed_process_are_judged_by_another(journal: Path) -> None:
    process = Forked(KILLED, journal, modules=("optuna", "steelyard.search.reservations"))
    process.stdout.readline()
    mine = open_journal(journal, 3)
    assert mine.left() == 1
    before = [trial.params for trial in mine.study.get_trials(deepcopy=False)]
    process.kill()
    process.close()
    assert mine.left() == 3
    assert states(mine) == ["FAIL", "FAIL", "WAITING", "WAITING"]
    again = mine.reserve(2, SPACE)
    assert [trial.params for trial in again] == before
    assert open_journal(journal, 3).left() == 1  # reserved by us, who live


def test_a_silent_process_of_another_machine_expires(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(reservations.time, "monotonic", lambda: clock[0])
    away, mine = open_journal(journal, 2), open_journal(journal, 2)
    away.owner = "another machine/1/x"
    away.reserve(1, SPACE)
    mine.study.ask(SPACE)  # nobody says whose it is
    away.study.set_user_attr("alive another machine/1/x", 1)
    assert mine.left() == 0
    clock[0] = 50.0
    away.study.set_user_attr("alive another machine/1/x", 2)
    assert mine.left() == 0
    clock[0] = 100.0
    assert mine.left() == 1  # the one without an owner
    clock[0] = 111.0
    assert mine.left() == 2


def test_a_process_says_that_it_lives_while_it_judges(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "BEAT", 0.01)
    mine = open_journal(journal, 1)
    with mine.alive():
        until = time.monotonic() + 30
        while mine.study.user_attrs.get(f"alive {mine.owner}", 0) < 3 and time.monotonic() < until:
            time.sleep(0.01)
    assert mine.study.user_attrs[f"alive {mine.owner}"] >= 3


def test_who_may_live() -> None:
    assert may_live(f"{machine()}/{os.getpid()}/x")
    assert may_live("elsewhere/1/x")
    assert may_live("odd")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not may_live(f"{machine()}/{ended.pid}/x")


def test_a_trial_that_another_has_judged_meanwhile_is_left_alone(journal: Path) -> None:
    slow, quick = open_journal(journal, 1), open_journal(journal, 1)
    (trial,) = slow.reserve(1, SPACE)
    quick.study.tell(trial.number, state=TrialState.FAIL)
    slow.study.tell(trial, 0.5, skip_if_finished=True)
    assert quick.left() == 1
