"""The question put to every contender: rows, labels, costs, and what may be looked at when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..costs import Costs, ExampleCosts, as_costs
from ..models.schema import Columns, by_name, read_columns
from ..validation.arrays import check_labels, len_rows, take_rows
from ..validation.values import invalid

FEWEST_ROWS = 20
FEWEST_OF_A_CLASS = 2
FEWEST_TAKEN = 3  # of a class that has them, where rows are sampled: inner folds need every class


@dataclass(frozen=True)
class ComparisonData:
    """Data, costs and seed of a comparison; ``subset`` cuts everything that belongs to a row along with it."""

    X: Any
    y: NDArray[Any]
    costs: Costs
    columns: Columns
    seed: int = 0

    @property
    def classes(self) -> NDArray[Any]:
        """The classes of y, sorted."""
        assert self.costs.classes is not None
        return self.costs.classes

    @property
    def positive(self) -> Any:
        """The positive class of two; None for more."""
        return self.classes[self.costs.positive_index()] if len(self.classes) == 2 else None

    @property
    def per_example(self) -> bool:
        """Whether costs differ from row to row."""
        return isinstance(self.costs, ExampleCosts)

    def subset(self, rows: NDArray[np.intp]) -> ComparisonData:
        """The same question on some of the rows."""
        costs = self.costs[rows] if isinstance(self.costs, ExampleCosts) else self.costs
        return replace(self, X=take_rows(self.X, rows), y=self.y[rows], costs=costs)

    def labels_only(self) -> ComparisonData:
        """Labels and costs alone, where nobody is asked: cheap to cut."""
        return replace(self, X=np.zeros((len(self.y), 0)))

    def sample_rows(self, most: int | None) -> NDArray[np.intp]:
        """At most about so many of the rows, in their order; the classes keep their shares, and none goes without."""
        n = len(self.y)
        if most is None or n <= most:
            return np.arange(n)
        codes = self.costs.encode(self.y)
        shuffled = np.random.default_rng(self.seed).permutation(n)
        by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
        counts = np.bincount(codes, minlength=len(self.classes))
        place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)  # of a row within its class
        wanted = np.maximum(np.round(counts * most / n), np.minimum(counts, FEWEST_TAKEN))
        return np.sort(by_class[place < np.repeat(wanted, counts)])

    def subsample(self, most: int | None) -> ComparisonData:
        """The same question on at most about so many of the rows."""
        return self if most is None or len(self.y) <= most else self.subset(self.sample_rows(most))

    def costs_at_predict(self) -> Costs | None:
        """Costs that differ by row and are known before the truth is; None where there are no such."""
        return self.costs if isinstance(self.costs, ExampleCosts) and self.costs.matrices is not None else None

    def mean_costs(self) -> Costs:
        """One cost matrix for all: the mean of each true class where costs differ from row to row."""
        return self.costs.class_means(self.y)

    def cost_weights(self) -> NDArray[np.float64]:
        """What a mistake on each row costs on average over the wrong answers, mean 1: weights for any learner."""
        table = self.costs.per_example(self.y)
        right = table[np.arange(len(self.y)), self.costs.encode(self.y)]
        weights = (table.sum(axis=1) - right) / (table.shape[1] - 1) - right
        weights = np.maximum(weights, 0.0)
        return np.asarray(weights / weights.mean()) if weights.any() else np.ones(len(weights))


def read_data(X: Any, y: Any, costs: Any, *, drop: tuple[Any, ...] = (), seed: int = 0) -> ComparisonData:
    """Check what the user gave; complain in one sentence about what cannot be compared."""
    X, labels = by_name(X), np.asarray(y)
    if len_rows(X) != len(labels):
        raise invalid("y", f"have {len_rows(X)} labels like the rows of X", f"{len(labels)} labels")
    if len(labels) == 0:
        raise invalid("X", "have rows", "none")
    if labels.dtype.kind == "f" and (broken := np.isfinite(labels) & (labels != np.round(labels))).any():
        raise invalid("the target", "have classes, not numbers", labels[broken][0].item(), "Group its values first.")
    classes, codes = check_labels(labels)
    if len(classes) < 2:
        raise invalid("the target", "have two or more classes", f"only {classes.tolist()[0]!r}")
    if len(labels) < FEWEST_ROWS:
        raise invalid(
            "X", f"have at least {FEWEST_ROWS} rows", f"{len(labels)} rows", "Nothing can be told from so few."
        )
    counts = np.bincount(codes)
    if counts.min() < FEWEST_OF_A_CLASS:
        rare = classes.tolist()[int(counts.argmin())]
        raise invalid(
            "every class",
            f"have at least {FEWEST_OF_A_CLASS} rows",
            f"{counts.min()} of class {rare!r}",
            "Merge or drop it.",
        )
    if len(classes) > max(20, len(labels) // 10):
        raise invalid(
            "the target",
            f"have classes, not numbers: at most {max(20, len(labels) // 10)} in {len(labels)} rows",
            f"{len(classes)} different values",
            "Group them first.",
        )
    return ComparisonData(X, labels, as_costs(costs, labels, classes), read_columns(X, drop=drop), seed)
