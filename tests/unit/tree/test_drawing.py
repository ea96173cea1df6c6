"""A tree drawn."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard import C45Classifier
from steelyard.tree.drawing import layout


def test_every_node_and_answer_is_drawn() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = C45Classifier().fit(X, (X[:, 0] > 0) & (X[:, 1] > 0))
    axes = model.plot()
    assert len(axes.texts) == 2 * len(model.tree_) - 1
    assert axes is model.plot(axes)
    pyplot.close("all")


def test_leaves_stand_side_by_side_and_parents_above_them() -> None:
    X = np.array([[0.0], [1.0], [2.0]] * 6)
    tree = C45Classifier(nominal=[0]).fit(X, [0, 1, 2] * 6).tree_
    assert layout(tree) == {0: (1.0, 0.0), 1: (0.0, -1.0), 2: (1.0, -1.0), 3: (2.0, -1.0)}
