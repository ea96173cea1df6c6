"""C4.5 grows the same trees as Weka's J48 (3.6), pruned and unpruned, with weights and with missing values.

``tests/golden/c45`` keeps our text of every tree, each seen equal to J48's; where Weka is installed it is asked again.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from steelyard import C45Classifier

GOLDEN = Path(__file__).parents[1] / "golden" / "c45"
WEKA = Path("/usr/share/java/weka.jar")
DATA = os.environ.get("STEELYARD_DATA")

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(DATA is None, reason="STEELYARD_DATA does not say where the papers' data are"),
]


class Case(NamedTuple):
    X: NDArray[Any]
    y: NDArray[Any]
    names: list[str]
    weight: NDArray[np.float64] | None = None


def text_of(file: str) -> str:
    path = Path(str(DATA)) / file
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def keel(file: str) -> Case:
    """A file with an @attribute header; nominal attributes list their values in braces."""
    header = re.findall(r"^@attribute\s+('[^']*'|[^\s{]+)\s*(.*)$", text_of(file), re.MULTILINE | re.IGNORECASE)
    nominal = [kind.startswith("{") for _, kind in header]
    lines = [line for line in text_of(file).splitlines() if line.strip() and line[0] not in "@%"]
    cells = [[cell.strip().strip("'") for cell in line.split(",")] for line in lines]
    rows = [
        [None if c == "?" else c if is_name else float(c) for c, is_name in zip(row, nominal, strict=True)]
        for row in cells
    ]
    table = np.array(rows, dtype=object)
    return Case(table[:, :-1], table[:, -1].astype(str), [name.strip("'") for name, _ in header[:-1]])


def numbers(rows: list[list[str]], y: list[str]) -> Case:
    X = np.array(rows, dtype=float)
    return Case(X, np.array(y), [f"x{j}" for j in range(X.shape[1])])


def glass() -> Case:
    cells = [line.split(",") for line in text_of("glass.data").split()]
    return numbers([c[1:-1] for c in cells], [c[-1] for c in cells])


def vehicle() -> Case:
    cells = [line.split() for line in text_of("vehicle.dat").splitlines() if line.strip()]
    return numbers([c[:-1] for c in cells], [c[-1] for c in cells])


def german() -> Case:
    cells = [re.findall(r"\S+", line) for line in text_of("german.numer").splitlines()]
    rows = [[dict(pair.split(":") for pair in c[1:]).get(str(j), "0") for j in range(1, 25)] for c in cells]
    return numbers(rows, [{"+1": "bad", "1": "bad"}.get(c[0], "good") for c in cells])


def weighted(case: Case) -> Case:
    """Weights of at most 1: J48 counts rows, not weight, before it looks for a cut, which matters only above 1."""
    n = len(case.y)
    return case._replace(weight=np.round(0.05 + 0.95 * ((np.arange(n) * 7919) % n) / n, 3))


def with_holes(case: Case) -> Case:
    """Every seventh or so value missing, by a fixed pattern."""
    X = case.X.astype(object)
    n, d = X.shape
    X[(np.arange(n)[:, None] * 31 + np.arange(d) * 17 + (np.arange(n)[:, None] // 7) * np.arange(d)) % 7 == 0] = None
    return case._replace(X=X)


CASES = {
    "car": lambda: keel("car.dat"),
    "nursery": lambda: keel("nursery.dat.gz"),
    "new-thyroid": lambda: keel("newthyroid.dat"),
    "glass": glass,
    "vehicle": vehicle,
    "german": german,
    "breast-cancer": lambda: keel("breast-cancer.arff"),
    "car-weighted": lambda: weighted(keel("car.dat")),
    "german-weighted": lambda: weighted(german()),
    "breast-cancer-weighted": lambda: weighted(keel("breast-cancer.arff")),
    "vehicle-holes": lambda: with_holes(vehicle()),
    "car-holes": lambda: with_holes(keel("car.dat")),
    "german-weighted-holes": lambda: with_holes(weighted(german())),
}
WAYS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "pruned": ({}, ["-C", "0.25", "-M", "2"]),
    "unpruned": ({"unpruned": True}, ["-U", "-M", "2"]),
    "no-raising": ({"raising": False, "confidence": 0.1, "min_obj": 5}, ["-S", "-C", "0.1", "-M", "5"]),
    "binary": ({"binary_nominal": True}, ["-B", "-C", "0.25", "-M", "2"]),
}
RUNS = [(case, way) for case in CASES for way in WAYS if way in ("pruned", "unpruned") or "-" not in case]


def our_tree(case: Case, way: str) -> str:
    import pandas as pd

    frame = pd.DataFrame(case.X, columns=case.names).infer_objects()
    return C45Classifier(**WAYS[way][0]).fit(frame, case.y, case.weight).export_text()


@pytest.mark.parametrize(("name", "way"), RUNS)
def test_tree_is_the_recorded_one(name: str, way: str) -> None:
    assert our_tree(CASES[name](), way) + "\n" == (GOLDEN / f"{name}-{way}.txt").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not WEKA.exists(), reason="Weka is not installed")
@pytest.mark.parametrize(("name", "way"), RUNS)
def test_tree_is_j48s(name: str, way: str, tmp_path: Path) -> None:
    case = CASES[name]()
    arff = tmp_path / "data.arff"
    arff.write_text(as_arff(case))
    found, expected = read(our_tree(case, way)), read(j48(arff, WAYS[way][1]))
    assert [line.question for line in found] == [line.question for line in expected]
    assert np.abs(np.array([line.counts for line in found]) - [line.counts for line in expected]).max() < 0.011


FAINT = {  # recall of unacc by weight of its rows and way, each seen equal to J48's
    (1e-4, "pruned"): 576 / 1210,
    (1e-4, "unpruned"): 1008 / 1210,
    (1e-7, "pruned"): 576 / 1210,  # a branch of 576 such rows is no empty one
    (1e-7, "unpruned"): 576 / 1210,
    (1e-12, "pruned"): 0.0,
    (1e-12, "unpruned"): 0.0,
    (1e-12, "binary"): 0.0,
}


def with_faint_unacc(weight: float) -> Case:
    case = keel("car.dat")
    return case._replace(weight=np.where(case.y == "unacc", weight, 1.0))


def answers(case: Case, way: str) -> NDArray[Any]:
    return C45Classifier(**WAYS[way][0]).fit(case.X, case.y, case.weight).predict(case.X)


@pytest.mark.parametrize(("weight", "way"), FAINT)
def test_branches_of_next_to_no_weight_answer_like_their_parent(weight: float, way: str) -> None:
    case = with_faint_unacc(weight)
    assert np.mean(answers(case, way)[case.y == "unacc"] == "unacc") == FAINT[weight, way]


@pytest.mark.slow
@pytest.mark.skipif(not WEKA.exists(), reason="Weka is not installed")
@pytest.mark.parametrize(("weight", "way"), FAINT)
def test_every_answer_of_faint_branches_is_j48s(weight: float, way: str, tmp_path: Path) -> None:
    case = with_faint_unacc(weight)
    train, plain = tmp_path / "train.arff", tmp_path / "plain.arff"
    train.write_text(as_arff(case))
    plain.write_text(as_arff(case._replace(weight=None)))
    out = run_j48(*WAYS[way][1], "-t", str(train), "-T", str(plain), "-p", "0")
    theirs = re.findall(r"^\s*\d+\s+\d+:\S+\s+\d+:(\S+)", out, re.MULTILINE)
    assert answers(case, way).tolist() == theirs


def as_arff(case: Case) -> str:
    """The case with categories and classes in sorted order, which decides ties."""
    lines = ["@relation case"]
    for name, column in zip(case.names, case.X.T, strict=True):
        known = {v for v in column if v is not None}
        lines.append(f"@attribute '{name}' " + (braced(known) if isinstance(min(known), str) else "numeric"))
    lines += [f"@attribute class {braced(set(case.y))}", "@data"]
    for i, (row, label) in enumerate(zip(case.X, case.y, strict=True)):
        cells = ["?" if v is None else f"'{v}'" if isinstance(v, str) else repr(float(v)) for v in [*row, str(label)]]
        lines.append(",".join(cells) + ("" if case.weight is None else f",{{{case.weight[i]}}}"))
    return "\n".join(lines) + "\n"


def braced(values: set[Any]) -> str:
    return "{" + ",".join(f"'{v}'" for v in sorted(values)) + "}"


def j48(arff: Path, options: list[str]) -> str:
    """J48's tree as it prints it, without the branches that hold no training data."""
    out = run_j48(*options, "-t", str(arff), "-no-cv")
    body = out.split("------------------\n", 1)[1].split("Number of Leaves", 1)[0].strip("\n: ")
    return "\n".join(line for line in body.splitlines() if not line.endswith("(0.0)"))


def run_j48(*arguments: str) -> str:
    command = ["java", "-cp", str(WEKA), "weka.classifiers.trees.J48", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Line(NamedTuple):
    question: str  # with the class of a leaf, thresholds to six decimals
    counts: tuple[float, float]  # weight and errors of a leaf, printed to two decimals


def read(text: str) -> list[Line]:
    lines = []
    for line in text.splitlines():
        question, weight, errors = re.fullmatch(r"(.*?)(?: \(([\d.]+)(?:/([\d.]+))?\))?", line).groups()  # type: ignore[union-attr]
        question = re.sub(r"(<=|>) ([-\d.]+)", lambda m: f"{m[1]} {float(m[2]):.6f}", question)
        lines.append(Line(question, (float(weight or 0), float(errors or 0))))
    return lines
