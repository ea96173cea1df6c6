"""The question put to every candidate: rows, labels, costs, and what may be looked at when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..costs import Costs, ExampleCosts, as_costs
from ..models.cells import as_levels
from ..models.frames import as_table
from ..models.schema import Columns, read_columns
from ..validation.arrays import check_labels, is_missing, len_rows, take_rows
from ..validation.values import check_count, invalid

Floats = NDArray[np.float64]
FEWEST_ROWS = 20
FEWEST_OF_A_CLASS = 2
_WIDEST = 1000.0  # times as much as where it costs least, a mistake on a class may cost a learner that sees costs
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
    weights: Floats | None = None  # how much each row counts; None: every row counts once
    folds: NDArray[np.intp] | None = None  # that hold each row out, where the user brought them
    abstain: tuple[float, str] | None = (
        None  # mean price and name of deciding nothing, which the model may, not the folds
    )

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
    def cost_table(self) -> Floats:
        """What each answer costs on each row, (n, K)."""
        return np.asarray(self.costs.cost_rows(self.codes))

    @cached_property
    def unit_costs(self) -> Floats:
        """The same in a unit of the data's own: where a mistake costs least by class it costs 1, where most up to 1000.

        For learners whose steps or margins are as long as costs are large: cents and euros must give one model.
        """
        more = self._mean_mistakes()
        total = np.bincount(self.codes, weights=more * self.row_weights, minlength=len(self.classes))
        means = total[total > 0] / self.class_weights[total > 0]
        return self.cost_table / max(means.min(), means.max() / _WIDEST) if len(means) else self.cost_table

    def _mean_mistakes(self) -> Floats:
        """What a mistake on each row costs more than the right answer, on average over the wrong answers, (n,)."""
        table = self.cost_table
        right = table[np.arange(len(self.codes)), self.codes]
        return np.asarray((table.sum(axis=1) - right) / (table.shape[1] - 1) - right)

    def decide(self, proba: NDArray[Any]) -> NDArray[np.intp]:
        """The code of the cheapest expected answer for each row, by the row's own costs where these are known."""
        known = self.costs_at_predict()
        if known is not None:
            return np.asarray(known.expected(proba).argmin(axis=1), dtype=np.intp)
        matrix = self.mean_costs().matrix
        assert matrix is not None
        return np.asarray((proba @ matrix).argmin(axis=1), dtype=np.intp)

    @property
    def row_weights(self) -> Floats:
        """How much each row counts, (n,)."""
        return np.ones(len(self.codes)) if self.weights is None else self.weights

    @property
    def class_weights(self) -> Floats:
        """Rows of each class, every one counted by its weight."""
        return np.bincount(self.codes, weights=self.weights, minlength=len(self.classes)).astype(np.float64)

    def paid(self, answers: NDArray[np.intp]) -> Floats:
        """What answers, given as codes, cost on each row."""
        return np.asarray(self.cost_table[np.arange(len(answers)), answers])

    def subset(self, rows: NDArray[np.intp]) -> ComparisonData:
        """The same question on some of the rows."""
        costs = self.costs[rows] if isinstance(self.costs, ExampleCosts) else self.costs
        cut: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in ("groups", "weights", "folds")
        }
        X = take_rows(self.X, rows)
        part = replace(self, X=X, y=self.y[rows], codes=self.codes[rows], costs=costs, **cut)
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
        np.add.at(means, self.codes, self.cost_table * self.row_weights[:, None])
        counts = self.class_weights
        means /= np.where(counts > 0, counts, 1.0)[:, None]
        return Costs(self.classes, means, self.costs.positive, self.costs.currency)

    def deciding_costs(self) -> Costs:
        """:meth:`mean_costs`, and what deciding nothing costs where that has a price: what a model decides by."""
        costs = self.mean_costs()
        return costs if self.abstain is None else costs.with_abstain(self.abstain[0], label=self.abstain[1])

    def cost_weights(self) -> Floats:
        """What a mistake on each row costs on average over the wrong answers, mean 1, times the weight of the row."""
        weights = np.maximum(self._mean_mistakes(), 0.0)
        count = self.row_weights
        return np.asarray(weights * count / np.average(weights, weights=count)) if weights.any() else count


def read_data(
    X: Any,
    y: Any,
    costs: Any,
    *,
    drop: Sequence[Any] | str = (),
    roles: dict[Any, str] | None = None,
    groups: Any = None,
    weights: Any = None,
    seed: int = 0,
) -> ComparisonData:
    """Check what the user gave and encode labels and groups; what cannot be compared is an error of one sentence."""
    X, labels = as_table(X), np.asarray(y)
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
    unused = (drop,) if isinstance(drop, str) else tuple(drop)
    bound, columns = as_costs(costs, labels, classes), read_columns(X, drop=unused, roles=roles)
    counted = _read_weights(weights, len(labels))
    abstain = None if bound.abstain is None else (bound.mean_price(counted), bound.abstain_label)
    bound = replace(bound, abstain=None)
    X = _used_columns(X, columns)
    grouped, order = _read_groups(groups, len(labels)), _order(costs, classes)
    about = (columns, seed, grouped, order, counted)
    return ComparisonData(X, labels, codes.astype(np.intp), bound, *about, abstain=abstain)


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
    gone = np.array([is_missing(cell) for cell in groups], dtype=bool)  # numpy makes texts of them, beside others
    known = cells[~gone]
    values, found = np.unique(known.astype(str) if known.dtype == object else known, return_inverse=True)
    count = len(values) + int(gone.sum())
    if count < 2:
        raise invalid("groups", "have two or more values", values.tolist()[:1], "Leave groups out.")
    codes = np.empty(n, dtype=np.intp)
    codes[~gone], codes[gone] = found, np.arange(len(values), count)
    return codes


def _read_weights(weights: Any, n: int) -> Floats | None:
    if weights is None:
        return None
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid("sample_weight", "hold numbers", weights) from None
    if found.shape != (n,):
        raise invalid("sample_weight", f"give {n} rows a weight each", f"shape {found.shape}")
    if (wrong := np.flatnonzero(~((found > 0) & np.isfinite(found)))).size:
        value, row = found[wrong[0]].item(), int(wrong[0]) + 1
        raise invalid(
            "sample_weight", "be positive numbers", value, f"See row {row}; leave rows out that count nothing."
        )
    return found


def read_folds(cv: Any, data: ComparisonData) -> tuple[int, NDArray[np.intp] | None]:
    """Number of folds, and the fold of each row where ``cv`` is a splitter that holds every row out once."""
    if isinstance(cv, type | str) or not hasattr(cv, "split"):
        return check_count("cv", cv, at_least=2), None
    times, fold = np.zeros(len(data.codes), dtype=np.intp), np.zeros(len(data.codes), dtype=np.intp)
    parts = list(cv.split(np.zeros((len(data.codes), 1)), data.codes, data.groups))
    for k, (_, held) in enumerate(parts):
        times[held] += 1
        fold[held] = k
    if len(parts) < 2 or (times != 1).any():
        row = int(np.flatnonzero(times != 1)[0]) + 1 if (times != 1).any() else 1
        often = f"{type(cv).__name__}, where row {row} is held out {times[row - 1]} times in {len(parts)} folds"
        raise invalid("cv", "be a number, or a splitter of two or more folds that hold every row out once", often)
    return len(parts), fold


def _used_columns(X: Any, columns: Columns) -> Any:
    """A frame without the columns that are left out, its categories as texts; arrays keep all, which go by position."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    return frame.select(list(columns.used)).with_columns(*[as_levels(frame[c]) for c in columns.nominal]).to_native()
