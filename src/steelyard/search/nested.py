"""What searched costs are worth on rows the search has not seen; the paper searches on rows that it later tests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit

from ..costs import Costs
from ..evaluate import Interval
from ..validation.arrays import check_labels, check_random, check_same_length
from ..validation.types import LabelsLike, MatrixLike, RandomState
from ..validation.values import check_count, check_number, invalid
from .cost_search import CostSearchCV
from .objective import Measure, Split, read_measure, rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NestedEvaluation:
    """Held-out values of a search and of its baselines on the same splits, beside what the search itself believed.

    Parameters
    ----------
    scores : dict of str to ndarray
        One value per outer split, for "search" and for every baseline.
    validation_fitness : ndarray
        What the search maximised inside each split.
    costs : list of Costs
        What it chose.
    test_share : float
        Test rows per training row of an outer split.
    """

    scores: dict[str, Floats]
    validation_fitness: Floats
    costs: list[Costs]
    test_share: float

    def interval(self, name: str = "search", confidence: float = 0.95) -> Interval:
        """Mean over the outer splits; the error allows for splits that share rows (Nadeau and Bengio's correction).

        Parameters
        ----------
        name : str
            "search" or a baseline.
        confidence : float
            Coverage of the interval, between 0 and 1.

        Returns
        -------
        Interval
            Mean over the outer splits.
        """
        return self._of(self._values("name", name), confidence)

    def difference(self, baseline: str, confidence: float = 0.95) -> Interval:
        """How much better the search is than a baseline, paired by split.

        Parameters
        ----------
        baseline : str
            Name of a baseline.
        confidence : float
            Coverage of the interval, between 0 and 1.

        Returns
        -------
        Interval
            Mean difference, positive where the search is better.
        """
        return self._of(self.scores["search"] - self._values("baseline", baseline), confidence)

    def _values(self, argument: str, name: str) -> Floats:
        if name not in self.scores:
            raise invalid(argument, f"be one of {', '.join(self.scores)}", name)
        return self.scores[name]

    def _of(self, values: Floats, confidence: float) -> Interval:
        level = check_number("confidence", confidence, above=0, below=1)
        n, mean = len(values), float(values.mean())
        error = float(np.sqrt(values.var(ddof=1) * (1 / n + self.test_share)))
        reach = float(stats.t.ppf(0.5 + level / 2, n - 1)) * error
        return Interval(mean, mean - reach, mean + reach, level, error)

    def __str__(self) -> str:
        lines = [f"{name}: {self.interval(name)}" for name in self.scores]
        inside = float(self.validation_fitness.mean())
        return "\n".join([*lines, f"validation fitness inside the search, not to be expected: {inside:.4g}"])


def nested_evaluate(
    search: CostSearchCV,
    X: MatrixLike,
    y: LabelsLike,
    *,
    cv: int = 10,
    test_size: float = 0.2,
    baselines: Mapping[str, Any] | None = None,
    random_state: RandomState = None,
) -> NestedEvaluation:
    """Search anew on the training rows of every outer split and score the result on its test rows.

    Parameters
    ----------
    search : CostSearchCV
        The search; its ``scoring`` is the measure, its storage is not used: every split searches for itself.
    X : array-like or sparse matrix of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Labels.
    cv : int
        Stratified random outer splits, >= 2.
    test_size : float
        Share of test rows, in (0, 1).
    baselines : mapping of str to estimator, or None
        Fitted and scored on the same splits, e.g. AdaC2.M1 with its default costs.
    random_state : int, Generator or None
        Seed or source of random numbers.

    Returns
    -------
    NestedEvaluation
        Values per split.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from steelyard import AdaC2M1Classifier
    >>> model = AdaC2M1Classifier(n_estimators=2)
    >>> found = nested_evaluate(CostSearchCV(model, sampler="power_grid", cv=2), *load_iris(return_X_y=True), cv=2,
    ...                         baselines={"default": model}, random_state=0)
    >>> sorted(found.scores)
    ['default', 'search']
    """
    if not isinstance(search, CostSearchCV):
        raise invalid("search", "be a CostSearchCV", search)
    classes, codes = check_labels(y)
    check_same_length(X=X, y=codes)
    X, labels = (X.tocsr() if hasattr(X, "tocsr") else X), classes[codes]
    n_splits = check_count("cv", cv, at_least=2)
    if np.bincount(codes).min() < 2:
        raise invalid("y", "have two or more rows of every class to test on", "n_samples=1", "Drop or merge classes.")
    share = check_number("test_size", test_size, above=0, below=1)
    random = check_random(random_state)
    cutter = StratifiedShuffleSplit(n_splits, test_size=share, random_state=random.randint(2**31 - 1))
    measure = read_measure(search.scoring, labels, classes)
    contestants = _contestants(search, baselines or {})
    scores: dict[str, list[float]] = {name: [] for name in contestants}
    fitness, costs = [], []
    for cut in cutter.split(codes, codes):
        seed = int(random.randint(2**31 - 1))
        for name, contestant in contestants.items():
            model = _fitted(contestant, seed, X, labels, Split(*cut))
            scores[name].append(_score(measure, model, X, labels, classes, Split(*cut)))
            if name == "search":
                fitness.append(model.validation_fitness_)
                costs.append(model.best_costs_)
    return NestedEvaluation(
        {name: np.array(values) for name, values in scores.items()}, np.array(fitness), costs, share / (1 - share)
    )


def _contestants(search: CostSearchCV, baselines: Mapping[str, Any]) -> dict[str, Any]:
    if "search" in baselines:
        raise invalid("baselines", "have other names than the search itself", "search")
    return {"search": search, **baselines}


def _fitted(contestant: Any, seed: int, X: Any, y: NDArray[Any], cut: Split) -> Any:
    model = clone(contestant)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    if isinstance(model, CostSearchCV):
        model.set_params(storage=None, study_name=None)
    return model.fit(rows(X, cut.train), y[cut.train])


def _score(measure: Measure, model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any], cut: Split) -> float:
    return measure(model, rows(X, cut.validation), y[cut.validation], classes)
