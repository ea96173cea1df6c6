"""A live stream: its counts, other rules on the way, and learning afresh."""

from typing import Any

import numpy as np
import pytest

from steelyard import (
    AROW,
    CSOGD1,
    CSOGD2,
    ROMMA,
    AdaptiveBalanced,
    AskAll,
    AskAsymmetric,
    AskRandom,
    Costs,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    StateError,
    UpdateRule,
)
from steelyard.online import NUMERICS
from steelyard.online.updates import Step, UpdateInput

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 6))
Y = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0).astype(int)
K = np.where(Y == 1, 2, RNG.integers(0, 2, 120))


class Slow(UpdateRule):
    def step(self, inputs: UpdateInput) -> Step:
        return Step(add=0.1 * inputs.cost * inputs.y if inputs.hinge() > 0 else 0.0)


def makers() -> list[tuple[Any, Any]]:
    asking: Any = {"query": AskAsymmetric(1.0, 1.0), "budget": 40, "seed": 1}
    costs = Costs.binary(fn=5, fp=1)
    return [
        (OnlineClassifier(AROW(), costs=costs, **asking), Y),
        (OnlineClassifier(CSOGD2(0.3), after_budget="average", fit_intercept=True, **asking), Y),
        (OnlineClassifier(ROMMA(), after_budget="average", **asking), Y),
        (OnlineClassifier(CSOGD2(), costs=AdaptiveBalanced(), **asking), Y),
        (OnlineClassifier(Slow(), **asking), Y),
        (OnlineCostClassifier(CSOGD1(), after_budget="average", fit_intercept=True, **asking), K),
        (OnlineCostClassifier(CSOGD1(), costs=AdaptiveBalanced(), **asking), K),
    ]


def live(model: Any, y: Any, delay: int = 7) -> tuple[Any, list[tuple[int, int]]]:
    """A stream whose labels come some rounds late; the examples it learned, with the round of each."""
    model.start(X.shape[1], np.unique(y))
    waiting: list[int] = []
    learned: list[tuple[int, int]] = []
    for i in range(len(X)):
        if model.decide(X[i]).query:
            waiting.append(i)
        while waiting and i - waiting[0] >= delay:
            model.learn(X[waiting[0]], y[waiting[0]])
            learned.append((waiting.pop(0), model.n_rounds_))
    return model, learned


def same(a: Any, b: Any) -> bool:
    one, two = a.state(), b.state()
    arrays = one.pop("arrays"), two.pop("arrays")
    return one == two and all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])


@pytest.mark.parametrize("which", range(7))
def test_relearned_from_the_same_examples_is_the_same_stream(which: int) -> None:
    model, y = makers()[which]
    model, learned = live(model, y)
    before = model.state()
    again = model.relearned((X[i] for i, _ in learned), [y[i] for i, _ in learned], [t for _, t in learned])
    assert same(again, model)
    assert again is not model
    assert model.state()["counts"] == before["counts"]
    assert model.n_spent_ == len(learned)
    assert model.n_queried_ == model.n_spent_ + model.n_reserved_


@pytest.mark.parametrize("which", [0, 4, 5])
def test_relearning_goes_on_from_an_earlier_stream(which: int) -> None:
    model, y = makers()[which]
    half = makers()[which][0].start(X.shape[1], np.unique(y))
    model, learned = live(model, y)
    at = [t for _, t in learned]
    first = [i for i, t in learned if t <= 50]
    for i in range(50):
        half.decide(X[i])
        for j, t in learned:
            if t == i + 1:
                half.learn(X[j], y[j])
    rest = [i for i, _ in learned[len(first) :]]
    assert same(model.relearned(X[rest], y[rest], at[len(first) :], start=half), model)


@pytest.mark.parametrize("which", range(7))
def test_a_stream_whose_rounds_are_counted_by_another_learns_the_same(which: int) -> None:
    """One that never looks at a row nobody asked about: it has the counts of the other, and its weights."""
    leader, y = makers()[which]
    leader.start(X.shape[1], np.unique(y))
    model = makers()[which][0].start(X.shape[1], np.unique(y))
    waiting: list[int] = []
    for i in range(len(X)):
        if leader.decide(X[i]).query:
            waiting.append(i)
        if len(waiting) > 4:
            j = waiting.pop(0)
            model.set_counts(rounds=leader.n_rounds_, spent=leader.n_spent_, reserved=leader.n_reserved_)
            leader.learn(X[j], y[j])
            model.learn(X[j], y[j])
    model.set_counts(rounds=leader.n_rounds_, spent=leader.n_spent_, reserved=leader.n_reserved_)
    assert leader.n_spent_ > 20
    assert same(model, leader)
    for wrong in ({"rounds": 3}, {"rounds": 200, "spent": -1}, {"rounds": 200, "reserved": 0.5}):
        with pytest.raises(InvalidInputError):
            model.set_counts(**({"spent": 0, "reserved": 0} | wrong))
    assert same(model, leader)


