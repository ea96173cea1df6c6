"""Finished units as files, so that a comparison can go on where it was left."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..files import write_atomically
from .out_folder import open_state
from .schedule import Unit


@dataclass(frozen=True)
class FoldResult:
    """Probabilities of one candidate for the held-out rows of a fold, its boosting rounds, and the CPU time."""

    proba: NDArray[np.float32]
    rounds: int | None
    cpu_seconds: float
    fit_seconds: float
    predict_seconds: float


class UnitCache:
    """Results of units in a folder; without one nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def save_fold(self, unit: Unit, result: FoldResult | str) -> None:
        """Write one result; whoever looks finds it whole or not at all."""
        if self._folder is None:
            return
        with write_atomically(self._path(unit)) as file:
            if isinstance(result, str):
                np.savez(file, failed=np.array(result))
                return
            times = [result.cpu_seconds, result.fit_seconds, result.predict_seconds]
            about = json.dumps({"rounds": result.rounds, "times": times})
            np.savez(file, proba=result.proba, about=np.array(about))

    def read_fold(self, unit: Unit, shape: tuple[int, int]) -> FoldResult | str | None:
        """The result of a unit that was finished before; None where it was not, or its file is broken."""
        if self._folder is None or not self._path(unit).exists():
            return None
        try:
            with self._path(unit).open("rb") as content, np.load(content, allow_pickle=False) as file:
                if "failed" in file:
                    return str(file["failed"])
                about, proba = json.loads(str(file["about"])), file["proba"]
                if proba.shape != shape or proba.dtype != np.float32 or not np.isfinite(proba).all():
                    return None
                rounds = about["rounds"]
                times = [float(t) for t in about["times"]]
                return FoldResult(proba, None if rounds is None else int(rounds), *times)
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def _path(self, unit: Unit) -> Path:
        assert self._folder is not None
        again = f"-{unit.repeat}" if unit.repeat else ""
        return self._folder / f"{unit.candidate:03d}-{unit.rows}-{unit.fold}{again}.npz"


def open_cache(out: Path | None, question: str, resume: bool) -> UnitCache:
    """The folder of units below ``out``; only the same question may go on from what is there."""
    return UnitCache(None if out is None else open_state(out, question, resume))
