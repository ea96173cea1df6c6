"""Paper 003 on car, new-thyroid and nursery: orderings, and bands around what is printed in tables 3 to 13.

The paper prints neither rounds nor pruning; "unpruned, five rounds" comes nearest. Its splits are random 80/20, ten of
them, so a mean has the standard error given below and digits cannot agree. Plain C4.5 on nursery is printed between
our pruned and our unpruned tree and matches neither; it is left out of the bands.
"""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import OrdinalEncoder

from steelyard import (
    AdaBoostM1Classifier,
    AdaC2M1Classifier,
    C45Classifier,
    CostSearchCV,
    f_score,
    g_mean_score,
    load_dataset,
    nested_evaluate,
)

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("STEELYARD_DATA" not in os.environ, reason="STEELYARD_DATA does not say where the data are"),
]
PRINTED = Path(__file__).parents[2] / "papers" / "003-adac2m1" / "printed.csv"


class Study(NamedTuple):
    """Classes in the paper's order C1, C2, ..., its two cost vectors, and standard errors of a mean of ten splits."""

    classes: list[Any]
    g_costs: list[float]
    f_costs: list[float]
    f_class: Any
    f_label: str
    g_error: float
    f_error: float


STUDIES = {
    "car": Study(
        ["unacc", "acc", "good", "vgood"],
        [0.3281, 0.6682, 0.7849, 1.0],
        [0.5412, 0.8217, 0.7536, 1.0],
        "good",
        "C3",
        0.02,
        0.027,
    ),
    "new-thyroid": Study([1, 2, 3], [0.4206, 0.6256, 1.0], [0.7697, 0.9804, 1.0], 3, "C3", 0.025, 0.03),
    "nursery": Study(
        ["not_recom", "very_recom", "priority", "spec_prior"],
        [0.7072, 1.0, 0.4888, 0.6516],
        [0.7131, 1.0, 0.5310, 0.2895],
        "very_recom",
        "C2",  # table 13 says C3 and means C2
        0.004,
        0.009,
    ),
}


@cache
def rows(name: str) -> tuple[NDArray[np.float64], NDArray[Any], list[int]]:
    """Numbers, labels and which columns are nominal."""
    data = load_dataset(name)
    y = np.asarray(data.y)
    if name == "new-thyroid":
        return np.asarray(data.X), y, []
    X = OrdinalEncoder().fit_transform(data.X)
    return X, np.where(y == "recommend", "very_recom", y), list(range(X.shape[1]))


def learners(name: str, *, unpruned: bool, n_rounds: int) -> dict[str, Any]:
    study = STUDIES[name]
    tree = C45Classifier(unpruned=unpruned, nominal=rows(name)[2])
    return {
        "C4.5": tree,
        "AdaBoost.M1": AdaBoostM1Classifier(tree, n_rounds),
        "AdaC2.M1": AdaC2M1Classifier(tree, n_rounds, costs=dict(zip(study.classes, study.g_costs, strict=True))),
        "AdaC2.M1 for F": AdaC2M1Classifier(tree, n_rounds, costs=dict(zip(study.classes, study.f_costs, strict=True))),
        "default costs": AdaC2M1Classifier(tree, n_rounds),
    }


@cache
def held_out(name: str, unpruned: bool, n_rounds: int, n_splits: int) -> dict[str, tuple[float, float, float]]:
    """Accuracy, G-mean and F of the paper's class on test rows, by learner."""
    X, y, _ = rows(name)
    values: dict[str, list[tuple[float, float, float]]] = {}
    for train, test in ShuffleSplit(n_splits, test_size=0.2, random_state=0).split(y):
        for learner, model in learners(name, unpruned=unpruned, n_rounds=n_rounds).items():
            answers = clone(model).fit(X[train], y[train]).predict(X[test])
            truth = y[test]
            f = f_score(truth, answers, positive=STUDIES[name].f_class, classes=STUDIES[name].classes)
            values.setdefault(learner, []).append((np.mean(answers == truth), g_mean_score(truth, answers), f))
    return {learner: tuple(np.mean(v, axis=0)) for learner, v in values.items()}  # type: ignore[misc]


def printed(name: str, learner: str, measure: str) -> float:
    with PRINTED.open() as lines:
        found = [
            float(row["mean"])
            for row in csv.DictReader(lines)
            if (row["data"], row["learner"], row["measure"]) == (name, learner, measure)
        ]
    assert found, (name, learner, measure)
    return found[-1]


@pytest.mark.parametrize(("name", "n_splits"), [("car", 20), ("new-thyroid", 200), ("nursery", 10)])
def test_each_step_from_c45_to_adac2_raises_the_g_mean(name, n_splits):
    for unpruned, n_rounds in [(True, 5), (False, 10)]:
        found = held_out(name, unpruned, n_rounds, n_splits)
        assert found["C4.5"][1] < found["AdaBoost.M1"][1] < found["AdaC2.M1"][1], (unpruned, n_rounds)


