"""The one boosting loop: validation, weights, stopping and the vote. A variant adds its weight rule.

Tested in ``tests/unit/boosting/test_template.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..costs import Costs, ExampleCosts
from ..costs.rules import CostsLike, as_learning_costs
from ..errors import CostsError, InvalidInputError
from ..evaluate.classifier_mixin import CostClassifierMixin
from ..tree import C45Classifier
from ..tree.model import first_largest
from ..validation.arrays import (
    check_labels,
    check_random,
    check_same_length,
    check_sample_weight,
    in_class_order,
    note_columns,
)
from ..validation.docstrings import documented
from ..validation.types import ArrayLike, Estimator, LabelsLike, MatrixLike, RandomState
from ..validation.values import check_count, invalid
from ._trees import STOP_REASONS, StopReason, boosted_trees, is_our_tree, read_rows
from .rules import Floats, WeightColumns, WeightRule, balance, reweighted, scaled, total, vote

Codes = NDArray[np.intp]
MOST_WEIGHT = 1e300
PARAMETERS = {  # of the whole family, for ``documented``
    "estimator": ("classifier or None", "Any whose ``fit`` takes ``sample_weight``; C4.5 if None."),
    "n_estimators": ("int, at least 1", "Most rounds."),
    "costs": ("Costs, cost rule, mapping, array-like or None", "As for :class:`AdaC2M1Classifier`."),
    "classes": ("sequence of labels or None", "As for :class:`AdaC2M1Classifier`."),
}


class Rounds(NamedTuple):
    """What a run of boosting leaves behind."""

    estimators: list[Any]
    alphas: list[float]
    stop_reason: StopReason
    normalisers: Floats
    margins: Floats  # votes for the truth minus votes against it


class CostBoosting(CostClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Template of the boosting family; a variant sets ``_rule`` and, for two classes only, ``_binary_only``."""

    _rule: ClassVar[WeightRule]
    _binary_only: ClassVar[bool] = False

    def __init__(
        self,
        estimator: Estimator | None = None,
        n_estimators: int = 10,
        *,
        costs: CostsLike | None = None,
        classes: LabelsLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.costs = costs
        self.classes = classes
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None, *, costs: CostsLike | None = None
    ) -> CostBoosting:
        """Boost on rows ``X`` and labels ``y``.

        ``costs`` (n, K), one row per example, replaces the class costs: c_i is the sum of its row, which is eq. (25)
        read per example. ``sample_weight`` counts as copies of an example: D_1 is proportional to it.
        """
        n_rounds = check_count("n_estimators", self.n_estimators)
        classes, codes = check_labels(y)
        if self.classes is not None:
            classes, codes = in_class_order(classes, codes, self.classes)
        self._check_classes(classes)
        X = _as_rows(X)
        check_same_length(X=X, y=codes)
        weight = check_sample_weight(sample_weight, len(codes))
        if weight.max() > MOST_WEIGHT / len(weight):
            raise invalid("sample_weight", f"sum to less than {MOST_WEIGHT:g}", float(weight.max()), "Scale it down.")
        example_costs = self._example_costs(classes, codes, weight, costs)
        columns = type(self)._rule(example_costs)
        rounds = self._boost(X, classes, codes, columns, weight, n_rounds)

        note_columns(self, X, reset=True)
        self.classes_ = classes
        self.n_classes_ = len(classes)
        self.estimators_ = rounds.estimators
        self.estimator_weights_ = np.array(rounds.alphas)
        self.stop_reason_: StopReason = rounds.stop_reason
        self.normalisers_ = rounds.normalisers
        self.error_bound_ = exponential_loss(rounds.margins, weight)
        self.smallest_cost_ = float(example_costs[weight > 0].min() / example_costs.max())
        return self

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise invalid("y", "hold two or more classes", f"{len(classes)} class" + "es" * (len(classes) != 1))
        if self._binary_only and len(classes) > 2:
            raise InvalidInputError(
                f"y must hold two classes; got {len(classes)}. Only binary classification is supported. "
                "Use AdaC2M1Classifier for more."
            )

    def _example_costs(self, classes: NDArray[Any], codes: Codes, weight: Floats, per_example: Any) -> Floats:
        """c_i: the summed costs of the wrong answers to example i. Eq. (25)."""
        y, given = classes[codes], self._class_level_costs()
        if given is None and per_example is None:
            return default_class_costs(codes, weight)[codes]
        known: Costs = as_learning_costs(given, y, classes, per_example=per_example)
        c = (
            known.per_example(y).sum(axis=1)
            if isinstance(known, ExampleCosts)
            else known.class_costs()[known.encode(y)]
        )
        if not (np.isfinite(c).all() and (c > 0).any()):
            raise invalid("costs", "have a finite sum per class, positive for some class of y", c, error=CostsError)
        return np.asarray(c, dtype=np.float64)

    def _class_level_costs(self) -> Any:
        return self.costs

    def _base(self) -> Any:
        if self.estimator is None:
            return C45Classifier()
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise invalid("estimator", "take sample_weight in fit", self.estimator, "Boosting works by weights.")
        return self.estimator

    def _boost(
        self,
        X: Any,
        classes: NDArray[Any],
        codes: Codes,
        columns: WeightColumns,
        weight: Floats,
        n_rounds: int,
    ) -> Rounds:
        """Rounds of fit, vote and reweighting until they are done, nothing is wrong, or the base is too weak."""
        base, y = self._base(), classes[codes]
        random = check_random(self.random_state)
        size = total(weight)
        D = weight if (columns.first == 1).all() else scaled(weight * columns.first, size)
        if is_our_tree(base):
            base = clone(base).set_params(classes=self.classes)  # codes, and so ties, are those of the ensemble
            trees, votes, stop, normalisers, margins = boosted_trees(base, X, y, columns, D, size, n_rounds)
            return Rounds(trees, votes, STOP_REASONS[stop], normalisers, margins)
        estimators: list[Any] = []
        alphas: list[float] = []
        Z: list[float] = []
        margins, stop_reason = np.zeros(len(codes)), STOP_REASONS[0]
        for _ in range(n_rounds):
            hypothesis = _seeded(clone(base), random).fit(X, y, sample_weight=D)
            right = np.asarray(hypothesis.predict(X)) == y
            pro, contra, missed = balance(D, columns, right)
            alpha = vote(pro, contra) if missed > 0 and contra > 0 else 1.0
            if missed == 0 or contra == 0:
                stop_reason = "perfect"
            elif alpha == 0:  # (32) does not hold
                stop_reason = "weak"
                if estimators:
                    break
                alpha = 1.0
            estimators.append(hypothesis)
            alphas.append(alpha)
            D, normaliser = reweighted(D, columns, right, alpha, size)
            Z.append(normaliser)
            margins += np.where(right, alpha, -alpha)
            if stop_reason != STOP_REASONS[0]:
                break
        return Rounds(estimators, alphas, stop_reason, np.array(Z), margins)

    # -- answering ---------------------------------------------------------------------------------------------------

    def _staged_votes(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        X = _as_rows(X)
        if getattr(X, "ndim", 2) == 2:  # the base learner knows what to say about other shapes
            note_columns(self, X, reset=False)
        votes: Floats | None = None
        for answers, alpha in zip(self._answers(X), self.estimator_weights_, strict=True):
            if votes is None:
                votes = np.zeros((len(answers), self.n_classes_))
            votes[np.arange(len(answers)), answers] += alpha
            yield votes

    def _answers(self, X: Any) -> Iterator[Codes]:
        """The class numbers that each base learner answers."""
        if all(is_our_tree(tree) for tree in self.estimators_):
            rows = read_rows(self.estimators_, X)
            for tree in self.estimators_:
                yield first_largest(tree.tree_.probabilities(rows))
        else:
            for hypothesis in self.estimators_:
                order = np.argsort(self.classes_)
                yield order[np.searchsorted(self.classes_, np.asarray(hypothesis.predict(X)), sorter=order)]

    def _votes(self, X: Any) -> Floats:
        for votes in self._staged_votes(X):
            final = votes
        return final

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """The class with most of the vote; ties go to the first. Eq. (15)."""
        best = self._votes(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: MatrixLike) -> Floats:
        """The summed votes, (n, K); for two classes votes for the second minus votes for the first, (n,)."""
        votes = self._votes(X)
        return votes[:, 1] - votes[:, 0] if self.n_classes_ == 2 else votes

    def predict_proba(self, X: MatrixLike) -> Floats:
        """The share of the vote of every class: an order and a degree of agreement, not a calibrated probability."""
        shares = self._votes(X) / self.estimator_weights_.sum()
        return np.asarray(np.minimum(shares, 1.0))  # two sums of all votes may round apart

    @documented()
    def staged_predict(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """The answers after each round.

        Yields
        ------
        ndarray of shape (n,)
            The classes.
        """
        for votes in self._staged_votes(X):
            yield self.classes_[votes.argmax(axis=1)]

    @documented()
    def staged_score(self, X: MatrixLike, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """The accuracy after each round.

        Yields
        ------
        float
            Share of right answers.
        """
        for answers in self.staged_predict(X):
            yield float(accuracy_score(y, answers, sample_weight=sample_weight))

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the base learners, averaged with the weights of their votes."""
        check_is_fitted(self)
        each = [hypothesis.feature_importances_ for hypothesis in self.estimators_]
        return np.asarray(np.average(each, axis=0, weights=self.estimator_weights_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base())
        tags.input_tags = base.input_tags
        tags.classifier_tags.multi_class = not self._binary_only
        return tags


def exponential_loss(margins: Floats, weight: Floats) -> float:
    """The mean of exp(-margin), which is at least the share of wrong answers. Paper 003, eqs. (7) and (24)."""
    with np.errstate(over="ignore"):
        return float(np.average(np.exp(-margins), weights=weight))


def default_class_costs(codes: Codes, weight: Floats) -> Floats:
    """(n_min / n_k)^0.5 with weighted counts: ``InverseFrequency(0.5, relative_to="rarest")`` where weights are one."""
    counts = np.bincount(codes, weight)
    counts[counts == 0] = counts.max()  # a class without weight has no say
    return np.asarray(np.sqrt(counts.min() / counts))


def _as_rows(X: Any) -> Any:
    """Rows as the base learner shall see them: untouched, unless they can only be had as an array."""
    return np.asarray(X) if hasattr(X, "__array__") and not hasattr(X, "shape") else X


def _seeded(hypothesis: Any, random: np.random.RandomState) -> Any:
    """The base learner with a seed of its own wherever it takes one."""
    names = sorted(n for n in hypothesis.get_params() if n == "random_state" or n.endswith("__random_state"))
    return hypothesis.set_params(**{name: int(random.randint(np.iinfo(np.int32).max)) for name in names})
