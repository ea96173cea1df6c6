"""Paper 004, tables 2 to 4: G-mean of LDM, CS-SVM, SMOTE + SVM and CS-LDM on random halves.

Protocol: features to [0, 1]; random half splits; parameters by 5-fold cross-validation on each training half (the
paper: on the first, which on the 135 rows of heart is a lottery), over a coarser grid than the paper's; CS-LDM at its
balance point on the training half. The paper does not say by what the folds are scored, nor whether there is a bias:
here by G-mean, and with a constant feature. Nominal features of breast are one-hot.

A mean must lie within two standard errors of the difference of two such means (theirs over ten splits, with the spread
of a split that the paper prints for CS-LDM, but at least .012) of the printed number or of the one that another
implementation reached on the same public data. On heart ten splits tell too little: their spread is .03, not the
printed .018, and the means of ten lie between .78 and .83; there we take a hundred, and their own spread. LDM's G-mean
hangs on the parameters chosen: it is only asked to be below CS-LDM's where the classes are unequal.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file, load_svmlight_files
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from steelyard import Balanced, CSLDMClassifier, CSLDMClassifierCV, CSSVMClassifier, g_mean_score

DATA = Path(os.environ.get("STEELYARD_DATA", ""))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("STEELYARD_DATA" not in os.environ, reason="STEELYARD_DATA is not set"),
]
GRID = [2.0**k for k in range(-8, 9, 4)]
CS_LDM = {  # printed, reached elsewhere on the public data
    ("heart", "linear"): (0.842, 0.797),
    ("breast", "linear"): (0.659, 0.633),
    ("wdbc", "linear"): (0.961, 0.965),
    ("pima", "linear"): (0.756, 0.743),
    ("heart", "rbf"): (0.826, 0.803),
    ("breast", "rbf"): (0.645, 0.635),
    ("wdbc", "rbf"): (0.964, 0.967),
    ("pima", "rbf"): (0.756, 0.744),
}
SPREAD = {"breast": 0.026, "wdbc": 0.012, "pima": 0.014}
SPLITS = {"heart": 100}


def near(scores, name, *expected):
    spread = SPREAD[name] if name in SPREAD else np.std(scores, ddof=1)
    band = 2 * spread * np.sqrt(1 / 10 + 1 / len(scores))
    return any(abs(np.mean(scores) - number) <= band for number in expected)


def regular(name):
    if name == "heart":
        X, y = load_svmlight_file(str(DATA / "heart"))
        X = X.toarray()
    elif name == "pima":
        table = np.loadtxt(DATA / "pima-indians-diabetes.data", delimiter=",")
        X, y = table[:, :-1], table[:, -1]
    elif name == "wdbc":
        table = np.loadtxt(DATA / "wdbc.csv", delimiter=",", skiprows=1)
        X, y = table[:, :-1], 1 - table[:, -1]
    else:
        lines = (DATA / "breast-cancer.arff").read_text().split("@data")[1].strip().splitlines()
        cells = np.array([line.split(",") for line in lines if "?" not in line and line.strip()[:1] not in ("", "%")])
        y = np.char.startswith(np.char.strip(cells[:, -1], "'"), "recurrence").astype(float)
        columns = cells[:, :-1].T
        X = np.column_stack([column == value for column in columns for value in np.unique(column)]).astype(float)
    return (X - X.min(0)) / np.maximum(X.max(0) - X.min(0), 1e-12), y


def random_splits(y, count=10):
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(y))
        yield order[: len(y) // 2], order[len(y) // 2 :]


def g_means(name, kernel, **settings):
    """G-mean of CS-LDM on every split."""
    X, y = regular(name)
    rhos = [0.0] if settings["balance"] is None else [0.5]
    scores = []
    for train, test in random_splits(y, SPLITS.get(name, 10)):
        model = CSLDMClassifierCV(GRID, GRID, GRID, rhos, kernel, random_state=0, **settings).fit(X[train], y[train])
        scores.append(g_mean_score(y[test], model.predict(X[test])))
    return np.array(scores)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kernel"), CS_LDM)
def test_regular_tables(name, kernel):
    cs_ldm = g_means(name, kernel, balance="train")
    assert near(cs_ldm, name, *CS_LDM[name, kernel]), cs_ldm.mean()
    if name in ("breast", "pima"):
        assert g_means(name, kernel, balance=None).mean() < cs_ldm.mean() - 0.03


def test_balance_points_of_pima_and_breast():
    for name, low, high in (("pima", 0.4, 0.75), ("breast", 0.3, 0.85)):
        X, y = regular(name)
        train, _ = next(random_splits(y))
        model = CSLDMClassifier(balance="train", tol=1e-3).fit(X[train], y[train])
        assert low < model.rho_ < high
        assert model.rho_interval_[0] <= model.rho_interval_[1]


def large(name):
    files = {"a9a": ["a9a"], "w8a": ["w8a"], "ijcnn1": ["ijcnn1", "ijcnn1.t"]}[name]
    parts = load_svmlight_files([str(DATA / f"{file}.bz2") for file in files])
    from scipy import sparse

    X = sparse.vstack(parts[::2]).tocsr()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.concatenate(parts[1::2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ldm", "cs_ldm"), [("a9a", 0.738, 0.814), ("w8a", 0.805, 0.878), ("ijcnn1", 0.545, 0.888)]
)
def test_large_table(name, ldm, cs_ldm):
    X, y = large(name)
    found = {0: [], 1: []}
    for train, test in random_splits(y, 2):
        for at, balance in enumerate((None, "train")):
            model = CSLDMClassifier(rho=0.0, balance=balance, tol=1e-2, random_state=0).fit(X[train], y[train])
            found[at].append(g_mean_score(y[test], model.predict(X[test])))
    assert np.mean(found[0]) == pytest.approx(ldm, abs=0.05)
    assert np.mean(found[1]) == pytest.approx(cs_ldm, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernel", "cs_svm", "smote"),
    [
        ("pima", "linear", (0.735, 0.730), (0.742, 0.720)),
        ("wdbc", "rbf", (0.954, 0.968), (0.956, 0.965)),
        ("breast", "linear", (0.651, 0.620), (0.643, 0.613)),
    ],
)
def test_baselines(name, kernel, cs_svm, smote):
    smote_class = pytest.importorskip("imblearn.over_sampling").SMOTE
    pipeline = pytest.importorskip("imblearn.pipeline").Pipeline
    X, y = regular(name)
    first, _ = next(random_splits(y))
    score = {"scoring": "balanced_accuracy", "cv": 5}
    ours = GridSearchCV(CSSVMClassifier(kernel=kernel, costs=Balanced()), {"C": GRID}, **score).fit(X[first], y[first])
    theirs = SVC(kernel=kernel, C=ours.best_params_["C"])
    steps: Pipeline = pipeline([("smote", smote_class(random_state=0)), ("svm", SVC(kernel=kernel))])
    mixed = GridSearchCV(steps, {"svm__C": GRID}, **score).fit(X[first], y[first])
    scores = []
    for train, test in random_splits(y):
        theirs.set_params(class_weight={0.0: 1.0, 1.0: (y[train] == 0).sum() / (y[train] == 1).sum()})
        models = ours.best_estimator_, theirs, mixed.best_estimator_
        scores.append([g_mean_score(y[test], m.fit(X[train], y[train]).predict(X[test])) for m in models])
    ours, theirs, mixed = np.transpose(scores)
    assert near(ours, name, *cs_svm), ours.mean()
    assert ours.mean() == pytest.approx(theirs.mean(), abs=0.01)
    assert near(mixed, name, *smote), mixed.mean()
