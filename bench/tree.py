"""One C4.5 fit beside scikit-learn's tree on one-hot columns and Weka's J48 inside a warm Java machine.

Every learner gets its data in its own form, prepared before the clock starts; a round is ``FITS`` fits.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from harness import Goal, Round, candidate
from steelyard import C45Classifier, load_dataset
from weka import weka

DATASETS = ("car", "german", "vehicle", "nursery")
OURS, OURS_PREPARED = "steelyard C45Classifier", "steelyard C45Classifier, prepared data"
SKLEARN, WEKA = "scikit-learn DecisionTree, one-hot", "Weka J48"
FITS = 10

GOALS = [Goal(f"{name}, {FITS} fits", OURS, against=peer, at_least=5) for name in DATASETS for peer in (SKLEARN, WEKA)]


def data(name: str) -> tuple[pd.DataFrame, np.ndarray, list[int]]:
    """The frame, the classes as numbers and the nominal columns."""
    found = load_dataset(name)
    frame = pd.DataFrame(found.X)
    frame.columns = [f"a{j}" for j in range(frame.shape[1])]
    nominal = [j for j, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    return frame, np.unique(found.y, return_inverse=True)[1], nominal


def codes(frame: pd.DataFrame, nominal: list[int]) -> np.ndarray:
    return np.ascontiguousarray(OrdinalEncoder().fit_transform(frame) if nominal else frame.to_numpy(float))


def steelyard_tree(name: str) -> Round:
    frame, y, nominal = data(name)
    X = codes(frame, nominal)
    return lambda: [C45Classifier(nominal=nominal).fit(X, y) for _ in range(FITS)]


def steelyard_prepared(name: str) -> Round:
    frame, y, nominal = data(name)
    tree = C45Classifier(nominal=nominal)
    prepared = tree.prepare(codes(frame, nominal), y)
    return lambda: [tree.fit_prepared(prepared) for _ in range(FITS)]


def sklearn_tree(name: str) -> Round:
    frame, y, nominal = data(name)
    X = OneHotEncoder(sparse_output=False).fit_transform(frame) if nominal else frame.to_numpy(float)
    X = np.asfortranarray(X, dtype=np.float32)  # the form it works on, so that it need not convert
    return lambda: [DecisionTreeClassifier(random_state=0).fit(X, y) for _ in range(FITS)]


def j48(name: str) -> Round:
    frame, y, nominal = data(name)
    return weka("J48Rounds.java", codes(frame, nominal), y, nominal=set(nominal), count=FITS)


for dataset in DATASETS:
    for title, learner in (
        (OURS, steelyard_tree),
        (OURS_PREPARED, steelyard_prepared),
        (SKLEARN, sklearn_tree),
        (WEKA, j48),
    ):
        candidate(f"{dataset}, {FITS} fits", title)(lambda name=dataset, learner=learner: learner(name))
