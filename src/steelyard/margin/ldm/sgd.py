"""Averaged stochastic gradient descent on pairs: the paper's Algorithm 2, also for streams. Paper 004, eq. (19).

The objective (18) is divided by m C + lambda2, the size of its linear pull. Steps are eta0 (1 + eta0 decay t)^-0.75
with decay = 1 / (m C + lambda2); eta0 is halved on a sample of the rows while the objective there falls.
A quick rough answer, never a numeric reference: there is no duality gap.

Tested in ``tests/property/test_ldm.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._native import LdmCsr, LdmPairs, ldm_shuffle
from ...validation.arrays import Rows, is_sparse
from .dual import Floats

SAMPLE = 1000
WINDOW = 1 << 14  # values in the rows that are drawn from at a time: two such windows fit into a cache
STEPS_AT_ONCE = 1 << 20  # drawn and made by one native call, so that a long run can be interrupted


class LossScale(NamedTuple):
    """Objective (18): the slopes common to all rows, and m."""

    size: float
    C: float
    lambda1: float
    lambda2: float

    @property
    def scale(self) -> float:
        """m C + lambda2, or 1 where nothing pulls."""
        return self.size * self.C + self.lambda2 or 1.0

    def native(self) -> tuple[float, float, float, float]:
        """Eq. (19) over ``scale``: slopes of mean and hinge for theta = 1, of the variance, decay of the weights."""
        return self.lambda2 / self.scale, self.size * self.C / self.scale, 4.0 * self.lambda1 / self.scale, self.decay

    @property
    def decay(self) -> float:
        """1 / scale."""
        return 1.0 / self.scale

    def value(self, theta: Floats, margins: Floats, w: Floats) -> float:
        """The objective per ``scale``, with the rows at hand standing for all."""
        variance = 2.0 * float(np.var(margins))
        mean, hinge = float(np.mean(theta * margins)), float(np.mean(theta * np.maximum(0.0, 1.0 - margins)))
        total = 0.5 * float(w @ w) + self.lambda1 * variance - self.lambda2 * mean + self.size * self.C * hinge
        return total / self.scale


class PairRows(NamedTuple):
    """Rows x_i, y_i as a sign and theta_i; ``fit_intercept`` adds a last feature of ones, the intercept."""

    rows: Rows
    sign: Floats
    theta: Floats
    fit_intercept: bool

    @property
    def width(self) -> int:
        """Weights to learn."""
        return int(self.rows.shape[1]) + self.fit_intercept

    def packed(self, rng: np.random.Generator) -> Packed:
        """A shuffled copy in the form that the steps read fastest."""
        place = np.empty(len(self.sign), dtype=np.int32)
        ldm_shuffle(rng.random(len(place)), place)
        given = self.sign, self.theta, place, self.fit_intercept
        if is_sparse(self.rows):
            arrays = self.rows.data, self.rows.indices.astype(np.int32, copy=False), self.rows.indptr.astype(np.int64)
            native = LdmPairs(LdmCsr(*map(np.ascontiguousarray, arrays)), self.rows.shape[1], *given)
        else:
            native = LdmPairs(np.ascontiguousarray(self.rows), *given)
        entries = self.rows.nnz if is_sparse(self.rows) else self.rows.size
        return Packed(native, place, _window(len(place), entries))


class Packed(NamedTuple):
    """Rows as native/pair_rows.hpp packs them, the place of each, and how many of them are drawn from at a time."""

    native: LdmPairs
    place: NDArray[np.int32]
    window: int

    def margins(self, w: Floats) -> Floats:
        """y_i w'x_i in the order of the rows given."""
        return np.asarray(self.first_margins(w, len(self.place))[self.place])

    def first_costs(self, count: int) -> Floats:
        """theta of the first rows as packed."""
        out = np.empty(min(count, len(self.place)))
        self.native.costs(out)
        return out

    def first_margins(self, w: Floats, count: int) -> Floats:
        """Those of the first rows as packed."""
        out = np.empty(count)
        self.native.margins(w, out)
        return out


