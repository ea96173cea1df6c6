"""Who takes part: each contender is a value that says how to build, teach and ask one learner for a problem."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer

from ...boosting import AdaBoostM1Classifier, AdaC2M1Classifier
from ...evaluate import get_scorer
from ...margin import CSLDMClassifier, CSSVMClassifier
from ...online import CSOGD2, OnlineClassifier
from ...reduction import (
    AllPairsClassifierCV,
    ExpectedCostClassifier,
    FilterTreeClassifierCV,
    OneSidedClassifierCV,
)
from ...search import CostSearchCV
from ...tree import C45Classifier
from .problem import Problem

ROWS_FOR_SEARCH = 20_000  # beyond that the inner searches cost more than they bring
ROWS_FOR_KERNELS = 3_000


@dataclass(frozen=True)
class Contender:
    """A learner in the race.

    ``teach`` fits it on a problem and returns it; ``ask`` answers for another. ``family`` is "constant", "usual" (what
    a user would pick instead) or "ours". ``work`` guesses the relative work of a fit, to run the cheap ones first.
    ``most_rows`` caps what it is taught with; the report says so.
    """

    name: str
    family: str
    build: Callable[[Problem], Any]
    how: str = "plain"
    work: float = 1.0
    most_rows: int | None = None

    def teach(self, problem: Problem) -> Any:
        """Fit on the problem's rows, with its costs in the way this contender uses them."""
        problem = problem.capped(self.most_rows)
        model = self.build(problem)
        if self.how == "weighted":
            return model.fit(problem.X, problem.y, **{f"{_last(model)}sample_weight": problem.mistake_weights()})
        if self.how == "costs":
            return model.fit(problem.X, problem.y, **{f"{_last(model)}costs": problem.costs})
        return model.fit(problem.X, problem.y)

    def ask(self, model: Any, problem: Problem) -> NDArray[Any]:
        """Answers for the problem's rows; costs that differ by row are known before the truth is."""
        if self.how == "expected" and problem.per_example:
            return np.asarray(model[-1].predict(model[:-1].transform(problem.X), costs=problem.costs))
        return np.asarray(model.predict(problem.X))


def _last(model: Any) -> str:
    """Prefix of fit parameters for the last step of a pipeline."""
    return f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""


def contenders(problem: Problem) -> list[Contender]:
    """Everyone who can take part in this problem, the cheap ones first."""
    everyone = [*_constants(problem), *_usual(problem), *_resampling(problem), *_ours(problem)]
    return sorted(everyone, key=lambda c: c.work)


# -- the constant answers --------------------------------------------------------------------------------------------


def _constants(problem: Problem) -> list[Contender]:
    return [Contender(f"always {label}", "constant", _Always(label), work=0.0) for label in problem.classes.tolist()]


@dataclass(frozen=True)
class _Always:
    label: Any

    def __call__(self, problem: Problem) -> Any:
        return DummyClassifier(strategy="constant", constant=self.label)


# -- what a user would pick instead ----------------------------------------------------------------------------------


def _logistic(problem: Problem) -> tuple[Any, Any, dict[str, list[Any]]]:
    return problem.columns.scaled(), LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1.0]}


def _forest(problem: Problem) -> tuple[Any, Any, dict[str, list[Any]]]:
    forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=3, random_state=problem.seed)
    return problem.columns.coded(), forest, {"min_samples_leaf": [1, 5]}


def _gradient_boosting(problem: Problem) -> tuple[Any, Any, dict[str, list[Any]]]:
    boosting = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=15, random_state=problem.seed
    )
    return problem.columns.coded(), boosting, {"learning_rate": [0.03, 0.1]}


_BASES: dict[str, tuple[Callable[[Problem], tuple[Any, Any, dict[str, list[Any]]]], float]] = {
    "logistic regression": (_logistic, 1.0),
    "random forest": (_forest, 8.0),
    "gradient boosting": (_gradient_boosting, 8.0),
}


@dataclass(frozen=True)
class _Usual:
    """A usual learner: plain, cost-weighted, threshold-tuned, or with the calibrated expected-cost decision."""

    base: str
    variant: str

    def __call__(self, problem: Problem) -> Any:
        prepare, learner, grid = _BASES[self.base][0](problem)
        if self.variant == "threshold":
            tuned = TunedThresholdClassifierCV(
                learner, scoring=get_scorer("mean_cost", costs=problem.costs), cv=_inner_folds(problem)
            )
            return make_pipeline(prepare, tuned)
        if self.variant == "expected":
            decision = ExpectedCostClassifier(
                learner, calibration="sigmoid", cv=_inner_folds(problem), costs=problem.typical_costs()
            )
            return make_pipeline(prepare, decision)
        return _searched(problem, prepare, learner, grid)


def _searched(problem: Problem, prepare: Any, learner: Any, grid: dict[str, list[Any]]) -> Any:
    """The learner behind its preparation, its few parameters chosen by inner cross-validated cost."""
    if len(problem.y) > ROWS_FOR_SEARCH:
        return make_pipeline(prepare, learner)
    scorer = get_scorer("mean_cost", costs=problem.typical_costs())
    return make_pipeline(prepare, GridSearchCV(learner, grid, scoring=scorer, cv=_inner_folds(problem)))


def _inner_folds(problem: Problem) -> StratifiedKFold:
    fewest = int(np.unique(problem.y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(3, fewest)), shuffle=True, random_state=problem.seed)


