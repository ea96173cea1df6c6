"""The question put to every candidate: rows, labels, costs, and what may be looked at when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
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
    """Rows, labels and costs of a comparison; ``subset`` cuts everything that belongs to a row along with it.

    ``codes`` are the labels as positions in ``classes``, encoded once, when the data are read.
    """

    X: Any
    y: NDArray[Any]
    codes: NDArray[np.intp]
    costs: Costs
    columns: Columns
    seed: int = 0
    groups: NDArray[np.intp] | None = None
    order: tuple[int, ...] = ()  # of the classes, where they are shown: that of the user's costs

    @property
    def shown_order(self) -> tuple[int, ...]:
        """Positions of the classes in the order that the user's costs name them, else sorted."""
        return self.order or tuple(range(len(self.classes)))

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

    @cached_property
    def cost_table(self) -> NDArray[np.float64]:
        """What each answer costs on each row, (n, K)."""
        return np.asarray(self.costs.cost_rows(self.codes))

    def decide(self, proba: NDArray[Any]) -> NDArray[np.intp]:
        """The code of the cheapest expected answer for each row, by the row's own costs where these are known."""
        known = self.costs_at_predict()
        if known is not None:
            return np.asarray(known.expected(proba).argmin(axis=1), dtype=np.intp)
        matrix = self.mean_costs().matrix
        assert matrix is not None
        return np.asarray((proba @ matrix).argmin(axis=1), dtype=np.intp)

    def paid(self, answers: NDArray[np.intp]) -> NDArray[np.float64]:
        """What answers, given as codes, cost on each row."""
        return np.asarray(self.cost_table[np.arange(len(answers)), answers])

    def subset(self, rows: NDArray[np.intp]) -> ComparisonData:
        """The same question on some of the rows."""
        costs = self.costs[rows] if isinstance(self.costs, ExampleCosts) else self.costs
        groups = None if self.groups is None else self.groups[rows]
        X = take_rows(self.X, rows)
        part = replace(self, X=X, y=self.y[rows], codes=self.codes[rows], costs=costs, groups=groups)
        part.__dict__["cost_table"] = self.cost_table[rows]  # cut, not worked out again from the labels
        return part

    def labels_only(self) -> ComparisonData:
        """Labels and costs without the columns: cheap to cut."""
        part = replace(self, X=np.zeros((len(self.y), 0)))
        part.__dict__["cost_table"] = self.cost_table
        return part

    def sample_rows(self, most: int | None) -> NDArray[np.intp]:
        """At most about so many of the rows, in their order; the classes keep their shares, and none goes without."""
        n = len(self.y)
        if most is None or n <= most:
            return np.arange(n)
        shuffled = np.random.default_rng(self.seed).permutation(n)
        by_class = shuffled[np.argsort(self.codes[shuffled], kind="stable")]
        counts = np.bincount(self.codes, minlength=len(self.classes))
        place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)  # of a row within its class
        wanted = np.maximum(np.round(counts * most / n), np.minimum(counts, FEWEST_TAKEN))
        return np.sort(by_class[place < np.repeat(wanted, counts)])

    def subsample(self, most: int | None) -> ComparisonData:
        """The same question on at most about so many of the rows."""
        return self if most is None or len(self.y) <= most else self.subset(self.sample_rows(most))

    def costs_at_predict(self) -> Costs | None:
        """Costs that differ by row and do not depend on y; None where there are no such."""
        return self.costs if isinstance(self.costs, ExampleCosts) and self.costs.matrices is not None else None

    def mean_costs(self) -> Costs:
        """One cost matrix for all: the mean of each true class where costs differ from row to row."""
        if not isinstance(self.costs, ExampleCosts):
            return self.costs
        means = np.zeros((len(self.classes), len(self.classes)))
        np.add.at(means, self.codes, self.cost_table)
        counts = np.bincount(self.codes, minlength=len(self.classes))
        return Costs(self.classes, means / np.maximum(counts, 1)[:, None], self.costs.positive, self.costs.currency)

    def cost_weights(self) -> NDArray[np.float64]:
        """What a mistake on each row costs on average over the wrong answers, mean 1: weights for any learner."""
        table = self.cost_table
        right = table[np.arange(len(self.y)), self.codes]
        weights = (table.sum(axis=1) - right) / (table.shape[1] - 1) - right
        weights = np.maximum(weights, 0.0)
        return np.asarray(weights / weights.mean()) if weights.any() else np.ones(len(weights))


def read_data(
    X: Any,
    y: Any,
    costs: Any,
    *,
    drop: tuple[Any, ...] = (),
    roles: dict[Any, str] | None = None,
    groups: Any = None,
    seed: int = 0,
) -> ComparisonData:
    """Check what the user gave and encode labels and groups; what cannot be compared is an error of one sentence."""
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
        raise invalid("X", f"have at least {FEWEST_ROWS} rows", f"{len(labels)} rows", "So few rows decide nothing.")
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
    bound, columns = as_costs(costs, labels, classes), read_columns(X, drop=drop, roles=roles)
    X = _used_columns(X, columns)
    grouped, order = _read_groups(groups, len(labels)), _order(costs, classes)
    return ComparisonData(X, labels, codes.astype(np.intp), bound, columns, seed, grouped, order)


def _order(costs: Any, classes: NDArray[Any]) -> tuple[int, ...]:
    """Positions of the classes as the costs name them; nothing where they name no classes."""
    named = costs.classes if isinstance(costs, Costs) else None
    at = {label: k for k, label in enumerate(classes.tolist())}
    return () if named is None else tuple(at[label] for label in named.tolist() if label in at)


def _read_groups(groups: Any, n: int) -> NDArray[np.intp] | None:
    if groups is None:
        return None
    cells = np.asarray(groups)
    if cells.shape != (n,):
        raise invalid("groups", f"give {n} rows a group each", f"shape {cells.shape}")
    values, codes = np.unique(cells.astype(str) if cells.dtype == object else cells, return_inverse=True)
    if len(values) < 2:
        raise invalid("groups", "have two or more values", values.tolist()[:1], "Leave groups out.")
    return np.asarray(codes, dtype=np.intp)


def _used_columns(X: Any, columns: Columns) -> Any:
    """A frame without the columns that are left out; arrays keep theirs, since their columns go by position."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.select(list(columns.used)).to_native() if isinstance(frame, nw.DataFrame) else X