def test_a_withdrawn_label_stays_paid() -> None:
    model, learned = live(*makers()[0])
    kept = learned[1:]
    less = model.relearned([X[i] for i, _ in kept], [Y[i] for i, _ in kept], [t for _, t in kept])
    assert (less.n_spent_, less.n_reserved_, less.n_rounds_) == (model.n_spent_, model.n_reserved_, model.n_rounds_)
    afresh = OnlineClassifier(AROW(), costs=Costs.binary(fn=5, fp=1)).start(6, [0, 1])
    for i, _ in kept:
        afresh.learn(X[i], Y[i])
    np.testing.assert_array_equal(less.coef_, afresh.coef_)


def test_costs_and_weights_of_examples_are_learned_again() -> None:
    model = OnlineClassifier(CSOGD2()).start(6, [0, 1])
    for i in range(20):
        model.decide(X[i])
        model.learn(X[i], Y[i], cost=0.5 + i if i % 2 else None, sample_weight=1.0 + i)
    costs = [0.5 + i if i % 2 else None for i in range(20)]
    again = model.relearned(X[:20], Y[:20], range(1, 21), costs=costs, sample_weight=[1.0 + i for i in range(20)])
    assert same(again, model)
    many = OnlineCostClassifier().start(6, [0, 1, 2])
    many.decide(X[0])
    many.learn(X[0], 2, costs=[3.0, 1.0, 0.0])
    assert same(many.relearned(X[:1], [2], [1], costs=[[3.0, 1.0, 0.0]]), many)


