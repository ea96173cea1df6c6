"""Search of class costs by validation, for any estimator with a ``costs`` parameter. Paper 003, secs. 6 and 7.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..validation.types import CVLike, Estimator, LabelsLike, MatrixLike, RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

import numbers
import time
from concurrent.futures import Executor
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..boosting import AdaC2M1Classifier
from ..costs import Costs
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..executors import check_executor
from ..validation.arrays import check_column, check_labels, check_random, check_same_length
from ..validation.docstrings import documented
from ..validation.values import check_choice, check_count, check_flag, check_jobs, check_number, invalid, require
from .genetic import GeneticSampler
from .objective import (
    CostCandidate,
    Objective,
    Split,
    costs_by_class,
    normalised,
    paper_splits,
    read_measure,
    score_of,
    stratified_splits,
)
from .plan import POWERS, SAMPLERS, SearchPlan

Codes = NDArray[np.intp]


def _can(method: str) -> Any:
    return available_if(lambda self: hasattr(getattr(self, "best_estimator_", None) or self._searched(), method))


@documented()
class CostSearchCV(CostClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the class costs with which an estimator does best on validation rows, and fits it with them.

    Parameters
    ----------
    estimator : classifier or None
        Anything with a parameter named ``parameter``; AdaC2.M1 on C4.5 if None.
    scoring : {"g_mean", "f:CLASS"}, Costs, str or callable
        Costs, whose mean is minimised, or a scikit-learn scorer or its name.
    sampler : {"genetic", "tpe", "cmaes", "random", "power_grid"} or GeneticSampler
        "genetic" is paper 003, sec. 6, a :class:`GeneticSampler` the same with settings of one's own; "power_grid"
        tries c_k = (n_min / n_k)^gamma for 16 gammas in 0 ... 1.5 only. All others begin with five of these. On
        held-out data none is reliably better.
    cv : int or splitter
        Validation folds; one split is easily overfitted.
    n_trials : int
        Vectors judged, those found in ``storage`` included.
    time_limit : float or None
        Seconds after which none starts, but the first of each search; the 20 of ``protocol="paper"`` share them.
    protocol : "paper" or None
        The mean of the normalised winners of 20 searches, each on a random 80/20 split, unseeded.
    storage : path, URL, Optuna storage or None
        Journal file, database or storage to resume from and to share.
    study_name : str or None
        Name of the study there.
    executor : Executor or None
        Where vectors are judged instead of threads of this process, such as what
        :func:`steelyard.scale.on_dask` gives; the data are sent once and the result is the same.
    progress : bool
        Show a bar.
    parameter : str
        The parameter of the estimator that takes the costs.

    Attributes
    ----------
    best_costs_, n_rounds_ : Costs, int
        The costs, and the number of rounds they were found with and belong to.
    validation_fitness_ : float
        What the search maximised: it flatters. :func:`nested_evaluate` tells what to expect.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = AdaC2M1Classifier(DecisionTreeClassifier(max_depth=2), random_state=0)
    >>> search = CostSearchCV(model, sampler="power_grid", cv=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> search.best_costs_.class_costs().shape
    (3,)
    """

    def __init__(
        self,
        estimator: Estimator | None = None,
        *,
        scoring: Any = "g_mean",
        sampler: str | GeneticSampler = "genetic",
        cv: CVLike = 5,
        n_trials: int = 100,
        time_limit: float | None = None,
        protocol: str | None = None,
        storage: Any = None,
        study_name: str | None = None,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        random_state: RandomState = None,
        progress: bool = False,
        parameter: str = "costs",
    ) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.sampler = sampler
        self.cv = cv
        self.n_trials = n_trials
        self.time_limit = time_limit
        self.protocol = protocol
        self.storage = storage
        self.study_name = study_name
        self.n_jobs = n_jobs
        self.executor = executor
        self.random_state = random_state
        self.progress = progress
        self.parameter = parameter

    # -- searching ---------------------------------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: LabelsLike) -> CostSearchCV:
        """Search on rows ``X`` and labels ``y``, then fit the estimator with the best costs on all of them."""
        require("optuna", extra="search", why="CostSearchCV")
        from . import study as _study

        classes, codes = check_labels(y)
        X = X if hasattr(X, "shape") or isinstance(X, list) else np.asarray(X)
        check_same_length(X=X, y=codes)
        rows = X.tocsr() if hasattr(X, "tocsr") else X
        candidate = CostCandidate(self._searched(), self.parameter, classes)
        measure = read_measure(self.scoring, classes[codes], classes)
        random, jobs = check_random(self.random_state), check_jobs(self.n_jobs)
        plan = self._plan(classes, codes, int(random.randint(2**31 - 1)))
        searches = self._searches(X, classes, codes, int(random.randint(2**31 - 1)))
        about = self._about(candidate.estimator, plan)

        studies, winners, fitness, began = [], [], [], time.monotonic()
        with _study.progress_bar(check_flag("progress", self.progress), plan.n_trials * len(searches)) as advance:
            for number, (name, splits) in enumerate(searches):
                limit = _time_share(plan.time_limit, time.monotonic() - began, len(searches) - number)
                one = plan._replace(seed=plan.seed + number, time_limit=limit)
                study = _study.open_study(one, self.storage, name, about)
                advance(min(_study.n_judged(study), plan.n_trials))
                objective = Objective(
                    candidate, measure, rows, classes[codes], splits, jobs, check_executor(self.executor)
                )
                with closing(objective):
                    _study.run(study, one, objective, advance, objective.at_once)
                costs, value = _study.best_vector(study, plan.names)
                studies.append(study)
                winners.append(normalised(costs))
                fitness.append(value)
        best = normalised(np.mean(winners, axis=0))
        self.best_estimator_ = candidate.with_costs(best).fit(X, classes[codes])
        self.best_costs_: Costs = costs_by_class(classes, best)
        self.validation_fitness_ = float(np.mean(fitness))
        self.n_rounds_: int | None = candidate.estimator.get_params().get("n_estimators")
        self.studies_ = studies
        self.study_ = studies[-1]
        self.classes_ = classes
        return self

    def _searched(self) -> Any:
        if self.estimator is None:
            return AdaC2M1Classifier()
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "get_params"):
            raise invalid("estimator", "be an estimator with get_params and fit, or None", self.estimator)
        return self.estimator

    def _plan(self, classes: NDArray[Any], codes: Codes, seed: int) -> SearchPlan:
        sampler = self._sampler()
        check_choice("protocol", self.protocol, (None, "paper"))
        n_trials = check_count("n_trials", self.n_trials)
        time_limit = None if self.time_limit is None else check_number("time_limit", self.time_limit, above=0)
        estimator = self._searched()
        if self.parameter not in estimator.get_params():
            raise invalid("estimator", f"have a parameter {self.parameter!r}", estimator)
        counts = np.bincount(codes).astype(float)
        if len(counts) < 2:
            raise invalid("y", "hold two or more classes", f"{len(counts)} class" + "es" * (len(counts) != 1))
        return SearchPlan(
            sampler=sampler,
            names=[f"cost of {label}" for label in classes.tolist()],
            counts=counts,
            seeded=self.protocol is None,
            seed=seed,
            n_trials=_n_trials(sampler, n_trials),
            time_limit=time_limit,
        )

    def _sampler(self) -> str | GeneticSampler:
        if isinstance(self.sampler, GeneticSampler):
            self.sampler.validate()
            return self.sampler
        if not isinstance(self.sampler, str):
            raise invalid("sampler", f"be a GeneticSampler or one of {', '.join(SAMPLERS)}", self.sampler)
        return GeneticSampler() if check_choice("sampler", self.sampler, SAMPLERS) == "genetic" else self.sampler

    def _searches(self, X: Any, classes: NDArray[Any], codes: Codes, seed: int) -> list[tuple[str | None, list[Split]]]:
        """Name and splits of every study: one over all splits, or the paper's twenty of one split each."""
        if self.protocol is None:
            return [(self.study_name, self._splits(X, classes, codes, seed))]
        cuts = paper_splits(codes, seed)
        names = [f"{self.study_name}-{i:02d}" if self.study_name else None for i in range(len(cuts))]
        return [(name, [cut]) for name, cut in zip(names, cuts, strict=True)]

    def _splits(self, X: Any, classes: NDArray[Any], codes: Codes, seed: int) -> list[Split]:
        splitter: Any = self.cv
        if hasattr(splitter, "split") and not isinstance(splitter, str):
            return [Split(*cut) for cut in splitter.split(X, classes[codes])]
        return stratified_splits(check_count("cv", self.cv, at_least=2), codes, seed)

    def _about(self, estimator: Any, plan: SearchPlan) -> dict[str, Any]:
        """What makes a stored study the same search: costs belong to their estimator, its rounds and the splits."""
        if self.storage is not None and not isinstance(self.random_state, numbers.Integral):
            raise invalid(
                "random_state",
                "be a whole number when storage is given",
                self.random_state,
                "A search that is resumed must validate on the same splits.",
            )
        rounds = estimator.get_params().get("n_estimators")
        return {
            "estimator": type(estimator).__name__,
            "rounds": None if rounds is None else int(rounds),
            "scoring": self.scoring if isinstance(self.scoring, str) else repr(self.scoring),
            "sampler": "genetic" if plan.sampler == GeneticSampler() else str(plan.sampler),
            "cv": repr(self.cv),
            "seed": plan.seed,
            "classes": dict(zip(plan.names, plan.counts.tolist(), strict=True)),
        }

    def __sklearn_clone__(self) -> CostSearchCV:
        """A new search with the same settings; an executor is no setting to be copied, both use the same."""
        given = {
            name: clone(value, safe=False) for name, value in self.get_params(deep=False).items() if name != "executor"
        }
        return type(self)(**given, executor=self.executor)

    # -- answering ---------------------------------------------------------------------------------------------------

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The answers of the estimator with the best costs."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @_can("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Probabilities of the estimator with the best costs."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @_can("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """Scores of the estimator with the best costs."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    def _score_without_costs(self, X: Any, y: Any, sample_weight: Any) -> float:
        """What ``scoring`` says of the decisions, as of every search of scikit-learn."""
        check_is_fitted(self)
        return score_of(self.scoring, self.best_estimator_, X, check_column("y", y), self.classes_, sample_weight)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        check_is_fitted(self)
        return int(self.best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, where they have any."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.feature_names_in_)

    @documented()
    def plot_convergence(self, ax: Axes | None = None) -> Any:
        """The best validation fitness so far over the vectors judged, one line a study; returns the axes.

        Returns
        -------
        matplotlib axes
            Where it was drawn.
        """
        check_is_fitted(self)
        from .study import history

        if ax is None:
            ax = require("matplotlib.pyplot", why="plot_convergence").subplots()[1]
        for study in self.studies_:
            values = history(study)
            ax.step(np.arange(1, len(values) + 1), np.maximum.accumulate(values), where="post")
        ax.set(xlabel="cost vectors judged", ylabel="best validation fitness")
        return ax

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        searched = get_tags(self._searched())
        tags.input_tags = searched.input_tags
        tags.classifier_tags.multi_class = searched.classifier_tags.multi_class
        return tags


def _time_share(limit: float | None, gone: float, searches: int) -> float | None:
    """Seconds of one search: an equal share of what is left for all that are still to be made."""
    return None if limit is None else max(0.0, limit - gone) / searches


def _n_trials(sampler: str | GeneticSampler, given: int) -> int:
    """Vectors that one study judges."""
    if isinstance(sampler, GeneticSampler):
        return sampler.n_trials(given)
    return len(POWERS) if sampler == "power_grid" else given
