from typing import Any

import pytest

from steelyard import (
    AskAll,
    AskAsymmetric,
    AskAtLeast,
    AskFirst,
    AskPredictedPositive,
    AskRandom,
    AskSymmetric,
    AskUncertain,
    InvalidInputError,
    OnlineClassifier,
    OnlineCostClassifier,
    QueryInput,
    QueryRule,
)


@pytest.mark.parametrize(
    ("rule", "inputs", "query_probability"),
    [
        (AskAll(), QueryInput(3.0, True, 0), 1.0),
        (AskFirst(), QueryInput(-3.0, False, 99), 1.0),
        (AskRandom(0.25), QueryInput(-3.0, False, 99), 0.25),
        (AskUncertain(0.5), QueryInput(-0.5, False, 0), 1.0),
        (AskUncertain(0.5), QueryInput(0.50001, True, 0), 0.0),
        (AskSymmetric(0.1), QueryInput(0.3, True, 0), 0.25),
        (AskAsymmetric(0.1, 0.9), QueryInput(0.3, True, 0), 0.25),
        (AskAsymmetric(0.1, 0.9), QueryInput(-0.1, False, 0), 0.9),
        (AskAsymmetric(0.1, 0.9), QueryInput(0.0, False, 0), 1.0),  # by the score, whatever the threshold answered
        (AskAsymmetric(0.1, 0.9), QueryInput(0.3, False, 0), 0.25),
        (AskPredictedPositive(2), QueryInput(-1.0, False, 1), 1.0),
        (AskPredictedPositive(2), QueryInput(-1.0, False, 2), 0.0),
        (AskPredictedPositive(2), QueryInput(-1.0, True, 2), 1.0),
        (AskAtLeast(0.3, AskSymmetric(0.1)), QueryInput(0.3, True, 0), 0.3),
        (AskAtLeast(0.2, AskSymmetric(0.1)), QueryInput(0.3, True, 0), 0.25),
    ],
)
def test_chances(rule: QueryRule, inputs: QueryInput, query_probability: float) -> None:
    rule.validate()
    assert rule.query_probability(inputs) == pytest.approx(query_probability, rel=1e-15)


@pytest.mark.parametrize(
    "rule",
    [
        AskRandom(0.0),
        AskRandom(1.1),
        AskUncertain(0),
        AskSymmetric(-1),
        AskAsymmetric(0.1, 0),
        AskAsymmetric(float("nan"), 1),
        AskPredictedPositive(-1),
        AskAtLeast(0.0),
        AskAtLeast(0.1, "AskAll"),  # type: ignore[arg-type]
        AskAtLeast(0.1, AskAtLeast()),
        AskAtLeast(0.1, AskSymmetric(0)),
    ],
)
def test_wrong_parameters_are_named(rule: QueryRule) -> None:
    with pytest.raises(InvalidInputError, match=r"must .*; got"):
        rule.validate()


def test_a_rule_is_a_value() -> None:
    rule = AskAtLeast(0.1, AskSymmetric(0.2))
    assert rule == AskAtLeast(0.1, AskSymmetric(0.2)) != AskAtLeast(0.1, AskSymmetric(0.3))
    assert AskFirst() != AskAll()
    assert repr(rule) == "AskAtLeast(floor=0.1, rule=AskSymmetric(c=0.2))"
    assert rule.get_params() == {"floor": 0.1, "rule": AskSymmetric(0.2), "rule__c": 0.2}
    assert rule.set_params(rule__c=0.4, floor=0.5) == AskAtLeast(0.5, AskSymmetric(0.4))
    with pytest.raises(InvalidInputError, match="floor, rule"):
        rule.set_params(c=1)


def test_parameters_are_set_all_or_none() -> None:
    rule = AskAtLeast(0.1, AskSymmetric(0.2))
    wrongs: list[dict[str, Any]] = [{"c": 1}, {"rule__floor": 1}, {"floor__c": 1}, {"rule": AskAll(), "rule__c": 1}]
    for wrong in wrongs:
        with pytest.raises(InvalidInputError, match="parameter must be one of"):
            rule.set_params(**{"floor": 0.5, "rule__c": 0.4} | wrong)
        assert rule == AskAtLeast(0.1, AskSymmetric(0.2))
    assert rule.set_params(rule__c_neg=0.3, rule=AskAsymmetric(0.1)) == AskAtLeast(0.1, AskAsymmetric(0.1, 0.3))


@pytest.mark.parametrize("answer", [None, "often", (0.5, 0.5)])
def test_a_rule_of_ones_own_must_answer_a_number(answer: Any) -> None:
    class Mine(QueryRule):
        def query_probability(self, inputs: QueryInput) -> float:
            return answer  # type: ignore[no-any-return]

    for learner in (OnlineClassifier(query=Mine()), OnlineCostClassifier(query=Mine())):
        with pytest.raises(InvalidInputError, match=r"Mine.query_probability\(\) must answer a number; got "):
            learner.fit([[1.0], [2.0]], [0, 1])


def test_a_subclass_with_another_meaning_leaves_the_kernel() -> None:
    class Never(AskSymmetric):
        def query_probability(self, inputs: QueryInput) -> float:
            return 0.0

    class Renamed(AskSymmetric):
        pass

    assert Never().kernel() is None
    assert AskAtLeast(0.1, Never()).kernel() is None
    assert Renamed().kernel() is not None
    assert QueryRule().kernel() is None
