"""What paper 003 guarantees about the training error of a boosted vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..evaluate.bounds import Bound
from ..validation.arrays import check_same_length, check_sample_weight
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, Estimator, LabelsLike, MatrixLike
from ..validation.values import invalid
from ._template import CostBoosting
from .rules import adac2


@documented()
def error_bound(model: Estimator, X: MatrixLike, y: LabelsLike, *, sample_weight: ArrayLike | None = None) -> Bound:
    """The error of a boosted vote against the mean of exp(-margin), round by round. Paper 003, eqs. (16) and (30).

    The margin of an example is the sum of alphas of the hypotheses that answer it rightly minus that of the others. On
    the training rows the mean is the product of the normalisers Z times the sum of D_{T+1} / c^T: the first bound of
    eq. (30), and of AdaBoost.M1 the product alone, eq. (16). The second bound of eq. (30), product over gamma with
    gamma the smallest c^T, is far weaker where costs differ much; it is returned as ``printed``, None for relatives of
    AdaC2 that use the costs otherwise.

    Parameters
    ----------
    model : AdaC2M1Classifier, AdaBoostM1Classifier or a relative
        Fitted in this session: files do not hold the normalisers.
    X : array-like of shape (n, d)
        The training rows; on others the mean still exceeds the error, but not the products.
    y : array-like of shape (n,)
        Labels.
    sample_weight : array-like of shape (n,) or None
        As given to ``fit``: error and mean count the rows as the fit did.

    Returns
    -------
    Bound
        The guarantee and the error, after every round.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from steelyard import AdaBoostM1Classifier
    >>> X, y = [[0], [1], [2], [3]], ["a", "b", "b", "a"]
    >>> model = AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=1), n_estimators=5).fit(X, y)
    >>> found = error_bound(model, X, y)
    >>> found.holds, bool(np.isclose(found.value, np.prod(model.normalisers_)))
    (True, True)
    """
    if not isinstance(model, CostBoosting):
        raise invalid("model", "be a boosted classifier of this library", model)
    check_is_fitted(model)
    if not hasattr(model, "normalisers_"):
        raise invalid("model", "be fitted in this session", model, "Files do not hold the normalisers.")
    truth: Any = np.asarray(y)
    right = np.array([model.classes_[answer] == truth for answer in model._answers(X)])
    check_same_length(X=right.T, y=truth)
    weight = check_sample_weight(sample_weight, len(truth))
    signed = model.estimator_weights_[:, None] * np.where(right, 1.0, -1.0)
    rounds = np.arange(1, len(signed) + 1)
    with np.errstate(over="ignore", divide="ignore"):
        values = np.average(np.exp(-np.cumsum(signed, axis=0)), axis=1, weights=weight)
        in_theorem = float(np.exp(np.log(model.normalisers_).sum() - rounds[-1] * np.log(model.smallest_cost_)))
    printed = in_theorem if type(model)._rule is adac2 else None
    measures = np.array([np.average(answers != truth, weights=weight) for answers in model.staged_predict(X)])
    ends = float(values[-1]), float(measures[-1])
    return Bound("training error", *ends, None, printed, False, rounds, values, measures)
