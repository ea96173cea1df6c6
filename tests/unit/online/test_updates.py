"""Steps worked by hand."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from steelyard import (
    CSOALPA,
    CSOGD1,
    CSOGD2,
    PA,
    PA1,
    PA2,
    AdaptiveBalanced,
    ClassInput,
    Costs,
    CSOALHinge,
    InvalidInputError,
    LogisticGradient,
    OnlineClassifier,
    OnlineCostClassifier,
    OnlineKernelClassifier,
    UpdateInput,
    UpdateRule,
)

# A row with costs 0, 1, 4: range 4, middle 2, targets -2, -1, 2; divided by the range -1/2, -1/4, 1/2. With all
# estimates 0 the first answer is too costly by 2, the third too cheap by 2, and the second is costly enough already.
C = [[0, 1, 4], [1, 0, 1], [1, 1, 0]]
X = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("update", "class_step"),
    [
        (CSOGD1(0.5), 0.5),
        (CSOGD2(0.5), 2.0),
        (CSOALHinge(0.25), 1.0),
        (CSOALPA(10), 2.0),  # 4 * 1 / 2
        (CSOALPA(1.5), 1.5),
        (PA(), 2.0),  # 4 / 2
        (PA1(1.5), 1.5),
        (PA2(0.5), 4 / 3),  # 4 / (2 + 1)
    ],
)
def test_the_first_step_of_many(update: UpdateRule, class_step: float) -> None:
    model = OnlineCostClassifier(update, costs=C).partial_fit(X[:1], [0], classes=[0, 1, 2])
    half = class_step / 2
    np.testing.assert_array_equal(model.coef_, [[-half, -half], [0, 0], [half, half]])
    assert update.class_step(ClassInput(margin=4.0, share=1.0, range=4.0, x2=2.0)) == class_step
    assert update.class_step(ClassInput(margin=-2.0, share=-0.5, range=4.0, x2=2.0)) == 0


def test_pa_reaches_the_costs() -> None:
    model = OnlineCostClassifier(PA(), costs=C).partial_fit(X[:1], [0], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.estimated_costs(X[:1]), [[-2.0, 0.0, 2.0]])
    again = model.n_updates_
    assert model.partial_fit(X[:1], [0]).n_updates_ == again  # nothing lacks any more


def test_costs_of_many_that_follow_the_stream() -> None:
    model = OnlineCostClassifier(CSOGD2(1.0), costs=AdaptiveBalanced()).start(1, ["a", "b", "c"])
    for label in "aab":
        model.decide([0.0])
        model.learn([0.0], label)  # teaches nothing but the counts 2, 1, 0
    model.decide([1.0])
    model.learn([1.0], "c")  # costs (2 + 1) / (0 + 1)
    np.testing.assert_array_equal(model.coef_, [[1.5], [1.5], [-1.5]])


def test_answers_that_cost_the_same_teach_nothing() -> None:
    model = OnlineCostClassifier(PA()).start(2, range(3))
    model.decide(X[0])
    model.learn(X[0], 0, costs=[2, 2, 2])
    assert model.n_updates_ == 0
    costs = Costs.from_rows([[3.0, 3.0, 3.0]] * 3)
    assert OnlineCostClassifier(PA()).fit(X, [0, 1, 2], costs=costs).n_updates_ == 0


def test_the_logistic_step_by_hand() -> None:
    rule = LogisticGradient(0.5)
    odds = 3.0  # of the true class: exp(y f)
    assert rule.step(UpdateInput(math.log(odds), 1.0, 2.0, 1.0, 0.0)).add == pytest.approx(0.5 * 2.0 / (1 + odds))
    assert rule.step(UpdateInput(math.log(odds), -1.0, 2.0, 1.0, 0.0)).add == pytest.approx(-0.5 * 2.0 / (1 + 1 / odds))
    assert rule.step(UpdateInput(-1e300, 1.0, 2.0, 1.0, 0.0)).add == 1.0
    assert rule.step(UpdateInput(1e300, 1.0, 2.0, 1.0, 0.0)).add == 0.0
    assert rule.class_step(ClassInput(0.0, 1.0 + math.log(odds), 4.0, 1.0)) == pytest.approx(0.5 * 4.0 * 0.75)


def test_the_logistic_rule_comes_near_weighted_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (X @ [1.0, -0.5, 0.25] + rng.logistic(size=4000) > 0).astype(int)
    costs = Costs.binary(fn=3, fp=1)
    model = OnlineClassifier(LogisticGradient(0.02), costs=costs, fit_intercept=True)
    for _ in range(5):
        model.partial_fit(X, y)
    batch = LogisticRegression(C=1e6).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(model.coef_, batch.coef_, atol=0.25)
    np.testing.assert_allclose(model.intercept_, batch.intercept_, atol=0.25)


class OneStep(UpdateRule):
    """What is given as the answer, for two classes."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def step(self, inputs: UpdateInput) -> Any:
        return self.answer


class ManyStep(OneStep):
    """The same for many."""

    step = UpdateRule.step

    def class_step(self, inputs: ClassInput) -> Any:
        return self.answer


@pytest.mark.parametrize("learner", [OnlineClassifier, OnlineKernelClassifier])
def test_a_rule_of_ones_own_must_answer_a_step(learner: Any) -> None:
    for answer in (0.1, None, [1.0, 0.1], (1.0, 0.1, 0.0, 0.0)):
        with pytest.raises(InvalidInputError, match=r"OneStep.step\(\) must answer a Step; got .*Step\(add="):
            learner(OneStep(answer)).fit([[1.0], [2.0]], [0, 1])
    assert learner(OneStep((1.0, 0.5))).fit([[1.0], [2.0]], [0, 1]).decision_function([[1.0]]).shape == (1,)


@pytest.mark.parametrize("learner", [OnlineClassifier, OnlineKernelClassifier])
def test_a_rule_for_many_classes_alone_is_none_for_two(learner: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"update must be a rule for two classes, one with a step\(\); got Many"
    ):
        learner(ManyStep(0.1)).fit([[1.0], [2.0]], [0, 1])


def test_a_rule_for_many_classes_must_answer_a_number() -> None:
    for answer in (None, (1.0, 0.1)):
        with pytest.raises(InvalidInputError, match=r"ManyStep.class_step\(\) must answer a number; got "):
            OnlineCostClassifier(ManyStep(answer)).fit([[1.0], [2.0], [3.0]], [0, 1, 2])
    assert OnlineCostClassifier(ManyStep(0.1)).fit([[1.0], [2.0], [3.0]], [0, 1, 2]).n_updates_ == 3
