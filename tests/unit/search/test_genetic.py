"""The operators of the genetic algorithm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import AdaC2M1Classifier, CostSearchCV, GeneticSampler, InvalidInputError
from steelyard.search import genetic

PLAIN = GeneticSampler()

GENES = st.lists(st.integers(0, 255), min_size=2, max_size=6).map(lambda g: np.array(g, dtype=np.int64))


@given(GENES)
def test_bits_and_costs_lead_back_to_the_genes(genes):
    np.testing.assert_array_equal(genetic.genes(genetic.bits(genes, 8), 8), genes)
    np.testing.assert_array_equal(PLAIN.genes_of(PLAIN.costs_of(genes)), genes)
    assert (PLAIN.costs_of(genes) > 0).all()
    assert (PLAIN.costs_of(genes) <= 1).all()


def test_costs_outside_of_the_levels_go_to_the_nearest():
    np.testing.assert_array_equal(PLAIN.genes_of(np.array([0.0, 1e-9, 0.5, 1.0, 7.0])), [0, 0, 127, 255, 255])


def test_the_most_significant_bit_comes_first():
    assert genetic.bits(np.array([128, 1]), 8).astype(int).tolist() == [1] + [0] * 14 + [1]


def test_children_of_equal_parents_differ_by_mutation_alone():
    random = np.random.default_rng(0)
    parents = np.tile([200, 17, 90], (20, 1))
    flips = [
        int((genetic.bits(PLAIN.child(parents, np.ones(20), random), 8) ^ genetic.bits(parents[0], 8)).sum())
        for _ in range(2000)
    ]
    assert np.mean(flips) == pytest.approx(1.0, abs=0.1)  # L bits, each with chance 1/L


def test_tournaments_prefer_the_fit():
    random = np.random.default_rng(0)
    fitness = np.arange(10.0)
    wins = np.bincount([PLAIN.winner(fitness, random) for _ in range(5000)], minlength=10) / 5000
    expected = (2 * np.arange(10) + 1) / 100  # the better of two
    np.testing.assert_allclose(wins, expected, atol=0.02)


def test_crossover_joins_a_head_and_a_tail():
    sampler = GeneticSampler(crossover=1.0)
    random = np.random.default_rng(0)
    parents = np.array([[0, 0], [255, 255]])
    mixed = 0
    for _ in range(300):
        bits = genetic.bits(sampler.child(parents, np.zeros(2), random), 8).astype(int)
        mixed += 0 < bits.sum() < 16 and np.abs(np.diff(bits)).sum() == 1
    assert mixed > 50  # half of the pairs differ, and about a third of the children have no flip


def test_selection_climbs():
    target = np.array([10, 200, 77])
    random = np.random.default_rng(1)
    population = np.array([PLAIN.random_individual(3, random) for _ in range(20)])

    def fitness(rows):
        return -np.abs(rows - target).sum(axis=1).astype(float)

    before = fitness(population).max()
    for _ in range(40):
        elite = population[fitness(population).argmax()]
        children = [PLAIN.child(population, fitness(population), random) for _ in range(19)]
        population = np.array([elite, *children])
    assert fitness(population).max() > max(before, -25)


@given(st.integers(1, 32), st.data())
def test_any_number_of_bits_leads_back_to_the_genes(bits, data):
    sampler = GeneticSampler(bits=bits)
    genes = np.array(data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=4)), dtype=np.int64)
    np.testing.assert_array_equal(genetic.genes(genetic.bits(genes, bits), bits), genes)
    np.testing.assert_array_equal(sampler.genes_of(sampler.costs_of(genes)), genes)


def test_settings_do_what_they_say():
    random = np.random.default_rng(0)
    parents = np.array([[3, 9], [3, 9]])
    still = GeneticSampler(mutation=0.0, crossover=0.0)
    assert still.child(parents, np.zeros(2), random).tolist() == [3, 9]
    assert GeneticSampler(bits=4, mutation=1.0).child(parents, np.zeros(2), random).tolist() == [12, 6]
    fittest = GeneticSampler(tournament=50)
    assert [fittest.winner(np.arange(3.0), random) for _ in range(20)] == [2] * 20


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"population": 1}, "population must"),
        ({"bits": 40}, "bits must"),
        ({"tournament": 0}, "tournament must"),
        ({"crossover": 1.5}, "crossover must"),
        ({"mutation": -0.1}, "mutation must"),
        ({"generations": 0}, "generations must"),
    ],
)
def test_settings_that_make_no_search_are_refused(settings, says):
    X, y = [[0], [1], [2], [3]] * 3, [0, 0, 1, 1] * 3
    with pytest.raises(InvalidInputError, match=says):
        CostSearchCV(sampler=GeneticSampler(**settings), cv=2).fit(X, y)


def test_a_search_takes_the_sampler_and_the_word_alike():
    X, y = np.arange(24.0).reshape(-1, 1), np.arange(24) % 3
    given = {"cv": 2, "n_trials": 12, "random_state": 0}
    model = AdaC2M1Classifier(n_estimators=2)
    word = CostSearchCV(model, sampler="genetic", **given).fit(X, y)
    same = CostSearchCV(model, sampler=GeneticSampler(), **given).fit(X, y)
    np.testing.assert_array_equal(word.best_costs_.class_costs(), same.best_costs_.class_costs())
    few = CostSearchCV(model, sampler=GeneticSampler(population=3, generations=4, bits=3), cv=2, random_state=0).fit(
        X, y
    )
    assert len(few.study_.trials) == 12
    assert {8 * value % 1 for trial in few.study_.trials for value in trial.params.values()} == {0.0}


def test_elites_stay_parents():
    from steelyard.search.samplers import GeneticOptunaSampler

    class Study:
        def get_trials(self, deepcopy, states):
            return [Trial(n, v) for n, v in enumerate([9.0, 8.0, 1.0, 2.0, 3.0, 4.0])]

    class Trial:
        def __init__(self, number, value):
            self.number, self.value, self.params = number, value, {"a": (number + 1) / 256}

    for elite, expected in ((0, [4, 5]), (1, [4, 5, 0]), (2, [4, 5, 0, 1])):
        sampler = GeneticOptunaSampler(GeneticSampler(population=2, elite=elite), ["a"], 0)
        parents, _ = sampler._parents(Study(), 3)
        assert parents.ravel().tolist() == expected
