"""What is said of wrong arguments, and which labels, numbers and seeds are taken."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from steelyard import (
    AdaC2M1Classifier,
    CostSearchCV,
    CSLDMClassifier,
    CSLDMClassifierCV,
    CSSVMClassifier,
    FilterTreeClassifier,
    InvalidInputError,
    OneSidedClassifierCV,
    OneVsAllClassifier,
    OnlineClassifier,
    OnlineCostClassifier,
    OnlineKernelClassifier,
)
from steelyard.validation.arrays import check_labels
from steelyard.validation.values import check_choice, check_number

X = np.random.default_rng(0).normal(size=(24, 3))
y = np.arange(24) % 2


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-128, 127, 0, 127], np.int8),
        np.array([0, 255, 255, 3], np.uint8),
        np.array([-1, 1022, 5, -1], np.int16),
        np.array([2**63, 2**63 + 1, 2**63, 2**63], np.uint64),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 2], np.uint64),
        np.array([-(2**63), -(2**63) + 2, -(2**63)]),
        np.array([7, 9, 8, 7], ">i4"),
        np.array([0.0, 1.0, 1.0], np.float16),
        np.array([-65504.0, 65504.0, 0.0], np.float16),
        np.array([True, False, True]),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_of_any_type_are_told_apart(labels) -> None:
    classes, codes = check_labels(labels)
    expected, inverse = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, inverse)
    assert classes.dtype == labels.dtype.newbyteorder("=")


def test_labels_of_bytes_are_refused_in_our_words() -> None:
    with pytest.raises(InvalidInputError, match=r"^y must hold labels of classes; got \[b'n', b'y'\].*bytes"):
        check_labels([b"n", b"y"])


def test_whole_numbers_beyond_all_floats_are_no_numbers() -> None:
    assert check_number("C", 10**300) == 1e300
    with pytest.raises(InvalidInputError, match=r"^C must be a finite number > 0; got 1000"):
        CSSVMClassifier(C=10**400).fit(X, y)
    with pytest.raises(InvalidInputError, match=r'^lams must be None, "paper" or positive numbers; got'):
        OneSidedClassifierCV(lams=[10**400]).fit(X, y)


@pytest.mark.parametrize("seed", [np.random.default_rng(0), "zero", -1, 2**40, 1.5], ids=str)
@pytest.mark.parametrize(
    "estimator", [AdaC2M1Classifier(), CSLDMClassifier(), FilterTreeClassifier(), CostSearchCV()], ids=str
)
def test_a_seed_that_is_none_is_told(estimator, seed) -> None:
    with pytest.raises(InvalidInputError, match=r"^random_state must be None, a whole number in .* Draw a number from"):
        clone(estimator).set_params(random_state=seed).fit(X, y)


@pytest.mark.parametrize(
    "cv",
    [
        "five",
        1.5,
        [],
        [(np.arange(24), [])],
        [([], np.arange(24))],
        [(np.arange(30), np.arange(3))],
        [np.arange(24)],
    ],
    ids=["text", "part", "no folds", "none held out", "none to learn from", "beyond the rows", "no pairs"],
)
@pytest.mark.parametrize("search", [CSLDMClassifierCV, OneSidedClassifierCV])
def test_folds_that_are_none_are_told(search, cv) -> None:
    with pytest.raises(InvalidInputError, match=r"^cv must be a number of folds, a scikit-learn splitter or .*; got"):
        search(cv=cv).fit(X, y)


def test_folds_may_be_masks_or_positions() -> None:
    odd = np.arange(24) // 2 % 2 == 1
    masks = OneSidedClassifierCV(cv=[(odd, ~odd), (~odd, odd)]).fit(X, y)
    positions = OneSidedClassifierCV(cv=[(np.flatnonzero(odd), np.flatnonzero(~odd)), (~odd, odd)]).fit(X, y)
    np.testing.assert_array_equal(masks.cv_costs_, positions.cv_costs_)


@pytest.mark.parametrize("jobs", [0, "two", 1.5, True])
@pytest.mark.parametrize("base", [None, LogisticRegression()])
def test_jobs_that_cannot_be_counted_are_named(jobs, base) -> None:
    with pytest.raises(InvalidInputError, match="n_jobs must be None or a whole number other than 0"):
        OneVsAllClassifier(base, n_jobs=jobs).fit(X, y)


def test_a_degree_beyond_the_kernels_numbers_is_named() -> None:
    with pytest.raises(InvalidInputError, match="degree must be a whole number >= 0 and <= 2147483647; got 2147483648"):
        CSSVMClassifier(kernel="poly", degree=2**31).fit(X, y)


def test_a_grid_of_choices_may_be_an_array() -> None:
    grid = {"kernel": np.array(["linear", "rbf"]), "dtype": np.array(["float64"])}
    found = GridSearchCV(CSSVMClassifier(), grid, cv=2, error_score="raise").fit(X, y)
    assert type(found.best_estimator_.kernel_.kernel) is str
    model = CSLDMClassifier(kernel=np.str_("linear"), solver=np.str_("newton"), balance=np.str_("train")).fit(X, y)
    assert model.solver_ == "newton"


@pytest.mark.parametrize("value", [1, True, np.str_("c"), b"a"])
def test_a_choice_is_of_its_own_type(value) -> None:
    with pytest.raises(InvalidInputError, match=r"order must be one of 'a', 1\.0, False; got"):
        check_choice("order", value, ("a", 1.0, False))
    assert check_choice("order", np.str_("a"), ("a", 1.0, False)) == "a"


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (3, "classes must be a sequence of labels; got 3"),
        ([None, 1], r"classes must hold labels of one type; got \[None, 1\]"),
    ],
)
@pytest.mark.parametrize("kind", [CSLDMClassifier, OnlineClassifier, OnlineCostClassifier, OnlineKernelClassifier])
def test_classes_that_cannot_be_told_are_named(kind, classes, words) -> None:
    model = kind()
    before = set(vars(model))
    with pytest.raises(InvalidInputError, match=words):
        model.partial_fit(X, y, classes=classes)
    assert set(vars(model)) == before
    assert model.partial_fit(X, y, classes={1, 0}).classes_.tolist() == [0, 1]
