"""A fitted candidate with what it needs to meet new data."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from ..costs import CostRule, Costs, as_costs
from ..costs.rules import CostsLike
from ..decision import ExpectedCostClassifier
from ..errors import CostsWarning, SteelyardError
from ..evaluate import Interval
from ..evaluate.capacity import at_most
from ..validation.arrays import check_linear_scores, check_probabilities, len_rows
from ..validation.docstrings import WRITTEN, documented
from ..validation.types import Floats
from ..validation.values import check_count, check_number, invalid
from .cost_interval import ExpectedCostMean
from .explanation import explain_rows, is_linear
from .frames import as_table, frame_library
from .rows import known_columns
from .schema import Columns
from .training import TrainingSummary


def split_pipeline(estimator: Any) -> tuple[Any, Any]:
    """What prepares rows, None if nothing does, and what then decides."""
    return (estimator[:-1], estimator[-1]) if isinstance(estimator, Pipeline) else (None, estimator)


def unwrap_search(estimator: Any) -> Any:
    """A fitted model without its search: the best one stands for all that were tried."""
    if isinstance(estimator, Pipeline):
        return type(estimator)([(name, unwrap_search(step)) for name, step in estimator.steps])
    return unwrap_search(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def decide(decider: Any, rows: Any, costs: Costs | None = None) -> Any:
    """Answers for prepared rows; costs of each row count where the decision is by expected cost."""
    if costs is not None and isinstance(decider, ExpectedCostClassifier):
        return decider.predict(rows, costs=costs)
    check_linear_scores(decider, rows)
    return decider.predict(rows)


@contextmanager
def _blamed_on_rows() -> Iterator[None]:
    """What a part of the model says of numbers it cannot compute with is an error about the rows."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, SteelyardError):
            raise
        said = str(error).partition("\n")[0].rstrip(".")
        raise invalid("X", "hold numbers that the model can compute with", said, "Look for very large ones.") from error


_ROWS = {  # of the methods that decide, for ``documented``
    "X": ("array-like, frame or records", "New rows."),
    "costs": ("Costs, mapping, array-like or None", "Their own prices; see the class."),
    "typical": ("bool", "Use the mean costs of training where row costs are missing."),
}


