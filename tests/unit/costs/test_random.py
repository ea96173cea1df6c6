import numpy as np
import pytest

from steelyard import CostsError, InvalidInputError, random_costs

Y = np.repeat(["a", "b", "c"], [10, 20, 70])


def draws(kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([random_costs(Y, rng, kind).matrix for _ in range(4000)])


def test_plain_costs_are_uniform_with_a_zero_diagonal() -> None:
    cells = draws("plain")
    assert (np.diagonal(cells, axis1=1, axis2=2) == 0).all()
    off = ~np.eye(3, dtype=bool)
    assert cells.max() < 2000
    np.testing.assert_allclose(cells.mean(axis=0)[off], 1000, rtol=0.04)


def test_paper_costs_are_dear_for_a_rare_truth_and_a_frequent_answer() -> None:
    cells = draws("paper")
    counts = np.array([10, 20, 70])
    expected = 1000 * counts / counts[:, None]
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(cells.mean(axis=0)[off], expected[off], rtol=0.04)
    assert (cells[:, 0, 2] <= 14000).all()


def test_seeds_repeat_and_mistakes_are_named() -> None:
    assert (random_costs(Y, 3).matrix == random_costs(Y, 3).matrix).all()
    assert random_costs(Y, 3).classes.tolist() == ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        random_costs(Y, 0, "uniform")
    with pytest.raises(CostsError, match="two or more classes"):
        random_costs(["a"], 0)
