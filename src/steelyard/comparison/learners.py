"""This library's own learners in the race."""

from __future__ import annotations

import importlib.util
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer

from ..boosting import AdaBoostM1Classifier, AdaC2M1Classifier
from ..evaluate import get_scorer
from ..margin import CSLDMClassifier, CSSVMClassifier
from ..online import AROW, CSOGD1, CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..reduction import (
    AllPairsClassifier,
    AllPairsClassifierCV,
    FilterTreeClassifierCV,
    OneSidedClassifierCV,
    OneVsAllClassifier,
)
from ..search import CostSearchCV
from ..tree import C45Classifier
from .candidates import Candidate
from .data import ComparisonData
from .tuning import searched

_KERNELS = 3_000  # rows: beyond that a kernel's time and memory grow with their square
_TREES = 20_000
_STEPS = [0.01, 0.1, 1.0]
_BOXES = [0.1, 1.0, 10.0]


def learners(problem: ComparisonData) -> list[Candidate]:
    """Those of our learners that can take part in the problem."""
    for_trees = problem.columns.too_wide_for_trees
    chosen = [
        Candidate(
            "AdaBoost.M1 on C4.5", "ours", _adaboost_m1, work=0.15, growth=1.0, most_rows=_TREES, unable=for_trees
        ),
        Candidate(
            "AdaC2.M1 on C4.5", "ours", _adac2, how="costs", work=0.12, growth=1.0, most_rows=_TREES, unable=for_trees
        ),
        Candidate("RED-OSSVR", "ours", _red, how="costs", work=0.2, most_rows=_KERNELS),
    ]
    if importlib.util.find_spec("optuna") is not None:  # the extra "search"; without it one candidate less
        name = "AdaC2.M1 on C4.5, searched costs"
        chosen.append(Candidate(name, "ours", _adac2_searched, work=0.8, most_rows=5_000, unable=for_trees))
    return chosen + (_for_two() if len(problem.classes) == 2 else _for_many(len(problem.classes)))


def _for_two() -> list[Candidate]:
    return [
        Candidate("CSOGD-II, one pass", "ours", _csogd, how="costs", work=0.06, growth=1.0),
        Candidate("AROW, one pass", "ours", _arow, how="costs", work=0.06, growth=1.0),
        Candidate("CS-SVM, RBF kernel", "ours", _cs_svm, how="costs", work=0.2, most_rows=_KERNELS),
        Candidate("CS-LDM at the balance point", "ours", _cs_ldm_balanced, work=1.3, most_rows=_TREES),
        Candidate("CS-LDM with costs", "ours", _cs_ldm, how="costs", work=0.8, most_rows=_TREES),
    ]


def _for_many(classes: int) -> list[Candidate]:
    pairs = classes * (classes - 1) / 2
    return [
        Candidate("online cost regression, one pass", "ours", _online_costs, how="costs", work=0.06, growth=1.0),
        Candidate("filter tree of SVMs", "ours", _filter_tree, how="costs", work=0.06 * classes, most_rows=_KERNELS),
        Candidate(
            "weighted all pairs of SVMs",
            "ours",
            _all_pairs,
            how="costs",
            work=max(0.5, 0.003 * pairs),
            most_rows=_KERNELS,
        ),
        Candidate(
            "one-vs-all of CS-LDM at the balance point",
            "ours",
            _cs_ldm_one_vs_all,
            work=0.9 * classes,
            most_rows=_KERNELS,
        ),
        Candidate(
            "weighted all pairs of CS-LDM", "ours", _cs_ldm_pairs, how="costs", work=0.06 * pairs, most_rows=_TREES
        ),
    ]


# -- trees ------------------------------------------------------------------------------------------------------------


def _tree(problem: ComparisonData) -> C45Classifier:
    return C45Classifier(nominal=problem.columns.coded_nominal or None)


def _adaboost_m1(problem: ComparisonData) -> Any:
    boosted = AdaBoostM1Classifier(_tree(problem), n_estimators=25)
    return searched(problem, problem.columns.coded(dense=True), boosted, {"estimator__min_obj": [2, 10]})


def _adac2(problem: ComparisonData) -> Any:
    boosted = AdaC2M1Classifier(_tree(problem), n_estimators=10)
    return searched(problem, problem.columns.coded(dense=True), boosted, {"estimator__min_obj": [2, 10]})


def _adac2_searched(problem: ComparisonData) -> Any:
    boosted = AdaC2M1Classifier(_tree(problem), n_estimators=10)
    scorer = get_scorer("mean_cost", costs=problem.mean_costs())
    search = CostSearchCV(boosted, scoring=scorer, sampler="power_grid", n_trials=40, cv=3, random_state=problem.seed)
    return make_pipeline(problem.columns.coded(dense=True), search)


# -- one pass ---------------------------------------------------------------------------------------------------------


def _unit_rows(problem: ComparisonData) -> Any:
    return make_pipeline(problem.columns.scaled(), Normalizer())


def _csogd(problem: ComparisonData) -> Any:
    learner = OnlineClassifier(CSOGD2(), fit_intercept=True, seed=problem.seed)
    return searched(problem, _unit_rows(problem), learner, {"update__eta": _STEPS})


def _arow(problem: ComparisonData) -> Any:
    learner = OnlineClassifier(AROW(), fit_intercept=True, seed=problem.seed)
    return searched(problem, _unit_rows(problem), learner, {"update__r": [0.1, 1.0, 10.0]})


def _online_costs(problem: ComparisonData) -> Any:
    learner = OnlineCostClassifier(CSOGD1(), fit_intercept=True)
    return searched(problem, _unit_rows(problem), learner, {"update__eta": [2 * step for step in _STEPS]})


# -- margins and reductions -------------------------------------------------------------------------------------------


def _cs_svm(problem: ComparisonData) -> Any:
    return searched(problem, problem.columns.scaled(), CSSVMClassifier(kernel="rbf"), {"C": _BOXES})


def _unit_columns(problem: ComparisonData) -> Any:
    """Every column within [0, 1], as paper 004 has them."""
    return make_pipeline(problem.columns.scaled(), MaxAbsScaler() if problem.columns.sparse else MinMaxScaler())


def _ldm(problem: ComparisonData, **settings: Any) -> CSLDMClassifier:
    return CSLDMClassifier(kernel="linear", random_state=problem.seed, **settings)


def _cs_ldm_balanced(problem: ComparisonData) -> Any:
    """Equal recognition of both classes is what it searches rho for; the costs only judge it."""
    return make_pipeline(_unit_columns(problem), _ldm(problem, balance="train"))


def _cs_ldm(problem: ComparisonData) -> Any:
    """theta is the cost of a mistake on each example, rho = 0: the classes' sizes play no part of their own."""
    return searched(problem, _unit_columns(problem), _ldm(problem, rho=0.0), {"C": _BOXES})


def _cs_ldm_one_vs_all(problem: ComparisonData) -> Any:
    return make_pipeline(_unit_columns(problem), OneVsAllClassifier(_ldm(problem, balance="train")))


def _cs_ldm_pairs(problem: ComparisonData) -> Any:
    return make_pipeline(_unit_columns(problem), AllPairsClassifier(_ldm(problem, rho=0.0)))


def _red(problem: ComparisonData) -> Any:
    return make_pipeline(problem.columns.scaled(), OneSidedClassifierCV())


def _filter_tree(problem: ComparisonData) -> Any:
    return make_pipeline(problem.columns.scaled(), FilterTreeClassifierCV(random_state=problem.seed))


def _all_pairs(problem: ComparisonData) -> Any:
    return make_pipeline(problem.columns.scaled(), AllPairsClassifierCV())