class Decisions(NamedTuple):
    """Positions of the decisions in ``costs.answers``, the expected cost of every answer, and the probabilities."""

    decided: NDArray[np.intp]
    expected: Floats
    proba: Floats
    costs: Costs

    @property
    def decisions(self) -> NDArray[Any]:
        """The decisions as labels."""
        return self.costs.answers[self.decided]

    @property
    def expected_cost(self) -> Floats:
        """Of each decision."""
        return np.asarray(self.expected[np.arange(len(self.decided)), self.decided])

    @property
    def other_cost(self) -> Floats:
        """Of the best other answer."""
        others = self.expected.copy()
        others[np.arange(len(others)), self.decided] = np.inf
        return np.asarray(others.min(axis=1, initial=np.inf))


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted candidate with what it needs to meet new data: its columns, classes and costs.

    New rows may be a pandas, polars or pyarrow frame, a dict (one row), a list of dicts, or an array for a model of
    columns without names; there may be none. Missing cells and categories never seen are treated as in training.
    Columns the model does not know are ignored; one that is gone, or a cell that is no number, is an error.

    Every method that decides takes ``costs``: by class, or one matrix per row. Left out, the costs of training count;
    a model compared with costs in columns of the data looks for these columns, and ``typical=True`` takes the mean
    costs of training instead.

    Parameters
    ----------
    name : str
        Of the candidate.
    estimator : estimator
        What was fitted.
    columns : Columns
        The columns it knows.
    costs : Costs
        What decisions are made with.
    training : TrainingSummary or None
        How it came about.
    repriced : bool
        Decide by ``costs`` instead of those the estimator was fitted with.
    """

    name: str
    estimator: Any
    columns: Columns
    costs: Costs
    training: TrainingSummary | None = None
    repriced: bool = False  # decide by ``costs`` instead of those the estimator was fitted with

    @documented(WRITTEN)
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to a `.steelyard` file, whole or not at all; :func:`steelyard.load_model` reads it.

        Returns
        -------
        Path
            Where it was written.
        """
        from .storage import save_object  # the table of kinds knows this class

        return save_object(self, path)

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of probabilities."""
        return cast("NDArray[Any]", self.costs.classes)

    @property
    def costs_(self) -> Costs:
        """The costs decisions are made with: those of training, or of :meth:`with_costs`."""
        return self.costs

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names, or positions, of the columns that are looked at."""
        return np.array(self.columns.used, dtype=object)

    @property
    def card_(self) -> dict[str, Any]:
        """How the model came about, in plain values."""
        known = {} if self.training is None else dict(self.training.card)
        return {"candidate": self.name, "columns": list(self.columns.used), "costs": self.costs.to_dict(), **known}

    @property
    def judged_rows(self) -> int:
        """Rows that its probabilities were fitted to out of fold; 0 where it does not remember."""
        judged = {} if self.training is None else self.training.card.get("judged", {})
        return int(judged.get("rows", 0)) if isinstance(judged, dict) else 0

    @property
    def cost_columns(self) -> dict[str, str]:
        """Which columns of new rows hold which costs (fn, fp, tp, tn, abstain); empty where costs are numbers."""
        spec = None if self.training is None else self.training.cost_spec
        return {} if spec is None or self.repriced else spec.columns

    @property
    def uses_row_costs(self) -> bool:
        """Whether costs of single rows change its decisions exactly: they are made from probabilities."""
        return isinstance(split_pipeline(self.estimator)[1], ExpectedCostClassifier)

    @property
    def has_probabilities(self) -> bool:
        """Whether it can tell expected costs."""
        return (self._is_constant() and self.training is not None) or hasattr(self.estimator, "predict_proba")

    # -- decisions ---------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, costs: CostsLike | None = None, typical: bool = False) -> NDArray[Any]:
        """Decisions for new rows."""
        table = self._table(X)
        if len_rows(table) == 0:
            return self.costs.answers[:0]
        return self._decisions(known_columns(table, self.columns), self._row_costs(table, costs, typical))

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, columns as in ``classes_``; a model that has none is an error."""
        table = self._table(X)
        if len_rows(table) == 0:
            return np.empty((0, len(self.classes_)))
        return self._probabilities(known_columns(table, self.columns))

    @documented(_ROWS)
    def expected_cost(self, X: Any, *, costs: CostsLike | None = None, typical: bool = False) -> Floats:
        """Expected cost of the decision for each row.

        Returns
        -------
        ndarray of shape (n,)
            In the unit of the costs.
        """
        return self.weigh(X, costs=costs, typical=typical).expected_cost

    def mean_expected_cost(
        self, X: Any, *, costs: CostsLike | None = None, typical: bool = False, confidence: float = 0.95
    ) -> Interval:
        """What rows are expected to cost on average, with a prediction interval for what they will cost.

        Parameters
        ----------
        X : array-like, frame or records
            Rows.
        costs : Costs or None
            Their own prices.
        typical : bool
            Use the mean costs of training where row costs are missing.
        confidence : float
            Of the interval, which counts the chance of the outcomes and that of the calibration.

        Returns
        -------
        Interval
            Mean of :meth:`expected_cost` with its ends.
        """
        mean = ExpectedCostMean(self.judged_rows)
        mean.add(self.weigh(X, costs=costs, typical=typical))
        return mean.interval(check_number("confidence", confidence, above=0, below=1))

    @documented(_ROWS)
    def decide(
        self, X: Any, *, costs: CostsLike | None = None, capacity: int | None = None, typical: bool = False
    ) -> Any:
        """Decisions with their reasons, as a frame of the library of ``X``.

        Parameters
        ----------
        capacity : int or None
            Most rows that may be answered with the positive class: those where it saves most.

        Returns
        -------
        frame
            With the columns ``decision``, ``probability CLASS`` for every class, ``expected_cost`` of the decision,
            and ``other_cost``, the expected cost of the best other answer.
        """
        table = self._table(X)
        weighed = self.weigh(table, costs=costs, typical=typical)
        if capacity is not None and len(weighed.decided):
            limit, action = check_count("capacity", capacity, at_least=0), self.limited_class("capacity")
            weighed = weighed._replace(decided=at_most(weighed.expected, limit, action=action).decisions)
        columns: dict[str, Any] = {"decision": weighed.decisions.tolist()}
        columns |= {f"probability {label}": weighed.proba[:, k] for k, label in enumerate(self.classes_.tolist())}
        columns |= {"expected_cost": weighed.expected_cost, "other_cost": weighed.other_cost}
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        backend: Any = frame.implementation if isinstance(frame, nw.DataFrame) else frame_library()
        return nw.from_dict(columns, backend=backend).to_native()

    @documented(_ROWS)
    def weigh(self, X: Any, *, costs: CostsLike | None = None, typical: bool = False) -> Decisions:
        """Decisions, probabilities and the expected cost of every answer, all at once.

        Returns
        -------
        Decisions
            Decisions with what they are expected to cost.
        """
        table = self._table(X)
        if len_rows(table) == 0:
            none = np.empty((0, len(self.classes_)))
            return Decisions(np.empty(0, dtype=np.intp), self.costs.expected(none), none, self.costs)
        rows = known_columns(table, self.columns)
        given = self._row_costs(table, costs, typical)
        agreed = self.costs if given is None else given
        proba = self._probabilities(rows)
        expected = agreed.expected(proba)
        if self.uses_row_costs:  # decides by these very numbers
            return Decisions(expected.argmin(axis=1), expected, proba, agreed)
        decisions = self._decisions(rows, given)
        at = {label: k for k, label in enumerate(agreed.answers.tolist())}
        decided = np.array([at[label] for label in decisions.tolist()], dtype=np.intp)
        return Decisions(decided, expected, proba, agreed)

    def limited_class(self, name: str) -> int:
        """Position of the class that a limit is about: the positive one of two.

        Parameters
        ----------
        name : str
            What a caller names the limit, for the error where there are more classes.

        Returns
        -------
        int
            Its position.
        """
        if len(self.classes_) != 2:
            got = f"{len(self.classes_)} classes"
            raise invalid(name, "come with a model of two classes, of which it limits the positive one", got)
        return self.costs.positive_index()

    def explain(self, X: Any, n: int = 3) -> list[list[dict[str, Any]]]:
        """For every row the ``n`` columns that move its probability most.

        Each column in turn is set to its usual value in training (the median, or the most frequent level; a date or
        text is left out, its ``usual`` being None); ``change``
        is the probability of the positive class, or of the likeliest one of many, less what it then is, and
        ``log_odds`` the same of its log-odds. For a linear model of two classes these add up to the whole distance
        from a usual row and ``method`` is "exact"; else it is "one column at a time", and effects of columns together
        are not seen.

        Parameters
        ----------
        X : array-like, frame or records
            Rows.
        n : int
            Columns named for each row.

        Returns
        -------
        list
            For each row the columns that moved its probability most.
        """
        if self.training is None:
            raise invalid("the model", "remember its training data to explain decisions", self.name, "Compare again.")
        table = self._table(X)
        if len_rows(table) == 0:
            return []
        plus = self.costs.positive_index() if len(self.classes_) == 2 else None
        rows = known_columns(table, self.columns)
        exact = plus is not None and is_linear(self.estimator)
        given = (rows, self.columns, self.training, self._probabilities, plus)
        return explain_rows(*given, check_count("n", n), exact=exact)

    def with_costs(self, costs: CostsLike) -> Model:
        """The same model with new prices, without refitting.

        Exact where decisions come from probabilities. Where costs were built into learning, decisions are from the
        probabilities of the model, with a warning that names the candidate.

        Parameters
        ----------
        costs : Costs, mapping or array-like
            The new prices.

        Returns
        -------
        Model
            The same model, decided by these.
        """
        agreed = self._agreed(costs)
        if agreed != self.costs and (note := self.note_on_new_costs()) is not None:
            warnings.warn(note, CostsWarning, stacklevel=2)
        return replace(self, costs=agreed, repriced=True)

    def note_on_new_costs(self) -> str | None:
        """Which candidates in it would have learned otherwise at other costs, in a sentence; None if none would."""
        names = self._fitted_to_costs()
        if not names and (self.uses_row_costs or self._is_constant()):
            return None
        was = "was fitted to its" if len(names) < 2 else "were fitted to their"
        return f"{'; '.join(names or [self.name])} {was} costs; other costs are weighed with probabilities instead."

    # -- how ---------------------------------------------------------------------------------------------------------

    def _table(self, X: Any) -> Any:
        wanted: Sequence[Any] = [*self.columns.used, *self.cost_columns.values()]
        return as_table(X, wanted)

    def _agreed(self, costs: CostsLike) -> Costs:
        if isinstance(costs, CostRule):
            raise invalid("costs", "not depend on labels, which new rows have not", costs, "Use costs.costs_for(y).")
        if not isinstance(costs, Costs) and np.ndim(cast("Any", costs)) == 3:
            return Costs.from_matrices(cast("Any", costs), classes=self.classes_)
        return as_costs(costs, None, self.classes_)

    def _row_costs(self, table: Any, costs: CostsLike | None, typical: bool) -> Costs | None:
        """Costs to decide with other than those of training; None for these."""
        if costs is not None:
            return self._agreed(costs)
        needed = self.cost_columns
        if not needed or typical:
            return self.costs if self.repriced else None
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        names = list(frame.columns) if isinstance(frame, nw.DataFrame) else []
        absent = [name for name in needed.values() if name not in names]
        if absent:
            raise invalid(
                "data",
                f"have the cost columns the model was compared with ({', '.join(dict.fromkeys(needed.values()))})",
                f"no column {absent[0]!r}",
                "Pass costs=, or typical=True (--typical-costs) for the mean costs of training.",
            )
        assert self.training is not None
        assert self.training.cost_spec is not None
        return self.training.cost_spec.costs(table, classes=self.classes_).aligned(self.classes_)

    def _decisions(self, rows: Any, costs: Costs | None) -> NDArray[Any]:
        prepare, decider = split_pipeline(self.estimator)
        if costs is None or isinstance(decider, ExpectedCostClassifier):
            with _blamed_on_rows():
                return np.asarray(decide(decider, rows if prepare is None else prepare.transform(rows), costs))
        if not self.repriced and (note := self.note_on_new_costs()) is not None:
            warnings.warn(note, CostsWarning, stacklevel=3)
        return costs.decide(self._probabilities(rows))

    def _fitted_to_costs(self) -> list[str]:
        """Names of the candidates in it that would have learned otherwise at other costs, by its card."""
        members = self.card_.get("members")
        known = [member for member in members if isinstance(member, dict)] if isinstance(members, list) else []
        return [str(member.get("candidate")) for member in known if member.get("fitted_to_costs") is True]

    def _is_constant(self) -> bool:
        return isinstance(split_pipeline(self.estimator)[1], DummyClassifier)

    def _probabilities(self, rows: Any) -> Floats:
        """A constant knows nothing of a row but how common the classes were."""
        if self._is_constant() and self.training is not None:
            return np.tile(self.training.shares, (len_rows(rows), 1))
        if not hasattr(self.estimator, "predict_proba"):
            raise invalid("the model", "know probabilities for this", self.name, "Use predict(X).")
        with _blamed_on_rows():
            return check_probabilities(self.estimator, rows)

    # -- showing -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        labels = ", ".join(map(str, self.classes_.tolist()[:5])) + (", ..." if len(self.classes_) > 5 else "")
        return f"Model({self.name!r}, classes {labels}, {len(self.columns.used)} columns)"

    def _repr_html_(self) -> str:
        return (
            f'<div class="steelyard-model"><p><b>{html.escape(self.name)}</b>: '
            f"{len(self.columns.used)} columns, {len(self.classes_)} classes</p>{self.costs._repr_html_()}</div>"
        )
