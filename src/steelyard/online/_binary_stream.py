"""The native stream with its rules: which path a rule takes, and what went wrong where.

Tested in ``tests/unit/online/test_sparse_rows.py``.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._native import Stream, large_block
from ..active import AskAll, AskAtLeast, Budget, QueryInput, QueryRule
from ..errors import DivergedError, InvalidInputError
from ..validation.arrays import Rows, check_finite, check_rows, is_sparse
from ..validation.values import invalid
from .adaptive import ClassCosts, RowCosts
from .second_order import SecondOrderInput, SecondOrderRule, SecondOrderStep
from .sparse_row import SparseRow
from .updates import Step, UpdateInput, UpdateRule

Floats = NDArray[np.float64]
_ONE, _YES = np.float64(1.0).tobytes(), np.True_.tobytes()


class StreamConfig(NamedTuple):
    """Everything but the rules that is fixed for the life of a stream."""

    n_features: int
    budget: Budget
    costs: ClassCosts
    threshold: float
    averaging: bool
    fit_intercept: bool
    seed: int


class StreamColumns(NamedTuple):
    """What the loop writes down for every round; None for columns that are the same for all rounds."""

    score: Floats
    query_probability: Floats | None
    queried: NDArray[np.bool_] | None
    answer: NDArray[np.int64]


def native_stream(setting: StreamConfig, query: QueryRule) -> Any:
    """A native stream at its beginning. A query rule without a kernel tells its chances from outside."""
    kernel = query.kernel()
    return Stream(
        query=AskAll().kernel() if kernel is None else kernel,
        floor=query.floor if isinstance(query, AskAtLeast) else 0.0,
        limit=setting.budget.limit,
        rate=setting.budget.rate,
        n_features=setting.n_features,
        averaging=setting.averaging,
        threshold=setting.threshold,
        seed=setting.seed,
        fit_intercept=setting.fit_intercept,
        **setting.costs._asdict(),
    )


def check_query(query: Any) -> None:
    """Raise for what is no query rule, or one whose parameters cannot be used."""
    if not isinstance(query, QueryRule):
        raise invalid("query", "be a QueryRule", query, "Give an object, e.g. query=AskSymmetric(0.1).")
    query.validate()


def check_update(update: Any) -> None:
    """Raise for what is no update rule for two classes, or one whose parameters cannot be used."""
    if not isinstance(update, UpdateRule):
        raise invalid("update", "be an UpdateRule", update, "Give an object, e.g. update=CSOGD2(0.1).")
    second = (
        isinstance(update, SecondOrderRule) and type(update).second_order_step is not SecondOrderRule.second_order_step
    )
    if not second and type(update).step is UpdateRule.step:
        hint = "A class_step() is for OnlineCostClassifier."
        raise invalid("update", "be a rule for two classes, one with a step()", update, hint)
    update.validate()


def step_of(update: UpdateRule, inputs: UpdateInput) -> Step:
    """What an update rule answers, if that is a step."""
    answer = update.step(inputs)
    if not isinstance(answer, tuple) or len(answer) > len(Step._fields):
        raise invalid(f"{type(update).__name__}.step()", "answer a Step", answer, "Return Step(add=...).")
    return Step(*map(float, answer))


def number_of(what: str, answer: Any) -> float:
    """What a method of a rule answers, if that is a number."""
    try:
        return float(answer)
    except (TypeError, ValueError):
        raise invalid(what, "answer a number", answer) from None


def query_probability_of(query: QueryRule, inputs: QueryInput) -> float:
    """What a query rule answers, if that is a chance."""
    query_probability = number_of(f"{type(query).__name__}.query_probability()", query.query_probability(inputs))
    if not 0.0 <= query_probability <= 1.0:
        raise invalid(f"{type(query).__name__}.query_probability()", "answer a number in [0, 1]", query_probability)
    return query_probability


class BinaryStream:
    """One stream in progress. Rules that have a kernel run in it; any rule written in Python runs in Python."""

    def __init__(self, setting: StreamConfig, update: UpdateRule, query: QueryRule) -> None:
        self.setting, self.update, self.query = setting, update, query
        self.kernel: Any = update.kernel() if query.kernel() is not None else None
        self.stream = native_stream(setting, query)
        if isinstance(update, SecondOrderRule):
            update.check_width(setting.n_features)
            self.stream.begin_covariance(update.full)

    # -- many rows ---------------------------------------------------------------------------------------------------

    def blank_record(self, n: int) -> StreamColumns:
        """Columns for n rounds, in one block; chances are left out where every label is asked for."""
        always = self.kernel is not None and self.stream.queries_all
        block = large_block(n * (16 if always else 25))
        score, answer = block[: 8 * n].view(np.float64), block[8 * n : 16 * n].view(np.int64)
        if always:
            return StreamColumns(score, None, None, answer)
        return StreamColumns(score, block[16 * n : 24 * n].view(np.float64), block[24 * n :].view(np.bool_), answer)

    def run(
        self,
        rows: Rows,
        positive: NDArray[np.bool_],
        costs: RowCosts,
        *,
        draws: Floats | None = None,
        record: StreamColumns | None = None,
        labels: tuple[int, int] = (0, 1),
    ) -> None:
        """Algorithm 1 of paper 001 over the rows. If they cannot be used, the stream stays as it was."""
        arrays = arrays_of(rows)
        columns = (None, None, None, None) if record is None else record
        if self.kernel is not None:
            end = self.kernel.run(
                self.stream, *arrays, positive, costs.values, costs.absolute, draws, *columns, *labels
            )
        else:
            before = copy.copy(self.stream)
            end = -2
            try:
                end = self._run_in_python(arrays, positive, costs, draws, record, labels)
            finally:
                if end != -1:
                    self.stream = before
        if end != -1:
            raise stream_error(rows, end)

    def _run_in_python(
        self,
        arrays: tuple[Any, ...],
        positive: NDArray[np.bool_],
        costs: RowCosts,
        draws: Floats | None,
        record: StreamColumns | None,
        labels: tuple[int, int],
    ) -> int:
        for i, truth in enumerate(positive.tolist()):
            score, x2, w2 = self.stream.look(*arrays, i)
            if not math.isfinite(score):
                return i
            answer = score >= self.setting.threshold
            query_probability, query = self.stream.enter(
                query_probability_of(self.query, QueryInput(score, answer, self.stream.t)), draws, i
            )
            if record is not None and record.query_probability is not None and record.queried is not None:
                record.score[i], record.query_probability[i], record.queried[i] = score, query_probability, query
                record.answer[i] = labels[answer]
            if query:
                cost = self.stream.cost_of(truth, 1.0 if costs.values is None else costs.values[i], costs.absolute)
                if not self._learn_in_python(
                    arrays, i, truth, UpdateInput(score, 1.0 if truth else -1.0, cost, x2, w2)
                ):
                    return i
        return -1

    def _learn_in_python(self, arrays: tuple[Any, ...], i: int, positive: bool, inputs: UpdateInput) -> bool:
        if isinstance(self.update, SecondOrderRule):
            state = SecondOrderInput(inputs.score, inputs.y, inputs.cost, self.stream.variance(*arrays, i))
            add, gain, after = self.update.second_order_step(state) if inputs.cost > 0 else SecondOrderStep()
            return bool(self.stream.second_order_step(*arrays, i, positive, float(add), float(gain), bool(after)))
        step = step_of(self.update, inputs) if inputs.cost > 0 else Step()
        return bool(self.stream.apply(*arrays, i, positive, *step))

    def scores(self, rows: Rows) -> Floats:
        """w.x + b of every row."""
        out = np.empty(rows.shape[0])
        end = self.stream.scores(*arrays_of(rows), out)
        if end != -1:
            raise stream_error(rows, end)
        return out

    # -- one row -----------------------------------------------------------------------------------------------------

    def decide(self, row: Rows) -> tuple[int, float, bool, float, bool]:
        """Round, score, answer, chance and whether the label is asked for; ``row`` has shape (1, d)."""
        arrays = arrays_of(row)
        if self.kernel is not None:
            decision = self.stream.decide_row(*arrays)
            if decision is False:
                raise stream_error(row, 0)
            return decision  # type: ignore[no-any-return]
        t, (score, _, _) = self.stream.t, self.stream.look(*arrays, 0)
        if not math.isfinite(score):
            raise stream_error(row, 0)
        answer = score >= self.setting.threshold
        query_probability, query = self.stream.enter(
            query_probability_of(self.query, QueryInput(score, answer, t)), None, 0
        )
        if query:
            self.stream.reserve()
        return t, score, answer, query_probability, query

    def decide_many(self, rows: Rows) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Scores, chances and whether each label is asked for; if a row cannot be used, the stream stays as it was."""
        n = rows.shape[0]
        score, query_probability, query = np.empty(n), np.empty(n), np.empty(n, np.bool_)
        if self.kernel is not None:
            end = self.stream.decide_rows(*arrays_of(rows), score, query_probability, query)
            if end != -1:
                raise stream_error(rows, end)
            return score, query_probability, query
        before = copy.copy(self.stream)
        try:
            for i in range(n):
                _, score[i], _, query_probability[i], query[i] = self.decide(rows[i : i + 1])
        except BaseException:
            self.stream = before
            raise
        return score, query_probability, query

    def learn(self, row: Rows, positive: bool, cost: float, absolute: bool) -> None:
        """Learn from a label that was asked for earlier; ``row`` has shape (1, d)."""
        arrays = arrays_of(row)
        if self.kernel is not None:
            if not self.kernel.learn_row(self.stream, *arrays, positive, cost, absolute):
                raise stream_error(row, 0)
            return
        before, done = copy.copy(self.stream), False
        try:
            self.stream.cancel_query()
            score, x2, w2 = self.stream.look(*arrays, 0)
            whole = self.stream.cost_of(positive, cost, absolute)
            inputs = UpdateInput(score, 1.0 if positive else -1.0, whole, x2, w2)
            done = math.isfinite(score) and self._learn_in_python(arrays, 0, positive, inputs)
        finally:
            if not done:
                self.stream = before
        if not done:
            raise stream_error(row, 0)

    # -- copies ------------------------------------------------------------------------------------------------------

    def from_arrays_of(self, other: BinaryStream) -> None:
        """Go on from where another stream is; an average that this one wants and the other did not keep begins at 0."""
        weights, sums, factors, counts = other.stream.arrays()
        if not (self.setting.averaging and other.setting.averaging):
            sums = np.zeros(len(weights) if self.setting.averaging else 0)
        self.stream.restore(weights, sums, factors, counts)
        self.stream.restore_covariance(other.stream.covariance())

    def __getstate__(self) -> dict[str, Any]:
        return {
            "made_of": (self.setting, self.update, self.query),
            "arrays": self.stream.arrays(),
            "spread": self.stream.covariance(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["made_of"])  # type: ignore[misc]
        self.stream.restore(*state["arrays"])
        self.stream.restore_covariance(state["spread"])


def all_queried(n: int) -> tuple[Floats, NDArray[np.bool_]]:
    """The chances of n rounds whose labels were all asked for, and that they were: one number each, read n times.

    The bytes make them read-only, as np.broadcast_to would; that takes as long as some thousand rows.
    """
    return np.ndarray(n, np.float64, _ONE, strides=(0,)), np.ndarray(n, np.bool_, _YES, strides=(0,))


def arrays_of(rows: Rows) -> tuple[Any, ...]:
    """The arrays by which rows cross into the kernels."""
    return (rows.data, rows.indices, rows.indptr) if is_sparse(rows) else (rows,)


def stream_error(rows: Rows, end: int) -> InvalidInputError:
    """What to say of rows that a kernel could not use, ``end`` being where it stopped."""
    try:
        check_finite("X", rows)
    except InvalidInputError as error:
        return error
    if is_sparse(rows) and rows.nnz and not 0 <= rows.indices.min() <= rows.indices.max() < rows.shape[1]:
        return invalid("X", f"have columns within 0..{rows.shape[1] - 1}", f"{rows.indices.max()} in a sparse X")
    where = f"row {end}" if end >= 0 else "the rows given"
    return invalid(
        "weights",
        "stay finite",
        f"an overflow at {where}",
        "Scale the features or take smaller steps.",
        DivergedError,
    )


def check_stream_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Rows whose columns come once each; values are left for the kernels to look at."""
    rows = check_rows(estimator, X, reset=reset, looked_at=False)
    if is_sparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()  # norms need every column once; the caller's matrix stays as it was
        rows.sum_duplicates()
    return rows


def one_row(estimator: Any, x: Any) -> Rows:
    """What a caller gives for one row, with shape (1, d)."""
    if isinstance(x, SparseRow):
        x = x.check().to_csr()
    row = x if is_sparse(x) or getattr(x, "ndim", 1) == 2 else np.atleast_2d(np.asarray(x))
    rows = check_stream_rows(estimator, row, reset=False)
    if rows.shape[0] != 1:
        raise invalid("x", "be one row", f"{rows.shape[0]} rows", "Use run or partial_fit for many.")
    if is_sparse(rows) and rows.nnz and not 0 <= rows.indices.min() <= rows.indices.max() < rows.shape[1]:
        raise stream_error(rows, 0)
    return rows
