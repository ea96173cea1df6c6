"""The paper's measures on class numbers equal the public ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evaluate import f_score, g_mean_score
from steelyard.search.objective import _confusion, f_measure, g_mean

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@given(PAIRS)
def test_g_mean_and_f_are_the_public_measures(pairs):
    truths, answers = np.array(pairs).T
    confusion = _confusion(truths, answers, 4)
    assert g_mean(confusion) == pytest.approx(g_mean_score(truths, answers, classes=range(4)), abs=1e-12)
    for k in range(4):
        if (truths == k).any() or (answers == k).any():
            assert f_measure(confusion, k) == pytest.approx(
                f_score(truths, answers, positive=k, classes=range(4)), abs=1e-12
            )
