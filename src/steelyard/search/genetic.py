"""The genetic algorithm on cost vectors, as pure functions of the parents and a random generator. Paper 003, sec. 6.

A cost is a gene of eight bits, the levels 1/256 ... 1; an individual is the string of its K genes. The paper prints no
settings; these are the textbook's: tournaments of two, one-point crossover at 0.7, a bit flips with chance 1/L.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BITS = 8
LEVELS = 2**BITS
POPULATION = 20
TOURNAMENT = 2
CROSSOVER = 0.7

Genes = NDArray[np.int64]  # levels 0 .. 255; level g is the cost (g + 1) / 256
Floats = NDArray[np.float64]


def costs_of(genes: Genes) -> Floats:
    """The costs an individual stands for, in (0, 1]."""
    return np.asarray((genes + 1) / LEVELS)


def genes_of(costs: Floats) -> Genes:
    """The individual nearest to these costs."""
    levels = np.clip(np.rint(np.asarray(costs) * LEVELS) - 1, 0, LEVELS - 1)
    return np.asarray(levels, dtype=np.int64)


def random_individual(n_classes: int, random: np.random.Generator) -> Genes:
    """An individual of the first generation."""
    return random.integers(LEVELS, size=n_classes)


def child(parents: Genes, fitness: Floats, random: np.random.Generator) -> Genes:
    """One individual of the next generation; ``parents`` (p, K) hold the elite, ``fitness`` (p,) is maximised."""
    mother, father = (bits(parents[_winner(fitness, random)]) for _ in range(2))
    length = len(mother)
    if random.random() < CROSSOVER:
        cut = int(random.integers(1, length))
        mother = np.concatenate([mother[:cut], father[cut:]])
    flips = random.random(length) < 1 / length
    return genes(mother ^ flips)


def _winner(fitness: Floats, random: np.random.Generator) -> int:
    entrants = random.integers(len(fitness), size=TOURNAMENT)
    return int(entrants[np.argmax(fitness[entrants])])


def bits(individual: Genes) -> NDArray[np.bool_]:
    """The bit string of an individual, most significant bit of the first gene first."""
    return np.unpackbits(individual.astype(np.uint8)).astype(bool)


def genes(string: NDArray[np.bool_]) -> Genes:
    """The individual of a bit string."""
    return np.packbits(string).astype(np.int64)
