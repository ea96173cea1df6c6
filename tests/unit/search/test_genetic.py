"""The operators of the genetic algorithm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.search import genetic

GENES = st.lists(st.integers(0, 255), min_size=2, max_size=6).map(lambda g: np.array(g, dtype=np.int64))


@given(GENES)
def test_bits_and_costs_lead_back_to_the_genes(genes):
    np.testing.assert_array_equal(genetic.genes(genetic.bits(genes)), genes)
    np.testing.assert_array_equal(genetic.genes_of(genetic.costs_of(genes)), genes)
    assert (genetic.costs_of(genes) > 0).all()
    assert (genetic.costs_of(genes) <= 1).all()


def test_costs_outside_of_the_levels_go_to_the_nearest():
    np.testing.assert_array_equal(genetic.genes_of(np.array([0.0, 1e-9, 0.5, 1.0, 7.0])), [0, 0, 127, 255, 255])


def test_the_most_significant_bit_comes_first():
    assert genetic.bits(np.array([128, 1])).astype(int).tolist() == [1] + [0] * 14 + [1]


def test_children_of_equal_parents_differ_by_mutation_alone():
    random = np.random.default_rng(0)
    parents = np.tile([200, 17, 90], (20, 1))
    flips = [
        int((genetic.bits(genetic.child(parents, np.ones(20), random)) ^ genetic.bits(parents[0])).sum())
        for _ in range(2000)
    ]
    assert np.mean(flips) == pytest.approx(1.0, abs=0.1)  # L bits, each with chance 1/L


def test_tournaments_prefer_the_fit():
    random = np.random.default_rng(0)
    fitness = np.arange(10.0)
    wins = np.bincount([genetic._winner(fitness, random) for _ in range(5000)], minlength=10) / 5000
    expected = (2 * np.arange(10) + 1) / 100  # the better of two
    np.testing.assert_allclose(wins, expected, atol=0.02)


def test_crossover_joins_a_head_and_a_tail(monkeypatch):
    monkeypatch.setattr(genetic, "CROSSOVER", 1.0)
    random = np.random.default_rng(0)
    parents = np.array([[0, 0], [255, 255]])
    mixed = 0
    for _ in range(300):
        bits = genetic.bits(genetic.child(parents, np.zeros(2), random)).astype(int)
        mixed += 0 < bits.sum() < 16 and np.abs(np.diff(bits)).sum() == 1
    assert mixed > 50  # half of the pairs differ, and about a third of the children have no flip


def test_selection_climbs():
    target = np.array([10, 200, 77])
    random = np.random.default_rng(1)
    population = np.array([genetic.random_individual(3, random) for _ in range(20)])

    def fitness(rows):
        return -np.abs(rows - target).sum(axis=1).astype(float)

    before = fitness(population).max()
    for _ in range(40):
        elite = population[fitness(population).argmax()]
        children = [genetic.child(population, fitness(population), random) for _ in range(19)]
        population = np.array([elite, *children])
    assert fitness(population).max() > max(before, -25)
