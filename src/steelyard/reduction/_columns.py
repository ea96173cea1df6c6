"""Support vector sub-problems where one Gram matrix would not fit: kernel columns on demand, machine by machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..margin import CSSVMClassifier, OneSidedSVR
from ..margin.kernels import KernelSpec
from ._learners import Solutions, train
from .plan import Cases, Floats, Plan


class ColumnCache:
    """The same answers as :class:`SharedGram` in less memory; slower, since nothing is shared but the rows."""

    def __init__(self, X: Any, spec: KernelSpec, *, dtype: str, tol: float, cache_mb: float) -> None:
        self.X = X
        self.settings: dict[str, Any] = {**spec._asdict(), "dtype": dtype, "tol": tol, "cache_mb": cache_mb}

    def path(self, plan: Plan, cases: Cases, lams: Sequence[float] | Floats) -> list[Solutions]:
        """Machines for every lam, trained on the cases that have weight."""
        return [train(plan, self.X, cases, self._machine(plan, lam), n_jobs=None) for lam in lams]

    def scores(self, path: list[Solutions], at: NDArray[np.intp]) -> list[Floats]:
        """Scores (n, m) of the machines of every lam at these rows."""
        return [solutions.scores(self.X[at]) for solutions in path]

    def solution(self, solutions: Solutions) -> Solutions:
        """The machines as a fitted estimator keeps them."""
        return solutions

    def _machine(self, plan: Plan, lam: float) -> Any:
        if plan.one_sided:
            return OneSidedSVR(lam=lam, **self.settings)
        return CSSVMClassifier(C=1.0 / lam, **self.settings)
