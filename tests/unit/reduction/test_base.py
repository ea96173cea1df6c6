from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import steelyard
from steelyard import (
    AllPairsClassifier,
    AllPairsClassifierCV,
    CostsError,
    FilterTreeClassifier,
    FilterTreeClassifierCV,
    InvalidInputError,
    OneSidedClassifier,
    OneSidedClassifierCV,
    OneVsAllClassifier,
    OneVsAllClassifierCV,
    SECOCClassifier,
    SECOCClassifierCV,
)
from steelyard.reduction.base import DEFAULT_LAMS, PAPER_LAMS, read_folds, read_lams

rng = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = rng.normal(size=(60, 2)) + Y[:, None]
COSTS = np.array([[0.0, 1, 9], [2, 0, 1], [1, 4, 0]])
PLAIN: list[Any] = [
    OneSidedClassifier,
    OneVsAllClassifier,
    FilterTreeClassifier,
    AllPairsClassifier,
    SECOCClassifier,
]
CV: list[Any] = [
    OneSidedClassifierCV,
    OneVsAllClassifierCV,
    FilterTreeClassifierCV,
    AllPairsClassifierCV,
    SECOCClassifierCV,
]


def seeded(cls: Any, **parameters: Any) -> Any:
    return cls(**parameters, random_state=0) if "random_state" in cls().get_params() else cls(**parameters)


@pytest.mark.kernel
@pytest.mark.parametrize(("cls", "plain"), list(zip(CV, PLAIN, strict=True)))
def test_cross_validation_is_what_a_grid_search_by_cost_finds(cls: Any, plain: Any) -> None:
    lams = [64.0, 4.0, 0.25]
    fine = {"costs": COSTS, "tol": 1e-7, "dtype": "float64"}
    folds = list(StratifiedKFold(4).split(X, Y))
    model = seeded(cls, lams=lams, cv=folds, **fine).fit(X, Y)

    def gain(estimator: Any, rows: Any, truth: Any) -> float:
        return -float(COSTS[truth, estimator.predict(rows)].mean())

    search = GridSearchCV(seeded(plain, **fine), {"lam": lams}, scoring=gain, cv=folds).fit(X, Y)
    expected = np.array([-search.cv_results_[f"split{f}_test_score"] for f in range(4)]).T
    np.testing.assert_allclose(model.cv_costs_, expected, atol=1e-9)
    assert model.lam_ == search.best_params_["lam"]
    same = seeded(plain, lam=model.lam_, **fine).fit(X, Y)
    assert (model.decision_function(X) == same.decision_function(X)).all()


def test_among_equal_lams_the_largest_is_taken() -> None:
    far = np.array([[0.0], [0.1], [9.0], [9.1]] * 3)
    model = OneVsAllClassifierCV(lams=[1e-3, 1e-2], cv=3).fit(far, [0, 0, 1, 1] * 3)
    assert (model.cv_costs_ == 0).all()
    assert model.lam_ == 1e-2
    assert model.lams_.tolist() == [1e-2, 1e-3]


def test_lams() -> None:
    assert read_lams("paper").tolist() == [2.0**k for k in range(17, -4, -2)]
    assert (read_lams(None)[:11] == PAPER_LAMS).all()
    assert DEFAULT_LAMS[-1] < PAPER_LAMS[-1]
    assert read_lams([1, 4, 4.0]).tolist() == [4.0, 1.0]
    assert read_lams(2).tolist() == [2.0]
    for bad in ("papers", [], [1, 0], [1, -2], [np.nan], "x", [[object()]]):
        with pytest.raises(InvalidInputError, match="lams must"):
            read_lams(bad)


def test_folds_deal_out_every_class() -> None:
    codes = np.array([0] * 7 + [1] * 3 + [2])
    folds = read_folds(3, np.zeros((11, 1)), codes)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(11))
    for training, test in folds:
        assert set(training) | set(test) == set(range(11))
        assert not set(training) & set(test)
        assert 2 <= (codes[test] == 0).sum() <= 3
        assert (codes[test] == 1).sum() == 1
    with pytest.raises(InvalidInputError, match="cv must be at most the number of examples, 11"):
        read_folds(12, np.zeros((11, 1)), codes)
    with pytest.raises(InvalidInputError, match="cv must be a whole number >= 2"):
        read_folds(1, np.zeros((11, 1)), codes)


