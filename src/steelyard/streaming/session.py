"""A stream in progress: what was learned, what it cost so far, and its file.

Tested in ``tests/unit/streaming/test_many_classes.py``.
"""

from __future__ import annotations

import copy
import math
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..data import Dataset
from ..errors import StateError
from ..models.records import RecordEncoder
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..online import OnlineClassifier, OnlineCostClassifier
from ..trace import Trace
from ..validation.values import invalid
from .decision_log import LogMark

Learner = OnlineClassifier | OnlineCostClassifier
MOST_LABELS = 50  # more of them in the first chunk are taken for a column of numbers


class ConfusionCounts:
    """How often each label got each answer so far, ``counts[true, answer]``, on rows whose label is known."""

    def __init__(self, counts: Any) -> None:
        self.counts: NDArray[np.int64] = np.array(counts, dtype=np.int64)

    def plus(self, truth: NDArray[np.intp], answer: NDArray[np.intp]) -> ConfusionCounts:
        """With more rows."""
        counts = self.counts.copy()
        np.add.at(counts, (truth, answer), 1)
        return ConfusionCounts(counts)

    def recalls(self) -> list[float | None]:
        """Share of right answers for each label; None for a label that has not come."""
        return [float(row[k] / row.sum()) if row.sum() else None for k, row in enumerate(self.counts)]

    def f1(self) -> float:
        """F1 of the positive label of two; of more, the mean over those that came or were answered. 0 before any."""
        hits, others = np.diag(self.counts), self.counts.sum(axis=0) + self.counts.sum(axis=1)
        scores = [2 * hit / other if other else None for hit, other in zip(hits.tolist(), others.tolist(), strict=True)]
        counted = [score for score in (scores[1:] if len(scores) == 2 else scores) if score is not None]
        return sum(counted) / len(counted) if counted else 0.0


