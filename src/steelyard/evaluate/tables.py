"""Where the mistakes are: confusion in counts and in cost, and the classes one by one."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from ..costs._showing import format_amount
from ..costs.rules import CostsLike
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, LabelsLike
from ..validation.values import check_number
from ._predictions import Floats, Predictions, read_predictions


@documented()
def cost_confusion_matrix(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    costs: CostsLike | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Cost paid in every cell of the confusion matrix, [true, predicted]; its sum is the total cost.

    Rows and columns follow ``classes`` (default: those the costs name, else all that occur, sorted).

    Returns
    -------
    ndarray of shape (K, K)
        Cost paid, ``[true, predicted]``.

    Examples
    --------
    >>> cost_confusion_matrix([1, 1, 0, 0], [1, 0, 0, 1], costs={0: 1, 1: 5})
    array([[0., 1.],
           [5., 0.]])
    """
    return _in_cost(read_predictions(y_true, y_pred, costs=costs, classes=classes, sample_weight=sample_weight))


def _in_cost(answers: Predictions) -> Floats:
    return _by_cell(answers, answers.paid())


def _by_cell(answers: Predictions, amounts: Floats) -> Floats:
    """Sums of amounts over the cells [true, predicted]."""
    matrix = np.zeros((answers.n_classes, answers.n_classes))
    weight = 1.0 if answers.weight is None else answers.weight
    np.add.at(matrix, (answers.truth, answers.answer), amounts * weight)
    return matrix[:-1] if answers.abstains else matrix  # nothing is truly "abstain"


@dataclass(frozen=True, eq=False)
class ConfusionTable:
    """A confusion matrix ``[true, predicted]`` in counts and in cost, with its labels; prints as text and as HTML.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Labels of the rows.
    counts : ndarray of shape (K, K) or (K, K + 1)
        Count or weight of every pair, ``[true, predicted]``.
    costs : ndarray of the same shape
        Cost paid in every cell.
    answers : ndarray
        Labels of the columns: ``classes``, and the name of abstaining where that has a price.
    currency : str or None
        Unit of the costs.
    """

    classes: NDArray[Any]
    counts: Floats
    costs: Floats
    answers: NDArray[Any]
    currency: str | None = None

    def __str__(self) -> str:
        cells = [
            [f"{format_amount(n)} ({format_amount(c, self.currency)})" for n, c in zip(*rows, strict=True)]
            for rows in self._rows()
        ]
        return aligned_text(["truth \\ answer, count (cost)", *map(str, self.answers)], self._names(), cells)

    def _repr_html_(self) -> str:
        top = float(self.costs.max(initial=0.0)) or 1.0
        body = "".join(
            f'<tr><th scope="row">{html.escape(name)}</th>'
            + "".join(
                f'<td style="background:rgba(200,60,30,{max(0.5 * c / top, 0.0):.2f})">{format_amount(n)}'
                f"<br><small>{html.escape(format_amount(c, self.currency))}</small></td>"
                for n, c in zip(*rows, strict=True)
            )
            + "</tr>"
            for name, rows in zip(self._names(), self._rows(), strict=True)
        )
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in map(str, self.answers))
        return (
            '<table class="confusion"><caption>answers by truth: count, and cost below</caption>'
            f"<thead><tr><th>truth \\ answer</th>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _rows(self) -> list[tuple[Any, Any]]:
        return list(zip(self.counts.tolist(), self.costs.tolist(), strict=True))

    def _names(self) -> list[str]:
        return [str(label) for label in self.classes]


@documented()
def confusion_table(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    costs: CostsLike | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ConfusionTable:
    """Count (or weight) and cost of every pair of truth and answer.

    Returns
    -------
    ConfusionTable
        Counts and costs with their labels.

    Examples
    --------
    >>> print(confusion_table([1, 1, 0, 0], [1, 0, 0, 1], costs={0: 1, 1: 5}))
    truth \\ answer, count (cost)     0     1
    0                            1 (0) 1 (1)
    1                            1 (5) 1 (0)
    """
    answers = read_predictions(y_true, y_pred, costs=costs, classes=classes, sample_weight=sample_weight)
    cells = _by_cell(answers, np.ones(len(answers.truth)))
    return ConfusionTable(
        answers.classes[: len(cells)], cells, _in_cost(answers), answers.classes, currency=answers.currency
    )


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Precision, recall, F, number of true examples and cost paid, class by class; prints as text and as HTML.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Labels.
    precision : ndarray of shape (K,)
        Share of the answers of a class that are right.
    recall : ndarray of shape (K,)
        Share of a class that was found.
    f : ndarray of shape (K,)
        F of every class.
    support : ndarray of shape (K,)
        True examples, or their weight.
    cost : ndarray of shape (K,)
        Cost paid for the examples of a class.
    """

    classes: NDArray[Any]
    precision: Floats
    recall: Floats
    f: Floats
    support: NDArray[Any]
    cost: Floats

    def __str__(self) -> str:
        return aligned_text(["class", *_COLUMNS], [str(label) for label in self.classes], self._cells())

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in ("class", *_COLUMNS))
        body = "".join(
            f'<tr><th scope="row">{html.escape(str(label))}</th>' + "".join(f"<td>{c}</td>" for c in cells) + "</tr>"
            for label, cells in zip(self.classes, self._cells(), strict=True)
        )
        return f'<table class="classes"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def _cells(self) -> list[list[str]]:
        columns = zip(self.precision, self.recall, self.f, self.support, self.cost, strict=True)
        return [[f"{p:.3f}", f"{r:.3f}", f"{f:.3f}", format_amount(s), format_amount(c)] for p, r, f, s, c in columns]


_COLUMNS = ("precision", "recall", "F", "support", "cost")


@documented()
def per_class_scores(
    y_true: LabelsLike,
    y_pred: LabelsLike,
    *,
    beta: float = 1.0,
    costs: CostsLike | None = None,
    classes: LabelsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> ClassScores:
    """Precision, recall and F of every class (scikit-learn's, 0 over nothing), and what its examples cost.

    Parameters
    ----------
    beta : float
        How many times recall matters more than precision, > 0.

    Returns
    -------
    ClassScores
        One entry per class.

    Examples
    --------
    >>> print(per_class_scores(["a", "b", "b"], ["a", "a", "b"]))
    class precision recall     F support cost
    a         0.500  1.000 0.667       1    0
    b         1.000  0.500 0.667       2    1
    """
    answers = read_predictions(y_true, y_pred, costs=costs, classes=classes, sample_weight=sample_weight)
    precision, recall, f, support = metrics.precision_recall_fscore_support(
        answers.truth,
        answers.answer,
        beta=check_number("beta", beta, above=0),
        labels=np.arange(answers.n_classes),
        zero_division=0,
        sample_weight=answers.weight,
    )
    K = answers.n_classes - answers.abstains
    return ClassScores(
        answers.classes[:K], precision[:K], recall[:K], f[:K], support[:K], _in_cost(answers).sum(axis=1)
    )


def aligned_text(head: list[str], names: list[str], cells: list[list[str]]) -> str:
    """Rows of cells under a head, the first column to the left, all others to the right."""
    rows = [head, *([name, *row] for name, row in zip(names, cells, strict=True))]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return "\n".join(
        " ".join(cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    )