@pytest.mark.kernel
@pytest.mark.parametrize("cls", PLAIN + CV)
class TestBadInput:
    def test_one_class(self, cls: Any) -> None:
        with pytest.raises(InvalidInputError, match="y must hold two or more classes"):
            cls().fit(X, np.zeros(60))

    def test_one_example(self, cls: Any) -> None:
        with pytest.raises(InvalidInputError, match="y must hold two or more classes"):
            cls().fit(X[:1], Y[:1])

    def test_two_examples(self, cls: Any) -> None:
        model = cls(**({"cv": 2} if "cv" in cls().get_params() else {}))
        assert sorted(model.fit(X[[0, -1]], Y[[0, -1]]).predict(X[[0, -1]])) == [0, 2] or "cv" in model.get_params()

    def test_two_classes_of_any_label(self, cls: Any) -> None:
        labels = np.where(Y < 1, "no", "yes")
        model = seeded(cls, costs={"no": 1.0, "yes": 3.0}).fit(X, labels)
        assert set(model.predict(X)) == {"no", "yes"}
        assert model.decision_function(X).shape == (60,)
        assert ((model.decision_function(X) > 0) == (model.predict(X) == "yes")).all()

    def test_duplicate_rows_and_constant_features(self, cls: Any) -> None:
        same = np.ones((12, 2))
        answers = seeded(cls).fit(same, np.repeat([0, 1, 2], 4)).predict(same)
        assert len(set(answers)) == 1

    def test_costs_all_equal(self, cls: Any) -> None:
        model = seeded(cls).fit(X, Y, costs=np.full((60, 3), 5.0))
        if "OneVsAll" not in cls.__name__:
            assert (model.predict(X) == 0).all()  # every answer is as good: the first

    @pytest.mark.parametrize("lam", [1e-12, 1e12])
    def test_extreme_lams(self, cls: Any, lam: float) -> None:
        model = seeded(cls, costs=COSTS, **({"lams": [lam]} if "lams" in cls().get_params() else {"lam": lam}))
        assert np.isfinite(model.fit(X, Y).decision_function(X)).all()

    def test_wrong_parameters_are_named_and_leave_the_model_as_it_was(self, cls: Any) -> None:
        model = seeded(cls, costs=COSTS).fit(X, Y)
        before = model.decision_function(X)
        wrong: dict[str, Any] = {"kernel": "cubic", "tol": 0, "dtype": "float16", "degree": -1, "cache_mb": -1}
        wrong["lams" if "lams" in model.get_params() else "lam"] = -1.0
        for name, value in wrong.items():
            with pytest.raises(InvalidInputError, match=f"{name} must"):
                clone(model).set_params(**{name: value}).fit(X, Y)
            with pytest.raises(InvalidInputError, match=f"{name} must"):
                model.set_params(**{name: value}).fit(X, Y)
            assert (model.set_params(**{name: cls().get_params()[name]}).decision_function(X) == before).all()
        with pytest.raises(CostsError, match="one row per example"):
            model.fit(X, Y, costs=np.ones((59, 3)))
        with pytest.raises(InvalidInputError, match="y must have 60 rows like X"):
            model.fit(X, Y[:-1])


@pytest.mark.parametrize("cls", PLAIN + CV)
def test_costs_per_example_are_cut_along_with_rows(cls: Any) -> None:
    rows = rng.uniform(0, 5, (60, 3))
    first = seeded(cls, costs=COSTS).fit(X, Y, costs=rows)
    again = seeded(cls).fit(X, Y, costs=steelyard.Costs.from_rows(rows, classes=[0, 1, 2]))
    assert (first.decision_function(X) == again.decision_function(X)).all()
    with config_context(enable_metadata_routing=True):
        model = seeded(cls).set_fit_request(costs=True).set_score_request(costs=True)
        scores = cross_val_score(model, X, Y, params={"costs": rows}, cv=3)
    assert np.isfinite(scores).all()


@pytest.mark.kernel
@pytest.mark.parametrize("cls", CV)
def test_folds_may_miss_classes(cls: Any) -> None:
    folds = [(np.flatnonzero(k != Y), np.flatnonzero(k == Y)) for k in range(3)]
    folds.append((np.flatnonzero(Y == 0), np.flatnonzero(Y > 0)))  # a training fold of one class
    model = seeded(cls, costs=COSTS, cv=folds, lams=[1.0]).fit(X, Y)
    assert np.isfinite(model.cv_costs_).all()
    assert model.cv_costs_[0, 3] > 0
