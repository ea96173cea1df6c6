"""Finished folds as files, so that a comparison can go on where it was left."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import write_atomically
from .candidates import Candidate
from .out_folder import is_fold


@dataclass(frozen=True)
class FoldResult:
    """Answers of one contender on one test fold as class codes, probabilities where it has them, and what it took.

    ``rows`` is what it was taught with; ``team_seconds`` what the fold took with those it shares work with.
    """

    fold: int
    predicted: NDArray[np.intp]
    proba: NDArray[np.float32] | None
    fit_seconds: float
    predict_seconds: float
    team_seconds: float
    rows: int
    cost: float  # mean over the fold


def _slug(candidate: Candidate) -> str:
    return re.sub(r"[^a-z0-9]+", "-", candidate.name.lower()).strip("-")


def save_fold(state: Path | None, candidate: Candidate, result: FoldResult) -> None:
    """Write one fold; whoever looks finds it whole or not at all."""
    if state is None:
        return
    state.mkdir(parents=True, exist_ok=True)
    proba: dict[str, Any] = {} if result.proba is None else {"proba": result.proba}
    target = state / f"{_slug(candidate)}.{result.fold}.npz"
    took = json.dumps([result.fit_seconds, result.predict_seconds, result.team_seconds, result.rows, result.cost])
    with write_atomically(target) as file:
        np.savez(file, predicted=result.predicted, took=np.array(took), **proba)


def read_folds(state: Path | None, candidate: Candidate) -> dict[int, FoldResult]:
    """The folds a contender has finished before."""
    found: dict[int, FoldResult] = {}
    if state is None:
        return found
    for path in state.glob(f"{_slug(candidate)}.*.npz"):
        if not is_fold(path):
            continue
        with np.load(path, allow_pickle=False) as file:
            fold = int(path.suffixes[-2][1:])
            found[fold] = FoldResult(fold, file["predicted"], file.get("proba"), *json.loads(str(file["took"])))
    return found
