"""Ties between classes go to the first of the order that is given, in C4.5 and in boosting."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from steelyard import (
    AdaBoostM1Classifier,
    AdaC2M1Classifier,
    C45Classifier,
    CostSearchCV,
    InvalidInputError,
    error_bound,
)

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[np.where(np.arange(150) % 5 == 0, (Y + 1) % 3, Y)]
ORDER = ["virginica", "setosa", "versicolor"]
TIED = [["a"]] * 4, ["no", "yes", "no", "yes"]


def test_a_tie_goes_to_the_first() -> None:
    assert C45Classifier().fit(*TIED).predict([["a"]])[0] == "no"
    tree = C45Classifier(classes=["yes", "no"]).fit(*TIED)
    assert tree.predict([["a"]])[0] == "yes"
    assert tree.classes_.tolist() == ["yes", "no"]


@pytest.mark.parametrize("base", [None, DecisionTreeClassifier(max_depth=1, random_state=0)])
def test_a_tied_vote_goes_to_the_first(base: object) -> None:
    for order in (["no", "yes"], ["yes", "no"]):
        model = AdaBoostM1Classifier(base, classes=order).fit([[0]] * 4, TIED[1])
        if base is None:
            assert model.predict([[0]])[0] == order[0]
        assert model.classes_.tolist() == order


@pytest.mark.parametrize("base", [C45Classifier(min_obj=10), DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_the_order_moves_nothing_but_ties(base: object) -> None:
    costs = {"setosa": 1.0, "versicolor": 3.0, "virginica": 2.0}
    plain = AdaC2M1Classifier(base, 5, costs=costs, random_state=0).fit(X, NAMES)
    other = AdaC2M1Classifier(base, 5, costs=costs, classes=ORDER, random_state=0).fit(X, NAMES)
    back = [ORDER.index(label) for label in plain.classes_]
    np.testing.assert_allclose(other.predict_proba(X)[:, back], plain.predict_proba(X))
    np.testing.assert_allclose(other.normalisers_, plain.normalisers_)
    assert error_bound(other, X, NAMES).value == pytest.approx(other.error_bound_)


def test_a_search_keeps_the_order() -> None:
    pytest.importorskip("optuna")
    search = CostSearchCV(AdaC2M1Classifier(n_estimators=2, classes=ORDER), cv=2, n_trials=3, random_state=0)
    assert search.fit(X, NAMES).best_estimator_.classes_.tolist() == ORDER


def test_an_order_that_lacks_a_class_or_names_one_twice_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="classes must name all classes of y"):
        C45Classifier(classes=["setosa"]).fit(X, NAMES)
    with pytest.raises(InvalidInputError, match="classes must name every class once"):
        AdaBoostM1Classifier(classes=["setosa", "setosa", "virginica"]).fit(X, NAMES)


def test_classes_that_do_not_occur_are_left_out() -> None:
    tree = C45Classifier(classes=["yes", "maybe", "no"]).fit(*TIED)
    assert tree.classes_.tolist() == ["yes", "no"]
