"""``python -m bench.quality.measure --folder F [--portfolio] [--portion S]``: settings on the choosing half.

Each pair of table and setting is one file of the folder: probabilities out of fold and of a fit on all rows for the
held-out ones, as they come from the learner. ``portfolio`` and ``variants`` work on these files; nothing of the
reporting half is ever read here.
"""

from __future__ import annotations

import argparse
import time
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.cache import FoldResult
from steelyard.comparison.candidates import Candidate
from steelyard.comparison.data import ComparisonData, read_data
from steelyard.comparison.fold import FoldRunner, as_rows, single_threaded
from steelyard.comparison.registry import KINDS
from steelyard.comparison.registry import everyone as registered
from steelyard.comparison.schedule import Unit
from steelyard.decision.blending import code_probabilities

from . import tables

FOLDS = 5
_LAST = ("shared:ijcnn1",)  # takes as long as several others
SETTINGS = Path(__file__).parent / "settings.toml"


def settings() -> list[Candidate]:
    """The long list, from which the portfolio is built."""
    listed = tomllib.loads(SETTINGS.read_text())["setting"]
    return [Candidate(s["name"], KINDS[s["kind"]], s["params"], s.get("weighted", False)) for s in listed]


def path_of(folder: Path, table: str, name: str) -> Path:
    plain = "".join(c if c.isalnum() else "-" for c in f"{table} {name}")
    return folder / f"{plain}.npz"


def problem_of(table: str, seed: int = 0) -> tuple[tables.Cut, ComparisonData]:
    cut = tables.cut(table, seed)
    return cut, read_data(cut.X, cut.y, cut.costs, seed=seed)


def measure(cut: tables.Cut, data: ComparisonData, runner: FoldRunner, candidate: Candidate) -> dict[str, Any] | str:
    """Probabilities out of fold and for the held-out rows, with the CPU time of the folds; or why there are none."""
    rows = len(data.codes)
    judged = runner.judged(rows)
    told = np.zeros((rows, len(data.classes)), dtype=np.float32)
    rounds, cpu = [], 0.0
    for fold in range(judged.n_folds):
        result = runner.run(Unit(0, rows, fold), candidate)
        if not isinstance(result, FoldResult):
            return result
        told[judged.split(fold)[1]] = result.proba
        cpu += result.cpu_seconds
        rounds += [] if result.rounds is None else [result.rounds]
    with single_threaded():
        encoder = candidate.new_encoder(data)
        prepared = as_rows(encoder.fit_transform(data.X, data.codes))
        model, _ = candidate.fit(prepared, data, round(float(np.mean(rounds))) if rounds else None)
        new = code_probabilities(model, as_rows(encoder.transform(cut.rows_new)), len(data.classes))
    return {"out_of_fold": told, "new": new.astype(np.float32), "cpu": cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--tables", default="", help="of the choosing half, comma between them; else all")
    parser.add_argument("--without", default="", help="kinds or names to leave out, semicolon between them")
    parser.add_argument(
        "--portfolio", action="store_true", help="only what `compare` knows: its portfolio, and what joins"
    )
    parser.add_argument("--portion", type=float, default=float("inf"), help="start nothing after so many seconds")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + given.portion
    warnings.simplefilter("ignore")
    names = sorted(tables.names("choosing"), key=lambda name: name in _LAST)
    chosen = [name for name in given.tables.split(",") if name in names] if given.tables else names
    left_out = given.without.split(";")
    kinds = [KINDS[kind] for kind in left_out if kind in KINDS]
    known = {c.name for c in (registered() if given.portfolio else settings())}
    everyone = [c for c in settings() if c.kind not in kinds and c.name not in left_out and c.name in known]
    for table in chosen:
        todo = [c for c in everyone if not path_of(given.folder, table, c.name).exists()]
        if not todo:
            continue
        cut, data = problem_of(table)
        runner = FoldRunner(data, FOLDS)
        for candidate in todo:
            if time.monotonic() > until:
                return
            unable = candidate.unable(data)
            found = unable if unable is not None else measure(cut, data, runner, candidate)
            content = {"why_not": np.array(found)} if isinstance(found, str) else found
            np.savez(path_of(given.folder, table, candidate.name), **content)
            print(
                f"{table:26s} {candidate.name:40s} {found if isinstance(found, str) else round(found['cpu'], 2)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