def _usual(problem: Problem) -> list[Contender]:
    words = {
        "plain": "{}",
        "weighted": "{}, cost-weighted",
        "threshold": "{}, threshold tuned",
        "expected": "{}, expected cost",
    }
    variants = [v for v in words if v != "threshold" or (len(problem.classes) == 2 and not problem.per_example)]
    return [
        Contender(
            words[variant].format(base),
            "usual",
            _Usual(base, variant),
            how=variant if variant in ("weighted", "expected") else "plain",
            work=work * (0.6 if variant in ("threshold", "expected") else 1.0),
        )
        for base, (_, work) in _BASES.items()
        for variant in variants
    ]


def _resampling(problem: Problem) -> list[Contender]:
    """From imbalanced-learn, where it is installed."""
    if importlib.util.find_spec("imblearn") is None:
        return []
    return [
        Contender("balanced random forest", "usual", _balanced_forest, work=4.0),
        Contender("SMOTE + logistic regression", "usual", _smote, work=1.5, most_rows=50_000),
    ]


def _balanced_forest(problem: Problem) -> Any:
    from imblearn.ensemble import BalancedRandomForestClassifier

    forest = BalancedRandomForestClassifier(n_estimators=100, min_samples_leaf=3, random_state=problem.seed)
    dense = problem.columns.scaled()  # this forest takes no missing values
    return make_pipeline(dense, forest)


def _smote(problem: Problem) -> Any:
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline as make_resampling_pipeline

    fewest = int(np.unique(problem.y, return_counts=True)[1].min())
    smote = SMOTE(k_neighbors=max(1, min(5, fewest - 1)), random_state=problem.seed)
    return make_resampling_pipeline(problem.columns.scaled(), smote, LogisticRegression(max_iter=2000))


# -- ours ------------------------------------------------------------------------------------------------------------


def _ours(problem: Problem) -> list[Contender]:
    two = len(problem.classes) == 2
    capped = ROWS_FOR_KERNELS
    chosen = [
        Contender("AdaBoost.M1 on C4.5", "ours", _adaboost_m1, work=1.25, most_rows=10_000),
        Contender("AdaC2.M1 on C4.5", "ours", _adac2, how="costs", work=1.25, most_rows=10_000),
        Contender("AdaC2.M1 on C4.5, searched costs", "ours", _adac2_searched, work=7.0, most_rows=5_000),
        Contender("RED-OSSVR", "ours", _red, how="costs", work=1.2, most_rows=capped),
    ]
    if two:
        chosen += [
            Contender("CSOGD-II, one pass", "ours", _csogd, how="costs", work=0.1),
            Contender("CS-SVM, RBF kernel", "ours", _cs_svm, how="costs", work=1.1, most_rows=capped),
            Contender("CS-LDM at the balance point", "ours", _cs_ldm, work=1.4, most_rows=20_000),
        ]
    else:
        chosen += [
            Contender("filter tree of SVMs", "ours", _filter_tree, how="costs", work=1.3, most_rows=capped),
            Contender("weighted all pairs of SVMs", "ours", _all_pairs, how="costs", work=1.6, most_rows=capped),
        ]
    return chosen


def _tree(problem: Problem) -> C45Classifier:
    return C45Classifier(nominal=problem.columns.coded_nominal or None)


def _adaboost_m1(problem: Problem) -> Any:
    return make_pipeline(problem.columns.coded(), AdaBoostM1Classifier(_tree(problem), n_estimators=25))


def _adac2(problem: Problem) -> Any:
    return make_pipeline(problem.columns.coded(), AdaC2M1Classifier(_tree(problem), n_estimators=10))


def _adac2_searched(problem: Problem) -> Any:
    boosted = AdaC2M1Classifier(_tree(problem), n_estimators=10)
    scorer = get_scorer("mean_cost", costs=problem.typical_costs())
    search = CostSearchCV(boosted, scoring=scorer, sampler="ladder", n_trials=40, splits=3, random_state=problem.seed)
    return make_pipeline(problem.columns.coded(), search)


def _online(problem: Problem, update: Any) -> Any:
    learner = OnlineClassifier(update, fit_intercept=True, seed=problem.seed)
    return make_pipeline(problem.columns.scaled(), Normalizer(), learner)


def _csogd(problem: Problem) -> Any:
    return _online(problem, CSOGD2(eta=0.1))


def _cs_svm(problem: Problem) -> Any:
    grid = {"C": [0.1, 1.0, 10.0]}
    return _searched(problem, problem.columns.scaled(), CSSVMClassifier(kernel="rbf"), grid)


def _cs_ldm(problem: Problem) -> Any:
    """Equal recognition of both classes is what it aims at; the costs only judge it."""
    ldm = CSLDMClassifier(kernel="linear", balance="train", random_state=problem.seed)
    return make_pipeline(problem.columns.scaled(), MinMaxScaler(), ldm)


def _red(problem: Problem) -> Any:
    return make_pipeline(problem.columns.scaled(), OneSidedClassifierCV())


def _filter_tree(problem: Problem) -> Any:
    return make_pipeline(problem.columns.scaled(), FilterTreeClassifierCV())


def _all_pairs(problem: Problem) -> Any:
    return make_pipeline(problem.columns.scaled(), AllPairsClassifierCV())
