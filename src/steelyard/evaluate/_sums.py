"""Every measure is a function of sums over the examples: how those sums are made.

This is what lets one formula serve a plain value, a whole stream over time, thousands of bootstrap resamples and
inverse-probability weights. A *sheet* has one row per example (or per distinct cell of the confusion table, with its
``size``); the measure's ``finish`` turns sums of rows, with any leading axes, into values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._predictions import Answers, Codes, Floats

Finish = Callable[..., Floats]  # (sums (..., columns), () -> position of the positive class, **params) -> values (...)


@dataclass(frozen=True)
class Form:
    """How a measure reads the examples (``sheet``) and what it makes of their sums (``finish``)."""

    sheet: Callable[[Answers], Floats]
    finish: Finish

    def value(self, answers: Answers, **params: Any) -> float:
        """The measure itself."""
        return float(self.finish(self.total(answers), answers.positive, **params))

    def total(self, answers: Answers) -> Floats:
        """Sums over all examples; counts without a sheet, whose columns grow with the classes."""
        cells = collapsed(answers)
        if self.sheet not in (counted, recalled):
            return np.asarray(cells.size @ self.sheet(cells.answers))
        weight, K = cells.size * _weights(cells.answers), answers.n_classes
        counts = np.bincount(_cell(cells.answers), weights=weight, minlength=K**2).astype(float)
        if self.sheet is counted:
            return counts
        table = counts.reshape(K, K)
        return np.concatenate([np.diagonal(table), table.sum(axis=1)])


@dataclass(frozen=True, eq=False)
class Cells:
    """Examples that no measure can tell apart, counted once with their number."""

    answers: Answers
    size: Floats


def collapsed(answers: Answers) -> Cells:
    """One row per (truth, answer) that occurs; one per example where weights or per-example costs tell them apart."""
    if answers.prices is not None or answers.weight is not None:
        return Cells(answers, np.ones(len(answers.truth)))
    sizes = np.bincount(_cell(answers), minlength=answers.n_classes**2)
    occurring: Codes = np.flatnonzero(sizes)
    truth, answer = np.divmod(occurring, answers.n_classes)
    return Cells(replace(answers, truth=truth, answer=answer), sizes[occurring].astype(float))


def counted(answers: Answers) -> Floats:
    """Columns: the cells of the confusion table, row by row; sums are counts."""
    rows = np.zeros((len(answers.truth), answers.n_classes**2))
    rows[np.arange(len(rows)), _cell(answers)] = _weights(answers)
    return rows


def recalled(answers: Answers) -> Floats:
    """Columns: right answers of each class, then examples of each class; two a class, however many there are."""
    every, truth, K = np.arange(len(answers.truth)), answers.truth, answers.n_classes
    rows = np.zeros((len(every), 2 * K))
    rows[every, truth] = (truth == answers.answer) * _weights(answers)
    rows[every, K + truth] = _weights(answers)
    return rows


def paid(answers: Answers) -> Floats:
    """Columns: cost paid, number of examples."""
    return np.column_stack([answers.paid(), np.ones(len(answers.truth))]) * np.reshape(_weights(answers), (-1, 1))


def priced(answers: Answers) -> Floats:
    """Columns: cost paid, number of examples, cost of always answering each class."""
    return np.column_stack([paid(answers), answers.per_example() * np.reshape(_weights(answers), (-1, 1))])


def _cell(answers: Answers) -> Codes:
    return answers.truth * answers.n_classes + answers.answer


def _weights(answers: Answers) -> Any:
    return 1.0 if answers.weight is None else answers.weight
