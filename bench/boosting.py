"""Fifty rounds of boosting on nursery (12,960 x 8 nominal), and a genetic search of class costs on car.

All candidates do AdaBoost.M1 with weights: ours and Weka's on C4.5, scikit-learn's on one-hot columns with trees that,
like C4.5's, need two objects in a leaf. Our data are category numbers, encoded and sorted within the clock. The bare
histogram pass is what any tree grower must do at least: weighted counts of attribute x value x class, for eight levels.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from harness import Goal, Round, candidate
from steelyard import AdaBoostM1Classifier, AdaC2M1Classifier, C45Classifier, CostSearchCV, load_dataset
from weka import weka

ROUNDS, LEVELS, EVALUATIONS = 50, 8, 1000
NURSERY = f"nursery, {ROUNDS} rounds"
CAR = f"car, search with {EVALUATIONS} evaluations of 10 rounds on 5 splits"
OURS, COSTS = "steelyard AdaBoost.M1 on C4.5", "steelyard AdaC2.M1 on C4.5, default costs"
WEKA, SKLEARN, BARE = "Weka AdaBoostM1 on J48", "scikit-learn AdaBoost on one-hot trees", "bare histogram pass"

GOALS = [
    Goal(NURSERY, OURS, against=WEKA, at_least=5),
    Goal(NURSERY, OURS, against=SKLEARN, at_least=5),
    Goal(NURSERY, OURS, against=BARE, at_most=3),
]


def coded(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Categories and classes as numbers; nursery's class of two rows joins its neighbour as in the paper."""
    data = load_dataset(name)
    y = np.where(data.y == "recommend", "very_recom", data.y)
    return np.ascontiguousarray(OrdinalEncoder().fit_transform(data.X)), np.unique(y, return_inverse=True)[1]


def our_tree(X: np.ndarray) -> C45Classifier:
    return C45Classifier(nominal=list(range(X.shape[1])))


@candidate(NURSERY, OURS)
def _() -> Round:
    X, y = coded("nursery")
    return lambda: AdaBoostM1Classifier(our_tree(X), ROUNDS).fit(X, y)


@candidate(NURSERY, COSTS)
def _() -> Round:
    X, y = coded("nursery")
    return lambda: AdaC2M1Classifier(our_tree(X), ROUNDS).fit(X, y)


@candidate(NURSERY, WEKA)
def _() -> Round:
    X, y = coded("nursery")
    return weka("AdaBoostRounds.java", X, y, nominal=set(range(X.shape[1])), count=ROUNDS)


@candidate(NURSERY, SKLEARN, rounds=3)
def _() -> Round:
    X, y = coded("nursery")
    hot = np.asfortranarray(OneHotEncoder(sparse_output=False).fit_transform(X), dtype=np.float32)
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=2 / len(y), random_state=0)
    return lambda: AdaBoostClassifier(tree, n_estimators=ROUNDS, random_state=0).fit(hot, y)


@candidate(NURSERY, BARE)
def _() -> Round:
    X, y = coded("nursery")
    n_classes = int(y.max()) + 1
    cells = [np.ascontiguousarray(x.astype(np.intp) * n_classes + y) for x in X.T]
    weights = np.random.default_rng(0).random(len(y))

    def run() -> None:
        for _ in range(ROUNDS * LEVELS):
            for column in cells:
                np.bincount(column, weights)

    return run


@candidate(CAR, "steelyard CostSearchCV, genetic", rounds=1)
def _() -> Round:
    X, y = coded("car")
    model = AdaC2M1Classifier(our_tree(X), 10)
    return lambda: CostSearchCV(model, n_trials=EVALUATIONS, random_state=0).fit(X, y)
