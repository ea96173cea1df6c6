"""C45Classifier: weights, parameters, bad input and the prepared path."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from steelyard import C45Classifier, InvalidInputError

pytestmark = pytest.mark.kernel


def blobs(n: int = 120, d: int = 4, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1)
    return X, ((X[:, 0] > 0).astype(int) + (X[:, 1] + 0.3 * rng.normal(size=n) > 0.5)) % k


def arrays(model: C45Classifier) -> list[list[Any]]:
    tree = model.tree_
    return [a.tolist() for a in (tree.test, tree.column, tree.threshold, tree.first_child, tree.branch)]


@pytest.mark.parametrize(
    "options", [{}, {"unpruned": True}, {"nominal": [0, 1], "binary_nominal": True}, {"nominal": [2]}]
)
def test_a_weight_counts_as_copies_and_weight_zero_as_absence(options: dict[str, Any]) -> None:
    X, y = blobs()
    X[::9, 1] = np.nan
    copies = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = C45Classifier(**options).fit(X, y, copies.astype(float))
    repeated = C45Classifier(**options).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert arrays(weighted) == arrays(repeated)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def test_prepared_data_give_the_same_tree_as_fit() -> None:
    X, y = blobs()
    weight = np.random.default_rng(2).exponential(size=len(y))
    prepared = C45Classifier().prepare(X, y)
    assert arrays(C45Classifier().fit_prepared(prepared, weight)) == arrays(C45Classifier().fit(X, y, weight))


@pytest.mark.parametrize("holes", [False, True])
def test_training_labels_of_the_kernel_are_the_predictions(holes: bool) -> None:
    X, y = blobs()
    if holes:
        X[::5, 0] = np.nan
    weight = np.random.default_rng(3).exponential(size=len(y))
    weight[::4] = 0
    model = C45Classifier()
    prepared = model.prepare(X, y)
    _, labels = prepared.table.grow(weight, model.native_options())
    assert (prepared.classes[labels] == model.fit(X, y, weight).predict(X)).all()


def test_threads_share_one_table() -> None:
    X, y = blobs(400)
    prepared = C45Classifier().prepare(X, y)
    weights = [np.random.default_rng(k).exponential(size=len(y)) for k in range(8)]
    alone = [arrays(C45Classifier().fit_prepared(prepared, w)) for w in weights]
    together: list[Any] = [None] * 8

    def work(k: int) -> None:
        together[k] = arrays(C45Classifier().fit_prepared(prepared, weights[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def test_a_missing_value_follows_all_branches_and_an_unknown_category_stays() -> None:
    X = np.array([[0.0]] * 6 + [[1.0]] * 3 + [[2.0]] * 3)
    y = np.array([0] * 6 + [1] * 3 + [1] * 3)
    model = C45Classifier(nominal=[0], unpruned=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[np.nan], [7.0], [1.0]]), [[0.5, 0.5], [0.5, 0.5], [0, 1]])
    binary = C45Classifier(nominal=[0], unpruned=True, binary_nominal=True).fit(X, y)
    np.testing.assert_allclose(binary.predict_proba([[np.nan], [7.0], [0.0]]), [[0.5, 0.5], [0, 1], [1, 0]])


def test_parameters_do_what_they_say() -> None:
    X, y = blobs(300)
    leaves = {
        name: C45Classifier(**options).fit(X, y).get_n_leaves()
        for name, options in {
            "default": {},
            "unpruned": {"unpruned": True},
            "full": {"unpruned": True, "collapse": False, "min_obj": 1},
            "harsh": {"confidence": 0.01},
            "large": {"min_obj": 40},
        }.items()
    }
    assert leaves["full"] > leaves["unpruned"] > leaves["default"] > leaves["large"]
    assert leaves["harsh"] < leaves["unpruned"]
    stump = C45Classifier(max_depth=1).fit(X, y)
    assert stump.get_depth() == 1
    assert C45Classifier(max_depth=0).fit(X, y).get_n_leaves() == 1


def test_importances_name_the_columns_that_matter() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = C45Classifier().fit(X, X[:, 1] > 0)
    np.testing.assert_allclose(model.feature_importances_, [0, 1, 0])
    assert C45Classifier().fit(X, np.zeros(200)).feature_importances_.tolist() == [0, 0, 0]


def test_units_do_not_matter() -> None:
    X, y = blobs()
    assert arrays(C45Classifier().fit(X, y))[1] == arrays(C45Classifier().fit(X * 2.0**-40, y))[1]


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((9, 2)),
        np.full((9, 2), np.nan),
        np.column_stack([np.full(9, np.nan), np.arange(9.0)]),
        np.array([[1e308], [-1e308], [1e300]] * 3),
        np.array([[5e-324], [0.0], [1e-310]] * 3),
    ],
    ids=["constant", "missing", "one column missing", "huge", "tiny"],
)
@pytest.mark.parametrize("nominal", [None, [0]])
def test_odd_columns_give_a_tree(X: np.ndarray, nominal: list[int] | None) -> None:
    y = np.array([0, 0, 1] * 3)
    share = C45Classifier(nominal=nominal, min_obj=1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(share.sum(axis=1), 1)


def test_a_class_with_one_sample_keeps_its_place() -> None:
    X, y = blobs()
    y = np.where(np.arange(len(y)) == 5, 9, y)
    model = C45Classifier(min_obj=1, unpruned=True, collapse=False).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 9]
    assert model.predict_proba(X).shape == (len(y), 4)


@pytest.mark.parametrize("binary", [False, True])
def test_fifty_thousand_categories(binary: bool) -> None:
    n = 50_000
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(n), rng.integers(0, 3, n), rng.normal(size=n)]).astype(float)
    y = (X[:, 1] == 1).astype(int)
    model = C45Classifier(nominal=[0, 1], binary_nominal=binary).fit(X, y)
    assert (model.predict(X) == y).all()
    alone = C45Classifier(nominal=[0], min_obj=1, unpruned=True, binary_nominal=binary).fit(X[:2000, :1], y[:2000])
    assert len(alone.tree_) >= 1


def test_depth_is_no_danger() -> None:
    n = 900  # every row outweighs all that follow, so each cut takes one row off
    X = np.arange(n, dtype=float)[:, None]
    y = np.arange(n) % 2
    model = C45Classifier(unpruned=True).fit(X, y, 2.0 ** np.arange(n, 0, -1))
    assert model.get_depth() > 800
    assert (model.predict(X)[:800] == y[:800]).all()
    assert len(model.export_rules()) == model.get_n_leaves()


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e290])
def test_weights_of_any_size_give_a_tree(scale: float) -> None:
    X, y = blobs()
    model = C45Classifier().fit(X, y, np.full(len(y), scale))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_weights_far_apart_give_a_tree() -> None:
    X, y = blobs()
    X[::7, 2] = np.nan
    weight = 10.0 ** np.linspace(-188, 3, len(y))
    np.testing.assert_allclose(C45Classifier().fit(X, y, weight).predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_obj": 0}, "min_obj must be a finite number > 0"),
        ({"confidence": 0.6}, "confidence must be a finite number"),
        ({"unpruned": 1}, "unpruned must be True or False"),
        ({"max_depth": -1}, "max_depth must be a whole number"),
        ({"nominal": [4]}, "nominal must name columns of X"),
        ({"nominal": ["a"]}, "nominal must name columns of X"),
        ({"nominal": "a"}, "nominal must be None or a list"),
        ({"nominal": 3}, "nominal must be None or a list"),
    ],
)
def test_wrong_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        C45Classifier(**options).fit(*blobs())


def test_wrong_data_are_refused_and_leave_the_model_as_it_was() -> None:
    X, y = blobs()
    model = C45Classifier().fit(X, y)
    before = model.predict(X)
    for wrong in (
        lambda: model.fit(np.where(X[0, 0] == X, np.inf, X), y),
        lambda: model.fit(X, y[:-1]),
        lambda: model.fit(X, y, np.zeros(len(y))),
        lambda: model.fit(X, y, np.full(len(y), 1e305)),
        lambda: model.fit(X, y, -np.ones(len(y))),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
    assert (model.predict(X) == before).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.asfortranarray(X),
        lambda X: X.astype(np.float32).astype(">f4"),
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X.tolist(),
    ],
    ids=["fortran", "big-endian float32", "strided", "list"],
)
def test_any_layout_is_read_and_none_is_written(change: Any) -> None:
    X, y = blobs()
    X = np.round(X * 4) / 4  # exact in float32
    given = change(X)
    if isinstance(given, np.ndarray):
        given.flags.writeable = False
    assert arrays(C45Classifier().fit(given, y)) == arrays(C45Classifier().fit(X, y))


def test_survives_pickle_and_clone() -> None:
    X, y = blobs()
    model = C45Classifier(nominal=[0], min_obj=3).fit(X, y)
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    assert clone(model).get_params() == model.get_params()