def test_what_cannot_be_relearned_is_said() -> None:
    model, learned = live(*makers()[0])
    rows, labels, rounds = X[:3], Y[:3], [1, 2, 3]
    for given, words in [
        ((X[:60], Y[:60], range(1, 61)), "labels must be no more than the"),
        ((rows, labels, [3, 2, 3]), "rounds must be"),
        ((rows, labels, [1, 2, 500]), "rounds must be"),
        ((rows, labels, [1, 2]), "rounds must be as many"),
        ((X[:2], labels, rounds), "rows must be as many as the 3 labels; got 2"),
        ((X[:4], labels, rounds), "rows must be as many as the 3 labels"),
        ((rows, [7, 0, 1], rounds), "y must be one of the classes"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            model.relearned(*given)
    with pytest.raises(InvalidInputError, match="start must be an earlier stream of the same"):
        model.relearned(rows, labels, rounds, start=OnlineClassifier().start(5, [0, 1]))
    with pytest.raises(InvalidInputError, match="start must be an earlier stream, a fitted"):
        model.relearned(rows, labels, rounds, start=OnlineClassifier())
    adaptive, learned = live(*makers()[3])
    with pytest.raises(InvalidInputError, match="AdaptiveBalanced counts"):
        adaptive.relearned([X[i] for i, _ in learned[1:]], [Y[i] for i, _ in learned[1:]], [t for _, t in learned[1:]])


@pytest.mark.parametrize("which", [0, 1, 5])
def test_changed_is_a_copy_with_other_rules(which: int) -> None:
    model, y = makers()[which]
    model, _ = live(model, y)
    assert same(model.changed(), model)
    more = model.changed(query=AskRandom(1.0), budget=model.n_queried_ + 2)
    assert model.get_params()["budget"] == 40
    assert isinstance(model.query, AskAsymmetric)
    asked = [more.decide(x).query for x in X[:5]]
    assert asked == [True, True, False, False, False]
    assert model.n_rounds_ == 120
    assert more.n_rounds_ == 125
    assert type(more).from_state(more.state()).n_queried_ == more.n_queried_


def test_changed_costs_count_for_later_labels_and_for_relearned_ones() -> None:
    model = OnlineClassifier(CSOGD2(), costs=Costs.binary(fn=2, fp=1)).start(6, [0, 1])
    for i in range(30):
        model.decide(X[i])
        model.learn(X[i], Y[i])
    costly = model.changed(costs=Costs.binary(fn=9, fp=1))
    np.testing.assert_array_equal(costly.coef_, model.coef_)
    again = costly.relearned(X[:30], Y[:30], range(1, 31))
    np.testing.assert_array_equal(
        again.coef_, OnlineClassifier(costs=Costs.binary(fn=9, fp=1)).fit(X[:30], Y[:30]).coef_
    )
    assert again.changed(costs=None).get_params()["costs"] is None


def test_an_average_goes_on_when_the_budget_grows_before_it_is_spent() -> None:
    given: Any = {"query": AskAll(), "after_budget": "average"}
    small = OnlineClassifier(CSOGD2(), budget=30, **given).start(6, [0, 1])
    large = OnlineClassifier(CSOGD2(), budget=50, **given).start(6, [0, 1])
    for i in range(100):
        if i == 20:
            small = small.changed(budget=50)
        for model in (small, large):
            if model.decide(X[i]).query:
                model.learn(X[i], Y[i])
    assert same(small, large)


def test_what_cannot_be_changed_is_said() -> None:
    model, _ = live(*makers()[1])
    with pytest.raises(InvalidInputError, match=r"budget must be no less than the \d+ labels"):
        model.changed(budget=1)
    with pytest.raises(InvalidInputError, match="after_budget"):
        model.changed(budget=None)
    with pytest.raises(InvalidInputError, match="query must be a QueryRule"):
        model.changed(query="AskAll")  # type: ignore[arg-type]


@pytest.mark.parametrize("which", [0, 5])
def test_a_state_goes_on_only_with_its_own_parameters(which: int) -> None:
    model, y = makers()[which]
    state = live(model, y)[0].state()
    kind: Any = type(model)
    assert kind.from_state(state, budget=40, query=AskAsymmetric(1.0, 1.0)).n_rounds_ == 120
    for wrong in (
        {"budget": 50},
        {"seed": 2},
        {"costs": Costs.binary(fn=2, fp=1)},
        {"query": AskAll()},
        {"update": AROW(3.0)},
    ):
        with pytest.raises(StateError, match=f"{next(iter(wrong))} must be that of the state"):
            kind.from_state(state, **wrong)
    with pytest.raises(StateError, match="pace must be a parameter of the state"):
        kind.from_state(state, pace=1)


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineCostClassifier])
def test_no_more_is_given_back_than_is_awaited(kind: Any) -> None:
    model = kind(query=AskAll(), budget=10).start(6, [0, 1])
    with pytest.raises(InvalidInputError, match="count must be no more than the 0 labels"):
        model.cancel_query()
    model.decide(X[0])
    with pytest.raises(InvalidInputError, match="count must be no more than the 1 labels"):
        model.cancel_query(2)
    assert (model.n_reserved_, model.n_spent_) == (1, 0)
    model.cancel_query()
    assert (model.n_reserved_, model.n_queried_) == (0, 0)


def test_numerics_is_a_number_that_can_rise() -> None:
    assert NUMERICS >= 1


def test_a_rule_that_fails_takes_nothing_back() -> None:
    class Failing(Slow):
        def step(self, inputs: UpdateInput) -> Step:
            if inputs.y < 0:
                raise ZeroDivisionError
            return super().step(inputs)

    model = OnlineClassifier(Failing(), budget=5).start(2, [0, 1])
    model.decide([1.0, 2.0])
    with pytest.raises(ZeroDivisionError):
        model.learn([1.0, 2.0], 0)
    assert (model.n_reserved_, model.n_spent_, model.n_updates_) == (1, 0, 0)
    model.learn([1.0, 2.0], 1)
    assert (model.n_reserved_, model.n_spent_, model.n_updates_) == (0, 1, 1)


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineCostClassifier])
def test_a_first_row_or_label_that_cannot_be_used_settles_nothing(kind: Any) -> None:
    model = kind(classes=["no", "yes"])
    calls: list[Any] = [lambda: model.decide([1.0, np.nan, 2.0]), lambda: model.learn([1.0, 2.0, 3.0], "perhaps")]
    if kind is OnlineClassifier:
        calls.append(lambda: model.decide_many([[1.0, np.inf, 2.0]]))
    before = set(vars(model))
    for call in calls:
        with pytest.raises(InvalidInputError):
            call()
        assert set(vars(model)) == before
    assert model.decide([1.0, 2.0]).t == 0
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("classes", [["no", "yes"], ["yes", "no"]])
def test_the_class_that_sorts_last_is_the_positive_one(classes: list[str]) -> None:
    for model in (OnlineClassifier().start(2, classes), OnlineCostClassifier().start(2, classes)):
        assert model.classes_.tolist() == ["no", "yes"]
        assert model.decide([1.0, 2.0]).prediction == "yes"  # a score of 0 is positive
