"""This library's own learners, and what imbalanced-learn adds; those that earn it are part of the portfolio."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer

from ..boosting import AdaBoostM1Classifier, AdaC2M1Classifier
from ..decision.blending import AnswerClassifier, code_probabilities
from ..decision.threshold import cheapest_threshold
from ..margin import CSLDMClassifier, CSSVMClassifier
from ..online import AROW, CSOGD1, CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..reduction import AllPairsClassifierCV, FilterTreeClassifierCV, OneSidedClassifierCV
from ..tree import C45Classifier
from .baselines import BASELINES
from .candidates import Kind, TrainingRows, fit_arguments
from .schedule import assign_folds

Params = dict[str, Any]
Fitted = tuple[Any, int | None]
_KERNEL_ROWS = 2_000
_TREE_ROWS = 20_000
_SEARCH_ROWS = 5_000
_THRESHOLD_FOLDS = 3


# -- trees ------------------------------------------------------------------------------------------------------------


def _tree(params: Params, rows: TrainingRows) -> C45Classifier:
    return C45Classifier(nominal=list(rows.categories) or None, min_obj=params["min_obj"])


def _graded(
    boosted: AdaBoostM1Classifier | AdaC2M1Classifier,
) -> AdaBoostM1Classifier | AdaC2M1Classifier | C45Classifier:
    """The ensemble, or its tree where it ended after one round.

    The votes of one tree are 0 or 1, and curves fitted to the shares of many votes on other folds say nothing of such;
    the shares of the tree's leaves are graded like these.
    """
    return boosted if len(boosted.estimators_) > 1 else boosted.estimators_[0]


def _adaboost_c45(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    boosted = AdaBoostM1Classifier(_tree(params, rows), n_estimators=params["n_estimators"])
    return _graded(boosted.fit(rows.X, rows.data.codes, rows.data.weights)), None


def _adac2_c45(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    boosted = AdaC2M1Classifier(_tree(params, rows), n_estimators=params["n_estimators"])
    return _graded(boosted.fit(rows.X, rows.data.codes, rows.data.weights, costs=rows.cost_table)), None


def _adac2_searched(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """Class costs searched for by validation, as paper 003 does, judged by the costs of the comparison."""
    from ..costs import Costs
    from ..search import CostSearchCV

    boosted = AdaC2M1Classifier(_tree(params, rows), n_estimators=params["n_estimators"])
    found = np.unique(rows.data.codes)
    matrix = np.asarray(rows.data.mean_costs().matrix)[np.ix_(found, found)]
    search = CostSearchCV(
        boosted,
        scoring=Costs.from_matrix(matrix, classes=found.tolist()),
        sampler="power_grid",
        cv=3,
        random_state=rows.data.seed,
    )
    best = search.fit(rows.X, rows.data.codes).best_estimator_
    whole = best if rows.data.weights is None else clone(best).fit(rows.X, rows.data.codes, rows.data.weights)
    return _graded(whole), None


# -- one pass ---------------------------------------------------------------------------------------------------------


def _one_pass(learner: Any, rows: TrainingRows) -> Fitted:
    """Rows of length one in a random order: a table may be sorted by class."""
    order = np.random.default_rng([rows.data.seed, 3]).permutation(len(rows.data.codes))
    scaled = Normalizer().fit(rows.X)
    weights = None if rows.data.weights is None else rows.data.weights[order]
    learner.fit(scaled.transform(rows.X)[order], rows.data.codes[order], weights, costs=rows.unit_costs[order])
    return Pipeline([("normalize", scaled), ("learner", learner)]), None


def _csogd(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """Answers with the mean of its weights: the last ones hang on the last few rows, so that scores of the final fit
    would not be those that its probabilities were fitted to. The mean is taken at the first row after the budget.
    """
    before_last = len(rows.data.codes) - 1
    learner = OnlineClassifier(
        CSOGD2(**params), budget=before_last, after_budget="average", fit_intercept=True, seed=rows.data.seed
    )
    return _one_pass(learner, rows)


def _arow(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return _one_pass(OnlineClassifier(AROW(**params), fit_intercept=True, seed=rows.data.seed), rows)


def _online_costs(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return _one_pass(OnlineCostClassifier(CSOGD1(**params), fit_intercept=True, seed=rows.data.seed), rows)


# -- margins and reductions -------------------------------------------------------------------------------------------


def _cs_svm(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    model = CSSVMClassifier(kernel="rbf", **params)
    return model.fit(rows.X, rows.data.codes, rows.data.weights, costs=rows.unit_costs), None


def _cs_ldm(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """theta is the cost of a mistake on each example, rho = 0: the classes' sizes play no part of their own."""
    model = CSLDMClassifier(kernel="linear", random_state=rows.data.seed, rho=0.0, **params)
    return model.fit(rows.X, rows.data.codes, rows.data.weights, costs=rows.unit_costs), None


