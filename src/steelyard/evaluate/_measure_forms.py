"""Every measure is a formula over sums of examples: how the sums are made, and which formula is whose.

This is what lets one formula serve a plain value, a whole stream over time, thousands of bootstrap resamples and
inverse-probability weights. The *statistics* of examples have one row per example (or per group of examples that no
measure can tell apart, with its ``size``); ``finalize`` turns sums of rows, with any leading axes (rounds, resamples,
thresholds), into values.

Tested in ``tests/unit/evaluate/test_scorers.py``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..costs.rules import CostsLike
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, Label, LabelsLike
from ..validation.values import invalid
from ._predictions import Codes, Floats, Predictions, read_predictions

Positive = Callable[[], int]  # called only by measures that have a positive class
Finalize = Callable[
    ..., Floats
]  # (sums (..., columns), () -> position of the positive class, **params) -> values (...)


@dataclass(frozen=True)
class MeasureForm:
    """How a measure reads the examples (``statistics``) and what it makes of their sums (``finalize``)."""

    statistics: Callable[[Predictions], Floats]
    finalize: Finalize

    def value(self, answers: Predictions, **params: Any) -> float:
        """The measure itself."""
        return float(self.finalize(self.total(answers), answers.positive, **params))

    def total(self, answers: Predictions) -> Floats:
        """Sums over all examples; counts without the rows, whose columns grow with the classes."""
        cells = grouped(answers)
        if self.statistics not in (counts, class_recalls):
            return np.asarray(cells.size @ self.statistics(cells.answers))
        weight, K = cells.size * _weights(cells.answers), answers.n_classes
        table = np.bincount(_cell(cells.answers), weights=weight, minlength=K**2).astype(float)
        if self.statistics is counts:
            return table
        table = table.reshape(K, K)
        return np.concatenate([np.diagonal(table), table.sum(axis=1)])


@dataclass(frozen=True, eq=False)
class GroupedPredictions:
    """Examples that no measure can tell apart, as one row with their number."""

    answers: Predictions
    size: Floats


def grouped(answers: Predictions) -> GroupedPredictions:
    """One row per (truth, answer) that occurs; one per example where weights or per-example costs tell them apart."""
    if answers.prices is not None or answers.weight is not None:
        return GroupedPredictions(answers, np.ones(len(answers.truth)))
    sizes = np.bincount(_cell(answers), minlength=answers.n_classes**2)
    occurring: Codes = np.flatnonzero(sizes)
    truth, answer = np.divmod(occurring, answers.n_classes)
    return GroupedPredictions(replace(answers, truth=truth, answer=answer), sizes[occurring].astype(float))


def counts(answers: Predictions) -> Floats:
    """Columns: the cells of the confusion table, row by row; sums are counts."""
    rows = np.zeros((len(answers.truth), answers.n_classes**2))
    rows[np.arange(len(rows)), _cell(answers)] = _weights(answers)
    return rows


def class_recalls(answers: Predictions) -> Floats:
    """Columns: right answers of each class, then examples of each class; two a class, however many there are."""
    every, truth, K = np.arange(len(answers.truth)), answers.truth, answers.n_classes
    rows = np.zeros((len(every), 2 * K))
    rows[every, truth] = (truth == answers.answer) * _weights(answers)
    rows[every, K + truth] = _weights(answers)
    return rows


def cost_sums(answers: Predictions) -> Floats:
    """Columns: cost of the answers given, number of examples."""
    return np.column_stack([answers.paid(), np.ones(len(answers.truth))]) * np.reshape(_weights(answers), (-1, 1))


def constant_costs(answers: Predictions) -> Floats:
    """Columns: cost of the answers given, number of examples, cost of always answering each class."""
    return np.column_stack([cost_sums(answers), answers.per_example() * np.reshape(_weights(answers), (-1, 1))])


def _cell(answers: Predictions) -> Codes:
    return answers.truth * answers.n_classes + answers.answer


def _weights(answers: Predictions) -> Any:
    return 1.0 if answers.weight is None else answers.weight


def ratio(part: Any, whole: Any) -> Floats:
    """part / whole, and 0 over nothing."""
    result: Floats = np.zeros(np.broadcast(part, whole).shape)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result


def tables(sums: Floats) -> Floats:
    """Counts[..., true, predicted] from the columns of the counts."""
    K = isqrt(sums.shape[-1])
    return sums.reshape(*sums.shape[:-1], K, K)


def outcomes(sums: Floats, positive: Positive) -> tuple[Floats, Floats, Floats, Floats]:
    """True positives, false negatives, false positives, true negatives, the positive class against all others."""
    counts, plus = tables(sums), positive()
    tp = counts[..., plus, plus]
    fn = counts[..., plus, :].sum(axis=-1) - tp
    fp = counts[..., :, plus].sum(axis=-1) - tp
    return tp, fn, fp, counts.sum(axis=(-2, -1)) - tp - fn - fp


def recalls(sums: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Recall of every class (..., K) and whether it has a true example, from the columns of class recalls."""
    hits, support = np.split(sums, 2, axis=-1)
    return ratio(hits, support), support > 0


