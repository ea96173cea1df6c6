"""Truths and answers as every measure reads them: codes over one list of classes, with costs and the positive class.

Tested in ``tests/unit/evaluate/test_measures.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import Costs, ExampleCosts
from ..costs._reading import positions
from ..costs.rules import stated_costs
from ..errors import CostsError, InvalidInputError
from ..validation.arrays import check_column, check_finite, check_labels, check_same_length, check_sample_weight
from ..validation.values import invalid

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
MOST_DIGITS = 307  # of a sum before its point


@dataclass(frozen=True, eq=False)
class Predictions:
    """``truth[i]`` and ``answer[i]`` are positions in ``classes``; ``prices[i]`` the (K,) costs of each answer."""

    classes: NDArray[Any]
    truth: Codes
    answer: Codes
    weight: Floats | None = None
    matrix: Floats | None = None  # class-level costs C[true, predicted], or
    prices: Floats | None = None  # per-example costs c[i, answer]
    plus: int | None = None
    abstains: bool = False  # the last of ``classes`` is the answer that decides nothing
    currency: str | None = None

    @classmethod
    def from_codes(
        cls, truth: Codes, answer: Codes, costs: Costs, *, positive: int | None = None, weight: Floats | None = None
    ) -> Predictions:
        """Labels that are codes already: positions in the classes of the costs, among its answers for ``answer``.

        The entrance of callers that encoded their labels once; what they hand in is not checked again.
        """
        found = cls(
            costs.answers,
            truth,
            answer,
            weight=weight,
            matrix=costs.matrix,
            prices=costs.cost_rows(truth) if isinstance(costs, ExampleCosts) else None,
            plus=positive,
            currency=costs.currency,
        )
        return found if costs.abstain is None else _with_abstain(found, costs.abstain)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def per_example(self) -> Floats:
        """Cost of each answer for each example, (n, K)."""
        table = self.prices if self.prices is not None else self.matrix
        assert table is not None
        self._check_sums(table)
        return table if self.prices is not None else table[self.truth]

    def _check_sums(self, table: Floats) -> None:
        """Raise where weights times costs would not add up to a number."""
        if self.weight is None or not len(self.weight) or not table.size:
            return
        weight, cost = float(self.weight.max()), float(np.abs(table).max())
        if weight == 0 or cost == 0:
            return
        if math.log10(weight) + math.log10(cost) + math.log10(len(self.weight)) > MOST_DIGITS:
            hint = "Divide all weights by the same number: means stay the same."
            raise invalid("sample_weight", "be small enough to add up weighted costs", weight, hint)

    def paid(self) -> Floats:
        """What the answers given cost, (n,), before weights."""
        return self.per_example()[np.arange(len(self.truth)), self.answer]

    def take(self, rows: Any) -> Predictions:
        """The same for some of the rows."""
        return replace(
            self,
            truth=self.truth[rows],
            answer=self.answer[rows],
            weight=None if self.weight is None else self.weight[rows],
            prices=None if self.prices is None else self.prices[rows],
        )

    def positive(self) -> int:
        """Position of the positive class; an error if it was never settled."""
        if self.plus is None:
            names = ", ".join(repr(v) for v in self.classes.tolist()[:12])
            raise InvalidInputError(
                f"positive must name the positive class when the classes are not two; got None with {names}. "
                "Give positive=, or both classes with classes=."
            )
        return self.plus


def read_predictions(
    y_true: Any,
    y_pred: Any,
    *,
    costs: Any = None,
    positive: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> Predictions:
    """Check and encode what a measure was given."""
    truths, truth = _labels("y_true", y_true)
    stated = None if costs is None else stated_costs(costs, y_true)
    abstain = None if stated is None or stated.abstain is None else stated.abstain_label
    answers, answer = _labels("y_pred", y_pred) if abstain is None else _answers_or(abstain, y_pred)
    check_same_length(y_true=truth, y_pred=answer)
    known = _classes(truths, answers, stated, classes)
    bound = _over(known, stated)
    return Predictions.from_codes(
        _positions("y_true", known, truths)[truth],
        _positions("y_pred", bound.answers, answers)[answer],
        bound,
        positive=_positive(known, positive, bound.positive),
        weight=None if sample_weight is None else check_sample_weight(sample_weight, len(truth)),
    )


def _with_abstain(found: Predictions, price: float | Floats) -> Predictions:
    """Abstaining as one more class that no example has: it costs its price, whatever the truth."""
    if found.prices is not None:
        prices = np.column_stack([found.prices, np.broadcast_to(price, len(found.prices))])
        return replace(found, prices=prices, abstains=True)
    assert found.matrix is not None
    matrix = np.zeros((len(found.matrix) + 1, len(found.matrix) + 1))
    matrix[:-1, :-1], matrix[:-1, -1] = found.matrix, price
    return replace(found, matrix=matrix, abstains=True)


def numbers(name: str, values: Any, ndim: int) -> Floats:
    """Finite numbers with so many axes, as a copy."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(name, "hold numbers", values) from None
    if array.ndim != ndim:
        what = "a flat column of numbers" if ndim == 1 else "a table of numbers"
        raise invalid(name, f"be {what}", f"shape {array.shape}")
    check_finite(name, array)
    return array


