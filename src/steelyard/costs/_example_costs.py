"""Costs that differ from example to example.

Tested in ``tests/unit/costs/test_costs.py``.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import CostsError
from ..validation.arrays import check_sample_weight
from ..validation.types import ArrayLike, Floats, LabelsLike
from ..validation.values import check_number, invalid
from ._costs import Costs, pair_of
from ._reading import USE_TABLE


@dataclass(frozen=True, eq=False, repr=False)
class ExampleCosts(Costs):
    """Costs that differ from example to example: ``rows`` (n, K) for known truths, or full ``matrices`` (n, K, K).

    Has a length and can be indexed by rows, so scikit-learn slices it along with X in folds and pipelines.

    Parameters
    ----------
    classes, matrix, positive, currency, abstain, abstain_label : as for Costs
        See :class:`Costs`; there is no ``matrix``.
    rows : ndarray of shape (n, K) or None
        Cost of every answer to every example, whose truth is known.
    matrices : ndarray of shape (n, K, K) or None
        One matrix for every example.
    """

    rows: Floats | None = None
    matrices: Floats | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.shape[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, K) or (n, K, K)."""
        return self._cells.shape

    @property
    def _cells(self) -> Floats:
        return cast("Floats", self.rows if self.rows is not None else self.matrices)

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, key: Any) -> ExampleCosts:
        rows = key[0] if isinstance(key, tuple) else key  # scikit-learn asks for costs[indices, ...]
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        cut = self._with(self._cells[rows])
        return replace(cut, abstain=self.abstain[rows]) if isinstance(self.abstain, np.ndarray) else cut

    def _with(self, cells: Floats) -> ExampleCosts:
        return replace(self, rows=cells) if self.rows is not None else replace(self, matrices=cells)

    def per_example(self, y: LabelsLike) -> Floats:
        """Cost of answering each class for each example, (n, K)."""
        bound = self.bind(y)
        return bound.cost_rows(bound.encode(y))

    def cost_rows(self, codes: NDArray[np.intp]) -> Floats:
        """The same as ``per_example`` for labels that are encoded already."""
        if len(codes) != len(self):
            raise invalid(
                "costs",
                f"have one row per example ({len(codes)})",
                f"{len(self)} rows",
                "Pass them as fit(..., costs=) so that they are cut along with X.",
                CostsError,
            )
        return self.rows if self.rows is not None else self._cells[np.arange(len(codes)), codes]

    def _taken(self, where: NDArray[np.intp]) -> Costs:
        cells = self._cells[..., where]
        return self._with(cells if self.rows is not None else cells[:, where, :])

    def _pair(self) -> tuple[Any, Any]:
        return pair_of(self._full_matrices("threshold()"), self.positive_index())

    def ratio(self) -> float:
        """Not defined: the ratio differs from example to example."""
        raise invalid("costs", "be the same for all examples for ratio()", repr(self), USE_TABLE, CostsError)

    def class_costs(self) -> Floats:
        """Not defined: the costs differ from example to example."""
        raise invalid("costs", "be the same for all examples for class_costs()", repr(self), USE_TABLE, CostsError)

    def class_means(self, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Costs:
        """One matrix for all examples: the (weighted) mean cost of every answer for each true class.

        Parameters
        ----------
        y : the labels; every class must occur
        sample_weight : (n,) weights; a class of no weight at all keeps its plain mean
        """
        bound = self.bind(y)
        codes = bound.encode(y)
        table = bound.cost_rows(codes)
        absent = np.flatnonzero(np.bincount(codes, minlength=self.n_classes) == 0)
        if len(absent):
            missing = np.asarray(bound.classes).tolist()[absent[0]]
            raise invalid("y", "have a row of every class of the costs", f"none of {missing!r}", error=CostsError)
        weight = check_sample_weight(sample_weight, len(codes)) + np.finfo(float).tiny
        means = [np.average(table[codes == k], axis=0, weights=weight[codes == k]) for k in range(self.n_classes)]
        abstain = None if self.abstain is None else self.mean_price(weight)
        return Costs(bound.classes, np.array(means), bound.positive, self.currency, abstain, self.abstain_label)

    def regret(self) -> ExampleCosts:
        """The same decisions between classes with the cheapest answer of every example at 0; without abstaining."""
        return replace(self._with(self._cells - self._cells.min(axis=-1, keepdims=True)), abstain=None)

    def has_gains(self) -> bool:
        """Whether some answer has a negative cost."""
        return bool((self._cells < 0).any())

    def scaled(self, factor: float) -> ExampleCosts:
        """All costs, that of abstaining too, times a positive factor."""
        times = check_number("factor", factor, above=0)
        return replace(self._with(self._cells * times), abstain=None if self.abstain is None else self.abstain * times)

    def _by_row(self, prices: Floats, label: str) -> ExampleCosts:
        if len(prices) != len(self):
            rule = f"be one number, or one for each of the {len(self)} rows"
            raise invalid("the price of abstaining", rule, f"{len(prices)} numbers", error=CostsError)
        return replace(self, abstain=prices, abstain_label=label)

    def expected(self, proba: ArrayLike) -> Floats:
        """Expected cost of every answer, (n, K) or with abstaining (n, K + 1); needs full matrices."""
        p, matrices = self._probabilities(proba), self._full_matrices("weighing answers before the truth is known")
        if len(p) != len(self):
            raise invalid("proba", f"have {len(self)} rows like costs", f"{len(p)} rows", error=CostsError)
        return self._and_abstain(np.einsum("ni,nij->nj", p, matrices))

    def _full_matrices(self, why: str) -> Floats:
        if self.matrices is None:
            raise invalid(
                "costs",
                f"hold a matrix per example for {why}",
                "rows of known truths",
                "Use Costs.binary(fn=array, fp=array) or a class-level matrix.",
                CostsError,
            )
        return self.matrices

    def __repr__(self) -> str:
        kind = "rows c[i, answer]" if self.rows is not None else "matrices C[i, true, predicted]"
        mean = f"; mean {self._cells.mean():g}" if len(self) else ""
        return f"Costs({len(self)} {kind} over {', '.join(self._names())}{mean}{self._extras()})"

    def _repr_html_(self) -> str:
        if self.matrices is not None and len(self):
            return self._table(self.matrices.mean(axis=0), f"mean cost over {len(self)} examples")
        return f"<p>{html.escape(repr(self))}</p>"
