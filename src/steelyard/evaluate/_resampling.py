"""Resampling examples of which only sums matter, and the limits read off the resampled values.

Tested in ``tests/unit/evaluate/test_intervals.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ._predictions import Codes, Floats

_CELLS = 1 << 17  # resampled weights held at a time: few enough for the cache


@dataclass(frozen=True, eq=False)
class Stratum:
    """Distinct rows of one stratum, and how many examples have each."""

    rows: Floats
    size: Floats

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.size.sum())

    def total(self) -> Floats:
        """Sum over its examples."""
        return np.asarray(self.size @ self.rows)

    def resampled(self, many: int, rng: np.random.Generator) -> Floats:
        """Sums over ``many`` resamples: only how often each row was drawn is needed."""
        if 8 * len(self.size) < self.n or self.n == 1:
            return np.asarray(rng.multinomial(self.n, self.size / self.n, size=many) @ self.rows)
        # many distinct rows: picking examples is quicker than a multinomial
        owner = np.repeat(np.arange(len(self.size)), self.size.astype(np.intp))
        picked = owner[rng.integers(0, self.n, (many, self.n), dtype=np.uint32)]
        picked += len(self.size) * np.arange(many)[:, None]
        drawn = np.bincount(picked.ravel(), minlength=many * len(self.size)).reshape(many, -1)
        return np.asarray(drawn.astype(float) @ self.rows)


@dataclass(frozen=True, eq=False)
class ResampleStatistics:
    """Rows whose sums a measure is made of, by stratum, and the measure as a function of the sums."""

    strata: list[Stratum]
    value_at: Callable[[Floats], Floats]

    @classmethod
    def of(cls, rows: Floats, size: Floats, stratum: Codes, value_at: Callable[[Floats], Floats]) -> ResampleStatistics:
        """Group equal rows: answers that cost nothing are all alike."""
        distinct, which = np.unique(np.column_stack([stratum, rows]), axis=0, return_inverse=True)
        sizes = np.asarray(np.bincount(which.ravel(), weights=size), dtype=np.float64)
        begins = np.flatnonzero(np.diff(distinct[:, 0], prepend=-1.0))
        strata = [
            Stratum(r[:, 1:], s)
            for r, s in zip(np.split(distinct, begins[1:]), np.split(sizes, begins[1:]), strict=True)
        ]
        return cls(strata, value_at)

    def value(self) -> float:
        """The measure on all examples."""
        return float(self.value_at(self.total()))

    def total(self) -> Floats:
        """Sums over all examples."""
        return np.asarray(sum(stratum.total() for stratum in self.strata))

    def resampled(self, count: int, rng: np.random.Generator) -> Floats:
        """The measure on ``count`` resamples of every stratum."""
        widest = max(max(stratum.n, *stratum.rows.shape) for stratum in self.strata)
        step = max(1, _CELLS // widest)
        chunks = []
        for start in range(0, count, step):
            many = min(step, count - start)
            sums = sum(stratum.resampled(many, rng) for stratum in self.strata)
            chunks.append(self.value_at(np.asarray(sums)))
        return np.concatenate(chunks)

    def jackknife(self) -> list[tuple[Floats, Floats]]:
        """The measure without one example, and how many examples give that value, stratum by stratum.

        The rest of the stratum is scaled up to the stratum's size: its share of the data is fixed by the design.
        """
        total = self.total()
        return [
            (self.value_at(total - s.total() + (s.total() - s.rows) * s.n / (s.n - 1)), s.size)
            for s in self.strata
            if s.n > 1
        ]


def magnitude(*parts: Floats) -> float:
    """The power of two below the largest number: cubes of 1e300 would overflow, and dividing by it rounds nothing."""
    largest = max((float(np.abs(part).max()) for part in parts), default=0.0)
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def spread(values: Floats) -> float:
    """Standard deviation, also of numbers whose squares overflow; infinite with an infinite one (savings may be)."""
    if not np.isfinite(values).all():
        return math.inf
    scale = magnitude(values)
    return float((values / scale).std(ddof=1)) * scale


def bca_limits(
    value: float, resampled: Floats, jackknife: list[tuple[Floats, Floats]], confidence: float
) -> tuple[float, float]:
    """Limits at the bias-corrected and accelerated quantiles of the resampled values (Efron 1987).

    With several strata the acceleration is (1/6) sum_s n_s^-3 sum_i l_si^3 / (sum_s n_s^-2 sum_i l_si^2)^(3/2), where
    l_si is the influence of example i on the measure within its stratum s.
    """
    below = (resampled < value).mean() + 0.5 * (resampled == value).mean()  # ties count half: rates are lumpy
    edge = 0.5 / len(resampled)
    bias = ndtri(np.clip(below, edge, 1 - edge))
    cubes = squares = 0.0
    finite = [values for values, _ in jackknife if np.isfinite(values).all()]
    scale = magnitude(*finite)
    for values, size in jackknife:
        n = size.sum()
        if np.isfinite(values).all():
            relative = values / scale
            influence = (n - 1) * (size @ relative / n - relative)
            cubes += size @ influence**3 / n**3
            squares += size @ influence**2 / n**2
    acceleration = cubes / (6 * squares**1.5) if squares > 0 else 0.0
    tail = (1 - confidence) / 2
    shifted = bias + ndtri([tail, 1 - tail])
    places = ndtr(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-9))
    low, high = np.quantile(resampled, places, method="inverted_cdf")  # no interpolation: values may be infinite
    return float(low), float(high)
