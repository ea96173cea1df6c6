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
from steelyard.comparison import data
from steelyard.comparison.candidates import Candidate
from steelyard.comparison.fold import InProcess
from steelyard.models import storage, tables
from steelyard.report.pages import Page

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
    """Encodings are sorts of the texts of labels outside the candidates' own fit; a hop is a module on the rows' way.

    The way is followed from the command line to its five ends: the file is read, the labels are encoded, candidates are
    fitted (on folds, for the page, on all rows), the page is written and the model is. What lies on the stack at any of
    them counts; the files of ``comparison.page`` are one.
    """
    encoded: list[list[str]] = []
    stacks: dict[str, list[list[str]]] = {}
    fitting = [False]
    unique = np.unique

    def counted_unique(values: Any, *args: Any, **settings: Any) -> Any:
        array = np.asarray(values)
        if not fitting[0] and array.dtype.kind in "UO" and len(array) >= ROWS // FOLDS and "good" in array:
            encoded.append(list(modules(sys._getframe(1))))
        return unique(values, *args, **settings)

    def watch(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def watched(*args: Any, **settings: Any) -> Any:
            stacks.setdefault(name, []).append(list(modules(sys._getframe(1))))
            fitting[0] = name == "fit"
            try:
                return original(*args, **settings)
            finally:
                fitting[0] = False

        monkeypatch.setattr(owner, name, watched)

    monkeypatch.setattr(np, "unique", counted_unique)
    ends = [(tables, "read_table"), (data, "check_labels"), (Candidate, "fit"), (Page, "write")]
    for owner, name in [*ends, (storage, "write_container")]:
        watch(owner, name)
    compare_file(file, monkeypatch)
    assert '"winner"' in capsys.readouterr().out
    assert 1 <= len(encoded) <= MOST_ENCODINGS, encoded
    assert stacks.keys() == {"read_table", "check_labels", "fit", "write", "write_container"}
    assert any("comparison.page" in module for stack in stacks["fit"] for module in stack)  # it follows all fits
    route = {station(module) for found in stacks.values() for stack in found for module in stack}
    assert len(route) <= MOST_HOPS, sorted(route)


def station(module: str) -> str:
    """A module; the files of the page are one, and so are those of the command line."""
    whole = ("steelyard.comparison.page", "steelyard.cli")
    return next((room for room in whole if module.startswith(room)), module)
