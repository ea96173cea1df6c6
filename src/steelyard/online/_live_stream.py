"""What a live stream needs besides deciding and learning: its counts, changes of its rules, and learning afresh."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Self

import numpy as np

from ..active import AskAll, Budget, QueryRule
from ..costs import CostRule, Costs
from ..costs.rules import CostsLike
from ..errors import InvalidInputError
from ..validation.arrays import unchanged_on_error
from ..validation.values import check_count, invalid
from ._binary_stream import check_query
from .adaptive import AdaptiveBalanced, ClassCosts, fixed_costs
from .sparse_row import SparseRow

_NOTHING = object()


class Keep(Enum):
    """Stands for a parameter that stays as it is, where None is a value of its own."""

    KEEP = "as it is"

    def __repr__(self) -> str:
        return "KEEP"


KEEP = Keep.KEEP


class LiveStreamMixin:
    """Counts, :meth:`changed` and :meth:`relearned` of both online estimators."""

    classes_: Any
    n_features_in_: int
    after_budget: str
    fit_intercept: bool
    costs: Any
    negative: Any
    _stream: Any
    _running: Any
    _name_classes: Any  # (classes): what they are called, in their order
    _learn_example: Any  # (x, y, cost or costs or None, sample_weight): learn, whether or not it was asked for
    _stated_costs: Any  # (setting, costs): the setting with these costs

    classes: Any
    start: Any

    def _first_call(self, method: Callable[..., Any], x: Any, *args: Any, **given: Any) -> Any:
        """A call before there is a stream. One that knows its classes begins with the width of its first row.

        A row or label that cannot be used is no first one: it would settle the width of all that come.
        """
        with unchanged_on_error(self):
            if self.classes is not None:
                self.start(_width(x), self.classes)
            self._running()
            return method(x, *args, **given)

    def _cold(self, X: Any) -> Self | None:
        """A copy that has learned nothing, to answer with before the first label comes; None once there is a stream."""
        if hasattr(self, "_stream") or self.classes is None:
            return None
        return copy.copy(self).start(_width(X), self.classes)  # type: ignore[no-any-return]

    def coded(self) -> Self:
        """A copy whose classes are 0, 1, .. in their order, and its costs with them; all else goes on as it was.

        Returns
        -------
        estimator
            One that shares nothing with this one.
        """
        made, labels = copy.deepcopy(self), self.classes_.tolist()
        made._name_classes(np.arange(len(labels)))
        made.classes = None if self.classes is None else list(range(len(labels)))
        nameless = isinstance(self.costs, Costs) and self.costs.classes is None
        if self.costs is not None and not nameless and not isinstance(self.costs, AdaptiveBalanced):
            made.costs = Costs.from_matrix(self._known_matrix())
        if getattr(self, "negative", None) is not None:
            made.negative = labels.index(self.negative)
        if hasattr(made, "feature_names_in_"):
            del made.feature_names_in_  # rows without labels of their own have no names either
        return made

    def _known_matrix(self) -> Any:
        """C[true, predicted] of costs in any form but those that follow the labels; of a rule what it gave at fit."""
        if not isinstance(self.costs, CostRule):
            return fixed_costs(self.costs, None, self.classes_).matrix
        learned = self._running().setting.costs
        return [[0.0, learned.cost_neg], [learned.cost_pos, 0.0]] if isinstance(learned, ClassCosts) else learned

    @property
    def n_rounds_(self) -> int:
        """Rounds so far."""
        return int(self._running().stream.t)

    @property
    def n_spent_(self) -> int:
        """Labels that came."""
        return int(self._running().stream.spent)

    @property
    def n_reserved_(self) -> int:
        """Labels asked for that have not come yet."""
        return int(self._running().stream.reserved)

    @property
    def n_queried_(self) -> int:
        """Labels asked for so far, answered or not."""
        return self.n_spent_ + self.n_reserved_

    @property
    def n_updates_(self) -> int:
        """Rounds that changed the weights."""
        return int(self._running().stream.updates)

    def cancel_query(self, count: int = 1) -> None:
        """Give back the reservation of labels that were asked for and will never come.

        Parameters
        ----------
        count : int
            Queried labels that will never come, no more than are awaited.
        """
        awaited, count = self.n_reserved_, check_count("count", count)
        if count > awaited:
            raise invalid("count", f"be no more than the {awaited} labels that are awaited", count)
        self._running().stream.cancel_query(count)

    def set_counts(self, *, rounds: int, spent: int, reserved: int) -> None:
        """Go on from the counts of somebody else, who decides and asks in the place of this stream.

        What was learned stays; an average counts the rounds that passed.

        Parameters
        ----------
        rounds : int
            Rounds so far, no fewer than this stream has counted.
        spent : int
            Labels that came.
        reserved : int
            Labels that were asked for and have not come yet.
        """
        stream = self._running().stream
        rounds = check_count("rounds", rounds, at_least=int(stream.t))
        labels = check_count("spent", spent, at_least=0), check_count("reserved", reserved, at_least=0)
        stream.pass_rounds(rounds)
        stream.set_labels(*labels)

    def changed(
        self,
        *,
        query: QueryRule | Keep | None = KEEP,
        budget: int | float | Budget | Keep | None = KEEP,
        costs: CostsLike | Keep | None = KEEP,
    ) -> Self:
        """This stream with other rules from here on; what it has learned, counted and reserved stays. It is a copy.

        Parameters
        ----------
        query : QueryRule or None
            Which labels are queried; ``AskAll()`` if None.
        budget : int, float, Budget or None
            Labels in all, those so far included, or a rate below 1.
        costs : Costs, mapping, array-like or None
            What later labels count; see :meth:`relearned` for the earlier ones.

        Returns
        -------
        Self
            The stream, with the changes.
        """
        engine, made = self._running(), copy.copy(self)
        setting, asks = engine.setting, engine.query
        if not isinstance(query, Keep):
            asks = AskAll() if query is None else query
            check_query(asks)
            made.query = query  # type: ignore[attr-defined]
        if not isinstance(budget, Keep):
            setting = setting._replace(**self._stated_budget(budget))
            made.budget = budget  # type: ignore[attr-defined]
        if not isinstance(costs, Keep):
            setting = self._stated_costs(setting, costs)
            made.costs = costs
        made._stream = type(engine)(setting, engine.update, asks)
        made._stream.from_arrays_of(engine)
        return made

    def _stated_budget(self, budget: Any) -> dict[str, Any]:
        stated, queried = Budget.of(budget), self.n_queried_
        if stated.limit < queried:
            raise invalid("budget", f"be no less than the {queried} labels asked for so far", budget)
        averaged = self.after_budget == "average"
        if averaged and not np.isfinite(stated.limit):
            raise invalid("budget", 'be a number of labels for after_budget="average"', budget)
        return {"budget": stated, "averaging": averaged and stated.limit > 0}

    def relearned(
        self,
        rows: Iterable[Any],
        labels: Sequence[Any],
        rounds: Sequence[int],
        *,
        costs: Sequence[Any] | None = None,
        sample_weight: Sequence[float] | None = None,
        start: Self | None = None,
    ) -> Self:
        """This stream as if it had learned these examples alone, in this order. It is a copy.

        Rounds, labels spent and reserved, and the seed stay. With every example in the order in which it was learned
        the weights are the same, bit for bit; averages count the rounds between them.

        Parameters
        ----------
        rows : iterable of rows
            As :meth:`learn` takes them; read once, one at a time.
        labels : sequence of labels
            Their labels, no more than came.
        rounds : sequence of int
            How many rounds had been decided when each was learned; never falling.
        costs : sequence or None
            For each example what :meth:`learn` takes, or None.
        sample_weight : sequence of float or None
            For each example a factor to its costs.
        start : estimator or None
            Learn on from the weights of this earlier stream; from zeros if None.

        Returns
        -------
        Self
            The stream with the weights of these examples.
        """
        engine, made, n = self._running(), copy.copy(self), len(labels)
        base = None if start is None else self._checked_start(start)
        before = self._labels_before(n, base)
        made._stream = type(engine)(engine.setting, engine.update, engine.query)
        if base is not None:
            made._stream.from_arrays_of(base)
        made._stream.stream.set_labels(before, 0)
        for row, label, at, cost, weight in self._examples(rows, labels, rounds, costs, sample_weight):
            made._stream.stream.pass_rounds(self._checked_round(at, made.n_rounds_))
            made._learn_example(row, label, cost, weight)
        made._stream.stream.pass_rounds(self.n_rounds_)
        made._stream.stream.set_labels(self.n_spent_, self.n_reserved_)
        return made

    def _checked_start(self, start: Any) -> Any:
        if type(start) is not type(self) or not hasattr(start, "_stream"):
            raise invalid("start", f"be an earlier stream, a fitted {type(self).__name__}", start)
        same = start.n_features_in_ == self.n_features_in_ and np.array_equal(start.classes_, self.classes_)
        if not same or start.fit_intercept != self.fit_intercept or start.n_rounds_ > self.n_rounds_:
            raise invalid("start", "be an earlier stream of the same features and classes", start)
        return start._running()

    def _labels_before(self, n: int, base: Any) -> int:
        """Labels that count as spent before the first example: withdrawn ones were paid for, too."""
        least = 0 if base is None else int(base.stream.spent)
        before = self.n_spent_ - n
        if before < least:
            raise invalid("labels", f"be no more than the {self.n_spent_ - least} labels that came", n)
        if before > least and getattr(getattr(self._running().setting, "costs", None), "adaptive_odds", 0) > 0:
            hint = "AdaptiveBalanced counts every label that was paid for."
            raise invalid("labels", f"be all {self.n_spent_ - least} labels that came", n, hint)
        return before

    def _checked_round(self, at: Any, now: int) -> int:
        return check_count("rounds", at, at_least=now, at_most=self.n_rounds_)

    def _examples(
        self, rows: Any, labels: Sequence[Any], rounds: Sequence[int], costs: Any, sample_weight: Any
    ) -> Iterable[Any]:
        n = len(labels)
        given = {"rounds": rounds, "costs": costs, "sample_weight": sample_weight}
        for name, column in given.items():
            if column is not None and len(column) != n:
                raise invalid(name, f"be as many as the {n} labels", len(column))
        prices: Iterable[Any] = itertools.repeat(None) if costs is None else costs
        weights: Iterable[Any] = itertools.repeat(1.0) if sample_weight is None else sample_weight
        remaining = iter(rows)
        for i, (label, at, cost, weight) in enumerate(zip(labels, rounds, prices, weights, strict=False)):
            row = next(remaining, _NOTHING)
            if row is _NOTHING:
                raise invalid("rows", f"be as many as the {n} labels", i)
            yield row, label, at, cost, weight
        if next(remaining, _NOTHING) is not _NOTHING:
            raise invalid("rows", f"be as many as the {n} labels", "more")


def no_pending_query() -> InvalidInputError:
    """What to raise where a label comes that was not asked for, though labels are limited."""
    return InvalidInputError("learn() without a pending query: call decide() first")


def _width(x: Any) -> int:
    """How many features a row, or the rows of a matrix, have."""
    if isinstance(x, SparseRow):
        return x.n_features
    if isinstance(x, Mapping):
        raise invalid("x", "be a row of numbers", "a dict", "RecordHasher().one(record) makes one of it.")
    shape = x.shape if hasattr(x, "shape") else np.shape(x)
    if len(shape) not in (1, 2):
        raise invalid("x", "be a row or rows of numbers", f"shape {shape}")
    return int(shape[-1])
