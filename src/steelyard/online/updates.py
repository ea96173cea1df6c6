"""Update rules: w <- keep w + add x. Papers 000 and 001; each works alone and is the oracle of its kernel."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .._native import update_kernel
from ..rules import Rule
from ..validation.values import check_choice, check_flag, check_number

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
    "Perceptron",
    "Step",
    "UpdateInput",
    "UpdateRule",
]


class UpdateInput(NamedTuple):
    """All that an update rule may look at: score before the update, truth (+1/-1), cost, \\|x\\|^2 and \\|w\\|^2."""

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
    """w <- keep w + add x;  b <- keep b + shift."""

    keep: float = 1.0
    add: float = 0.0
    shift: float = 0.0


class ClassInput(NamedTuple):
    """All that an update rule may look at for one answer of many, on the scale of a binary margin.

    ``margin``: how far the estimate falls short of a margin as large as the costs say; ``share``: the same with the
    costs of the row divided by their ``range``, dearest minus cheapest; ``x2``: \\|x\\|^2.
    """

    margin: float
    share: float
    range: float
    x2: float


class UpdateRule(Rule):
    """How the weights move when a label has come.

    A subclass writes :meth:`step` for two classes, :meth:`class_step` for many, and works at the speed of Python. To
    make it fast, give it a struct in ``native/updates.hpp`` (with its name in the type list) and return that from
    :meth:`native`; one in ``native/strides.hpp`` for many classes.
    """

    python_method: ClassVar[str] = "step"
    uses_cost: ClassVar[bool] = True  # False: the rule is blind to costs, and sample weights are refused
    has_bias: ClassVar[bool] = False  # True: the rule moves an intercept of its own through Step.shift

    def step(self, seen: UpdateInput) -> Step:
        """The step for one labelled example."""
        raise NotImplementedError

    def class_step(self, lack: ClassInput) -> float:
        """How far the weights of one answer go along x, for :class:`OnlineCostClassifier`; 0 where nothing lacks."""
        raise NotImplementedError

    def class_kernel(self) -> tuple[str, list[float]] | None:
        """Name and numbers of the kernel of :meth:`class_step`, or None where it is written in Python only."""
        cls = next(base for base in type(self).__mro__ if "class_step" in vars(base))
        if cls.__module__ != __name__:
            return None
        return cls.__name__, [float(getattr(self, name)) for name in inspect.signature(cls).parameters]


def _sign(score: float) -> float:
    return 1.0 if score >= 0 else -1.0  # sign(0) = +1, as in Table II of paper 000


@dataclass(eq=False, repr=False)
class Perceptron(UpdateRule):
    """w += y x on a mistake. Rosenblatt 1958; blind to costs.

    Parameters: ``tie`` says what a score of exactly 0 is: ``"prediction"``, the answer +1, a mistake only if y = -1
    (reproduces Table II of paper 000), or ``"margin"``, always a mistake, y f <= 0 (paper 001).

    >>> Perceptron("margin").step(UpdateInput(0.0, 1.0, 1.0, 1.0, 0.0)).add
    1.0
    """

    tie: str = "prediction"
    uses_cost: ClassVar[bool] = False

    def validate(self) -> None:
        """Complain about an unknown reading."""
        check_choice("tie", self.tie, ("prediction", "margin"))

    def step(self, seen: UpdateInput) -> Step:
        """One whole row on a mistake."""
        wrong = seen.margin() <= 0 if self.tie == "margin" else _sign(seen.score) != seen.y
        return Step(add=seen.y if wrong else 0.0)

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return update_kernel("Perceptron", [self.tie == "margin"])


@dataclass(eq=False, repr=False)
class ROMMA(UpdateRule):
    """The shortest w with y w.x >= 1 inside the half-space of the last w. Li & Long 1999; blind to costs.

    With g = \\|x\\|^2 \\|w\\|^2 - f^2:  keep = (\\|x\\|^2 \\|w\\|^2 - y f) / g,  add = \\|w\\|^2 (y - f) / g.
    Parameters: ``aggressive`` learns from margin errors (y f < 1) too, not from mistakes only.

    >>> ROMMA().step(UpdateInput(0.0, -1.0, 1.0, 4.0, 0.0)).add
    -0.25
    """

    aggressive: bool = False
    uses_cost: ClassVar[bool] = False
    parallel: ClassVar[float] = 1e-12

    def validate(self) -> None:
        """Complain about a flag that is none."""
        check_flag("aggressive", self.aggressive)

    def step(self, seen: UpdateInput) -> Step:
        """Nothing for rows that are zero or parallel to w."""
        learn = seen.margin() < 1 if self.aggressive else _sign(seen.score) != seen.y
        if not learn or seen.x2 == 0:
            return Step()
        if seen.w2 == 0:
            return Step(add=seen.y / seen.x2)
        product = seen.x2 * seen.w2
        if product <= seen.margin():  # the newest example alone decides; only rows shorter than 1 come here
            return Step(keep=0.0, add=seen.y / seen.x2)
        gap = product - seen.score * seen.score
        if gap <= self.parallel * product:
            return Step()
        return Step(keep=(product - seen.margin()) / gap, add=seen.w2 * (seen.y - seen.score) / gap)

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return update_kernel("ROMMA", [self.aggressive])


@dataclass(eq=False, repr=False)
class PA(UpdateRule):
    """Passive-aggressive: add = y hinge / \\|x\\|^2, so that y f = 1 afterwards. Crammer et al. 2006; blind to costs.

    >>> PA().step(UpdateInput(0.5, 1.0, 1.0, 2.0, 0.0)).add
    0.25
    """

    uses_cost: ClassVar[bool] = False

    def step(self, seen: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        return Step(add=seen.y * (seen.hinge() / seen.x2) if seen.hinge() > 0 and seen.x2 > 0 else 0.0)

    def class_step(self, lack: ClassInput) -> float:
        """Until the margin is as large as the costs say."""
        return lack.margin / lack.x2 if lack.margin > 0 and lack.x2 > 0 else 0.0

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return update_kernel("PA", [])


@dataclass(eq=False, repr=False)
class _Capped(UpdateRule):
    C: float = 10.0

    def validate(self) -> None:
        """Complain about a C that is not positive."""
        check_number("C", self.C, above=0)

    def native(self) -> Any:
        """The kernel's form of this rule, which has the same name."""
        return update_kernel(_builtin(type(self)), [self.C])


