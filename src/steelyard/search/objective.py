"""What a cost vector is worth: the mean of a measure over several splits into training and validation rows."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from ..boosting.population import Population
from ..costs import CostRule, Costs, as_costs
from ..evaluate import f_score, g_mean_score, get_scorer, get_scorer_names, mean_cost
from ..executors import naming_loss, shared, unwrap
from ..validation.values import invalid

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
OfAnswers = Callable[[Codes, Codes], float]  # truths and answers as positions in classes


@dataclass(frozen=True)
class Measure:
    """What is maximised: a function of truths and answers, or a scikit-learn scorer of a fitted model."""

    of_answers: OfAnswers | None
    of_model: Callable[[Any, Any, Any], float] | None = None

    def __call__(self, model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any]) -> float:
        """The value of a fitted model on rows it has not seen."""
        if self.of_answers is None:
            assert self.of_model is not None
            return float(self.of_model(model, X, y))
        answers = np.searchsorted(classes, np.asarray(model.predict(X)))
        return self.of_answers(np.searchsorted(classes, y), answers)


def read_measure(scoring: Any, y: NDArray[Any], classes: NDArray[Any]) -> Measure:
    """``"g_mean"`` (39), ``"f:CLASS"`` (38), costs (their mean is minimised), or a scorer or its name."""
    if isinstance(scoring, str) and scoring == "g_mean":
        return Measure(partial(_of_g_mean, len(classes)))
    if isinstance(scoring, str) and scoring.startswith("f:"):
        return Measure(partial(_of_f_measure, len(classes), _class_named(scoring[2:], classes)))
    if isinstance(scoring, str) and scoring in get_scorer_names():
        return Measure(None, get_scorer(scoring))
    if isinstance(scoring, (Costs, CostRule, Mapping, np.ndarray)):
        matrix = as_costs(scoring, y, classes).matrix
        if matrix is None:
            raise invalid("scoring", "be costs that are the same for all examples", scoring)
        return Measure(partial(_of_costs, matrix))
    if callable(scoring):
        return Measure(None, scoring)
    raise invalid(
        "scoring", "be 'g_mean', 'f:CLASS', costs or a scikit-learn scorer", scoring, "E.g. scoring='f:good'."
    )


def score_of(
    scoring: Any, model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any], sample_weight: Any = None
) -> float:
    """What ``scoring`` says of a fitted model; rows may count differently."""
    measure = read_measure(scoring, y, classes)
    if measure.of_answers is None:
        assert measure.of_model is not None
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(measure.of_model(model, X, y, **weights))
    given: dict[str, Any] = {"classes": classes, "sample_weight": sample_weight}
    if not isinstance(scoring, str):
        return -mean_cost(y, model.predict(X), costs=as_costs(scoring, y, classes), **given)
    if scoring == "g_mean":
        return g_mean_score(y, model.predict(X), **given)
    return f_score(y, model.predict(X), positive=classes[_class_named(scoring[2:], classes)], **given)


# Functions of this module, not closures: a measure goes to other processes.


def _of_g_mean(n_classes: int, truths: Codes, answers: Codes) -> float:
    return g_mean(_confusion(truths, answers, n_classes))


def _of_f_measure(n_classes: int, k: int, truths: Codes, answers: Codes) -> float:
    return f_measure(_confusion(truths, answers, n_classes), k)


def _of_costs(matrix: Floats, truths: Codes, answers: Codes) -> float:
    return -float(matrix[truths, answers].mean())


def _class_named(name: str, classes: NDArray[Any]) -> int:
    names = [str(label) for label in classes.tolist()]
    if name not in names:
        raise invalid("scoring", f"name one of the classes {', '.join(names)} after 'f:'", f"f:{name}")
    return names.index(name)


# The two measures of the paper on class numbers that need no checking: to read and check labels would take as long as a
# fit. The formulas are those of the public measures.


def _confusion(truths: Codes, answers: Codes, n_classes: int) -> NDArray[np.intp]:
    return np.bincount(truths * n_classes + answers, minlength=n_classes**2).reshape(n_classes, n_classes)


def g_mean(confusion: NDArray[np.intp]) -> float:
    """Geometric mean of the recalls of the classes that occur, as ``g_mean_score``. Eq. (39)."""
    sums = np.stack([np.diag(confusion), confusion.sum(axis=1)]).astype(np.float64)
    return float(g_mean_score.form.finalize(sums[:, sums[1] > 0].ravel(), lambda: 0))


def f_measure(confusion: NDArray[np.intp], k: int) -> float:
    """F of class ``k``, as ``f_score``; 0 if it is never answered. Eq. (38)."""
    return float(f_score.form.finalize(confusion.ravel().astype(np.float64), lambda: k))


class Objective:
    """The fitness of cost vectors for one estimator on one set of splits."""

    def __init__(
        self,
        candidate: CostCandidate,
        measure: Measure,
        X: Any,
        y: NDArray[Any],
        cv: list[Split],
        n_jobs: int | None,
        executor: Executor | None = None,
    ) -> None:
        self.candidate, self.measure = candidate, measure
        self.X, self.y, self.cv, self.n_jobs, self.executor = X, y, cv, n_jobs, executor
        self.codes = np.searchsorted(candidate.classes, y)
        self.population = self._population() if executor is None else None  # workers make their own
        self.known: dict[bytes, float] = {}
        self._held = ExitStack()
        self._handle: Any = None  # the data, where the executor finds them

    @property
    def at_once(self) -> int | None:
        """How many vectors are judged side by side here; None where an executor knows."""
        return effective_n_jobs(self.n_jobs) if self.executor is None else None

    def _population(self) -> Population | None:
        """The quick way to the same answers, where there is one."""
        plain = self.candidate.parameter == "costs" and self.measure.of_answers is not None
        if plain and Population.takes(self.candidate.estimator, self.codes, [split.train for split in self.cv]):
            return Population(self.candidate.estimator, self.X, self.y, self.cv)
        return None

    def __call__(self, vectors: list[Floats]) -> Floats:
        """Mean over the splits for every vector; a vector that occurs again is not judged again."""
        unit = {c.tobytes(): c for c in map(normalised, vectors)}
        new = [key for key in unit if key not in self.known]
        wanted = [(unit[key], cut) for key in new for cut in range(len(self.cv))]
        values = self._values(wanted)
        means = np.reshape(values, (len(new), len(self.cv))).mean(axis=1)
        self.known.update(zip(new, means.tolist(), strict=True))
        return np.array([self.known[normalised(c).tobytes()] for c in vectors])

    def _values(self, wanted: list[tuple[Floats, int]]) -> list[float]:
        if self.executor is None or not wanted:
            one = delayed(self.judge_one)
            return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(one(*pair) for pair in wanted))
        if self._handle is None:
            given = (self.candidate, self.measure, self.X, self.y, self.cv)
            self._handle = self._held.enter_context(shared(self.executor, given))
        futures = [self.executor.submit(judge_remote, self._handle, *pair) for pair in wanted]
        try:
            with naming_loss(self.executor, "the search", "Run it again, with storage= to keep what was judged."):
                return [float(future.result()) for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def close(self) -> None:
        """Let go of the data that were sent to an executor, which stays open."""
        self._held.close()
        self._handle = None

    def judge_one(self, costs: Floats, cut: int) -> float:
        """The measure of one vector on one split."""
        train, held = self.cv[cut]
        if self.population is not None:
            assert self.measure.of_answers is not None
            return self.measure.of_answers(self.codes[held], self.population.answers(costs, cut))
        model = self.candidate.with_costs(costs).fit(rows(self.X, train), self.y[train])
        return self.measure(model, rows(self.X, held), self.y[held], self.candidate.classes)


_local = threading.local()


def judge_remote(handle: Any, costs: Floats, cut: int) -> float:
    """One vector on one split; the task of a worker, which reads the data once."""
    given = unwrap(handle)
    if getattr(_local, "given", None) is not given:
        candidate, measure, X, y, splits = given
        _local.given, _local.objective = given, Objective(candidate, measure, X, y, splits, n_jobs=1)
    value: float = _local.objective.judge_one(costs, cut)
    return value


@dataclass(frozen=True)
class CostCandidate:
    """The estimator whose class costs are searched."""

    estimator: Any
    parameter: str
    classes: NDArray[Any]

    def with_costs(self, costs: Floats) -> Any:
        """The estimator with these class costs, not yet fitted."""
        return clone(self.estimator).set_params(**{self.parameter: costs_by_class(self.classes, costs)})


def normalised(costs: Floats) -> Floats:
    """The largest cost is 1, as the paper does it; only ratios are searched."""
    return np.asarray(costs / costs.max())


def costs_by_class(classes: NDArray[Any], costs: Floats) -> Costs:
    """A cost vector as costs."""
    return Costs.from_classes(dict(zip(classes.tolist(), costs.tolist(), strict=True)))


def rows(X: Any, where: Codes) -> Any:
    """Some rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[where]
    if hasattr(X, "shape"):
        return X[where]
    return [X[i] for i in where]


# -- Which rows a cost vector is judged on ----------------------------------------------------------------------------


PAPER_REPEATS = 20
PAPER_VALIDATION = 0.2


class Split(NamedTuple):
    """Positions of the training and of the validation rows."""

    train: Codes
    validation: Codes


def stratified_splits(folds: int, codes: Codes, seed: int) -> list[Split]:
    """Every row is validated on once; the only row of its class is always trained on instead."""
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise invalid("y", "have two or more rows of some class to validate on", "n_samples=1 of every class")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # it misses some folds
        cuts = StratifiedKFold(min(folds, int(counts.max())), shuffle=True, random_state=seed).split(codes, codes)
        held = [validation[counts[codes[validation]] > 1] for _, validation in cuts]
    return [Split(np.setdiff1d(np.arange(len(codes)), rows), rows) for rows in held if len(rows)]


def paper_splits(codes: Codes, seed: int) -> list[Split]:
    """Twenty random cuts of 80 to 20, classes not looked at. Paper 003, sec. 7.2."""
    cuts = ShuffleSplit(PAPER_REPEATS, test_size=PAPER_VALIDATION, random_state=seed).split(codes)
    return [Split(*cut) for cut in cuts]
