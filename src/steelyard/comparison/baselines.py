"""What a user would pick instead: each learner tuned once, then plain, weighted, thresholded, and by expected cost."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline

from ..decision.calibration import CalibratedClassifier
from ..decision.expected_cost import ExpectedCostClassifier
from ..decision.threshold import cheapest_threshold
from .candidates import Candidate, Shared
from .data import ComparisonData
from .tuning import ROWS_FOR_SEARCH, inner_folds, searched

Floats = NDArray[np.float64]
_MANY = 5  # classes
_LEAST = 1e-6  # probabilities are kept this far from 0 before their logarithm is taken
_FIRST_UP_TO = 20  # classes: beyond, boosting grows too many trees a round to go before all others


@dataclass(frozen=True)
class Base:
    """A learner with its preparation and the few parameters worth trying."""

    prepare: Any
    learner: Any
    grid: dict[str, list[Any]]


def _logistic(problem: ComparisonData) -> Base:
    return Base(problem.columns.scaled(), LogisticRegression(max_iter=300), {"C": [0.01, 0.1, 1.0]})


def _forest(problem: ComparisonData) -> Base:
    forest = RandomForestClassifier(n_estimators=100, random_state=problem.seed)
    return Base(problem.columns.coded(), forest, {"min_samples_leaf": [1, 5]})


def _gradient_boosting(problem: ComparisonData) -> Base:
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.1, max_leaf_nodes=15, early_stopping=False, random_state=problem.seed
    )
    rounds = [30, 100] if len(problem.classes) <= _MANY else [20, 50]  # a round grows a tree for every class
    return Base(problem.columns.coded(dense=True), boosting, {"max_iter": rounds})


_BASES: dict[str, Callable[[ComparisonData], Base]] = {
    "logistic regression": _logistic,
    "gradient boosting": _gradient_boosting,
    "random forest": _forest,
}


@dataclass(frozen=True)
class TunedModel:
    """A base learner with its parameters chosen, fitted, and asked about training rows it had not seen."""

    prepare: Any
    rows: Any  # the training rows, prepared
    learner: Any
    asked: NDArray[np.intp]  # rows of the training part ...
    proba: Floats  # ... and what a learner not taught with them says about them


@dataclass(frozen=True)
class Tuning:
    """Choose parameters by inner log loss; keep the out-of-fold probabilities for thresholds and calibration."""

    base: str

    def __call__(self, problem: ComparisonData) -> TunedModel:
        """Tune on the problem's rows; the search uses some of them where they are many."""
        base = _BASES[self.base](problem)
        rows = base.prepare.fit_transform(problem.X, problem.y)
        rows = rows if hasattr(rows, "shape") else np.asarray(rows)
        few = problem.sample_rows(ROWS_FOR_SEARCH)
        folds = [(few[a], few[b]) for a, b in inner_folds(problem).split(few, problem.y[few])]
        tried: list[tuple[float, int, Any, NDArray[np.intp], Floats]] = []
        for parameters in ParameterGrid(base.grid):
            learner = clone(base.learner).set_params(**parameters)
            asked, proba = _out_of_fold(learner, rows, problem, folds)
            tried.append((_log_loss(proba, problem, asked), len(tried), learner, asked, proba))
        _, _, learner, asked, proba = min(tried, key=lambda t: t[:2])
        if len(few) < len(problem.y):
            once = next(inner_folds(problem).split(problem.y, problem.y))
            asked, proba = _out_of_fold(learner, rows, problem, [once])
        return TunedModel(base.prepare, rows, learner.fit(rows, problem.y), asked, proba)


def _out_of_fold(learner: Any, rows: Any, problem: ComparisonData, folds: Any) -> tuple[NDArray[np.intp], Floats]:
    asked, answers = [], []
    for train, test in folds:
        model = clone(learner).fit(rows[train], problem.y[train])
        proba = np.zeros((len(test), len(problem.classes)))  # a class too small for every fold keeps its zeros
        proba[:, np.searchsorted(problem.classes, model.classes_)] = model.predict_proba(rows[test])
        asked.append(test)
        answers.append(proba)
    return np.concatenate(asked), np.concatenate(answers)


def _log_loss(proba: Floats, problem: ComparisonData, asked: NDArray[np.intp]) -> float:
    right = proba[np.arange(len(asked)), problem.costs.encode(problem.y[asked])]
    return float(-np.log(np.maximum(right, _LEAST)).mean())


