"""One work unit: the rows of a fold prepared once per encoder, a setting fitted, the held-out rows answered."""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..decision.blending import code_probabilities
from .cache import FoldResult
from .candidates import Candidate
from .data import ComparisonData
from .schedule import Unit, assign_folds, count_folds

_CACHE_BYTES = 100 << 20  # prepared rows that are kept beside those in use, for tables of any size
_CACHE_TABLES = 2  # or this many times the table in single precision


@contextmanager
def single_threaded() -> Iterator[None]:
    """One thread, since units run side by side, and no warnings: a learner is judged by its answers."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


class Judged:
    """The rows of a rung and the fold that holds each out."""

    def __init__(self, data: ComparisonData, rows: int, cv: int, repeat: int = 0) -> None:
        self.rows = data.sample_rows(rows)
        part = data.labels_only().subset(self.rows)
        if part.folds is None:
            self.fold = assign_folds(part, count_folds(len(data.codes), cv), repeat)
        else:
            self.fold = np.unique(part.folds, return_inverse=True)[1].astype(np.intp)
        self.n_folds = int(self.fold.max()) + 1

    def split(self, fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the table to fit on, and held-out ones."""
        held = self.fold == fold
        return self.rows[~held], self.rows[held]


class FoldRunner:
    """Runs units; keeps prepared rows so that each fold is prepared once for each encoder."""

    def __init__(self, data: ComparisonData, cv: int) -> None:
        self.data = data
        self._cv = cv
        self._judged: dict[tuple[int, int], Judged] = {}
        self._prepared: OrderedDict[tuple[int, int, int, str], tuple[Any, Any]] = OrderedDict()
        self._room = max(_CACHE_BYTES, _CACHE_TABLES * 4 * data.X.shape[0] * data.X.shape[1])

    def judged(self, rows: int, repeat: int = 0) -> Judged:
        """The rows and folds of a rung."""
        if (rows, repeat) not in self._judged:
            self._judged[rows, repeat] = Judged(self.data, rows, self._cv, repeat)
        return self._judged[rows, repeat]

    def run(self, unit: Unit, candidate: Candidate) -> FoldResult | str:
        """Answers for the held-out rows, or why there are none: one candidate's trouble does not end the others."""
        started = time.process_time()
        try:
            with single_threaded():
                fit_on, held_out = self.judged(unit.rows, unit.repeat).split(unit.fold)
                training, asked = self._rows(candidate, unit, fit_on, held_out)
                began = time.process_time()
                part = self.data.labels_only().subset(fit_on)
                model, rounds = candidate.fit(training, part)
                fitted = time.process_time()
                proba = code_probabilities(model, asked, len(self.data.classes))
                if not np.isfinite(proba).all():
                    return "failed (probabilities that are no numbers)"
        except MemoryError:
            return "failed (out of memory)"
        except Exception as error:  # other people's learners may raise anything at all
            return f"failed ({type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]})"
        done = time.process_time()
        return FoldResult(proba.astype(np.float32), rounds, done - started, fitted - began, done - fitted)

    def _rows(self, candidate: Candidate, unit: Unit, fit_on: Any, held_out: Any) -> tuple[Any, Any]:
        key = (unit.rows, unit.repeat, unit.fold, candidate.encoder)
        if key not in self._prepared:
            training, asked = self.data.labels_only().subset(fit_on), self.data.subset(held_out)
            encoder = candidate.new_encoder(self.data)
            X = self.data.subset(fit_on).X
            self._prepared[key] = (
                as_rows(encoder.fit_transform(X, training.codes)),
                as_rows(encoder.transform(asked.X)),
            )
            while len(self._prepared) > 1 and sum(map(_bytes, self._prepared.values())) > self._room:
                self._prepared.popitem(last=False)
        self._prepared.move_to_end(key)
        return self._prepared[key]


def as_rows(rows: Any) -> Any:
    """What an encoder gives as an array or CSR matrix."""
    if hasattr(rows, "tocsr"):
        return rows.tocsr()
    return np.asarray(rows, dtype=np.float64)


def _bytes(pair: tuple[Any, Any]) -> int:
    return sum(int(rows.data.nbytes) if hasattr(rows, "indptr") else int(rows.nbytes) for rows in pair)
