import numpy as np
import pytest

from steelyard import draw
from steelyard._native import draw as native_draw

FIRST = ("0x1.4e0dba5e9a32fp-1", "0x1.79b3b7692ce60p-1")


@pytest.mark.kernel
@pytest.mark.parametrize("seed", [0, 1, 7, 2**63, 2**64 - 1])
def test_the_kernel_draws_the_same_numbers(seed: int) -> None:
    rounds = [*range(200), 10**9, 2**63, 2**64 - 1]
    assert [draw(seed, t) for t in rounds] == [native_draw(seed, t) for t in rounds]


def test_the_numbers_of_a_seed_never_change() -> None:
    assert draw(0, 0).hex() == FIRST[0]
    assert draw(1, 2).hex() == FIRST[1]


@pytest.mark.kernel
def test_draws_are_uniform_and_do_not_follow_each_other() -> None:
    u = np.array([native_draw(3, t) for t in range(50_000)])
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.histogram(u, bins=20, range=(0, 1))[0]
    assert ((counts - 2500) ** 2 / 2500).sum() < 43.8  # chi-square, 19 degrees, 0.1%
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.015
    other = np.array([native_draw(4, t) for t in range(50_000)])
    assert abs(np.corrcoef(u, other)[0, 1]) < 0.015
