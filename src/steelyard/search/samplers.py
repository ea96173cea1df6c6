"""How the next cost vector is chosen: Optuna samplers and the range they draw from. Needs Optuna.

Tested in ``tests/unit/search/test_genetic.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp, log
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from . import genetic
from .genetic import GeneticSampler
from .plan import POWERS, SearchPlan, power_family, seeds

Floats = NDArray[np.float64]
LEAST = 1 / 256  # smallest cost that is searched, unless counts differ by more


class GeneticOptunaSampler(optuna.samplers.BaseSampler):  # type: ignore[misc]
    """The genetic algorithm of paper 003 as an Optuna sampler.

    Trial n belongs to generation n // population. Its parents are the last judged trials of earlier generations, as
    many as a population, and the elite so far, which therefore is never lost and never judged again. Each draw depends
    on the seed, the number of the trial and these parents only: a search that is resumed goes on as if it had not been
    stopped.
    """

    def __init__(self, algorithm: GeneticSampler, names: list[str], seed: int) -> None:
        self.algorithm = algorithm
        self.names = names
        self.seed = seed
        self._found: tuple[tuple[int, int], tuple[genetic.Genes, Floats]] | None = None

    def infer_relative_search_space(self, study: Any, trial: FrozenTrial) -> dict[str, FloatDistribution]:
        """All costs are drawn together."""
        return {name: level_distribution(self.algorithm) for name in self.names}

    def sample_relative(self, study: Any, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, float]:
        """The costs of one individual."""
        random = np.random.default_rng([self.seed, trial.number])
        parents, fitness = self._parents(study, trial.number // self.algorithm.population)
        if len(parents):
            individual = self.algorithm.child(parents, fitness, random)
        else:
            individual = self.algorithm.random_individual(len(self.names), random)
        return dict(zip(self.names, self.algorithm.costs_of(individual).tolist(), strict=True))

    def _parents(self, study: Any, generation: int) -> tuple[genetic.Genes, Floats]:
        """Parents of a generation and their fitness; found once unless another process tells something new."""
        judged = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if self._found is None or self._found[0] != (generation, len(judged)):
            before = [t for t in judged if t.number < generation * self.algorithm.population]
            pool = before[-self.algorithm.population :]
            chosen = {t.number for t in pool}
            fittest = sorted(before, key=lambda t: (-t.value, t.number))[: self.algorithm.elite]
            pool += [t for t in fittest if t.number not in chosen]
            costs = np.array([[t.params[name] for name in self.names] for t in pool])
            found = self.algorithm.genes_of(costs), np.array([t.value for t in pool])
            self._found = (generation, len(judged)), found
        return self._found[1]

    def sample_independent(self, study: Any, trial: FrozenTrial, param_name: str, param_distribution: Any) -> Any:
        """Never asked: all costs are drawn together."""
        raise NotImplementedError(param_name)


def level_distribution(algorithm: GeneticSampler) -> FloatDistribution:
    """The levels of a gene."""
    return FloatDistribution(1 / algorithm.levels, 1.0, step=1 / algorithm.levels)


def distributions(plan: SearchPlan) -> dict[str, FloatDistribution]:
    """The range of every cost. Ratios matter, so all but the genes are logarithmic, wide enough for the power grid."""
    if isinstance(plan.sampler, GeneticSampler):
        return {name: level_distribution(plan.sampler) for name in plan.names}
    floor = min(LEAST, float(power_family(plan.counts, POWERS[-1]).min()))
    return {name: FloatDistribution(floor, 1.0, log=True) for name in plan.names}


class DrawByNumber(optuna.samplers.BaseSampler):  # type: ignore[misc]
    """Random costs that depend on the seed and the number of the trial only: processes that share a study draw together
    what one would have drawn alone."""

    def __init__(self, plan: SearchPlan) -> None:
        self.seed, self.space = plan.seed, distributions(plan)

    def infer_relative_search_space(self, study: Any, trial: FrozenTrial) -> dict[str, Any]:
        """All costs are drawn together."""
        return dict(self.space)

    def sample_relative(self, study: Any, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, float]:
        """Uniform in the logarithm, by functions that give the same bits whatever vectors NumPy uses."""
        random = np.random.default_rng([self.seed, trial.number])
        return {n: exp(random.uniform(log(s.low), log(s.high))) for n, s in search_space.items()}

    def sample_independent(self, study: Any, trial: FrozenTrial, param_name: str, param_distribution: Any) -> Any:
        """Never asked: all costs are drawn together."""
        raise NotImplementedError(param_name)


class WarmStartSampler(optuna.samplers.BaseSampler):  # type: ignore[misc]
    """Gives the first trials of a study the vectors it starts from, and leaves the others to a sampler of this process.

    Both hang on numbers of trials, which no two processes share: processes that open a study at the same moment repeat
    neither its first vectors nor each other's draws. ``make(n)`` is called with the number of the first trial drawn.
    Without ``make`` the first vectors are all there are: a trial too many repeats one.
    """

    def __init__(
        self, first: list[dict[str, float]], space: dict[str, FloatDistribution], make: Callable[[int], Any] | None
    ) -> None:
        self.first = first
        self.space = space
        self._make = make
        self._made: Any = None

    def _drawn(self, trial: FrozenTrial) -> Any:
        """The sampler that draws this trial; None for one of the first vectors."""
        if self._make is None or trial.number < len(self.first):
            return None
        if self._made is None:
            self._made = self._make(trial.number)
        return self._made

    def infer_relative_search_space(self, study: Any, trial: FrozenTrial) -> dict[str, Any]:
        """The costs that are drawn together."""
        drawn = self._drawn(trial)
        return self.space if drawn is None else dict(drawn.infer_relative_search_space(study, trial))

    def sample_relative(self, study: Any, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, Any]:
        """The costs of one trial."""
        drawn = self._drawn(trial)
        if drawn is None:
            return dict(self.first[trial.number % len(self.first)])
        return dict(drawn.sample_relative(study, trial, search_space))

    def sample_independent(self, study: Any, trial: FrozenTrial, param_name: str, param_distribution: Any) -> Any:
        """The costs that are drawn one by one."""
        return self._drawn(trial).sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Any, trial: FrozenTrial) -> None:
        """Passed on."""
        if (drawn := self._drawn(trial)) is not None:
            drawn.before_trial(study, trial)

    def after_trial(self, study: Any, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        """Passed on."""
        if (drawn := self._drawn(trial)) is not None:
            drawn.after_trial(study, trial, state, values)


def make_sampler(plan: SearchPlan) -> Any:
    """The Optuna sampler of a plan."""
    first = seeds(plan.sampler, plan.counts) if plan.seeded or plan.sampler == "power_grid" else []
    return WarmStartSampler(
        [dict(zip(plan.names, costs.tolist(), strict=True)) for costs in first],
        distributions(plan),
        None if plan.sampler == "power_grid" else partial(_drawing_sampler, plan),
    )


def _drawing_sampler(plan: SearchPlan, n_before: int) -> Any:
    if isinstance(plan.sampler, GeneticSampler):
        return GeneticOptunaSampler(plan.sampler, plan.names, plan.seed)
    later = (plan.seed + n_before) % 2**32  # the same seed again would draw the same vectors again
    if plan.sampler == "tpe":
        return optuna.samplers.TPESampler(seed=later)
    if plan.sampler == "cmaes":
        return optuna.samplers.CmaEsSampler(seed=later, warn_independent_sampling=False)
    return DrawByNumber(plan)