def _cs_ldm_balanced(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """Equal recognition of both classes is what it searches rho for; every column within [0, 1], as in paper 004."""
    scaler = (MaxAbsScaler() if hasattr(rows.X, "indptr") else MinMaxScaler()).fit(rows.X)
    model = CSLDMClassifier(kernel="linear", random_state=rows.data.seed, balance="train", **params)
    model.fit(scaler.transform(rows.X), rows.data.codes, rows.data.weights)
    return Pipeline([("scale", scaler), ("learner", model)]), None


def _one_sided_svr(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return OneSidedClassifierCV(**params).fit(rows.X, rows.data.codes, rows.data.weights, costs=rows.cost_table), None


def _filter_tree(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    model = FilterTreeClassifierCV(random_state=rows.data.seed, **params)
    return model.fit(rows.X, rows.data.codes, rows.data.weights, costs=rows.unit_costs), None


def _all_pairs(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return AllPairsClassifierCV(**params).fit(rows.X, rows.data.codes, rows.data.weights, costs=rows.unit_costs), None


# -- thresholds and resampling ----------------------------------------------------------------------------------------


def _thresholded(base: str, params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    """The threshold that would have cost least on rows of inner folds; what it answers is all that counts."""
    data, positive = rows.data, rows.data.costs.positive_index()
    fold = assign_folds(data, _THRESHOLD_FOLDS)
    score = np.empty(len(data.codes))
    for k in range(int(fold.max()) + 1):
        rest, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = TrainingRows(rows.X[rest], data.labels_only().subset(rest), rows.categories, rows.rounds)
        model, _ = BASELINES[base].fit(params, part, weighted)
        score[held] = code_probabilities(model, rows.X[held], 2)[:, positive]
    cut = cheapest_threshold(score, data.y, data.costs, data.weights)
    model, rounds = BASELINES[base].fit(params, rows, weighted)
    decided = FixedThresholdClassifier(
        FrozenEstimator(model), threshold=cut, pos_label=positive, response_method="predict_proba"
    )
    return AnswerClassifier(decided.fit(rows.X, data.codes)), rounds


def _threshold_logistic(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return _thresholded("logistic", params, rows, weighted)


def _threshold_lightgbm(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    return _thresholded("lightgbm", params, rows, weighted)


def _balanced_forest(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    from imblearn.ensemble import BalancedRandomForestClassifier

    forest = BalancedRandomForestClassifier(random_state=rows.data.seed, **params)
    return forest.fit(rows.X, rows.data.codes, **fit_arguments(rows, weighted)), None


def _smote_logistic(params: Params, rows: TrainingRows, weighted: bool) -> Fitted:
    from imblearn.over_sampling import SMOTE

    counts = np.bincount(rows.data.codes)
    smote = SMOTE(k_neighbors=int(max(1, min(5, counts[counts > 0].min() - 1))), random_state=rows.data.seed)
    return LogisticRegression(max_iter=300, **params).fit(*smote.fit_resample(rows.X, rows.data.codes)), None


LEARNERS: dict[str, Kind] = {
    "adaboost_c45": Kind(_adaboost_c45, "coded", "own", most_rows=_TREE_ROWS, dense=True),
    "adac2_c45": Kind(_adac2_c45, "coded", "own", most_rows=_TREE_ROWS, dense=True, sees_costs=True),
    "adac2_searched": Kind(
        _adac2_searched, "coded", "own", most_rows=_SEARCH_ROWS, dense=True, requires="optuna", sees_costs=True
    ),
    "csogd": Kind(_csogd, "scaled", "own", two_classes=True, sees_costs=True),
    "arow": Kind(_arow, "scaled", "own", two_classes=True, sees_costs=True),
    "online_costs": Kind(_online_costs, "scaled", "own", sees_costs=True),
    "cs_svm": Kind(_cs_svm, "scaled", "own", most_rows=_KERNEL_ROWS, two_classes=True, sees_costs=True),
    "cs_ldm": Kind(_cs_ldm, "scaled", "own", most_rows=_TREE_ROWS, two_classes=True, sees_costs=True),
    "cs_ldm_balanced": Kind(_cs_ldm_balanced, "scaled", "own", most_rows=_TREE_ROWS, two_classes=True),
    "one_sided_svr": Kind(_one_sided_svr, "scaled", "own", most_rows=_KERNEL_ROWS, sees_costs=True),
    "filter_tree": Kind(_filter_tree, "scaled", "own", most_rows=_KERNEL_ROWS, sees_costs=True),
    "all_pairs": Kind(_all_pairs, "scaled", "own", most_rows=_KERNEL_ROWS, sees_costs=True),
    "threshold_logistic": Kind(_threshold_logistic, "scaled", two_classes=True, sees_costs=True),
    "threshold_lightgbm": Kind(_threshold_lightgbm, "coded", two_classes=True, sees_costs=True),
    "balanced_forest": Kind(_balanced_forest, "scaled", requires="imblearn"),
    "smote_logistic": Kind(_smote_logistic, "scaled", most_rows=_TREE_ROWS, requires="imblearn", takes_weights=False),
}
