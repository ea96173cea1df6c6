"""What a data set says about itself."""

import numpy as np

from steelyard import Dataset


def test_it_unpacks_and_counts() -> None:
    rows = Dataset(np.eye(3), np.array(["b", "a", "b"]), ("p", "q", "r"))
    X, y = rows
    assert X.shape == (3, 3)
    assert y.tolist() == ["b", "a", "b"]
    assert rows.counts == {"a": 1, "b": 2}
    assert rows.classes.tolist() == ["a", "b"]


def test_missing_labels_are_no_class() -> None:
    rows = Dataset(np.eye(2), np.array([None, 1], dtype=object))
    assert rows.counts == {1: 1}
    assert Dataset(np.eye(2), None).counts == {}


def test_it_shows_itself_without_trusting_its_labels() -> None:
    rows = Dataset(np.eye(2), np.array(["<b>", "x"]), name="<i>", about="a & b")
    assert repr(rows).startswith("Dataset(<i>: 2 rows, 2 features (0 nominal) as ndarray; classes <b>: 1, x: 1")
    page = rows._repr_html_()
    assert "<b>&lt;i&gt;</b>" in page
    assert "<th>&lt;b&gt;</th>" in page
    assert "a &amp; b" in page
