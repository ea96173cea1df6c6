"""A stream in progress: what was learned, what it cost so far, and its file."""

from __future__ import annotations

import copy
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._checks import complain
from ...data import Dataset
from ...errors import StateError
from ...online import OnlineClassifier
from ...trace import Trace
from .preparation import Preparation

FORMAT = "steelyard.stream"


class Tally(NamedTuple):
    """Outcomes so far, on rows whose label is known."""

    hits: int = 0
    misses: int = 0
    alarms: int = 0
    passes: int = 0

    def plus(self, truth: NDArray[np.bool_], answer: NDArray[np.bool_]) -> Tally:
        """With more rows."""
        cells = (truth & answer, truth & ~answer, ~truth & answer, ~truth & ~answer)
        return Tally(*(int(old + new.sum()) for old, new in zip(self, cells, strict=True)))

    def f1(self) -> float:
        """2 hits / (2 hits + misses + alarms); 0 before the first positive."""
        whole = 2 * self.hits + self.misses + self.alarms
        return 2 * self.hits / whole if whole else 0.0


class Session:
    """The learner sees False and True; the user's own labels stay at the border."""

    def __init__(self, model: OnlineClassifier, preparation: Preparation, labels: tuple[Any, Any] | None) -> None:
        self.model, self.preparation, self.labels = model, preparation, labels
        self.tally = Tally()
        self.written = 0  # bytes of decisions that belong to this state

    @property
    def rounds(self) -> int:
        """Rows decided so far."""
        return self.model.n_rounds_ if hasattr(self.model, "_engine") else 0

    def cost(self) -> float:
        """What the answers have cost; mistakes where no cost is known."""
        pair = getattr(self.model.costs, "matrix", None)
        miss, alarm = (1.0, 1.0) if pair is None else (pair[1, 0], pair[0, 1])
        return float(miss * self.tally.misses + alarm * self.tally.alarms)

    def take(self, chunk: Dataset, positive: str | None) -> Trace:
        """Decide and learn the rows of a chunk, or none of them; rows without a label are decided only."""
        if chunk.y is None:
            raise complain("--target", "name the column of labels", None)
        if self.labels is None:
            self.labels = two_labels(chunk.y, positive)
        before = copy.copy(self.preparation.scaler), self.preparation.columns
        try:
            return self._taken(chunk)
        except BaseException:
            self.preparation.scaler, self.preparation.columns = before
            raise

    def _taken(self, chunk: Dataset) -> Trace:
        y = np.asarray(chunk.y)
        known = np.array([label is not None for label in y]) if y.dtype == object else np.ones(len(y), dtype=bool)
        truth = self._truth(y, known)
        rows = self.preparation.rows(chunk)
        trace = self.model.run(rows, truth, classes=[False, True]) if known.all() else self._live(rows, truth, known)
        self.tally = self.tally.plus(truth[known], trace.predicted[known])
        return trace

    def _truth(self, y: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        assert self.labels is not None
        negative, positive = self.labels
        truth = np.array([same(label, positive) for label in y.tolist()])
        for i in np.flatnonzero(known & ~truth):
            if not same(y[i], negative):
                where = f"See row {self.rounds + int(i)} of the stream."
                raise complain("labels", f"be {negative!r} or {positive!r}", y.tolist()[i], where)
        return truth

    def _live(self, rows: Any, truth: NDArray[np.bool_], known: NDArray[np.bool_]) -> Trace:
        """Row by row: an asked label that is not there gives its part of the budget back."""
        model = copy.deepcopy(self.model)  # stays aside until the whole chunk is done
        if self.rounds == 0:
            model.start(rows.shape[1], [False, True])
        decisions = []
        for i in range(rows.shape[0]):
            x = rows[i : i + 1]
            decision = model.decide(x)
            decisions.append(decision)
            if decision.ask and known[i]:
                model.learn(x, bool(truth[i]))
            elif decision.ask:
                model.release()
        self.model = model
        _, score, answer, chance, ask = zip(*decisions, strict=True)
        return Trace(np.array(score), np.array(answer), np.array(ask), np.array(chance), truth)

    # -- file --------------------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write everything; the old file stays until the new one is complete. Nothing in it is code."""
        model = self.model.state()
        arrays = model.pop("arrays")
        head = {
            "format": FORMAT,
            "version": 1,
            "model": model,
            "preparation": self.preparation.state(),
            "labels": list(self.labels or ()),
            "tally": list(self.tally),
            "written": self.written,
        }
        text = np.frombuffer(json.dumps(head, allow_nan=False).encode(), dtype=np.uint8)
        partial = path.with_name(path.name + ".part")
        with partial.open("wb") as file:
            np.savez(file, state=text, **arrays)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> Session:
        """Go on from a file written by :meth:`save`."""
        try:
            with np.load(path, allow_pickle=False) as file:
                head = json.loads(file["state"].tobytes())
                arrays = {name: file[name] for name in file.files if name != "state"}
            if head.get("format") != FORMAT or head.get("version") != 1:
                raise StateError(f"{path} must be a state of steelyard stream; got format {head.get('format')!r}.")
            model = OnlineClassifier.from_state({**head["model"], "arrays": arrays})
            made = cls(model, Preparation.from_state(head["preparation"]), tuple(head["labels"]))
            made.tally, made.written = Tally(*head["tally"]), int(head["written"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            if isinstance(error, StateError):
                raise
            raise StateError(f"{path} must be a whole state of steelyard stream; got {error}.") from error
        return made


def same(label: Any, wanted: Any) -> bool:
    """Whether labels are equal; the command line knows texts only, so 1 is "1"."""
    return bool(label == wanted) or (isinstance(wanted, str) and str(label) == wanted)


def two_labels(y: NDArray[Any], positive: str | None) -> tuple[Any, Any]:
    """Negative and positive label, from those of the first chunk."""
    found = sorted({label for label in y.tolist() if label is not None})
    if len(found) != 2:
        advice = "Name both with --classes negative,positive, or read more rows at a time with --chunk."
        raise complain("the first chunk", "hold two labels", found[:5], advice)
    if positive is None:
        return found[0], found[1]
    at = next((i for i, label in enumerate(found) if same(label, positive)), None)
    if at is None:
        raise complain("--positive", f"be one of the labels {found}", positive)
    return found[1 - at], found[at]
