"""The way of the data through ``compare``: labels are encoded at the door, and rows pass through few hands."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import steelyard.comparison
from steelyard import cli
from steelyard.comparison.candidates import Candidate
from steelyard.comparison.workers import InProcess

ROWS, FOLDS = 1_000, 3
MOST_ENCODINGS = 3
MOST_HOPS = 10


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    labels = np.where(X[:, 0] + rng.normal(size=ROWS) > 1, "bad", "good")
    towns = rng.choice(["u", "v", "w"], ROWS)
    lines = [f"{a:.6g},{b:.6g},{town},{label}" for (a, b), town, label in zip(X, towns, labels, strict=True)]
    path = tmp_path / "rows.csv"
    path.write_text("a,b,town,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def modules(frame: FrameType | None) -> Iterator[str]:
    """Modules of the package on the stack, the innermost first, runs of one counted once."""
    last = ""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("steelyard") and name != last:
            yield name
            last = name
        frame = frame.f_back


def compare_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``steelyard compare`` in this process alone."""
    in_process = lambda data, cv, *args, **settings: InProcess(data, cv)  # noqa: E731
    monkeypatch.setattr(steelyard.comparison, "WorkerPool", in_process)
    options = ["--costs", "fn=5,fp=1", "--positive", "bad", "--effort", "6", "--folds", str(FOLDS), "--json", "--quiet"]
    arguments = ["steelyard", "compare", str(file), "--target", "y", "--out", str(file.parent / "out"), *options]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code in (0, None)


def test_labels_are_encoded_at_the_door_and_rows_take_few_hops(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Encodings are sorts of the texts of labels outside the candidates' own fit; a hop is a call into another module.

    The hops are those that lead from the command line to a fit: the modules on the stack when a candidate is fitted,
    and the two that gave the rows their forms on the way, ``models.tables`` and ``comparison.data``.
    """
    encoded: list[list[str]] = []
    stacks: list[list[str]] = []
    fitting = [False]
    unique, fit = np.unique, Candidate.fit

    def counted_unique(values: Any, *args: Any, **settings: Any) -> Any:
        array = np.asarray(values)
        if not fitting[0] and array.dtype.kind in "UO" and len(array) >= ROWS // FOLDS and "good" in array:
            encoded.append(list(modules(sys._getframe(1))))
        return unique(values, *args, **settings)

    def watched_fit(self: Candidate, *args: Any, **settings: Any) -> Any:
        stacks.append(list(modules(sys._getframe(1))))
        fitting[0] = True
        try:
            return fit(self, *args, **settings)
        finally:
            fitting[0] = False

    monkeypatch.setattr(np, "unique", counted_unique)
    monkeypatch.setattr(Candidate, "fit", watched_fit)
    compare_file(file, monkeypatch)
    assert '"winner"' in capsys.readouterr().out
    assert 1 <= len(encoded) <= MOST_ENCODINGS, encoded
    route = {"steelyard.models.tables", "steelyard.comparison.data", "steelyard.comparison.candidates", *stacks[0]}
    assert len(route) <= MOST_HOPS, sorted(route)
