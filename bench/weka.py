"""Weka beside us: one of its learners in a Java machine that stays warm, a round for every line it is sent."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from harness import Round

JAR = Path("/usr/share/java/weka.jar")


def weka(driver: str, X: np.ndarray, y: np.ndarray, *, nominal: set[int], count: int) -> Round:
    """Rounds of a driver beside this file (Java source), on these rows; ``count`` is what it does a round."""
    if not JAR.exists() or shutil.which("java") is None:
        raise FileNotFoundError("Weka or Java is not installed")
    arff = Path(tempfile.mkdtemp()) / "rows.arff"
    arff.write_text(as_arff(X, y, nominal))
    java = subprocess.Popen(
        ["java", "-cp", str(JAR), str(Path(__file__).with_name(driver)), str(arff), str(count)],
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
