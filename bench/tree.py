"""One C4.5 fit beside scikit-learn's tree on one-hot columns and Weka's J48 inside a warm Java machine.

Every learner gets its data in its own form, prepared before the clock starts; a round is ``FITS`` fits.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from harness import Goal, Round, candidate
from steelyard import C45Classifier, load_dataset

DATASETS = ("car", "german", "vehicle", "nursery")
OURS, OURS_PREPARED = "steelyard C45Classifier", "steelyard C45Classifier, prepared data"
SKLEARN, WEKA = "scikit-learn DecisionTree, one-hot", "Weka J48"
JAR = Path("/usr/share/java/weka.jar")
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
    if not JAR.exists() or shutil.which("java") is None:
        raise FileNotFoundError("Weka or Java is not installed")
    frame, y, nominal = data(name)
    arff = Path(tempfile.mkdtemp()) / f"{name}.arff"
    arff.write_text(as_arff(codes(frame, nominal), y, set(nominal)))
    driver = Path(__file__).with_name("J48Rounds.java")
    java = subprocess.Popen(
        ["java", "-cp", str(JAR), str(driver), str(arff), str(FITS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert java.stdin is not None
    assert java.stdout is not None
    orders, answers = java.stdin, java.stdout
    if answers.readline() != "ready\n":
        raise FileNotFoundError("java cannot run a source file: it is no development kit")

    def run() -> None:
        orders.write("go\n")
        orders.flush()
        answers.readline()

    return run


def as_arff(X: np.ndarray, y: np.ndarray, nominal: set[int]) -> str:
    """Categories and classes as numbers in braces."""
    columns = [
        ("{" + ",".join(f"{v:g}" for v in np.unique(x)) + "}") if j in nominal else "numeric" for j, x in enumerate(X.T)
    ]
    lines = ["@relation bench", *(f"@attribute a{j} {kind}" for j, kind in enumerate(columns))]
    lines += ["@attribute class {" + ",".join(map(str, np.unique(y))) + "}", "@data"]
    lines += [",".join([*(f"{v:.10g}" for v in x), str(label)]) for x, label in zip(X, y, strict=True)]
    return "\n".join(lines) + "\n"


for dataset in DATASETS:
    for title, learner in (
        (OURS, steelyard_tree),
        (OURS_PREPARED, steelyard_prepared),
        (SKLEARN, sklearn_tree),
        (WEKA, j48),
    ):
        candidate(f"{dataset}, {FITS} fits", title)(lambda name=dataset, learner=learner: learner(name))
