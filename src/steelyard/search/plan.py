"""What is searched and for how long; where the search begins.

Tested in ``tests/unit/search/test_cost_search.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .genetic import GeneticSampler

Floats = NDArray[np.float64]
SAMPLERS = ("genetic", "tpe", "cmaes", "random", "power_grid")
POWERS = np.linspace(0.0, 1.5, 16)  # gamma of the power grid
SEEDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # gamma of the vectors every other search starts from
BATCH = 20  # vectors drawn before the first of them is judged, where the sampler leaves it open


class SearchPlan(NamedTuple):
    """One study."""

    sampler: str | GeneticSampler
    names: list[str]  # of the costs, one per class
    counts: Floats  # examples per class
    seeded: bool
    seed: int
    n_trials: int
    time_limit: float | None


def power_family(counts: Floats, gamma: float) -> Floats:
    """c_k = (n_min / n_k)^gamma."""
    return np.asarray((counts.min() / counts) ** gamma)


def seeds(sampler: str | GeneticSampler, counts: Floats) -> list[Floats]:
    """The vectors a search starts from; for the power grid these are all."""
    family = [power_family(counts, gamma) for gamma in (POWERS if sampler == "power_grid" else SEEDS)]
    return [sampler.costs_of(sampler.genes_of(c)) for c in family] if isinstance(sampler, GeneticSampler) else family


def batch_size(sampler: str | GeneticSampler, n_classes: int) -> int:
    """How many vectors are drawn together; fixed, so that results do not depend on the number of workers."""
    if isinstance(sampler, GeneticSampler):
        return sampler.population
    return {"tpe": 5, "cmaes": 4 + int(3 * np.log(n_classes))}.get(sampler, BATCH)
