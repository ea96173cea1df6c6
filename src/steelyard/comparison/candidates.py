"""A candidate: a name, the setting of a learner, and what it needs; how it is fitted stands with its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..decision.blending import ScoredClassifier
from .data import ComparisonData, Floats


@dataclass(frozen=True)
class TrainingRows:
    """Prepared rows with what may be learned from: class codes, weights where asked for, and the costs."""

    X: Any
    data: ComparisonData
    categories: tuple[int, ...] = ()  # columns of X that hold codes of categories
    rounds: int | None = None  # boosting rounds that were found before; None: stop early on an inner part

    @property
    def cost_table(self) -> Floats:
        """What each answer costs on each row."""
        return self._of_known_classes(self.data.cost_table)

    @property
    def unit_costs(self) -> Floats:
        """The same in a unit of the data's own."""
        return self._of_known_classes(self.data.unit_costs)

    def _of_known_classes(self, table: Floats) -> Floats:
        """The columns of the classes that have rows here, which a learner knows alone."""
        found = np.flatnonzero(np.bincount(self.data.codes, minlength=len(self.data.classes)))
        return table if len(found) == table.shape[1] else np.ascontiguousarray(table[:, found])


@dataclass(frozen=True)
class Kind:
    """How learners of one kind are fitted.

    ``encoder`` is "scaled" or "coded"; ``most_rows`` caps the rows it learns from; ``two_classes`` says that it knows
    no more. ``fit`` gives the fitted learner, whose classes are codes, and its boosting rounds if it has such.
    """

    fit: Callable[[dict[str, Any], TrainingRows, bool], tuple[Any, int | None]]
    encoder: str
    family: str = "baseline"
    most_rows: int | None = None
    two_classes: bool = False
    dense: bool = False
    requires: str | None = None  # a package that is no dependency
    savable: bool = True  # otherwise it is compared, but neither named nor blended
    takes_weights: bool = True  # of rows; otherwise its fit counts every row once
    sees_costs: bool = False  # in its fit, where other prices would have given another model


@dataclass(frozen=True)
class Candidate:
    """One setting of one kind of learner."""

    name: str
    kind: Kind
    params: dict[str, Any] = field(default_factory=dict)
    weighted: bool = False
    requested: bool = False  # by the user: it is tried however few of the portfolio are

    @property
    def family(self) -> str:
        """ "baseline" (what a user would pick instead), "own" or "constant"."""
        return self.kind.family

    @property
    def sees_costs(self) -> bool:
        """Whether costs are built into what it learns, not only into what is decided."""
        return self.weighted or self.kind.sees_costs

    @property
    def encoder(self) -> str:
        """Which prepared rows it learns from: candidates of the same share them."""
        return "dense" if self.kind.dense else self.kind.encoder

    def new_encoder(self, data: ComparisonData) -> Any:
        """An unfitted encoder for the columns of the data."""
        if self.kind.encoder == "scaled":
            return data.columns.scaled()
        return data.columns.coded(dense=self.kind.dense)

    def unable(self, data: ComparisonData) -> str | None:
        """Why it cannot take part; None where it can."""
        if self.kind.two_classes and len(data.classes) > 2:
            return "for two classes only"
        if self.kind.encoder == "coded" and data.columns.only_texts:
            return "reads no texts"
        return data.columns.too_wide_for_trees if self.kind.dense else None

    def fit(self, X: Any, data: ComparisonData, rounds: int | None = None) -> tuple[Any, int | None]:
        """Fit on prepared rows; a classifier with probabilities over class codes, and the rounds of boosting."""
        if self.kind.most_rows is not None and len(data.codes) > self.kind.most_rows:
            rows = data.sample_rows(self.kind.most_rows)
            X, data = X[rows], data.labels_only().subset(rows)
        categories = () if self.kind.encoder == "scaled" or data.columns.sparse else tuple(data.columns.coded_nominal)
        model, found = self.kind.fit(self.params, TrainingRows(X, data, categories, rounds), self.weighted)
        return (model if hasattr(model, "predict_proba") else ScoredClassifier(model)), found


def fit_arguments(rows: TrainingRows, weighted: bool) -> dict[str, Any]:
    """The keyword of a fit weighted by costs, by the rows' own weights, or by both; or none."""
    if weighted:
        return {"sample_weight": rows.data.cost_weights()}
    return {} if rows.data.weights is None else {"sample_weight": rows.data.weights}