class Measure(Protocol):
    """A measure of predictions against truths."""

    __name__: str
    form: MeasureForm

    def __call__(
        self,
        y_true: LabelsLike,
        y_pred: LabelsLike,
        *,
        costs: CostsLike | None = None,
        positive: Label | None = None,
        classes: LabelsLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> float:
        """The value of the measure."""
        ...


MEASURES: dict[str, Measure] = {}  # every public measure by its name


def measure(statistics: Callable[[Predictions], Floats]) -> Callable[[Finalize], Measure]:
    """Make a public measure of a formula over the sums of ``statistics``.

    The formula takes the sums, a function that tells the positive class, and its own parameters by keyword.
    """

    def decorate(formula: Finalize) -> Measure:
        form = MeasureForm(statistics, formula)

        @functools.wraps(formula, assigned=("__module__", "__name__", "__qualname__", "__doc__"))  # types are its own
        def public(
            y_true: LabelsLike,
            y_pred: LabelsLike,
            *,
            costs: CostsLike | None = None,
            positive: Label | None = None,
            classes: LabelsLike | None = None,
            sample_weight: ArrayLike | None = None,
            **params: Any,
        ) -> float:
            given: dict[str, Any] = {
                "costs": costs,
                "positive": positive,
                "classes": classes,
                "sample_weight": sample_weight,
            }
            return form.value(read_predictions(y_true, y_pred, **given), **params)

        own = [p for p in inspect.signature(formula).parameters.values() if p.kind is p.KEYWORD_ONLY]
        shared = [
            p
            for p in inspect.signature(public, follow_wrapped=False).parameters.values()
            if p.kind is not p.VAR_KEYWORD
        ]
        public.__signature__ = inspect.Signature([*shared[:2], *own, *shared[2:]], return_annotation=float)  # type: ignore[attr-defined]
        public.form = form  # type: ignore[attr-defined]
        documented()(public)
        MEASURES[formula.__name__] = public  # type: ignore[assignment]
        return public  # type: ignore[return-value]

    return decorate


def is_measure(function: Any) -> bool:
    """Whether this is a measure of the package."""
    return isinstance(getattr(function, "form", None), MeasureForm)


def find_form(function: Any) -> MeasureForm | None:
    """The formula behind a measure, ours or scikit-learn's; None for a function that is not known as such."""
    if is_measure(function):
        return function.form  # type: ignore[no-any-return]
    from .measures import SCIKIT_LEARN

    module = getattr(function, "__module__", "") or ""
    return SCIKIT_LEARN.get(getattr(function, "__name__", "")) if module.startswith("sklearn.metrics") else None


def form_of(function: Any) -> MeasureForm:
    """The formula behind a measure; an error for a function that is not a sum over examples."""
    form = find_form(function)
    if form is None:
        from .measures import SCIKIT_LEARN

        names = ", ".join(sorted([*MEASURES, *SCIKIT_LEARN]))
        raise invalid("measure", f"be one of the functions {names}", function)
    return form
