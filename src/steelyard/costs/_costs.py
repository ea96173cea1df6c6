"""What does answer k cost? One value for pairs, matrices and per-example costs; nothing about learning.

Cost matrices are always ``C[true, predicted]``; a negative cost is a gain.

Tested in ``tests/unit/costs/test_costs.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import CostsError
from ..validation.arrays import check_finite, check_labels
from ..validation.types import ArrayLike, Floats, LabelsLike
from ..validation.values import check_number, invalid
from ._making import CostsConstructors, per_example_costs
from ._reading import check_classes, floats, listed, positions, positive_index
from ._showing import format_amount, html_table

ABSTAIN = "abstain"


@dataclass(frozen=True, eq=False, repr=False)
class Costs(CostsConstructors):
    """The cost of every answer for every truth: a matrix ``C[true, predicted]`` over ``classes``.

    Build one with :meth:`binary`, :meth:`from_classes`, :meth:`from_matrix`, :meth:`from_rows`, :meth:`from_matrices`,
    :meth:`from_columns`, :meth:`from_file` or :meth:`zero_one`. Two costs are equal when their values are.

    Parameters
    ----------
    classes : ndarray or None
        The labels; None for costs made without labels, which take the sorted labels of the data they first meet.
    matrix : ndarray of shape (K, K) or None
        C[true, predicted]; a negative cost is a gain.
    positive : label or None
        The class that sensitivity, ``fn`` and ``ratio()`` speak of; by default the last of two classes as they were
        listed (a dict lists its classes sorted).
    currency : str or None
        Printed after every amount.
    abstain : float or None
        Price of the answer that decides nothing, see :meth:`with_abstain`.
    abstain_label : label
        Its name.

    Examples
    --------
    >>> costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"], positive="bad")
    >>> costs.per_example(["bad", "good"])
    array([[5., 0.],
           [0., 1.]])
    >>> costs.ratio()
    5.0
    """

    classes: NDArray[Any] | None
    matrix: Floats | None = None
    positive: Any = None
    currency: str | None = None
    abstain: float | Floats | None = None
    abstain_label: str = ABSTAIN

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and texts, fit for JSON; :meth:`from_dict` makes equal costs of them."""
        from .spec import to_plain

        return to_plain(self)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        assert self.matrix is not None
        return len(self.matrix)

    @property
    def answers(self) -> NDArray[Any]:
        """What may be decided: the classes, and the name of abstaining where that has a price."""
        labels = np.arange(self.n_classes) if self.classes is None else self.classes
        if self.abstain is None:
            return labels
        return np.array([*labels.tolist(), self.abstain_label], dtype=None if labels.dtype.kind == "U" else object)

    def per_example(self, y: LabelsLike) -> Floats:
        """Cost of answering each class for each example, (n, K), columns as in ``classes``. Paper 002, sec. 2.

        Parameters
        ----------
        y : array-like of shape (n,)
            True labels.

        Returns
        -------
        ndarray of shape (n, K)
            Columns as in ``classes``.
        """
        bound = self.bind(y)
        return bound.cost_rows(bound.encode(y))

    def cost_rows(self, codes: NDArray[np.intp]) -> Floats:
        """The same as ``per_example`` for labels that are encoded already.

        Parameters
        ----------
        codes : ndarray of int of shape (n,)
            Positions of the labels in ``classes``.

        Returns
        -------
        ndarray of shape (n, K)
            Columns as in ``classes``.
        """
        assert self.matrix is not None
        return self.matrix[codes]

    def encode(self, y: LabelsLike) -> NDArray[np.intp]:
        """Position of every label in ``classes``; a label without costs is an error that names it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        ndarray of int of shape (n,)
            Positions in ``classes``.
        """
        assert self.classes is not None
        present, codes = check_labels(y)
        return positions(self.classes, present)[codes]

    def bind(self, y: LabelsLike) -> Costs:
        """The same costs with class labels, taken from ``y`` where none were given.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        Costs
            These costs, or the same with ``classes``.
        """
        return self if self.classes is not None else self.aligned(check_labels(y)[0])

    def aligned(self, classes: Sequence[Any] | NDArray[Any]) -> Costs:
        """The same costs over exactly these classes in this order. Unknown classes are an error that names them.

        Parameters
        ----------
        classes : sequence of labels
            The classes wanted, in their order.

        Returns
        -------
        Costs
            The same costs over them.
        """
        labels = cast("NDArray[Any]", check_classes(classes))
        if self.abstain is not None:
            check_abstain_label(self.abstain_label, labels)
        if self.classes is None:
            if len(labels) != self.n_classes:
                raise invalid(
                    "costs",
                    f"have as many classes as y, which has {len(labels)} ({listed(labels)})",
                    f"{self.n_classes} classes without labels",
                    "Give the labels with classes=; costs may then name more classes than y has.",
                    CostsError,
                )
            return replace(self, classes=labels)
        where = positions(self.classes, labels)
        if len(where) == len(self.classes) and (where == np.arange(len(where))).all():
            return replace(self, classes=labels)
        return replace(self._taken(where), classes=labels, positive=self._positive_among(labels, where))

    def _positive_among(self, labels: NDArray[Any], where: NDArray[np.intp]) -> Any:
        """The positive class under its new label: reordered classes must not change what a false negative is."""
        if self.positive is None and self.n_classes != 2:
            return None
        at = np.flatnonzero(where == positive_index(self.classes, self.positive))
        return labels[at[0]] if len(at) else None

    def _taken(self, where: NDArray[np.intp]) -> Costs:
        assert self.matrix is not None
        return replace(self, matrix=self.matrix[np.ix_(where, where)])

    def positive_index(self) -> int:
        """Position of the positive class; two classes only."""
        self._need_two("the positive class")
        return positive_index(self.classes, self.positive)

    def _pair(self) -> tuple[Any, Any]:
        """How much more a false negative costs than a true positive, a false positive than a true negative."""
        assert self.matrix is not None
        return pair_of(self.matrix, self.positive_index())

    def ratio(self) -> float:
        """rho = C(+,-) / C(-,+): how many times worse a false negative is. Paper 000, prop. 1; two classes only."""
        self._need_two("ratio()")
        fn, fp = (float(v) for v in self._pair())
        if fn <= 0 or fp <= 0:
            raise invalid("costs", "make both mistakes cost more than the right answer", (fn, fp), "", CostsError)
        return fn / fp  # whoever cannot use an infinite ratio says so

    def threshold(self) -> Any:
        """The probability of the positive class above which answering it costs less; two classes only.

        Returns
        -------
        float, or an array with one threshold per example for :class:`ExampleCosts`

        Examples
        --------
        >>> Costs.binary(fn=8, fp=1, tp=-1).threshold()
        0.1
        """
        self._need_two("threshold()")
        if self.abstain is not None:
            hint = "With abstaining there are two; use decide(proba)."
            raise invalid("costs", "not price abstaining for one threshold", self.abstain_label, hint, CostsError)
        fn, fp = (np.asarray(v, dtype=float) for v in self._pair())
        bad = (fn < 0) | (fp < 0) | ((fn == 0) & (fp == 0))
        if bad.any():
            at = int(np.argmax(bad))
            got = {"fn - tp": float(fn.flat[at]), "fp - tn": float(fp.flat[at])}
            hint = "One answer is then never the cheaper one, or the wrong answers pay; use decide(proba)."
            where = f" (row {at})" if bad.ndim else ""
            raise invalid(f"costs{where}", "make no mistake cheaper than the right answer", got, hint, CostsError)
        share = fp / (fn + fp)
        return float(share) if share.ndim == 0 else share

    def class_costs(self) -> Floats:
        """c(i) = sum_j C(i, j): one cost per true class. Paper 003, eq. (25)."""
        assert self.matrix is not None
        return np.asarray(self.matrix.sum(axis=1))

    def class_means(self, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Costs:
        """One matrix for all examples: these costs, or the mean of each true class where they differ by example.

        Parameters
        ----------
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,) or None
            Weight of every row; 1 if None.

        Returns
        -------
        Costs
            Costs with one matrix.
        """
        return self

    def regret(self) -> Costs:
        """The same decisions between classes with the cheapest answer of every truth at 0. Paper 002, sec. 2.

        What learners that need costs >= 0 are given; a price of abstaining has no place there and is left out.
        """
        assert self.matrix is not None
        return replace(self, matrix=self.matrix - self.matrix.min(axis=1, keepdims=True), abstain=None)

    def has_gains(self) -> bool:
        """Whether some answer has a negative cost."""
        assert self.matrix is not None
        return bool((self.matrix < 0).any())

    def scaled(self, factor: float) -> Costs:
        """All costs, that of abstaining too, times a positive factor.

        Parameters
        ----------
        factor : float
            > 0.

        Returns
        -------
        Costs
            The costs, scaled.
        """
        assert self.matrix is not None
        times = check_number("factor", factor, above=0)
        return replace(self, matrix=self.matrix * times, abstain=None if self.abstain is None else self.abstain * times)

    def with_abstain(self, price: float | ArrayLike, *, label: str = ABSTAIN) -> Costs:
        """The same costs with one more answer: to decide nothing (refer to a person) at a price, scalar or per row.

        Parameters
        ----------
        price : float or array-like of shape (n,)
            Price of deciding nothing.
        label : str
            How that answer is called.

        Returns
        -------
        Costs
            The costs with one more answer.

        Examples
        --------
        >>> costs = Costs.binary(fn=5, fp=1, classes=["good", "bad"]).with_abstain(0.5)
        >>> costs.decide([[0.95, 0.05], [0.7, 0.3], [0.2, 0.8]]).tolist()
        ['good', 'abstain', 'bad']
        """
        prices = floats("the price of abstaining", price)
        if prices.ndim > 1 or not np.isfinite(prices).all():
            raise invalid("the price of abstaining", "be a finite number, or one per row", price, error=CostsError)
        check_abstain_label(label, self.classes)
        if prices.ndim == 0:
            return replace(self, abstain=float(prices), abstain_label=label)
        return self._by_row(prices, label)

    def _by_row(self, prices: Floats, label: str) -> Costs:
        assert self.matrix is not None
        cube = np.broadcast_to(self.matrix, (len(prices), *self.matrix.shape)).copy()
        return per_example_costs(
            self.classes,
            positive=self.positive,
            currency=self.currency,
            abstain=prices,
            abstain_label=label,
            matrices=cube,
        )

    def expected(self, proba: ArrayLike) -> Floats:
        """Expected cost of every answer, columns as in ``answers``, from probabilities with columns as in ``classes``.

        (n, K), or (n, K + 1) where abstaining has a price.

        Parameters
        ----------
        proba : array-like of shape (n, K)
            Class probabilities, columns as in ``classes``.

        Returns
        -------
        ndarray of shape (n, K) or (n, K + 1)
            Expected costs, columns as in ``answers``.
        """
        assert self.matrix is not None
        return self._and_abstain(self._probabilities(proba) @ self.matrix)

    def _and_abstain(self, expected: Floats) -> Floats:
        if self.abstain is None:
            return expected
        return np.column_stack([expected, np.broadcast_to(self.abstain, len(expected))])

    def decide(self, proba: ArrayLike) -> NDArray[Any]:
        """The answer with the least expected cost for each row of probabilities; ties go to the first.

        Parameters
        ----------
        proba : array-like of shape (n, K)
            Class probabilities, columns as in ``classes``.

        Returns
        -------
        ndarray of shape (n,)
            The cheapest answers.
        """
        cheapest: NDArray[np.intp] = self.expected(proba).argmin(axis=1)
        return cheapest if self.classes is None and self.abstain is None else self.answers[cheapest]

    def _probabilities(self, proba: ArrayLike) -> Floats:
        p = floats("proba", proba)
        if p.ndim != 2 or p.shape[1] != self.n_classes:
            raise invalid("proba", f"be an (n, {self.n_classes}) array", f"shape {p.shape}", error=CostsError)
        check_finite("proba", p)
        return p

    def _need_two(self, what: str) -> None:
        if self.n_classes != 2:
            raise invalid("costs", f"be over two classes for {what}", f"{self.n_classes} classes", error=CostsError)

    # -- comparing and showing ---------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Costs):
            return NotImplemented
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        labels = None if self.classes is None else tuple(self.classes.tolist())
        return hash((type(self), labels, self.n_classes, self.currency))

    def format(self, amount: float) -> str:
        """An amount as text, with the currency if there is one.

        Parameters
        ----------
        amount : float
            An amount.

        Returns
        -------
        str
            With its currency, if there is one.
        """
        return format_amount(amount, self.currency)

    def _names(self) -> list[str]:
        return [str(k) for k in (range(self.n_classes) if self.classes is None else self.classes)]

    def _extras(self) -> str:
        """What stands after the costs in the text: abstaining and the currency."""
        known = self.abstain is not None and np.size(self.abstain)
        price = f"; {self.abstain_label}: {self.mean_price():g}" if known else ""
        return price + ("" if self.currency is None else f"; in {self.currency}")

    def mean_price(self, sample_weight: Floats | None = None) -> float:
        """Price of abstaining, which the costs must have; where it differs by row its (weighted) mean.

        Parameters
        ----------
        sample_weight : ndarray of shape (n,) or None
            Weight of every row; 1 if None.

        Returns
        -------
        float
            The price.
        """
        prices = cast("Floats", self.abstain)
        return float(np.average(prices, weights=sample_weight if np.ndim(prices) else None))

    def __repr__(self) -> str:
        assert self.matrix is not None
        names = self._names()
        lines = [
            f"{name}: {', '.join(map(format_amount, row.tolist()))}"
            for name, row in zip(names, self.matrix, strict=True)
        ]
        return f"Costs(C[true, predicted] over {', '.join(names)}; " + "; ".join(lines) + self._extras() + ")"

    def _repr_html_(self) -> str:
        assert self.matrix is not None
        return self._table(self.matrix, "cost of answering")

    def _table(self, matrix: Floats, title: str) -> str:
        in_currency = title if self.currency is None else f"{title}, in {self.currency}"
        answers = [str(label) for label in self.answers]
        if self.abstain is not None:
            matrix = np.column_stack([matrix, np.full(len(matrix), self.mean_price())])
        return html_table(self._names(), answers, matrix, in_currency)


def pair_of(cells: Floats, plus: int) -> tuple[Floats, Floats]:
    """(..., 2, 2) matrices: what a false negative costs beyond a true positive, a false positive beyond a negative."""
    return (
        cells[..., plus, 1 - plus] - cells[..., plus, plus],
        cells[..., 1 - plus, plus] - cells[..., 1 - plus, 1 - plus],
    )


def check_abstain_label(label: str, classes: NDArray[Any] | None) -> None:
    """The name of abstaining is a text that no class has."""
    if not isinstance(label, str) or not label:
        raise invalid("the label of abstaining", "be a text", label, error=CostsError)
    if classes is not None and label in [str(known) for known in classes.tolist()]:
        rule = f"be none of the classes {listed(classes)}"
        raise invalid("the label of abstaining", rule, label, "Pass with_abstain(price, label=...).", CostsError)
