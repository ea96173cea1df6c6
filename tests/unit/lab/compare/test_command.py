"""The commands compare and predict: files in, files out, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

COMPARE = ("compare", "data.csv", "--target", "y", "--time", "2", "--folds", "2", "--jobs", "1", "--out", "out")


def steelyard(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from steelyard.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def write(folder: Path, header: str, rows: list[str]) -> None:
    (folder / "data.csv").write_text("\n".join([header, *rows]) + "\n")


def test_compare_then_predict(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    rows = [f"{v:.3f},{rng.choice(['u', 'v'])},{10 * rng.random():.2f},{'bad' if v > 0.3 else 'good'}" for v in a]
    write(tmp_path, "a,b,amount,y", rows)
    done = steelyard(tmp_path, *COMPARE, "--costs", "fp=1", "--fn-cost-column", "amount", "--positive", "bad", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["leaderboard"]
    assert (tmp_path / "out" / "report.html").exists()
    told = steelyard(tmp_path, "predict", "out/model.steelyard", "data.csv")
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert lines[0].startswith("decision")
    assert len(lines) == 81


@pytest.mark.parametrize(
    ("header", "rows", "extra", "message"),
    [
        ("a,b", ["1,2"] * 30, (), "target"),
        ("a,y", [f"{i},x" for i in range(30)], (), "two or more classes"),
        ("a,y", [f"{i},{'xz'[i % 2]}" for i in range(30)], ("--costs", "costs.csv"), "every class"),
        ("a,b,y", [f"{i},,{'xz'[i % 2]}" for i in range(30)], (), "--drop b"),
        ("a,a,y", ["1,2,x", "3,4,z"] * 20, (), "twice"),
        ("a,y", [f"{i},{'xz'[i % 2]}" for i in range(10)], (), "at least 20 rows"),
        ("a,b,y", [f"{i},v{i},{'xz'[i % 2]}" for i in range(50_000)], (), "--drop b"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(
    tmp_path: Path, header: str, rows: list[str], extra: tuple[str, ...], message: str
) -> None:
    write(tmp_path, header, rows)
    (tmp_path / "costs.csv").write_text("true,x,q\nx,0,1\nq,1,0\n")
    done = steelyard(tmp_path, *COMPARE, *extra)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("")
    done = steelyard(tmp_path, *COMPARE)
    assert done.returncode == 2
    assert "empty file" in done.stderr
