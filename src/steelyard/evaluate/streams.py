"""Measures of a stream over time, from its trace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..costs.rules import CostsLike
from ..trace import Trace
from ..validation.docstrings import documented
from ..validation.types import Label, LabelsLike
from ..validation.values import check_choice, invalid
from ._measure_forms import Measure, form_of
from ._predictions import Codes, Floats, Predictions, read_predictions

_CELLS = 1 << 20  # running sums held at a time


@documented()
def prequential_curve(
    measure: Measure,
    trace: Trace,
    *,
    shown: str = "push",
    at: Any = None,
    costs: CostsLike | None = None,
    positive: Label | None = None,
    classes: LabelsLike | None = None,
    **params: Any,
) -> Floats:
    """A measure over the first t rounds of a stream, for every t: prequential cost, F1, sensitivity, ...

    Parameters
    ----------
    measure : callable
        A measure of this package, or scikit-learn's ``accuracy_score`` or ``balanced_accuracy_score``.
    trace : Trace
        The record of the stream, with the truth of every round.
    shown : {"push", "push_and_query"}
        "push" takes the predictions as the answers (PE of paper 001, sec. 5); "push_and_query" counts what was
        queried as a positive answer too (PQE): a person looked at it.
    at : array-like of int or None
        Rounds t to give the value after, from 1 to n and rising; all if None.
    **params : Any
        Further parameters of the measure.

    Returns
    -------
    ndarray
        The measure over the first t rounds, for every t asked for.

    Examples
    --------
    >>> trace = Trace(np.zeros(3), np.array([0, 1, 0]), np.array([True, False, True]), np.ones(3), np.array([1, 1, 0]))
    >>> from steelyard import sensitivity_score
    >>> prequential_curve(sensitivity_score, trace)
    array([0. , 0.5, 0.5])
    >>> prequential_curve(sensitivity_score, trace, shown="push_and_query")
    array([1., 1., 1.])
    """
    form = form_of(measure)
    answers = trace_answers(trace, shown, costs=costs, positive=positive, classes=classes)
    rounds = _rounds(at, len(answers.truth))
    values = np.empty(len(rounds))
    sums = np.zeros(form.statistics(answers.take(slice(1))).shape[1])
    step = max(1, _CELLS // len(sums))
    for start in range(0, len(answers.truth), step):
        running = sums + np.cumsum(form.statistics(answers.take(slice(start, start + step))), axis=0)
        here = (rounds > start) & (rounds <= start + len(running))
        values[here] = form.finalize(running[rounds[here] - start - 1], answers.positive, **params)
        sums = running[-1]
    return values


def prequential_score(measure: Measure, trace: Trace, *, shown: str = "push", **given: Any) -> float:
    """A measure over a whole stream: the last value of :func:`prequential_curve`, which takes the same parameters.

    Parameters
    ----------
    measure : callable
        As for :func:`prequential_curve`.
    trace : Trace
        The record of the stream.
    shown : {"push", "push_and_query"}
        As for :func:`prequential_curve`.
    **given : Any
        Further parameters of the measure, such as ``costs`` and ``positive``.

    Returns
    -------
    float
        The measure over all rounds.

    Examples
    --------
    >>> trace = Trace(np.zeros(3), np.array([0, 1, 0]), np.array([True, False, True]), np.ones(3), np.array([1, 1, 0]))
    >>> from steelyard import f_score
    >>> [round(prequential_score(f_score, trace, shown=s), 3) for s in ("push", "push_and_query")]
    [0.667, 0.8]
    """
    return float(prequential_curve(measure, trace, shown=shown, at=[len(trace.prediction)], **given)[-1])


def trace_answers(trace: Trace, shown: str, *, costs: Any, positive: Any, classes: Any) -> Predictions:
    """The truths and the answers a user of the stream saw."""
    check_choice("shown", shown, ("push", "push_and_query"))
    answers = read_predictions(trace.y, trace.prediction, costs=costs, positive=positive, classes=classes)
    if shown == "push":
        return answers
    queried = np.asarray(trace.queried, dtype=bool)
    return replace(answers, answer=np.where(queried, answers.positive(), answers.answer))


def _rounds(at: Any, n: int) -> Codes:
    if at is None:
        return np.arange(1, n + 1)
    rounds = np.asarray(at)
    ok = rounds.ndim == 1 and rounds.size and rounds.dtype.kind in "iu" and (np.diff(rounds) > 0).all()
    if not ok or rounds[0] < 1 or rounds[-1] > n:
        raise invalid("at", f"be rising whole numbers from 1 to {n}", at)
    return rounds.astype(np.intp)