@pytest.mark.parametrize("learner", ["C4.5", "AdaBoost.M1", "AdaC2.M1"])
@pytest.mark.parametrize("name", STUDIES)
def test_g_mean_is_in_the_band_of_the_printed_one(name, learner):
    if (name, learner) == ("nursery", "C4.5"):
        pytest.skip("printed between our pruned and our unpruned tree, see above")
    ours = held_out(name, True, 5, 10)[learner][1]
    assert ours == pytest.approx(printed(name, learner, "g_mean"), abs=3 * STUDIES[name].g_error)


@pytest.mark.parametrize("name", STUDIES)
def test_f_of_the_small_class_is_in_the_band_of_the_printed_one(name):
    study = STUDIES[name]
    ours = held_out(name, True, 5, 10)["AdaC2.M1 for F"][2]
    assert ours == pytest.approx(printed(name, "AdaC2.M1", f"F({study.f_label})"), abs=3 * study.f_error)


@pytest.mark.parametrize("name", STUDIES)
def test_accuracy_is_in_the_band_of_the_printed_one(name):
    for learner in ("C4.5", "AdaBoost.M1"):
        ours = held_out(name, True, 5, 10)[learner][0]
        band = {"car": 0.015, "new-thyroid": 0.045, "nursery": 0.007}[name]
        assert ours == pytest.approx(printed(name, learner, "accuracy"), abs=band)


@pytest.mark.parametrize(("name", "expected"), [("car", 0.926), ("new-thyroid", 0.928), ("nursery", 0.994)])
def test_costs_without_any_search_do_as_well_as_the_printed_ones(name, expected):
    found = held_out(name, False, 10, 10)
    assert found["default costs"][1] == pytest.approx(expected, abs=2 * STUDIES[name].g_error)
    assert found["default costs"][1] > found["AdaC2.M1"][1] - STUDIES[name].g_error


def test_a_cost_vector_belongs_to_its_number_of_rounds():
    X, y, nominal = rows("car")
    train, test = next(ShuffleSplit(1, test_size=0.2, random_state=0).split(y))
    costs = {"unacc": 0.02, "acc": 1.0, "good": 1.0, "vgood": 1.0}
    by_round = {}
    for unpruned in (True, False):
        tree = C45Classifier(unpruned=unpruned, nominal=nominal)
        model = AdaC2M1Classifier(tree, 50, costs=costs).fit(X[train], y[train])
        by_round[unpruned] = [g_mean_score(y[test], answers) for answers in model.staged_predict(X[test])]
    assert by_round[True][1] == pytest.approx(0.86, abs=0.02)
    assert max(by_round[True][:5]) > 0.85
    assert by_round[True][-1] < 0.3  # J48, boosted on the same rows, ends at 0.241 too
    assert by_round[False][-1] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["car", "new-thyroid"])
def test_the_papers_own_search_finds_costs_like_the_printed_ones(name):
    X, y, nominal = rows(name)
    model = AdaC2M1Classifier(C45Classifier(unpruned=True, nominal=nominal), 5)
    search = CostSearchCV(model, protocol="paper", n_trials=200, random_state=0).fit(X, y)
    found = dict(zip(search.classes_.tolist(), search.best_costs_.class_costs(), strict=True))
    assert found[STUDIES[name].classes[0]] == min(found.values())  # the frequent class is the cheapest, as printed
    test = []
    for train, rest in ShuffleSplit(10, test_size=0.2, random_state=0).split(y):
        best = clone(model).set_params(costs=search.best_costs_).fit(X[train], y[train])
        test.append(g_mean_score(y[rest], best.predict(X[rest])))
    error = STUDIES[name].g_error
    assert np.mean(test) == pytest.approx(printed(name, "AdaC2.M1", "g_mean"), abs=3 * error)
    assert search.validation_fitness_ > np.mean(test)  # quoting it would flatter


@pytest.mark.slow
@pytest.mark.parametrize("name", ["car", "new-thyroid"])
def test_the_honest_protocol_is_lower_than_what_the_search_believes(name):
    X, y, nominal = rows(name)
    model = AdaC2M1Classifier(C45Classifier(nominal=nominal), 10)
    search = CostSearchCV(model, cv=5, n_trials=100)
    found = nested_evaluate(search, X, y, cv=5, baselines={"default": model}, random_state=0)
    assert found.validation_fitness.mean() > found.interval().value
    assert found.interval().value == pytest.approx({"car": 0.927, "new-thyroid": 0.92}[name], abs=0.05)
    assert abs(found.difference("default").value) < 0.05  # no search at all is hard to beat
