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

from ._answers import Answers, Codes, Floats

Finish = Callable[..., Floats]  # (sums (..., columns), () -> position of the positive class, **params) -> values (...)


@dataclass(frozen=True)
class Form:
    """How a measure reads the examples (``sheet``) and what it makes of their sums (``finish``)."""

    sheet: Callable[[Answers], Floats]
    finish: Finish

    def value(self, answers: Answers, **params: Any) -> float:
        """The measure itself."""
        cells = collapsed(answers)
        return float(self.finish(cells.size @ self.sheet(cells.answers), answers.positive, **params))


@dataclass(frozen=True, eq=False)
class Cells:
    """Examples that no measure can tell apart, counted once with their number."""

    answers: Answers
    size: Floats


def collapsed(answers: Answers) -> Cells:
    """One row per (truth, answer) that occurs; one per example where weights or per-example costs tell them apart."""
    if answers.prices is not None or answers.weight is not None:
        return Cells(answers, np.ones(len(answers.truth)))
    sizes = np.bincount(answers.truth * answers.n_classes + answers.answer, minlength=answers.n_classes**2)
    occurring: Codes = np.flatnonzero(sizes)
    truth, answer = np.divmod(occurring, answers.n_classes)
    return Cells(replace(answers, truth=truth, answer=answer), sizes[occurring].astype(float))


def counted(answers: Answers) -> Floats:
    """Columns: the cells of the confusion table, row by row; sums are counts."""
    rows = np.zeros((len(answers.truth), answers.n_classes**2))
    rows[np.arange(len(rows)), answers.truth * answers.n_classes + answers.answer] = _weights(answers)
    return rows


def priced(answers: Answers) -> Floats:
    """Columns: cost paid, number of examples, cost of always answering each class."""
    rows = np.column_stack([answers.paid(), np.ones(len(answers.truth)), answers.table()])
    return rows * np.reshape(_weights(answers), (-1, 1))


def _weights(answers: Answers) -> Any:
    return 1.0 if answers.weight is None else answers.weight
