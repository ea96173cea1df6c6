"""Update rules: w <- keep w + add x. Papers 000 and 001; each works alone and is the oracle of its kernel."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from .._native import class_kernel, update_kernel
from ..rules import Rule, choice, flag, positive, rule

__all__ = [
    "CPAPB",
    "CSOALPA",
    "CSOGD1",
    "CSOGD2",
    "PA",
    "PA1",
    "PA2",
    "PAUM",
    "ROMMA",
    "CPAPBTable2",
    "CSOALHinge",
    "ClassInput",
    "LogisticGradient",
    "Perceptron",
    "Step",
    "UpdateInput",
    "UpdateRule",
]


class UpdateInput(NamedTuple):
    """All that an update rule may look at: score before the update, truth (+1/-1), cost, \\|x\\|^2 and \\|w\\|^2.

    Parameters
    ----------
    score : float
        Score before the update.
    y : float
        Truth, +1 or -1.
    cost : float
        Cost of a mistake on the row.
    x2 : float
        Squared length of the row.
    w2 : float
        Squared length of the weights.
    """

    score: float
    y: float
    cost: float
    x2: float
    w2: float

    def margin(self) -> float:
        """y f: negative for a mistake."""
        return self.y * self.score

    def hinge(self) -> float:
        """1 - y f: positive for a margin error."""
        return 1.0 - self.y * self.score


class Step(NamedTuple):
    """w <- keep w + add x;  b <- keep b + shift.

    Parameters
    ----------
    keep : float
        Factor to the weights.
    add : float
        Multiple of the row that is added.
    shift : float
        What is added to the intercept.
    """

    keep: float = 1.0
    add: float = 0.0
    shift: float = 0.0


class ClassInput(NamedTuple):
    """All that an update rule may look at for one class of many, on the scale of a binary margin.

    Parameters
    ----------
    margin : float
        How far the estimate falls short of a margin as large as the costs say.
    share : float
        The same with the costs of the row divided by their range.
    range : float
        The largest cost of the row minus the smallest.
    x2 : float
        Squared length of the row.
    """

    margin: float
    share: float
    range: float
    x2: float


class UpdateRule(Rule):
    """How the weights move when a label has come.

    A subclass writes :meth:`step` for two classes, :meth:`class_step` for many, and works at the speed of Python. To
    make it fast, give it a struct of the same name in ``native/updates.hpp``, with its parameters as fields.
    """

    uses_cost: ClassVar[bool] = True  # False: the rule is blind to costs, and sample weights are refused
    has_bias: ClassVar[bool] = False  # True: the rule moves an intercept of its own through Step.shift

    def step(self, inputs: UpdateInput) -> Step:
        """The step for one labelled example.

        Parameters
        ----------
        inputs : UpdateInput
            Score, truth, cost and lengths.

        Returns
        -------
        Step
            What happens to the weights.
        """
        raise NotImplementedError

    def class_step(self, inputs: ClassInput) -> float:
        """How far the weights of one class go along x, for :class:`OnlineCostClassifier`; 0 where nothing lacks.

        Parameters
        ----------
        inputs : ClassInput
            How far the estimate of one answer falls short.

        Returns
        -------
        float
            Length of the step, 0 where nothing is missing.
        """
        raise NotImplementedError

    def kernel(self) -> Any:
        """The kernel of :meth:`step`, or None for a rule that exists in Python only."""
        return self._named_kernel("step", update_kernel)

    def class_kernel(self) -> Any:
        """The kernel of :meth:`class_step`, or None for a rule that exists in Python only."""
        return self._named_kernel("class_step", class_kernel)


def _sign(score: float) -> float:
    return 1.0 if score >= 0 else -1.0  # sign(0) = +1, as in Table II of paper 000


@rule
class Perceptron(UpdateRule):
    """w += y x on a mistake. Rosenblatt 1958; blind to costs.

    >>> Perceptron("margin").step(UpdateInput(0.0, 1.0, 1.0, 1.0, 0.0)).add
    1.0
    """

    tie: str = choice(
        "prediction",
        "margin",
        description="What a score of 0 is: the prediction +1, a mistake only if y = -1 (Table II of paper 000),\n"
        "or, by the margin y f <= 0, always a mistake (paper 001).",
    )
    uses_cost: ClassVar[bool] = False

    def step(self, inputs: UpdateInput) -> Step:
        """One whole row on a mistake."""
        wrong = inputs.margin() <= 0 if self.tie == "margin" else _sign(inputs.score) != inputs.y
        return Step(add=inputs.y if wrong else 0.0)


@rule
class ROMMA(UpdateRule):
    """The shortest w with y w.x >= 1 inside the half-space of the last w. Li & Long 1999; blind to costs.

    With g = \\|x\\|^2 \\|w\\|^2 - f^2:  keep = (\\|x\\|^2 \\|w\\|^2 - y f) / g,  add = \\|w\\|^2 (y - f) / g.

    >>> ROMMA().step(UpdateInput(0.0, -1.0, 1.0, 4.0, 0.0)).add
    -0.25
    """

    aggressive: bool = flag(False, "Learn from margin errors (y f < 1) too, not from mistakes only.")
    uses_cost: ClassVar[bool] = False
    parallel: ClassVar[float] = 1e-12

    def step(self, inputs: UpdateInput) -> Step:
        """Nothing for rows that are zero or parallel to w."""
        learn = inputs.margin() < 1 if self.aggressive else _sign(inputs.score) != inputs.y
        if not learn or inputs.x2 == 0:
            return Step()
        if inputs.w2 == 0:
            return Step(add=inputs.y / inputs.x2)
        product = inputs.x2 * inputs.w2
        if product <= inputs.margin():  # the newest example alone decides; only rows shorter than 1 come here
            return Step(keep=0.0, add=inputs.y / inputs.x2)
        gap = product - inputs.score * inputs.score
        if gap <= self.parallel * product:
            return Step()
        return Step(keep=(product - inputs.margin()) / gap, add=inputs.w2 * (inputs.y - inputs.score) / gap)


@rule
class PA(UpdateRule):
    """Passive-aggressive: add = y hinge / \\|x\\|^2, so that y f = 1 afterwards. Crammer et al. 2006; blind to costs.

    >>> PA().step(UpdateInput(0.5, 1.0, 1.0, 2.0, 0.0)).add
    0.25
    """

    uses_cost: ClassVar[bool] = False

    def step(self, inputs: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        return Step(add=inputs.y * (inputs.hinge() / inputs.x2) if inputs.hinge() > 0 and inputs.x2 > 0 else 0.0)

    def class_step(self, inputs: ClassInput) -> float:
        """Until the margin is as large as the costs say."""
        return inputs.margin / inputs.x2 if inputs.margin > 0 and inputs.x2 > 0 else 0.0


@rule
class PA1(UpdateRule):
    """PA with steps capped: add = y min(C, hinge / \\|x\\|^2). Crammer et al. 2006; blind to costs.

    >>> PA1(0.1).step(UpdateInput(0.5, 1.0, 1.0, 2.0, 0.0)).add
    0.1
    """

    C: float = positive(10.0, "The greatest step; 10 in paper 000.")
    uses_cost: ClassVar[bool] = False

    def step(self, inputs: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        return Step(
            add=inputs.y * min(self.C, inputs.hinge() / inputs.x2) if inputs.hinge() > 0 and inputs.x2 > 0 else 0.0
        )

    def class_step(self, inputs: ClassInput) -> float:
        """Until the margin is as large as the costs say, or C."""
        return min(self.C, inputs.margin / inputs.x2) if inputs.margin > 0 and inputs.x2 > 0 else 0.0


@rule
class PA2(UpdateRule):
    """PA with steps damped: add = y hinge / (\\|x\\|^2 + 1 / 2C). Crammer et al. 2006; blind to costs.

    >>> PA2(0.5).step(UpdateInput(0.5, 1.0, 1.0, 1.0, 0.0)).add
    0.25
    """

    C: float = positive(10.0, "Larger is more aggressive; 10 in paper 000.")
    uses_cost: ClassVar[bool] = False

    def step(self, inputs: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        if inputs.hinge() <= 0 or inputs.x2 <= 0:
            return Step()
        return Step(add=inputs.y * (inputs.hinge() / (inputs.x2 + 1.0 / (2.0 * self.C))))

    def class_step(self, inputs: ClassInput) -> float:
        """A damped part of the way to the margin that the costs say."""
        return inputs.margin / (inputs.x2 + 1.0 / (2.0 * self.C)) if inputs.margin > 0 and inputs.x2 > 0 else 0.0


@rule
class PAUM(UpdateRule):
    """Perceptron with uneven margins and a bias: w += eta y x, b += eta y R^2 if y f <= cost. Li et al. 2002.

    >>> PAUM().step(UpdateInput(1.5, 1.0, 2.0, 1.0, 0.0))
    Step(keep=1.0, add=1.0, shift=1.0)
    """

    eta: float = positive(1.0, "The step.")
    radius: float = positive(1.0, "The length R of the longest row; 1 for unit rows.")
    has_bias: ClassVar[bool] = True

    def step(self, inputs: UpdateInput) -> Step:
        """The margin asked for is the cost of the example."""
        if inputs.margin() > inputs.cost:
            return Step()
        add = self.eta * inputs.y
        return Step(add=add, shift=add * (self.radius * self.radius))


@rule
class CPAPB(UpdateRule):
    """Prediction-based cost-sensitive PA: on a mistake add = y min(C, (sqrt(cost) - y f) / \\|x\\|^2).

    Crammer et al. 2006. This is the published rule; Table II of paper 000 was made with :class:`CPAPBTable2`.

    >>> CPAPB().step(UpdateInput(-1.0, 1.0, 4.0, 2.0, 0.0)).add
    1.5
    """

    C: float = positive(10.0, "The greatest step.")

    def step(self, inputs: UpdateInput) -> Step:
        """Mistakes only."""
        if _sign(inputs.score) == inputs.y or inputs.x2 == 0:
            return Step()
        return Step(add=inputs.y * min(self.C, (math.sqrt(inputs.cost) - inputs.margin()) / inputs.x2))


@rule
class CPAPBTable2(UpdateRule):
    """CPA-PB as behind Table II of paper 000: if y f < 1, add = y (sqrt(cost) - y f) / \\|x\\|^2, without a cap.

    >>> CPAPBTable2().step(UpdateInput(0.5, 1.0, 4.0, 1.0, 0.0)).add
    1.5
    """

    def step(self, inputs: UpdateInput) -> Step:
        """Every margin error."""
        if inputs.hinge() <= 0 or inputs.x2 <= 0:
            return Step()
        return Step(add=inputs.y * ((math.sqrt(inputs.cost) - inputs.margin()) / inputs.x2))


@rule
class CSOGD1(UpdateRule):
    """Gradient step on max(0, cost - y f): the cost moves the margin. Paper 000, eq. (4), Algorithm 1 (I).

    >>> CSOGD1(0.2).step(UpdateInput(1.5, 1.0, 2.0, 1.0, 0.0)).add
    0.2
    """

    eta: float = positive(0.2, "The step; 0.2 in Table II.")

    def step(self, inputs: UpdateInput) -> Step:
        """The same step for every class, until the margin reaches the cost."""
        return Step(add=self.eta * inputs.y if inputs.cost - inputs.margin() > 0 else 0.0)

    def class_step(self, inputs: ClassInput) -> float:
        """The same for every answer, until its margin is as large as the costs say."""
        return self.eta if inputs.margin > 0 else 0.0


@rule
class CSOGD2(UpdateRule):
    """Gradient step on cost * max(0, 1 - y f): the cost scales the slope. Paper 000, eq. (5), Algorithm 1 (II).

    >>> CSOGD2(0.5).step(UpdateInput(0.5, 1.0, 3.0, 1.0, 0.0)).add
    1.5
    """

    eta: float = positive(0.1, "The step; 0.1 in Table II.")

    def step(self, inputs: UpdateInput) -> Step:
        """A step in proportion to the cost of the mistake."""
        return Step(add=self.eta * inputs.cost * inputs.y if inputs.hinge() > 0 else 0.0)

    def class_step(self, inputs: ClassInput) -> float:
        """As long as the costs of the row are far apart."""
        return self.eta * inputs.range if inputs.share > 0 else 0.0


@rule
class CSOALHinge(UpdateRule):
    """CSOAL's gradient step on cost * max(0, 1 - y f); ask with :class:`AskSymmetric`. Zhao & Hoi 2013.

    The same step as :class:`CSOGD2` under the name and the default of the baseline of paper 001.

    >>> CSOALHinge().step(UpdateInput(0.5, 1.0, 3.0, 1.0, 0.0)).add
    3.0
    """

    eta: float = positive(1.0, "The step.")

    def step(self, inputs: UpdateInput) -> Step:
        """A step in proportion to the cost of the mistake."""
        return Step(add=self.eta * inputs.cost * inputs.y if inputs.hinge() > 0 else 0.0)

    def class_step(self, inputs: ClassInput) -> float:
        """As long as the costs of the row are far apart."""
        return self.eta * inputs.range if inputs.share > 0 else 0.0


@rule
class CSOALPA(UpdateRule):
    """CSOAL's passive-aggressive step: add = y min(C, cost hinge / \\|x\\|^2); ask with :class:`AskSymmetric`.

    Zhao & Hoi 2013, read as PA-I on the loss cost * max(0, 1 - y f). papers/001-asymmetric-active/README.md
    names two other readings of it.

    >>> CSOALPA(9.0).step(UpdateInput(-1.0, 1.0, 3.0, 1.0, 0.0)).add
    6.0
    """

    C: float = positive(1.0, "The greatest step.")

    def step(self, inputs: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        if inputs.hinge() <= 0 or inputs.x2 <= 0:
            return Step()
        return Step(add=inputs.y * min(self.C, inputs.cost * inputs.hinge() / inputs.x2))

    def class_step(self, inputs: ClassInput) -> float:
        """As far as the loss says, or C."""
        return min(self.C, inputs.range * inputs.share / inputs.x2) if inputs.share > 0 and inputs.x2 > 0 else 0.0


@rule
class LogisticGradient(UpdateRule):
    """Gradient step on the cost-weighted logistic loss cost * log(1 + exp(-y f)): add = eta cost y / (1 + exp(y f)).

    The step never stops, it fades: scores grow like log-odds, tilted by the costs as those of a weighted logistic
    regression. For many classes the loss of a class is range * log(1 + exp(share - 1)): the hinge of :class:`CSOGD2`
    made smooth, and the binary step where there are two.

    >>> LogisticGradient(0.5).step(UpdateInput(0.0, 1.0, 3.0, 1.0, 0.0)).add
    0.75
    """

    eta: float = positive(0.1, "The step.")

    def step(self, inputs: UpdateInput) -> Step:
        """A step in proportion to the cost and to the probability given to the wrong class."""
        return Step(add=self.eta * inputs.cost * _slope(inputs.margin()) * inputs.y)

    def class_step(self, inputs: ClassInput) -> float:
        """In proportion to the range of the costs and to the probability given to the wrong side."""
        return self.eta * inputs.range * _slope(1.0 - inputs.share)


def _slope(margin: float) -> float:
    """1 / (1 + exp(margin)), without exp of a large number."""
    e = math.exp(-abs(margin))
    return (1.0 if margin < 0 else e) / (1.0 + e)
