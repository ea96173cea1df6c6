"""Averaged stochastic gradient descent on pairs: the paper's Algorithm 2, also for streams. Paper 004, eq. (19).

The objective (18) is divided by m C + lambda2, the size of its linear pull. Steps are eta0 (1 + eta0 decay t)^-0.75
with decay = 1 / (m C + lambda2); eta0 is halved on a sample of the rows while the objective there falls.
A quick rough answer, never a numeric reference: there is no duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks import Rows, is_sparse
from .._native import LdmAverage, LdmCsr, LdmPairLoss, ldm_pair_steps
from .kernels import csr_arrays
from .ldm_problem import Floats

SAMPLE = 1000
STEPS_AT_ONCE = 1 << 20  # drawn and made by one native call, so that a long run can be interrupted


class Pulls(NamedTuple):
    """Objective (18) for rows drawn by weight: what each drawn row adds to the gradient, and the common terms."""

    sign: Floats
    theta: Floats
    size: float
    C: float
    lambda1: float
    lambda2: float

    @property
    def scale(self) -> float:
        """m C + lambda2."""
        return self.size * self.C + self.lambda2

    def native(self) -> Any:
        """The loss of eq. (19) over ``scale``; zero where nothing pulls."""
        scale = self.scale if self.scale > 0 else 1.0
        return LdmPairLoss(
            self.sign,
            self.lambda2 / scale * self.theta,
            self.size * self.C / scale * self.theta,
            4.0 * self.lambda1 / scale,
            1.0 / scale,
        )

    def rows(self, keep: NDArray[Any]) -> Pulls:
        """The same objective over some of the rows."""
        return self._replace(sign=self.sign[keep], theta=self.theta[keep])

    def value(self, margins: Floats, w: Floats) -> float:
        """The objective per ``scale``, with the rows at hand standing for all."""
        variance = 2.0 * float(np.var(margins))
        mean, hinge = float(np.mean(self.theta * margins)), float(np.mean(self.theta * np.maximum(0.0, 1.0 - margins)))
        total = 0.5 * float(w @ w) + self.lambda1 * variance - self.lambda2 * mean + self.size * self.C * hinge
        return total / (self.scale if self.scale > 0 else 1.0)


@dataclass
class PairSgd:
    """Weights, their running average and the clock: everything that a stream must carry on."""

    weights: Floats
    sums: Floats
    factors: Floats  # scale, carried, mass of native/pair_sgd.hpp
    steps: int = 0
    average_from: int = 0
    eta0: float = 0.0

    @classmethod
    def start(cls, w: Floats, average_from: int) -> PairSgd:
        """A stream that starts at w and averages from a step on."""
        return cls(w.copy(), np.zeros_like(w), np.array([1.0, 0.0, 1.0]), average_from=average_from)

    def average(self) -> Floats:
        """The averaged weights; the last ones before averaging has begun."""
        scale, carried, mass = self.factors
        if self.steps <= self.average_from:
            return np.asarray(self.weights * scale)
        return np.asarray((self.sums + carried * self.weights) / mass)

    def run(self, rows: Rows, pulls: Pulls, weight: Floats, steps: int, rng: np.random.Generator) -> None:
        """So many steps of Algorithm 2, both rows of a pair drawn independently by weight."""
        if self.eta0 == 0.0:
            self.eta0 = self._first_step(rows, pulls, rng)
        draw = _Drawer(weight, rng)
        view = _view(rows)
        while steps > 0:
            now = min(steps, STEPS_AT_ONCE)
            self._steps(view, pulls.native(), draw(now), draw(now))
            steps -= now

    def _steps(self, view: Any, loss: Any, i_of: NDArray[np.int32], j_of: NDArray[np.int32]) -> None:
        average = LdmAverage(self.weights, self.sums, self.factors)
        if isinstance(view, LdmCsr):
            view.pair_steps(loss, i_of, j_of, self.eta0, self.steps, self.average_from, average)
        else:
            ldm_pair_steps(view, loss, i_of, j_of, self.eta0, self.steps, self.average_from, average)
        self.steps += len(i_of)

    def _first_step(self, rows: Rows, pulls: Pulls, rng: np.random.Generator) -> float:
        """eta0 by halving on a sample, from 1 down until the averaged weights there have got worse twice."""
        keep = rng.permutation(rows.shape[0])[:SAMPLE]
        sample, sample_pulls = rows[keep], pulls.rows(keep)
        view, loss = _view(sample), sample_pulls.native()
        i_of, j_of = (np.tile(rng.permutation(len(keep)), 2).astype(np.int32) for _ in range(2))
        start = self.weights * self.factors[0]

        def outcome(eta: float) -> float:
            trial = PairSgd.start(start, average_from=len(keep))
            trial.eta0 = eta
            with np.errstate(over="ignore", invalid="ignore"):
                trial._steps(view, loss, i_of, j_of)
                w = trial.average()
                value = sample_pulls.value(sample_pulls.sign * (sample @ w), w)
            return value if np.isfinite(value) else np.inf

        eta = min(1.0, 0.5 * pulls.scale) if pulls.scale > 0 else 1.0  # keeps 1 - eta decay positive
        best, least, worse = eta, outcome(eta), 0
        while worse < 2 and eta > 1e-12:
            eta *= 0.5
            value = outcome(eta)
            worse = 0 if not np.isfinite(least) else worse + (value >= least)
            if value < least:
                best, least, worse = eta, value, 0
        return best


class _Drawer:
    """Row numbers drawn with replacement in proportion to weights."""

    def __init__(self, weight: Floats, rng: np.random.Generator) -> None:
        self.rng = rng
        self.count = len(weight)
        self.cumulated = None if (weight == weight[0]).all() else np.cumsum(weight)

    def __call__(self, n: int) -> NDArray[np.int32]:
        if self.cumulated is None:
            return self.rng.integers(0, self.count, n, dtype=np.int32)
        at = np.searchsorted(self.cumulated, self.rng.random(n) * self.cumulated[-1], side="right")
        return np.asarray(np.minimum(at, self.count - 1), dtype=np.int32)


def _view(rows: Rows) -> Any:
    return LdmCsr(*csr_arrays(rows, np.float64)) if is_sparse(rows) else np.ascontiguousarray(rows)
