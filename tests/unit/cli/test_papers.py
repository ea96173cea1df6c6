"""Kept digits are those of AVX2: `reproduce` keeps to it on processors with wider vectors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.cli import papers


@pytest.mark.parametrize(
    ("flags", "kept"), [("fpu avx2 avx512f avx512dq", True), ("fpu avx2 fma", False), (None, False)]
)
def test_wider_vectors_are_left_alone_unless_asked_for(
    flags: str | None, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if flags is not None:
        (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags} \n")
    environment = {"OPENBLAS_CORETYPE": "SkylakeX"}
    with monkeypatch.context() as patch:
        patch.setattr(papers, "_CPU", tmp_path / "cpuinfo")
        patch.setattr(os, "environ", environment)
        papers._same_arithmetic()
    assert environment["OPENBLAS_CORETYPE"] == "SkylakeX"
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert ("STEELYARD_ISA" in environment) == ("NPY_DISABLE_CPU_FEATURES" in environment) == kept


def test_solvers_keep_to_the_vectors_they_are_told() -> None:
    """The answers of all widths agree as far as the solver goes."""
    code = (
        "import numpy as np, steelyard as sy\n"
        "X = np.random.default_rng(0).normal(size=(80, 5)); y = X[:, 0] * X[:, 1] > 0\n"
        "model = sy.CSSVMClassifier(C=10.0, gamma=0.2, tol=1e-8, dtype='float64').fit(X, y)\n"
        "print(*map(repr, model.decision_function(X[:20]).tolist()))"
    )
    found = []
    for isa in ("portable", "avx2", "widest"):
        environment = os.environ | {"STEELYARD_ISA": isa}
        shown = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        found.append([float(word) for word in shown.stdout.split()])
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1e-6)