@dataclass(eq=False, repr=False)
class PA1(_Capped):
    """PA with steps capped: add = y min(C, hinge / \\|x\\|^2). Crammer et al. 2006; blind to costs.

    Parameters: ``C`` > 0, the greatest step; 10 in paper 000.

    >>> PA1(0.1).step(UpdateInput(0.5, 1.0, 1.0, 2.0, 0.0)).add
    0.1
    """

    uses_cost: ClassVar[bool] = False

    def step(self, seen: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        return Step(add=seen.y * min(self.C, seen.hinge() / seen.x2) if seen.hinge() > 0 and seen.x2 > 0 else 0.0)

    def class_step(self, lack: ClassInput) -> float:
        """Until the margin is as large as the costs say, or C."""
        return min(self.C, lack.margin / lack.x2) if lack.margin > 0 and lack.x2 > 0 else 0.0


@dataclass(eq=False, repr=False)
class PA2(_Capped):
    """PA with steps damped: add = y hinge / (\\|x\\|^2 + 1 / 2C). Crammer et al. 2006; blind to costs.

    Parameters: ``C`` > 0, larger is more aggressive; 10 in paper 000.

    >>> PA2(0.5).step(UpdateInput(0.5, 1.0, 1.0, 1.0, 0.0)).add
    0.25
    """

    uses_cost: ClassVar[bool] = False

    def step(self, seen: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        if seen.hinge() <= 0 or seen.x2 <= 0:
            return Step()
        return Step(add=seen.y * (seen.hinge() / (seen.x2 + 1.0 / (2.0 * self.C))))

    def class_step(self, lack: ClassInput) -> float:
        """A damped part of the way to the margin that the costs say."""
        return lack.margin / (lack.x2 + 1.0 / (2.0 * self.C)) if lack.margin > 0 and lack.x2 > 0 else 0.0


@dataclass(eq=False, repr=False)
class PAUM(UpdateRule):
    """Perceptron with uneven margins and a bias: w += eta y x, b += eta y R^2 if y f <= cost. Li et al. 2002.

    Parameters: ``eta`` > 0, the step; ``radius`` R > 0, the length of the longest row (1 for unit rows).

    >>> PAUM().step(UpdateInput(1.5, 1.0, 2.0, 1.0, 0.0))
    Step(keep=1.0, add=1.0, shift=1.0)
    """

    eta: float = 1.0
    radius: float = 1.0
    has_bias: ClassVar[bool] = True

    def validate(self) -> None:
        """Complain about parameters that are not positive."""
        check_number("eta", self.eta, above=0)
        check_number("radius", self.radius, above=0)

    def step(self, seen: UpdateInput) -> Step:
        """The margin asked for is the cost of the example."""
        if seen.margin() > seen.cost:
            return Step()
        add = self.eta * seen.y
        return Step(add=add, shift=add * (self.radius * self.radius))

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return update_kernel("PAUM", [self.eta, self.radius])


@dataclass(eq=False, repr=False)
class CPAPB(_Capped):
    """Prediction-based cost-sensitive PA: on a mistake add = y min(C, (sqrt(cost) - y f) / \\|x\\|^2).

    Crammer et al. 2006. This is the published rule; Table II of paper 000 was made with :class:`CPAPBTable2`.
    Parameters: ``C`` > 0, the greatest step.

    >>> CPAPB().step(UpdateInput(-1.0, 1.0, 4.0, 2.0, 0.0)).add
    1.5
    """

    def step(self, seen: UpdateInput) -> Step:
        """Mistakes only."""
        if _sign(seen.score) == seen.y or seen.x2 == 0:
            return Step()
        return Step(add=seen.y * min(self.C, (math.sqrt(seen.cost) - seen.margin()) / seen.x2))


@dataclass(eq=False, repr=False)
class CPAPBTable2(UpdateRule):
    """CPA-PB as behind Table II of paper 000: if y f < 1, add = y (sqrt(cost) - y f) / \\|x\\|^2, without a cap.

    >>> CPAPBTable2().step(UpdateInput(0.5, 1.0, 4.0, 1.0, 0.0)).add
    1.5
    """

    def step(self, seen: UpdateInput) -> Step:
        """Every margin error."""
        if seen.hinge() <= 0 or seen.x2 <= 0:
            return Step()
        return Step(add=seen.y * ((math.sqrt(seen.cost) - seen.margin()) / seen.x2))

    def native(self) -> Any:
        """The kernel's form of this rule."""
        return update_kernel("CPAPBTable2", [])


@dataclass(eq=False, repr=False)
class _Stepping(UpdateRule):
    eta: float = 0.1

    def validate(self) -> None:
        """Complain about a step that is not positive."""
        check_number("eta", self.eta, above=0)

    def native(self) -> Any:
        """The kernel's form of this rule, which has the same name."""
        return update_kernel(_builtin(type(self)), [self.eta])


@dataclass(eq=False, repr=False)
class CSOGD1(_Stepping):
    """Gradient step on max(0, cost - y f): the cost moves the margin. Paper 000, eq. (4), Algorithm 1 (I).

    Parameters: ``eta`` > 0, the step; 0.2 in Table II.

    >>> CSOGD1(0.2).step(UpdateInput(1.5, 1.0, 2.0, 1.0, 0.0)).add
    0.2
    """

    eta: float = 0.2

    def step(self, seen: UpdateInput) -> Step:
        """The same step for every class, until the margin reaches the cost."""
        return Step(add=self.eta * seen.y if seen.cost - seen.margin() > 0 else 0.0)

    def class_step(self, lack: ClassInput) -> float:
        """The same for every answer, until its margin is as large as the costs say."""
        return self.eta if lack.margin > 0 else 0.0


@dataclass(eq=False, repr=False)
class CSOGD2(_Stepping):
    """Gradient step on cost * max(0, 1 - y f): the cost scales the slope. Paper 000, eq. (5), Algorithm 1 (II).

    Parameters: ``eta`` > 0, the step; 0.1 in Table II.

    >>> CSOGD2(0.5).step(UpdateInput(0.5, 1.0, 3.0, 1.0, 0.0)).add
    1.5
    """

    def step(self, seen: UpdateInput) -> Step:
        """A step as long as the mistake is dear."""
        return Step(add=self.eta * seen.cost * seen.y if seen.hinge() > 0 else 0.0)

    def class_step(self, lack: ClassInput) -> float:
        """As long as the costs of the row are far apart."""
        return self.eta * lack.range if lack.share > 0 else 0.0


@dataclass(eq=False, repr=False)
class CSOALHinge(_Stepping):
    """CSOAL's gradient step on cost * max(0, 1 - y f); ask with :class:`AskSymmetric`. Zhao & Hoi 2013.

    The same step as :class:`CSOGD2` under the name and the default of the baseline of paper 001.
    Parameters: ``eta`` > 0, the step.

    >>> CSOALHinge().step(UpdateInput(0.5, 1.0, 3.0, 1.0, 0.0)).add
    3.0
    """

    eta: float = 1.0

    def step(self, seen: UpdateInput) -> Step:
        """A step as long as the mistake is dear."""
        return Step(add=self.eta * seen.cost * seen.y if seen.hinge() > 0 else 0.0)

    def class_step(self, lack: ClassInput) -> float:
        """As long as the costs of the row are far apart."""
        return self.eta * lack.range if lack.share > 0 else 0.0


@dataclass(eq=False, repr=False)
class CSOALPA(_Capped):
    """CSOAL's passive-aggressive step: add = y min(C, cost hinge / \\|x\\|^2); ask with :class:`AskSymmetric`.

    Zhao & Hoi 2013, read as PA-I on the loss cost * max(0, 1 - y f). papers/001-asymmetric-active/README.md has the
    numbers of the two other readings of it.
    Parameters: ``C`` > 0, the greatest step.

    >>> CSOALPA(9.0).step(UpdateInput(-1.0, 1.0, 3.0, 1.0, 0.0)).add
    6.0
    """

    C: float = 1.0

    def step(self, seen: UpdateInput) -> Step:
        """Nothing for rows that are zero."""
        if seen.hinge() <= 0 or seen.x2 <= 0:
            return Step()
        return Step(add=seen.y * min(self.C, seen.cost * seen.hinge() / seen.x2))

    def class_step(self, lack: ClassInput) -> float:
        """As far as the loss says, or C."""
        return min(self.C, lack.range * lack.share / lack.x2) if lack.share > 0 and lack.x2 > 0 else 0.0


def _builtin(cls: type) -> str:
    """Name of the rule of this module that ``cls`` is or extends."""
    return next(base.__name__ for base in cls.__mro__ if base.__module__ == __name__)
