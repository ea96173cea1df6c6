"""The genetic algorithm on cost vectors, as pure functions of the parents and a random generator. Paper 003, sec. 6.

A cost is a gene of some bits, with eight of them the levels 1/256 ... 1; an individual is the string of its K genes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rules import Count, Domain, Rule, parameter, rule
from ..validation.values import check_count, check_number, invalid

__all__ = ["GeneticSampler"]

MOST_BITS = 32
Genes = NDArray[np.int64]  # levels from 0; with eight bits level g is the cost (g + 1) / 256
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """Numbers from 0 to 1."""

    def validate(self, name: str, value: Any) -> object:
        return check_number(name, value, at_least=0, at_most=1)

    def number(self, value: Any) -> float:
        return float(value)

    def text(self) -> str:
        return "float in [0, 1]"


@dataclass(frozen=True)
class OrNone:
    """None, or what another domain takes."""

    domain: Domain

    def validate(self, name: str, value: Any) -> object:
        return None if value is None else self.domain.validate(name, value)

    def number(self, value: Any) -> float:
        return float("nan") if value is None else self.domain.number(value)

    def text(self) -> str:
        return f"{self.domain.text()}, or None"


@rule
class GeneticSampler(Rule):
    """The genetic algorithm that searches class costs, as ``sampler=`` of :class:`CostSearchCV`. Paper 003, sec. 6.

    The paper prints no settings; these are the textbook's: tournaments of two, one-point crossover, bits that flip.

    >>> GeneticSampler(population=4, generations=3).n_trials(100)
    12
    """

    population: int = parameter(20, Count(), "Individuals of a generation, at least 2.")
    bits: int = parameter(8, Count(), "Bits of a cost, 1 to 32: 2^bits levels from 2^-bits to 1.")
    tournament: int = parameter(2, Count(), "Individuals of which the fittest becomes a parent, at least 1.")
    crossover: float = parameter(0.7, Share(), "Chance that a child has two parents, cut at one point.")
    mutation: float | None = parameter(None, OrNone(Share()), "Chance of a bit to flip; None: one over all bits.")
    elite: int = parameter(1, Count(), "Fittest individuals that are never lost as parents.")
    generations: int | None = parameter(
        None, OrNone(Count()), "Generations, at least 1; None: as many as ``n_trials`` vectors make."
    )

    def validate(self) -> None:
        """Raise for settings that make no search."""
        super().validate()
        check_count("population", self.population, at_least=2)
        check_count("tournament", self.tournament, at_least=1)
        if not 1 <= check_count("bits", self.bits) <= MOST_BITS:
            raise invalid("bits", f"be a whole number in 1..{MOST_BITS}", self.bits)
        if self.generations is not None:
            check_count("generations", self.generations)

    def n_trials(self, otherwise: int) -> int:
        """Vectors to judge: those of all generations where their number is set.

        Parameters
        ----------
        otherwise : int
            What is returned where ``generations`` is None.

        Returns
        -------
        int
            Number of cost vectors.
        """
        return otherwise if self.generations is None else self.population * self.generations

    @property
    def levels(self) -> int:
        """Values a cost may have."""
        return int(1 << self.bits)

    def costs_of(self, genes: Genes) -> Floats:
        """The costs an individual stands for, in (0, 1].

        Parameters
        ----------
        genes : ndarray of shape (K,)
            Levels.

        Returns
        -------
        ndarray of shape (K,)
            Costs.
        """
        return np.asarray((genes + 1) / self.levels)

    def genes_of(self, costs: Floats) -> Genes:
        """The individual nearest to these costs.

        Parameters
        ----------
        costs : ndarray
            Costs in [0, 1].

        Returns
        -------
        ndarray
            Levels.
        """
        found = np.clip(np.rint(np.asarray(costs) * self.levels) - 1, 0, self.levels - 1)
        return np.asarray(found, dtype=np.int64)

    def random_individual(self, n_classes: int, random: np.random.Generator) -> Genes:
        """An individual of the first generation.

        Parameters
        ----------
        n_classes : int
            Genes.
        random : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        ndarray of shape (K,)
            Levels.
        """
        return random.integers(self.levels, size=n_classes)

    def child(self, parents: Genes, fitness: Floats, random: np.random.Generator) -> Genes:
        """One individual of the next generation.

        Parameters
        ----------
        parents : ndarray of shape (p, K)
            Levels of the parents, the elite among them.
        fitness : ndarray of shape (p,)
            What each is worth; the larger, the better.
        random : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        ndarray of shape (K,)
            Levels.
        """
        mother, father = (bits(parents[self.winner(fitness, random)], self.bits) for _ in range(2))
        length = len(mother)
        if random.random() < self.crossover and length > 1:
            cut = int(random.integers(1, length))
            mother = np.concatenate([mother[:cut], father[cut:]])
        flips = random.random(length) < (1 / length if self.mutation is None else self.mutation)
        return genes(mother ^ flips, self.bits)

    def winner(self, fitness: Floats, random: np.random.Generator) -> int:
        """The parent that wins a tournament.

        Parameters
        ----------
        fitness : ndarray of shape (p,)
            What each parent is worth.
        random : numpy.random.Generator
            Source of random numbers.

        Returns
        -------
        int
            Position of the winner.
        """
        entrants = random.integers(len(fitness), size=self.tournament)
        return int(entrants[np.argmax(fitness[entrants])])


def bits(individual: Genes, per_gene: int) -> NDArray[np.bool_]:
    """The bit string of an individual, most significant bit of the first gene first."""
    shifts = np.arange(per_gene - 1, -1, -1)
    return np.asarray(((individual[:, None] >> shifts) & 1).astype(bool).ravel())


def genes(string: NDArray[np.bool_], per_gene: int) -> Genes:
    """The individual of a bit string."""
    values = np.int64(1) << np.arange(per_gene - 1, -1, -1, dtype=np.int64)
    return np.asarray(string.reshape(-1, per_gene) @ values, dtype=np.int64)
