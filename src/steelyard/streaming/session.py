"""A stream in progress: what was learned, what it cost so far, and its file.

Tested in ``tests/unit/streaming/test_many_classes.py``.
"""

from __future__ import annotations

import copy
import json
import math
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..data import Dataset
from ..data.columns import same_label
from ..data.digest import NO_ROWS, rows_digest
from ..errors import CostsError, StateError
from ..models.awaited import AwaitedRow, SettledLabel
from ..models.records import RecordEncoder
from ..models.storage import load_model
from ..models.stream_state import StreamState
from ..online import OnlineClassifier, OnlineCostClassifier
from ..trace import Trace
from ..validation.values import invalid
from .columns import CostUnit, SideCells, SideColumns, split_columns
from .decision_log import LogMark

Learner = OnlineClassifier | OnlineCostClassifier
_DIGEST = re.compile("[0-9a-f]{64}")
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

    def total(self) -> int:
        """Rows whose label is known."""
        return int(self.counts.sum())

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
        self,
        make: Callable[[tuple[Any, ...]], Learner],
        encoder: RecordEncoder,
        labels: tuple[Any, ...] | None,
        side: SideColumns | None = None,
    ) -> None:
        self.make, self.encoder = make, encoder
        self.side = SideColumns() if side is None else side
        self.awaited: dict[int, AwaitedRow] = {}  # by round, rows whose label was asked for and has not come
        self.most_awaited: int | None = None  # beyond which the oldest are given up; None: not said yet
        self.settled: dict[int, SettledLabel] = {}  # labels that came late
        self.seen: str | None = NO_ROWS  # digest of the rows; None where it is not known
        self.order: tuple[str, ...] = ()  # of all columns as they were read, which the digest depends on
        self.unit, self.paid = CostUnit(), 0.0  # where costs stand in the rows
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
        made = Session(lambda labels: model, self.encoder.unused(), self.labels, self.side)
        made.mark, made.most_awaited = mark, self.most_awaited
        return made

    def cost(self) -> float:
        """What the answers have cost; mistakes where no cost is known."""
        if self.side.costs is not None:
            return self.paid
        prices = None if self.model is None else getattr(self.model.costs, "matrix", None)
        return float((self.counts.counts * (1 - np.eye(len(self.labels)) if prices is None else prices)).sum())

    def take(self, chunk: Dataset, positive: str | None) -> tuple[Trace, list[str | None]]:
        """Decide and learn the rows of a chunk, or none of them; and what the rows are called.

        Rows without a label are decided. Where one was asked for, the row is kept until the label comes, if the
        session may await any.
        """
        if chunk.y is None and self.model is None:
            hint = "Where no row has a label yet, name all labels with --classes."
            raise invalid("--target", "name the column of labels", None, hint)
        before = self._snapshot()
        try:
            if self.model is None:
                self._begin(infer_classes(np.asarray(chunk.y), positive))
            rows, side = split_columns(chunk, self.side, self.rounds)
            if side.matrices is not None and len(self.labels) != 2:
                got = f"{len(self.labels)} labels"
                raise invalid("cost columns", "be given for two labels", got, error=CostsError)
            seen = None if self.seen is None else rows_digest(self.seen, chunk)
            trace = self._taken(rows, side)  # last, since of all this the learner alone cannot be put back
            self.seen, self.order = seen, self.order or chunk.features
            return trace, side.ids
        except BaseException:
            self.__dict__ |= before
            raise

    def _snapshot(self) -> dict[str, Any]:
        """What a failed chunk must not change."""
        kept = {name: getattr(self, name) for name in ("model", "labels", "counts", "seen", "order", "unit", "paid")}
        return kept | {"encoder": copy.copy(self.encoder), "awaited": dict(self.awaited), "settled": dict(self.settled)}

    def _taken(self, chunk: Dataset, side: SideCells) -> Trace:
        assert self.model is not None
        n = chunk.X.shape[0]
        truth = np.full(n, -1, dtype=np.intp) if chunk.y is None else self._truth(np.asarray(chunk.y))
        known = truth >= 0
        rows = self.encoder.rows(chunk)
        costs, unit = (None, self.unit) if side.matrices is None else self.unit.measured(side.matrices)
        if known.all():
            wrong = None if costs is None else _of_wrong_answers(costs, truth)
            trace = self.model.run(rows, truth, classes=np.arange(len(self.labels)), costs=wrong)
        else:
            trace = self.run_row_by_row(self.model, rows, truth, side, costs)
        self.unit = unit
        self.counts = self.counts.plus(truth[known], trace.prediction[known])
        if side.matrices is not None:
            at = np.flatnonzero(known)
            for paid in side.matrices[at, truth[at], trace.prediction[at].astype(np.intp)].tolist():
                self.paid += paid  # one by one: the same sum whatever the size of the chunks
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
                found = [k for k, known in enumerate(self.labels) if same_label(label, known)]
                if not found:
                    where = f"See row {self.rounds + i} of the stream. Name all labels with --classes from the start."
                    names = " or ".join(map(repr, self.labels)) if len(self.labels) == 2 else f"one of {self.labels}"
                    raise invalid("labels", f"be {names}", label, where)
                at[label] = found[0]
            truth[i] = at[label]
        return truth

    def run_row_by_row(
        self, model: Learner, rows: Any, truth: NDArray[np.intp], side: SideCells, costs: NDArray[np.float64] | None
    ) -> Trace:
        """Row by row: an asked label that is not there is awaited, or gives its part of the budget back."""
        model = copy.deepcopy(model)  # stays aside until the whole chunk is done
        if self.rounds == 0:
            model.start(rows.shape[1], np.arange(len(self.labels)))
        decisions = []
        for i in range(rows.shape[0]):
            x = rows[i : i + 1]
            decision = model.decide(x)
            decisions.append(decision)
            if decision.query and truth[i] >= 0:
                model.learn(x, int(truth[i]), **({} if costs is None else {"cost": float(costs[i, truth[i]])}))
            elif decision.query:
                answer = int(decision.prediction)
                prices: tuple[float, ...] = ()
                if costs is not None and side.matrices is not None:
                    prices = (*costs[i].tolist(), *side.matrices[i, :, answer].tolist())
                self.awaited[decision.t] = AwaitedRow(decision.t, side.ids[i], x, answer, prices)
                self._give_up(model, self.most_awaited or 0)
        self.model = model
        _, score, answers, query_probability, query = zip(*decisions, strict=True)
        return Trace(np.array(score), np.array(answers), np.array(query), np.array(query_probability), truth)

    # -- labels that come later --------------------------------------------------------------------------------------

    def _give_up(self, model: Learner, most: int) -> None:
        """Await no more labels than this: the oldest are given up, and their part of the budget is free again."""
        while len(self.awaited) > most:
            del self.awaited[next(iter(self.awaited))]
            model.cancel_query()

    def await_at_most(self, most: int) -> int:
        """Give up the oldest labels beyond so many; how many those were."""
        before = len(self.awaited)
        self.most_awaited = most
        if self.model is not None and before > most:
            self.model = copy.deepcopy(self.model)
            self._give_up(self.model, most)
        return before - len(self.awaited)

    def learn_late(self, labels: dict[int, int]) -> None:
        """Learn the labels of awaited rows, by round, in the order given; all of them or none."""
        before = self._snapshot()
        try:
            model = copy.deepcopy(self.learner)
            for t, label in labels.items():
                entry = self.awaited.pop(t)
                model.learn(entry.row, label, **({"cost": entry.costs[label]} if entry.costs else {}))
                self.counts = self.counts.plus(np.array([label]), np.array([entry.answer]))
                self.paid += entry.costs[2 + label] if entry.costs else 0.0
                self.settled[t] = SettledLabel(entry.id, label)
            self.model = model
        except BaseException:
            self.__dict__ |= before
            raise

    def code_of(self, label: Any) -> int | None:
        """Position of a label among those of the stream; None if it is none of them."""
        return next((k for k, known in enumerate(self.labels) if same_label(label, known)), None)

    # -- file --------------------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write everything; the old file stays until the new one is complete. Nothing in it is code."""
        assert self.model is not None
        notes = self.side.to_dict()
        notes |= {} if self.most_awaited is None else {"most_awaited": self.most_awaited}
        notes |= {} if self.seen is None else {"seen": self.seen}
        if self.order and self.side.beside:
            notes["order"] = json.dumps(self.order)
        if self.side.costs is not None:
            notes |= {"paid": self.paid} | self.unit._asdict()
        late: dict[str, Any] = {"awaited": tuple(self.awaited.values()), "settled": self.settled, "notes": notes}
        state = StreamState(self.model, self.encoder, self.labels, self.counts.counts, self.mark.to_dict(), **late)
        state.save(path)

    @classmethod
    def load(cls, path: Path) -> Session:
        """Go on from a file written by :meth:`save`, or from an online learner that was saved by itself."""
        state = load_model(path)
        if isinstance(state, (OnlineClassifier, OnlineCostClassifier)):
            return cls.of_learner(state)
        if not isinstance(state, StreamState):
            rule = "must be a state of steelyard stream or an online learner"
            raise StateError(f"{path} {rule}; it holds a {type(state).__name__}.")
        notes = state.notes
        made = cls(lambda labels: state.learner, state.encoder, state.labels, SideColumns.from_dict(notes))
        made.counts, made.mark = ConfusionCounts(state.counts), LogMark.from_dict(state.log, path)
        made.awaited, made.settled = {entry.t: entry for entry in state.awaited}, dict(state.settled)
        made.most_awaited = _whole(path, notes, "most_awaited") if "most_awaited" in notes else None
        made.seen = notes.get("seen")
        if made.seen is not None and not (isinstance(made.seen, str) and _DIGEST.fullmatch(made.seen)):
            raise StateError(f"{path} must hold the digest of its rows; got {str(made.seen)[:80]!r}.")
        if "order" in notes:
            made.order = _names(path, notes["order"])
        elif isinstance(state.encoder.columns, tuple) and not made.side.beside:
            made.order = state.encoder.columns
        if made.side.costs is not None:
            fn, fp = (_number(path, notes, name) for name in ("fn", "fp"))
            made.unit = CostUnit(fn, fp, _whole(path, notes, "rows"))
            made.paid = _number(path, notes, "paid")
        return made

    @classmethod
    def of_learner(cls, learner: Learner) -> Session:
        """A stream that goes on with a learner from Python: rows as they are, its own labels, no log yet."""
        labels, coded = tuple(learner.classes_.tolist()), learner.coded()
        encoder = RecordEncoder("none")
        if hasattr(learner, "feature_names_in_"):
            encoder.begin([str(name) for name in learner.feature_names_in_])
        made = cls(lambda _: coded, encoder, labels)
        made.seen = None
        return made


def _names(path: Path, text: object) -> tuple[str, ...]:
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise StateError(f"{path} must name its columns as a list of texts; got {str(text)[:80]!r}.")
    return tuple(found)


def _number(path: Path, notes: dict[str, Any], name: str) -> float:
    value: Any = notes.get(name)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise StateError(f"{path} must say {name} as a number; got {str(value)[:80]!r}.")
    return float(value)


def _whole(path: Path, notes: dict[str, Any], name: str) -> int:
    value = notes.get(name)
    if type(value) is not int or value < 0:
        raise StateError(f"{path} must say {name} as a whole number; got {str(value)[:80]!r}.")
    return value


def _of_wrong_answers(costs: NDArray[np.float64], truth: NDArray[np.intp]) -> NDArray[np.float64]:
    """Costs of both answers, the right one at 0."""
    table, rows = np.zeros_like(costs), np.arange(len(truth))
    table[rows, 1 - truth] = costs[rows, truth]
    return table


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
    at = next((i for i, label in enumerate(found) if same_label(label, positive)), None)
    if at is None:
        raise invalid("--positive", f"be one of the labels {found}", positive)
    return found[1 - at], found[at]
