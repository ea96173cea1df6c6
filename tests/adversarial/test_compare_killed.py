"""Comparisons that are killed, disturbed and started in other ways tell the same in the end, byte for byte."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills and stops with signals")
KILLS = int(os.environ.get("STEELYARD_KILLS", "2"))  # 20 of them before a release
# One learner that splits rows and draws, one that solves, one that takes rows in their order; three folds of each.
CANDIDATES = ["LightGBM, random splits, 8 leaves", "logistic regression, C=1", "CSOGD-II, one pass"]
UNITS = 3 * len(CANDIDATES)
ASKED = ["compare", "data.csv", "--target", "y", "--costs", "fn=5,fp=1", "--folds", "3", "--json"]
ASKED += ["--effort", str(UNITS), *(word for name in CANDIDATES for word in ("--candidates", name))]


def start(folder: Path, *more: str, **environment: str) -> subprocess.Popen[bytes]:
    """The command, leader of a group of processes."""
    return subprocess.Popen(
        [sys.executable, "-c", "from steelyard.cli import main; main()", *ASKED, *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
        start_new_session=True,
    )


def output_of(process: subprocess.Popen[bytes]) -> bytes:
    shown, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()
    return shown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=rng.choice(["u", "v", "w"], 120))
    frame["y"] = np.where(X[:, 0] + rng.normal(size=120) > 0.5, "bad", "good")
    place = tmp_path_factory.mktemp("killed")
    frame.to_csv(place / "data.csv", index=False)
    return place


@pytest.fixture(scope="module")
def alone(folder: Path) -> bytes:
    """What a run tells that is left alone; every candidate answered all folds."""
    shown = output_of(start(folder, "--out", "alone", "--jobs", "1", PYTHONHASHSEED="1"))
    assert set(CANDIDATES) <= {line["name"] for line in json.loads(shown)["leaderboard"]}
    return shown


def test_killed_at_random_moments_then_resumed_is_the_run_that_was_left_alone(folder: Path, alone: bytes) -> None:
    """Moments are counted in finished units, from none to all of them, and a little time: load does not move them."""
    moments = random.Random(KILLS)
    state = folder / "killed" / "state"
    killed = 0
    for units in sorted(moments.randint(0, UNITS) for _ in range(KILLS)):
        process = start(folder, "--out", "killed", "--resume", "--jobs", "1")
        while process.poll() is None and len(list(state.glob("*.npz"))) < units:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed > 0
    assert output_of(start(folder, "--out", "killed", "--resume", "--jobs", "1")) == alone


def test_pauses_jobs_and_hash_seeds_change_no_byte(folder: Path, alone: bytes) -> None:
    """Pauses are what a loaded machine does to a process, at no cost: every clock runs on and no work is done."""
    process = start(folder, "--out", "paused", "--jobs", "2", PYTHONHASHSEED="2")
    moments = random.Random(0)
    while process.poll() is None and not (folder / "paused" / "report.html").exists():
        time.sleep(moments.uniform(0.0, 0.2))
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(moments.uniform(0.0, 0.2))
        os.killpg(process.pid, signal.SIGCONT)
    assert output_of(process) == alone