class Session:
    """The learner sees numbers 0, 1, ..; the user's own labels stay at the border.

    ``make`` builds the learner once the labels are known: when they are named, or from the first chunk.
    """

    def __init__(
        self, make: Callable[[tuple[Any, ...]], Learner], encoder: RecordEncoder, labels: tuple[Any, ...] | None
    ) -> None:
        self.make, self.encoder = make, encoder
        self.model: Learner | None = None
        self.labels: tuple[Any, ...] = ()
        self.counts = ConfusionCounts(np.zeros((0, 0)))
        self.mark = LogMark(secrets.token_hex(8))  # which decision log belongs to this stream, and how far
        if labels is not None:
            self._begin(labels)

    def _begin(self, labels: tuple[Any, ...]) -> None:
        self.model, self.labels = self.make(labels), labels
        self.counts = ConfusionCounts(np.zeros((len(labels), len(labels))))

    @property
    def rounds(self) -> int:
        """Rows decided so far."""
        return self.model.n_rounds_ if self.model is not None and hasattr(self.model, "classes_") else 0

    @property
    def learner(self) -> Learner:
        """The model, once the labels are known."""
        assert self.model is not None
        return self.model

    def newborn(self, mark: LogMark) -> Session:
        """This stream as it was before its first row, with the labels and columns that its rows have shown since."""
        model = clone(self.learner).start(self.learner.n_features_in_, np.arange(len(self.labels)))
        made = Session(lambda labels: model, self.encoder.unused(), self.labels)
        made.mark = mark
        return made

    def cost(self) -> float:
        """What the answers have cost; mistakes where no cost is known."""
        prices = None if self.model is None else getattr(self.model.costs, "matrix", None)
        return float((self.counts.counts * (1 - np.eye(len(self.labels)) if prices is None else prices)).sum())

    def take(self, chunk: Dataset, positive: str | None) -> Trace:
        """Decide and learn the rows of a chunk, or none of them; rows without a label are decided only."""
        if chunk.y is None:
            raise invalid("--target", "name the column of labels", None)
        before = copy.copy(self.encoder), self.model, self.labels, self.counts
        try:
            if self.model is None:
                self._begin(infer_classes(chunk.y, positive))
            return self._taken(chunk)
        except BaseException:
            self.encoder, self.model, self.labels, self.counts = before
            raise

    def _taken(self, chunk: Dataset) -> Trace:
        assert self.model is not None
        truth = self._truth(np.asarray(chunk.y))
        known = truth >= 0
        rows = self.encoder.rows(chunk)
        if known.all():
            trace = self.model.run(rows, truth, classes=np.arange(len(self.labels)))
        else:
            trace = self.run_row_by_row(self.model, rows, truth)
        self.counts = self.counts.plus(truth[known], trace.prediction[known])
        return trace

    def _truth(self, y: NDArray[Any]) -> NDArray[np.intp]:
        """The position of every label, -1 where there is none."""
        at: dict[Any, int] = {}
        truth = np.empty(len(y), dtype=np.intp)
        for i, label in enumerate(y.tolist()):
            if label not in at:
                if is_missing(label):
                    truth[i] = -1
                    continue
                found = [k for k, known in enumerate(self.labels) if same(label, known)]
                if not found:
                    where = f"See row {self.rounds + i} of the stream. Name all labels with --classes from the start."
                    names = " or ".join(map(repr, self.labels)) if len(self.labels) == 2 else f"one of {self.labels}"
                    raise invalid("labels", f"be {names}", label, where)
                at[label] = found[0]
            truth[i] = at[label]
        return truth

    def run_row_by_row(self, model: Learner, rows: Any, truth: NDArray[np.intp]) -> Trace:
        """Row by row: an asked label that is not there gives its part of the budget back."""
        model = copy.deepcopy(model)  # stays aside until the whole chunk is done
        if self.rounds == 0:
            model.start(rows.shape[1], np.arange(len(self.labels)))
        decisions = []
        for i in range(rows.shape[0]):
            x = rows[i : i + 1]
            decision = model.decide(x)
            decisions.append(decision)
            if decision.query and truth[i] >= 0:
                model.learn(x, int(truth[i]))
            elif decision.query:
                model.cancel_query()
        self.model = model
        _, score, answer, query_probability, query = zip(*decisions, strict=True)
        return Trace(np.array(score), np.array(answer), np.array(query), np.array(query_probability), truth)

    # -- file --------------------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write everything; the old file stays until the new one is complete. Nothing in it is code."""
        assert self.model is not None
        StreamState(self.model, self.encoder, self.labels, self.counts.counts, self.mark.to_dict()).save(path)

    @classmethod
    def load(cls, path: Path) -> Session:
        """Go on from a file written by :meth:`save`, or from an online learner that was saved by itself."""
        state = load_model(path)
        if isinstance(state, (OnlineClassifier, OnlineCostClassifier)):
            return cls.of_learner(state)
        if not isinstance(state, StreamState):
            rule = "must be a state of steelyard stream or an online learner"
            raise StateError(f"{path} {rule}; it holds a {type(state).__name__}.")
        made = cls(lambda labels: state.learner, state.encoder, state.labels)
        made.counts, made.mark = ConfusionCounts(state.counts), LogMark.from_dict(state.log, path)
        return made

    @classmethod
    def of_learner(cls, learner: Learner) -> Session:
        """A stream that goes on with a learner from Python: rows as they are, its own labels, no log yet."""
        labels, coded = tuple(learner.classes_.tolist()), learner.coded()
        encoder = RecordEncoder("none")
        if hasattr(learner, "feature_names_in_"):
            encoder.begin([str(name) for name in learner.feature_names_in_])
        return cls(lambda _: coded, encoder, labels)


def same(label: Any, wanted: Any) -> bool:
    """Whether labels are equal; the command line knows texts only, so 1 is "1"."""
    return bool(label == wanted) or (isinstance(wanted, str) and str(label) == wanted)


def is_missing(label: Any) -> bool:
    """Whether there is no label: an empty cell, or a number that is none."""
    return label is None or label == "" or (isinstance(label, float) and math.isnan(label))


def infer_classes(y: NDArray[Any], positive: str | None) -> tuple[Any, ...]:
    """The labels of the first chunk, sorted; of two the positive one last."""
    found = sorted({label for label in y.tolist() if not is_missing(label)})
    if len(found) < 2:
        hint = "Name all with --classes negative,positive, or read more rows at a time with --chunk."
        raise invalid("the first chunk", "hold two labels or more", found, hint)
    if len(found) > MOST_LABELS:
        hint = f"It holds {len(found)} different ones. Is --target right? If so, name all with --classes."
        raise invalid("the first chunk", f"hold no more than {MOST_LABELS} labels", found[:3], hint)
    if positive is None:
        return tuple(found)
    if len(found) > 2:
        raise invalid("--positive", f"be left out where there are more than two labels ({found[:5]})", positive)
    at = next((i for i, label in enumerate(found) if same(label, positive)), None)
    if at is None:
        raise invalid("--positive", f"be one of the labels {found}", positive)
    return found[1 - at], found[at]
