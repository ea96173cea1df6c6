"""One work unit: the rows of a fold prepared once per encoder, a setting fitted, the held-out rows answered."""

from __future__ import annotations

import math
import sys
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ..decision.blending import code_probabilities
from .cache import FoldResult
from .candidates import Candidate
from .data import ComparisonData
from .schedule import Unit, assign_folds, count_folds

_CACHE_BYTES = 100 << 20  # prepared rows that are kept beside those in use, for tables of any size
_CACHE_TABLES = 2  # or this many times the table in single precision


class _ProcessWide:
    """Filters of warnings and threads of BLAS belong to the process: the first thread sets them, the last puts back.

    If each put back what it found, a unit that ends would give the others, in their midst, threads that add up in
    another order, and warnings that a filter may turn into errors. Forests clear and rebuild the filters for every
    tree, so that another thread may find none: what would then be shown is not shown either.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._found = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._found.enter_context(warnings.catch_warnings())
                self._found.enter_context(_limited("blas"))
                warnings.simplefilter("ignore")
                warnings.showwarning = _show_nothing
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._found.close()


def _show_nothing(*given: object, **named: object) -> None:
    """In place of ``warnings.showwarning``."""


def _limited(api: str) -> Any:
    """One thread for BLAS or OpenMP; an import may have brought another library of them."""
    return _threaded_libraries(len(sys.modules)).limit(limits=1, user_api=api)


@lru_cache(maxsize=1)
def _threaded_libraries(imported: int) -> ThreadpoolController:
    """Kept, since to find the libraries of a process takes longer than a small fit."""
    return ThreadpoolController()


_process_wide = _ProcessWide()


@contextmanager
def single_threaded() -> Iterator[None]:
    """One thread, since units run side by side, and no warnings: a learner is judged by its answers."""
    with _process_wide, _limited("openmp"):  # OpenMP has a number for each thread that calls it
        yield


class Judged:
    """The rows of a rung and the fold that holds each out."""

    def __init__(self, data: ComparisonData, rows: int, cv: int, repeat: int = 0) -> None:
        self.rows = data.sample_rows(rows)
        part = data.labels_only().subset(self.rows)
        if part.folds is None:
            self.fold = assign_folds(part, count_folds(len(data.codes), len(data.classes), cv), repeat)
        else:
            self.fold = np.unique(part.folds, return_inverse=True)[1].astype(np.intp)
        self.n_folds = int(self.fold.max()) + 1

    def split(self, fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the table to fit on, and held-out ones."""
        held = self.fold == fold
        return self.rows[~held], self.rows[held]


class FoldRunner:
    """Runs units; keeps prepared rows so that each fold is prepared once for each encoder.

    Parameters
    ----------
    data : the question
    cv : folds
    clock : tells CPU seconds; that of the thread where other threads of the process run units as well
    """

    def __init__(self, data: ComparisonData, cv: int, clock: Callable[[], float] = time.process_time) -> None:
        self.data = data
        self._cv, self._clock = cv, clock
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
        started = self._clock()
        try:
            with single_threaded():
                fit_on, held_out = self.judged(unit.rows, unit.repeat).split(unit.fold)
                training, asked = self._rows(candidate, unit, fit_on, held_out)
                began = self._clock()
                part = self.data.labels_only().subset(fit_on)
                model, rounds = candidate.fit(training, part)
                fitted = self._clock()
                proba = code_probabilities(model, asked, len(self.data.classes))
                if not np.isfinite(proba).all():
                    return "failed (probabilities that are no numbers)"
        except MemoryError:
            return "failed (out of memory)"
        except Exception as error:  # other people's learners may raise anything at all
            return f"failed ({type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]})"
        done = self._clock()
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


Task = tuple[Unit, Candidate]
Outcome = FoldResult | str
Results = Iterator[tuple[Unit, Outcome]]
Failed = Callable[[int], bool]  # whether a candidate has failed on an earlier fold
SKIPPED = "skipped"


class InProcess:
    """Units one after the other in this process: nothing to start, no protection."""

    def __init__(self, data: ComparisonData, cv: int) -> None:
        self.cpu_limit = math.inf
        self._runner = FoldRunner(data, cv)
        self._began, self._in_units = time.process_time(), 0.0

    def run(self, tasks: Iterable[Task], may_start: Callable[[Unit], bool], failed: Failed) -> Results:
        """Results in the order of the tasks, until one may not start."""
        for unit, candidate in tasks:
            if not may_start(unit):
                return
            result = SKIPPED if failed(unit.candidate) else self._runner.run(unit, candidate)
            self._in_units += 0.0 if isinstance(result, str) else result.cpu_seconds
            yield unit, result

    def cpu_beside(self) -> float:
        """CPU seconds since the pool was made that no unit took."""
        return time.process_time() - self._began - self._in_units

    def close(self) -> None:
        """Nothing to end."""
