"""What can be read off a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from steelyard import C45Classifier, StateError
from steelyard.tree.model import first_largest


def test_ties_go_to_the_first_class_even_after_rounding() -> None:
    shares = np.array([[0.5, 0.5], [0.3 - 1e-16, 0.3], [0.2, 0.8], [0.1 + 0.2, 0.3]])
    assert first_largest(shares).tolist() == [0, 0, 1, 0]


def test_children_hold_the_weight_of_their_parent() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    tree = C45Classifier(unpruned=True).fit(X, X[:, 0] + X[:, 1] > 0, rng.random(300)).tree_
    for node, depth in tree.walk():
        assert depth < len(tree)
        if not tree.is_leaf(node):
            below = tree.children(node)
            np.testing.assert_allclose(tree.weight[below.start : below.stop].sum(axis=0), tree.weight[node])


def test_a_walk_over_what_is_no_tree_ends() -> None:
    tree = C45Classifier(unpruned=True).fit(np.arange(20.0)[:, None], np.arange(20) % 4 > 1).tree_
    for first, count in ((0, 2), (1, 2**31 - 1), (2**31 - 1, 2)):
        broken = replace(tree, first_child=np.full_like(tree.first_child, first))
        broken = replace(broken, n_children=np.full_like(tree.n_children, count))
        with pytest.raises(StateError, match="every node once"):
            list(broken.walk())
