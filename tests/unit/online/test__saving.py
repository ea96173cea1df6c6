import json
from pathlib import Path

import numpy as np
import pytest

from steelyard import (
    CSOGD2,
    PA1,
    AdaptiveBalanced,
    AskAtLeast,
    AskFirst,
    AskSymmetric,
    Balanced,
    Budget,
    Costs,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    StateError,
    Step,
    UpdateInput,
    UpdateRule,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]

MODELS = [
    OnlineClassifier(),
    OnlineClassifier(PA1(2.0), costs=Costs.binary(fn=3, fp=1, classes=["no", "yes"])),
    OnlineClassifier(CSOGD2(0.2), query=AskAtLeast(0.1, AskSymmetric(0.3)), budget=20, after_budget="average"),
    OnlineClassifier(costs=Balanced(0.7), fit_intercept=True, threshold=0.2, seed=2**63),
    OnlineClassifier(costs=AdaptiveBalanced(), query=AskFirst(), budget=Budget(30, 0.5)),
    OnlineClassifier(costs={"no": 1, "yes": 4}),
]


@pytest.mark.kernel
@pytest.mark.parametrize("model", MODELS)
def test_a_saved_stream_goes_on_with_the_same_bits(model: OnlineClassifier, tmp_path: Path) -> None:
    model.run(X[:30], Y[:30])
    model.save(tmp_path / "stream.npz")
    resumed = OnlineClassifier.load(tmp_path / "stream.npz")
    through_json = model.state()
    arrays = through_json.pop("arrays")
    through_json = json.loads(json.dumps(through_json, allow_nan=False)) | {"arrays": arrays}
    for other in (resumed, OnlineClassifier.from_state(through_json)):
        assert repr(other.update) == repr(model.update)
        assert repr(other.query) == repr(model.query)
    a, b = resumed.run(X[30:], Y[30:]), OnlineClassifier.from_state(through_json).run(X[30:], Y[30:])
    expected = model.run(X[30:], Y[30:])
    for column, ours, theirs in zip(expected, a, b, strict=True):
        np.testing.assert_array_equal(ours, column)
        np.testing.assert_array_equal(theirs, column)
    assert [p.name for p in tmp_path.iterdir()] == ["stream.npz"]


def test_costs_are_those_that_were_saved(tmp_path: Path) -> None:
    stated = [[0.0, 1.0], [5.0, 0.0]]
    for labels, costs in (
        ([0, 1], {0: 1, 1: 5}),
        ([0, 1], {np.int64(0): np.int64(1), np.int64(1): 5}),
        ([0, 1], {0: {1: 1}, 1: {0: 5}}),
        ([False, True], {False: 1, True: 5}),
        (["other", "use"], {"other": 1, "use": 5}),
        ([0, 1], Costs.binary(fn=5, fp=1, classes=[0, 1], currency="EUR")),
        ([0, 1], Costs.from_matrix(stated, classes=[0, 1], positive=0).with_abstain(0.5, label="ask")),
    ):
        y = np.array(labels)[(X[:, 0] > 0).astype(int)]
        for model in (OnlineClassifier(costs=costs), OnlineCostClassifier(costs=costs)):
            model.fit(X, y).save(tmp_path / "model.steelyard")
            again = type(model).load(tmp_path / "model.steelyard")
            assert again.costs == costs
            assert again.score(X, y) == model.score(X, y)
            assert type(model).load(tmp_path / "model.steelyard", costs=costs).costs is costs


@pytest.mark.kernel
def test_weights_given_with_a_state_outlive_a_failed_call() -> None:
    """Also where its counts say that nothing has been learned yet: only a new stream is known to be zero."""
    state = OnlineClassifier().fit(X, Y).state()
    state["counts"] = [0] * len(state["counts"])
    given = OnlineClassifier.from_state(state)
    before = given.coef_.copy()
    bad = X.copy()
    bad[50, 2] = np.inf
    with pytest.raises(InvalidInputError, match="row 50, column 2"):
        given.partial_fit(bad, Y)
    np.testing.assert_array_equal(given.coef_, before)


def test_rules_of_ones_own_are_given_when_resuming() -> None:
    class Mine(UpdateRule):
        def step(self, inputs: UpdateInput) -> Step:
            return Step(add=0.5 * inputs.y)

    state = OnlineClassifier(Mine()).fit(X, Y).state()
    with pytest.raises(
        StateError, match=r"^state must use rules of this library; got 'Mine'\. Give the rule itself to"
    ):
        OnlineClassifier.from_state(state)
    np.testing.assert_array_equal(
        OnlineClassifier.from_state(state, update=Mine()).coef_[0], state["arrays"]["weights"]
    )


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    model = OnlineClassifier().fit(X, Y)
    good = model.state()
    for wrong in (
        {},
        [],
        good | {"version": 99},
        good | {"counts": [1]},
        good | {"setting": {}},
        good | {"arrays": good["arrays"] | {"weights": np.zeros(3)}},
        {k: v for k, v in good.items() if k != "params"},
    ):
        with pytest.raises(StateError, match="state must"):
            OnlineClassifier.from_state(wrong)  # type: ignore[arg-type]
    path = tmp_path / "x.npz"
    path.write_bytes(b"not a file of ours")
    with pytest.raises(StateError, match=r"x\.npz"):
        OnlineClassifier.load(path)
    np.savez(path, state=np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(StateError):
        OnlineClassifier.load(path)
    with pytest.raises(FileNotFoundError):
        OnlineClassifier.load(tmp_path / "none.npz")
    with pytest.raises(StateError, match="plain data"):
        _with_odd_costs().state()


def _with_odd_costs() -> OnlineClassifier:
    model = OnlineClassifier().fit(X, Y)
    model.costs = object()
    return model