@dataclass
class PairSgd:
    """Weights, the sum behind their running average and the clock: everything that a stream must carry on."""

    weights: Floats
    sums: Floats
    steps: int = 0
    average_from: int = 0
    eta0: float = 0.0

    @classmethod
    def start(cls, w: Floats, average_from: int) -> PairSgd:
        """A stream that starts at w and averages from a step on."""
        return cls(w.copy(), np.zeros_like(w), average_from=average_from)

    def average(self) -> Floats:
        """The averaged weights; the last ones before averaging starts."""
        if self.steps <= self.average_from:
            return self.weights.copy()
        return np.asarray(self.sums / (self.steps - self.average_from))

    def run(self, data: PairRows, pulls: LossScale, weight: Floats, steps: int, rng: np.random.Generator) -> Packed:
        """So many steps of Algorithm 2, the rows of a pair chosen independently by weight; the rows as packed."""
        packed = data.packed(rng)
        if self.eta0 == 0.0:
            self.eta0 = self._first_step(packed, packed.first_costs(SAMPLE), pulls, rng)
        draw = PairSampler(weight, packed.place, packed.window, rng)
        while steps > 0:
            now = min(steps, STEPS_AT_ONCE, len(weight))
            self._steps(packed, pulls, draw.in_turn(now), draw.at_random(now))
            steps -= now
        return packed

    def _steps(self, packed: Packed, pulls: LossScale, i_of: NDArray[np.int32], j_of: NDArray[np.int32]) -> None:
        clock = self.eta0, self.steps, self.average_from
        packed.native.run(pulls.native(), i_of, j_of, *clock, self.weights, self.sums)
        self.steps += len(i_of)

    def _first_step(self, packed: Packed, theta: Floats, pulls: LossScale, rng: np.random.Generator) -> float:
        """eta0 by halving on a sample, from 1 down until the averaged weights there have got worse twice."""
        count = len(theta)
        i_of, j_of = (np.tile(rng.permutation(count), 2).astype(np.int32) for _ in range(2))

        def outcome(eta: float) -> float:
            trial = PairSgd.start(self.weights, average_from=count)
            trial.eta0 = eta
            with np.errstate(over="ignore", invalid="ignore"):
                trial._steps(packed, pulls, i_of, j_of)
                w = trial.average()
                value = pulls.value(theta, packed.first_margins(w, count), w)
            return value if np.isfinite(value) else np.inf

        eta = min(1.0, 0.5 * pulls.scale)  # keeps 1 - eta decay positive
        best, least, worse = eta, outcome(eta), 0
        while worse < 2 and eta > 1e-12:
            eta *= 0.5
            value = outcome(eta)
            worse = 0 if not np.isfinite(least) else worse + (value >= least)
            if value < least:
                best, least, worse = eta, value, 0
        return best


class PairSampler:
    """The two rows of every pair, as eq. (19) asks: independent of each other, each in proportion to its weight.

    The first goes through the shuffled rows in turn, as a pass of stochastic gradient descent does: memory that is read
    in order costs next to nothing. The second is drawn with replacement, neighbours in time from one window of the
    rows, windows in turn: what is read meanwhile fits into the cache. Both start at a random place of their own, so at
    any step any row comes up with its exact probability.
    """

    def __init__(self, weight: Floats, place: NDArray[np.int32], window: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.count, self.window = len(weight), window
        self.cumulated: Floats | None = None
        if not (weight == weight[0]).all():
            packed = np.empty_like(weight)
            packed[place] = weight
            self.cumulated = np.cumsum(packed)

    def in_turn(self, n: int) -> NDArray[np.int32]:
        """n rows one after the other, round and round; n is at most the number of rows."""
        start = int(self.rng.integers(self.count))
        at = np.arange(start, start + n, dtype=np.int32)
        at[self.count - start :] -= np.int32(self.count)
        return self._by_weight(at)

    def at_random(self, n: int) -> NDArray[np.int32]:
        """n rows drawn from windows."""
        starts = np.arange(0, n, self.window) + self.rng.integers(self.count)
        starts = (starts % self.count).astype(np.int32)
        words = self.rng.integers(2**64 - 1, size=self.window * len(starts) // 4 + 1, dtype=np.uint64, endpoint=True)
        bits = words.astype("<u8", copy=False).view("<u2")[: self.window * len(starts)]
        at = (bits & np.uint16(self.window - 1)).astype(np.int32).reshape(len(starts), self.window)
        at += starts[:, None]
        at[starts > self.count - self.window] %= self.count
        return self._by_weight(at.ravel()[:n])

    def _by_weight(self, at: NDArray[np.int32]) -> NDArray[np.int32]:
        """The rows at places that are uniform over all rows, if every row is as wide as its weight."""
        if self.cumulated is None:
            return at
        place = (at + self.rng.random(len(at))) / self.count * self.cumulated[-1]
        found = np.searchsorted(self.cumulated, place, side="right")
        return np.asarray(np.minimum(found, self.count - 1), dtype=np.int32)


def _window(count: int, entries: int) -> int:
    """Rows of about WINDOW values: a power of two, no more than there are rows and than 16 bits tell apart."""
    wanted = min(count, 1 << 16, max(64, WINDOW * count // max(1, entries)))
    return int(1 << (wanted.bit_length() - 1))