# -- what is made of a tuned learner ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TunedCandidate(Candidate):
    """A usual learner: plain, cost-weighted, threshold-tuned, or with the calibrated expected-cost decision."""

    tuning: Tuning = Tuning("logistic regression")

    @property
    def shares(self) -> Shared | None:
        """The tuning of the learner below."""
        return self.tuning

    def fit(self, problem: ComparisonData, shared: Any = None) -> Any:
        """Finish what the tuning, done here unless it is given, has begun."""
        tuned: TunedModel = self.tuning(problem) if shared is None else shared
        return _FINISH[self.how](tuned, problem)


def _plain(tuned: TunedModel, problem: ComparisonData) -> Any:
    return make_pipeline(tuned.prepare, tuned.learner)


def _weighted(tuned: TunedModel, problem: ComparisonData) -> Any:
    learner = clone(tuned.learner).fit(tuned.rows, problem.y, sample_weight=problem.cost_weights())
    return make_pipeline(tuned.prepare, learner)


def _thresholded(tuned: TunedModel, problem: ComparisonData) -> Any:
    score = tuned.proba[:, problem.costs.positive_index()]
    cut = cheapest_threshold(score, problem.y[tuned.asked], problem.subset(tuned.asked).costs)
    decided = FixedThresholdClassifier(
        FrozenEstimator(tuned.learner), threshold=cut, pos_label=problem.positive, response_method="predict_proba"
    )
    return make_pipeline(tuned.prepare, decided.fit(tuned.rows, problem.y))


def _expected(tuned: TunedModel, problem: ComparisonData) -> Any:
    regret = CalibratedClassifier(tuned.learner).fit(tuned.proba, problem.y[tuned.asked])
    decision = ExpectedCostClassifier(FrozenEstimator(regret), costs=problem.mean_costs())
    few = problem.sample_rows(ROWS_FOR_SEARCH)  # nothing is learned from them: both parts below are fitted
    return Pipeline([("prepare", tuned.prepare), ("decision", decision.fit(tuned.rows[few], problem.y[few]))])


_FINISH: dict[str, Callable[[TunedModel, ComparisonData], Any]] = {
    "plain": _plain,
    "weighted": _weighted,
    "threshold": _thresholded,
    "expected": _expected,
}


def baselines(problem: ComparisonData) -> list[Candidate]:
    """The variants of every base learner that make sense for the problem, and what imbalanced-learn adds."""
    words = {
        "plain": "{}",
        "weighted": "{}, cost-weighted",
        "threshold": "{}, threshold tuned",
        "expected": "{}, expected cost",
    }
    variants = [how for how in words if how != "threshold" or len(problem.classes) == 2]
    k = len(problem.classes)
    work = {"logistic regression": 0.1, "gradient boosting": 1.6 if k == 2 else 0.4 * k, "random forest": 2.3}
    growth = {
        "logistic regression": 1.0,
        "gradient boosting": 0.5,
        "random forest": 1.0,
    }  # rounds cost, few rows or many
    found: list[Candidate] = [
        TunedCandidate(
            words[how].format(base),
            "usual",
            build,
            how=how,
            work=work[base],
            unable=problem.columns.too_wide_for_trees if base == "gradient boosting" else None,
            early=base == "gradient boosting" and k <= _FIRST_UP_TO,
            growth=growth[base],
            tuning=Tuning(base),
        )
        for base, build in _BASES.items()
        for how in variants
    ]
    return [*found, *_resampling(problem)]


def _resampling(problem: ComparisonData) -> list[Candidate]:
    """From imbalanced-learn, where it is installed."""
    if importlib.util.find_spec("imblearn") is None:
        return []
    return [
        Candidate("balanced random forest", "usual", _balanced_forest, work=2.7),
        Candidate("SMOTE + logistic regression", "usual", _smote, work=0.4, most_rows=20_000),
    ]


def _balanced_forest(problem: ComparisonData) -> Any:
    from imblearn.ensemble import BalancedRandomForestClassifier

    forest = BalancedRandomForestClassifier(n_estimators=100, random_state=problem.seed)
    dense = problem.columns.scaled()  # this forest takes no missing values
    return searched(problem, dense, forest, {"min_samples_leaf": [1, 5]})


def _smote(problem: ComparisonData) -> Any:
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline as make_resampling_pipeline

    fewest = int(np.unique(problem.y, return_counts=True)[1].min())
    smote = SMOTE(k_neighbors=max(1, min(5, fewest // 2 - 1)), random_state=problem.seed)
    learner = make_resampling_pipeline(smote, LogisticRegression(max_iter=300))
    return searched(problem, problem.columns.scaled(), learner, {"logisticregression__C": [0.01, 0.1, 1.0]})