def _labels(name: str, y: Any) -> tuple[NDArray[Any], Codes]:
    shape = np.asarray(y).shape
    if y is not None and not (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)):
        raise invalid(name, "be a flat list of labels", f"shape {shape}")
    classes, codes = check_labels(y, name)
    if len(codes) == 0:
        raise invalid(name, "hold at least one label", "an empty array")
    return classes, codes


def _answers_or(abstain: str, y_pred: Any) -> tuple[NDArray[Any], Codes]:
    """Labels among which some are the text for abstaining, whatever the type of the others.

    Answers that may be abstentions are an array of objects, also where none of them is one.
    """
    values = np.asarray(y_pred, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = check_column("y_pred", values)
    abstained = values == abstain
    kind = getattr(getattr(y_pred, "dtype", None), "kind", "")
    if values.ndim != 1 or not (abstained.any() or kind == "O"):
        return _labels("y_pred", y_pred)
    codes = np.zeros(len(values), dtype=np.intp)
    found: list[Any] = []
    if not abstained.all():
        decided, codes[~abstained] = _labels("y_pred", np.array(values[~abstained].tolist()))
        found = decided.tolist()
    codes[abstained] = len(found)
    return np.array([*found, *([abstain] if abstained.any() else [])], dtype=object), codes


def _classes(truths: NDArray[Any], answers: NDArray[Any], costs: Costs | None, classes: Any) -> NDArray[Any]:
    """The classes measured over: as given, else those the costs name, else all that occur."""
    if classes is not None:
        return np.asarray(classes)
    if costs is not None and costs.classes is not None:
        return costs.classes
    if isinstance(truths.tolist()[0], str) != isinstance(answers.tolist()[0], str):
        raise invalid(
            "y_pred",
            f"hold labels of the type of y_true ({truths.dtype})",
            answers.tolist()[:3],
            "Convert one of them.",
        )
    seen = np.union1d(truths, answers)
    if len(seen) == 1 and seen.dtype.kind == "b":
        return np.array([False, True])
    if len(seen) == 1 and seen.dtype.kind in "iuf" and seen[0] in (0, -1):  # only negatives of {0, 1} or {-1, 1}
        return np.append(seen, seen.dtype.type(1))
    return seen


def _positions(name: str, known: NDArray[Any], present: NDArray[Any]) -> Codes:
    try:
        return positions(known, present)
    except CostsError as error:
        unknown = [v for v in present.tolist() if v not in known.tolist()]
        raise invalid(
            name, f"hold only known classes ({', '.join(map(repr, known.tolist()))})", unknown, "Extend classes=."
        ) from error


def _over(known: NDArray[Any], costs: Costs | None) -> Costs:
    if costs is not None:
        return costs.aligned(known)
    # a single class seen and none named: every answer is right
    return Costs.zero_one(known) if len(known) > 1 else Costs(known, np.zeros((1, 1)))


def _positive(known: NDArray[Any], positive: Any, from_costs: Any) -> int | None:
    if positive is None:
        positive = from_costs
    if positive is not None:
        return int(_positions("positive", known, np.asarray([positive]))[0])
    return 1 if len(known) == 2 else None
