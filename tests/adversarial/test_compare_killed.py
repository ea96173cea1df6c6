"""Comparisons that are killed, loaded and started in other ways tell the same in the end, byte for byte."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

KILLS = int(os.environ.get("STEELYARD_KILLS", "2"))  # 20 of them before a release
ASKED = ("compare", "data.csv", "--target", "y", "--costs", "fn=5,fp=1", "--folds", "3", "--json", "--effort", "20")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=rng.choice(["u", "v", "w"], 120))
    frame["y"] = np.where(X[:, 0] + rng.normal(size=120) > 0.5, "bad", "good")
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def start(folder: Path, *more: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from steelyard.cli import main; main()", *ASKED, *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
    )


def output_of(process: subprocess.Popen[bytes]) -> bytes:
    shown, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()
    return shown


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
def test_killed_at_random_moments_then_resumed_is_the_run_that_was_left_alone(folder: Path) -> None:
    """Moments are counted in finished units, from none to all of them, and a little time: load does not move them."""
    alone = output_of(start(folder, "--out", "alone"))
    moments = random.Random(KILLS)
    state = folder / "killed" / "state"
    killed = 0
    for units in sorted(moments.randint(0, 20) for _ in range(KILLS)):
        process = start(folder, "--out", "killed", "--resume")
        while process.poll() is None and len(list(state.glob("*.npz"))) < units:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed > 0
    assert output_of(start(folder, "--out", "killed", "--resume")) == alone


def test_load_jobs_and_hash_seeds_change_no_byte(folder: Path) -> None:
    alone = output_of(start(folder, "--out", "one", "--jobs", "1", PYTHONHASHSEED="1"))
    load: list[Any] = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        loaded = output_of(start(folder, "--out", "two", "--jobs", "3", PYTHONHASHSEED="2"))
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert loaded == alone
