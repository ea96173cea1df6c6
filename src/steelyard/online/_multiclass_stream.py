"""The native stream of many classes with its rules: the kernel, and the same round by round in Python.

Tested in ``tests/unit/online/test_multiclass.py``.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._native import CostStream
from ..active import Budget, QueryInput, QueryRule
from ..validation.arrays import Rows
from ..validation.values import invalid
from ._binary_stream import StreamConfig, arrays_of, native_stream, number_of, query_probability_of, stream_error
from .adaptive import ClassCosts
from .updates import ClassInput, UpdateRule

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


_OF_QUERIES = ("budget", "seed")  # of a setting: what the stream of two classes inside looks after


class MulticlassConfig(NamedTuple):
    """Everything but the rules that is fixed for the life of a stream."""

    n_features: int
    budget: Budget
    costs: Floats  # C[true, predicted]
    negative: int
    averaging: bool
    fit_intercept: bool
    seed: int
    odds: float  # above 0: costs follow the labels seen
    positive: int


class MulticlassLabels(NamedTuple):
    """What is known of the rows besides their features; None for costs of the class, for ones, for own draws."""

    codes: Codes
    costs: Floats | None
    weight: Floats | None
    draws: Floats | None


class ManyRecord(NamedTuple):
    """What the loop writes down for every round; None for columns that are the same for all rounds."""

    gap: Floats
    answer: Codes
    query_probability: Floats | None
    queried: NDArray[np.bool_] | None


class MulticlassStream:
    """One stream in progress. Rules that have a kernel run in it; any rule written in Python runs in Python."""

    def __init__(self, setting: MulticlassConfig, update: UpdateRule, query: QueryRule) -> None:
        self.setting, self.update, self.query = setting, update, query
        kernel = update.class_kernel()
        self.native = kernel is not None and query.kernel() is not None
        asking = StreamConfig(0, setting.budget, ClassCosts(), 0.0, False, False, setting.seed)
        own = {name: value for name, value in setting._asdict().items() if name not in _OF_QUERIES}
        self.stream: Any = CostStream(stream=native_stream(asking, query), rule=kernel, **own)

    # -- many rows ---------------------------------------------------------------------------------------------------

    def run(self, rows: Rows, truth: MulticlassLabels) -> ManyRecord:
        """Algorithm 1 of paper 001 over the rows. If they cannot be used, the stream stays as it was."""
        n, always = len(truth.codes), self.native and self.stream.queries_all
        queried = None if always else np.empty(n, dtype=bool)
        record = ManyRecord(np.empty(n), np.empty(n, dtype=np.int64), None if always else np.empty(n), queried)
        if self.native:
            end = self.stream.run(*arrays_of(rows), *truth, *record)
        else:
            before = copy.copy(self.stream)
            end = -2
            try:
                end = self._run_in_python(rows, truth, record)
            finally:
                if end != -1:
                    self.stream = before
        if end != -1:
            raise stream_error(rows, end)
        return record

    def _run_in_python(self, rows: Rows, truth: MulticlassLabels, record: ManyRecord) -> int:
        arrays = arrays_of(rows)
        for i, code in enumerate(truth.codes.tolist()):
            seen = self._look(arrays, i)
            if seen is None:
                return i
            *found, query = self._enter(seen[0], truth.draws, i)
            for column, value in zip(record, (*found, query), strict=True):
                column[i] = value  # type: ignore[index]
            given = None if truth.costs is None else truth.costs[i]
            weight = 1.0 if truth.weight is None else float(truth.weight[i])
            if query and not self._settle(arrays, i, code, given, weight, *seen):
                return i
        return -1

    def _look(self, arrays: tuple[Any, ...], i: int) -> tuple[Floats, float] | None:
        """Estimated costs and |x|^2 of a row; None if they are not finite."""
        estimate = np.empty(len(self.setting.costs))
        finite, x2 = self.stream.look(*arrays, i, estimate)
        return (estimate, x2) if finite else None

    def _enter(self, estimate: Floats, draws: Floats | None = None, i: int = 0) -> tuple[float, int, float, bool]:
        """Gap, answer, chance and whether to ask, for the next round."""
        answer = int(cheapest_answers(estimate[None])[0])
        gap = float((np.delete(estimate, answer) - estimate[answer]).min())
        positive = answer != self.setting.negative
        query_probability = query_probability_of(
            self.query, QueryInput(gap if positive else -gap, positive, self.stream.t)
        )
        return (gap, answer, *self.stream.enter(query_probability, draws, i))

    def _settle(
        self,
        arrays: tuple[Any, ...],
        i: int,
        code: int,
        given: Floats | None,
        weight: float,
        estimate: Floats,
        x2: float,
    ) -> bool:
        """The losses of OnlineCostClassifier as they read, and the update rule's answer to each."""
        times = weight if given is not None else self._factor(code) * weight
        price = [cost * times for cost in (self.setting.costs[code] if given is None else given).tolist()]
        low, high = min(price), max(price)
        if not math.isfinite(high - low):
            return False
        steps, answers = np.zeros(len(price)), f"{type(self.update).__name__}.class_step()"
        for k in range(len(price)) if low < high else ():
            side = 1.0 if price[k] == low else -1.0
            target = price[k] - (low + high) / 2
            margin = 2.0 * side * (float(estimate[k]) - target)
            share = 2.0 * side * (float(estimate[k]) - target / (high - low))
            answer = self.update.class_step(ClassInput(margin, share, high - low, x2))
            steps[k] = -side * (number_of(answers, answer) / 2)
        return bool(self.stream.apply(*arrays, i, code, steps))

    def _factor(self, code: int) -> float:
        """What the labels so far make of the costs of a class."""
        if self.setting.odds == 0:
            return 1.0
        counts: list[float] = [count + 1.0 for count in self.stream.seen]
        if len(counts) == 2:
            return counts[1 - code] / counts[code] * self.setting.odds if code == self.setting.positive else 1.0
        return max(counts) / counts[code]

    # -- one row -----------------------------------------------------------------------------------------------------

    def decide(self, row: Rows) -> tuple[int, float, int, float, bool]:
        """Round, gap, answer, chance and whether the label is asked for; ``row`` has shape (1, d)."""
        arrays = arrays_of(row)
        if self.native:
            decision = self.stream.decide_row(*arrays)
            if decision is False:
                raise stream_error(row, 0)
            return decision  # type: ignore[no-any-return]
        t, seen = self.stream.t, self._look(arrays, 0)
        if seen is None:
            raise stream_error(row, 0)
        gap, answer, query_probability, query = self._enter(seen[0])
        if query:
            self.stream.reserve()
        return t, gap, answer, query_probability, query

    def learn(self, row: Rows, code: int, given: Floats | None, weight: float) -> None:
        """Learn from a label that was asked for earlier; ``row`` has shape (1, d)."""
        arrays = arrays_of(row)
        if self.native:
            if not self.stream.learn_row(*arrays, code, given, weight):
                raise stream_error(row, 0)
            return
        before, done = copy.copy(self.stream), False
        try:
            self.stream.cancel_query()
            seen = self._look(arrays, 0)
            done = seen is not None and self._settle(arrays, 0, code, given, weight, *seen)
        finally:
            if not done:
                self.stream = before
        if not done:
            raise stream_error(row, 0)

    def estimates(self, rows: Rows) -> Floats:
        """The estimated cost of every answer, (n, K)."""
        out = np.empty((rows.shape[0], len(self.setting.costs)))
        end = self.stream.estimates(*arrays_of(rows), out)
        if end != -1:
            raise stream_error(rows, end)
        return out

    def from_arrays_of(self, other: MulticlassStream) -> None:
        """Go on from where another stream is; an average that this one wants and the other did not keep begins at 0."""
        weights, biases, sums, bias_sums, seen, counts = other.stream.arrays()
        if not (self.setting.averaging and other.setting.averaging):
            kept = self.setting.averaging
            sums, bias_sums = np.zeros(len(weights) if kept else 0), np.zeros(len(biases) if kept else 0)
        self.stream.restore(weights, biases, sums, bias_sums, seen, counts)

    def __getstate__(self) -> dict[str, Any]:
        return {"made_of": (self.setting, self.update, self.query), "arrays": self.stream.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["made_of"])  # type: ignore[misc]
        self.stream.restore(*state["arrays"])


def cheapest_answers(costs: Floats) -> NDArray[np.intp]:
    """Ties go to the last class, as a score of 0 goes to the positive one."""
    return np.asarray(costs.shape[1] - 1 - np.argmin(costs[:, ::-1], axis=1))


def check_multiclass_update(update: Any) -> None:
    """Raise for a rule that does not say how far to go for one answer of many."""
    if not isinstance(update, UpdateRule) or type(update).class_step is UpdateRule.class_step:
        raise invalid(
            "update",
            "be a rule for many classes, one with a class_step()",
            update,
            "Give an object, e.g. update=CSOGD2(0.1).",
        )
    update.validate()
