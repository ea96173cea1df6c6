"""The folder of a comparison: ours is marked, the user's is not touched."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from steelyard.cli import main
from steelyard.comparison.out_folder import claim_folder, keep_earlier, open_state
from steelyard.errors import InvalidInputError, StateError
from steelyard.files import lock_file


@pytest.mark.parametrize("name", ["report.html", "model.steelyard", "state"])
def test_a_file_of_the_user_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidInputError, match=f"--out must hold no {name} of yours"):
        claim_folder(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_other_files_of_the_user_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    state = open_state(tmp_path, "{}", resume=False)
    np.savez(state / "mine.npz", a=np.arange(3))
    np.savez(state / "logistic.0.npz", failed=np.array("failed"))
    np.savez(state / "logistic.1.npz", about=np.array("{}"), proba=np.arange(3))
    (state / "broken.npz").write_text("no zip")
    (state / ".gitignore").write_text("mine")
    assert open_state(tmp_path, "{}", resume=True) == state
    assert len(list(state.glob("*.npz"))) == 4
    open_state(tmp_path, "{}", resume=False)
    assert sorted(p.name for p in state.glob("*.npz")) == ["broken.npz", "mine.npz"]
    assert (state / ".gitignore").read_text() == "mine"
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_only_the_same_question_goes_on(tmp_path: Path) -> None:
    open_state(tmp_path, "{}", resume=False)
    with pytest.raises(StateError, match="the same data"):
        open_state(tmp_path, "{1}", resume=True)


def test_an_earlier_report_is_kept_by_its_time_or_overwritten(tmp_path: Path) -> None:
    claim_folder(tmp_path)
    for text in ("first", "second", "third"):
        (tmp_path / "report.html").write_text(text)
        (tmp_path / "model.steelyard").write_text(text)
        assert len(keep_earlier(tmp_path, overwrite=False)) == 2
        claim_folder(tmp_path)
    assert {p.read_text() for p in tmp_path.glob("report-*.html")} == {"first", "second", "third"}
    (tmp_path / "report.html").write_text("fourth")
    assert keep_earlier(tmp_path, overwrite=True) == []
    assert (tmp_path / "report.html").read_text() == "fourth"


def test_a_second_comparison_on_the_folder_stops_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = tmp_path / "mine", tmp_path / "missing.csv"
    claim_folder(out)
    monkeypatch.setattr(sys, "argv", ["steelyard", "compare", str(rows), "--target", "y", "--out", str(out)])
    with lock_file(out), pytest.raises(SystemExit) as ended:
        main()  # before it looks for its rows, which are not there
    assert ended.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"mine is in use by process {os.getpid()} since" in said
    assert sorted(p.name for p in out.iterdir()) == [".lock", ".steelyard-report"]
