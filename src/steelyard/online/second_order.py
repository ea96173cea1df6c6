"""Second-order update rules: weights with a covariance. Each works alone and is the oracle of its kernel.

Tested in ``tests/unit/online/test_sparse_row.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._native import update_kernel
from ..rules import Interval, Rule, choice, flag, parameter, positive, rule
from ..validation.values import check_flag, invalid
from .updates import UpdateRule

__all__ = ["ACOG", "AROW", "SCW1", "SCW2", "SecondOrderInput", "SecondOrderRule", "SecondOrderStep"]

_KNOWN_WELL = 10.0  # precision gained, the prior's being 1, from which on lanes of SCW1 count alike


class SecondOrderInput(NamedTuple):
    """All that a second-order rule may look at: score before the update, truth (+1/-1), cost, and x' Sigma x.

    Parameters
    ----------
    score : float
        Score before the update.
    y : float
        Truth, +1 or -1.
    cost : float
        Cost of a mistake on the row.
    variance : float
        x' Sigma x.
    """

    score: float
    y: float
    cost: float
    variance: float

    def margin(self) -> float:
        """y f: negative for a mistake."""
        return self.y * self.score


def _full() -> Any:
    return flag(False, "Keep the whole covariance, not only its diagonal.")


class SecondOrderStep(NamedTuple):
    """w <- w + add Sigma x;  Sigma^-1 <- Sigma^-1 + gain x x'. With ``after`` by the new Sigma.

    Parameters
    ----------
    add : float
        Multiple of Sigma x that is added to the weights.
    gain : float
        Multiple of x x' that is added to the inverse of Sigma.
    after : bool
        Whether the new Sigma makes the step.
    """

    add: float = 0.0
    gain: float = 0.0
    after: bool = False


class Belief(NamedTuple):
    """Weights as independent normal distributions; the intercept comes last.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Weights.
    variance : ndarray of shape (d,)
        The diagonal of Sigma.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    def divided(self, parts: int) -> Belief:
        """The same weights with the share of the precision that each of several learners starts from."""
        return Belief(self.mean, self.variance * float(parts))


T = TypeVar("T")


def in_pairs(items: Sequence[T], join: Callable[[T, T], T]) -> T:
    """All of one or more items as one, joined by a binary tree in their order."""
    left = list(items)
    while len(left) > 1:
        pairs = [join(a, b) for a, b in zip(left[::2], left[1::2], strict=False)]
        left = pairs + left[len(left) - len(left) % 2 :]
    return left[0]


def _more_precise(one: Belief, other: Belief) -> Belief:
    precise, more = 1.0 / one.variance, 1.0 / other.variance
    variance = 1.0 / (precise + more)
    return Belief((one.mean * precise + other.mean * more) * variance, variance)


class SecondOrderRule(UpdateRule):
    """Base of the rules that keep a covariance Sigma, the identity at first, beside the weights.

    With ``full=False`` only the diagonal of Sigma^-1 is kept: as quick as a first-order rule, for any number of
    features. ``full=True`` keeps the whole matrix: d^2 numbers and operations a step, up to ``widest`` features.
    A subclass writes :meth:`second_order_step`.
    """

    widest: ClassVar[int] = 4096
    merges: ClassVar[bool] = False  # whether learners of separate rows have been shown to merge with little loss
    first_alone: ClassVar[bool] = True  # whether the first of them learns ahead, and the others go on from it

    full: bool = False  # the last parameter of every rule

    def begin_lane(self, known: Belief, lanes: int) -> Belief:
        """What each of several learners of different rows starts from: its share of the precision so far.

        Parameters
        ----------
        known : Belief
            What is known before.
        lanes : int
            How many learners there are.

        Returns
        -------
        Belief
            The start of each.
        """
        return known.divided(lanes)

    def merge(self, beliefs: Sequence[Belief], before: Belief) -> Belief:
        """What learners of different rows know together: precisions add up, weights are averaged by precision.

        Each started from :meth:`begin_lane`, so that what was known before is counted once.

        Parameters
        ----------
        beliefs : sequence of Belief
            What they know, merged by a binary tree in this order.
        before : Belief
            What was known before they started.

        Returns
        -------
        Belief
            What they know together.
        """
        return in_pairs(beliefs, _more_precise)

    def second_order_step(self, inputs: SecondOrderInput) -> SecondOrderStep:
        """The step for one labelled example.

        Parameters
        ----------
        inputs : SecondOrderInput
            Score, truth, cost and variance.

        Returns
        -------
        SecondOrderStep
            What happens to weights and covariance.
        """
        raise NotImplementedError

    def kernel(self) -> Any:
        """The kernel of :meth:`second_order_step`, or None for a rule that exists in Python only."""
        return self._named_kernel("second_order_step", update_kernel)

    def numbers(self, owner: type[Rule]) -> list[float]:
        """All but ``full``, which is the stream's affair."""
        return super().numbers(owner)[:-1]

    def validate(self) -> None:
        """Raise if a parameter cannot be used; rules that do not declare ``full`` have it too."""
        check_flag("full", self.full)
        super().validate()

    def check_width(self, n_features: int) -> None:
        """Raise for more features than a whole matrix is kept for.

        Parameters
        ----------
        n_features : int
            Features of the stream; more than a full covariance is kept for are an error.
        """
        if self.full and n_features > self.widest:
            raise invalid(
                "X", f"have at most {self.widest} features for full=True", n_features, "Use full=False: the diagonal."
            )


@rule
class AROW(SecondOrderRule):
    """Adaptive regularization of weights: alpha = hinge / (x' Sigma x + r), Sigma^-1 += x x' / r.

    Minimises KL(new, old) + cost (hinge^2 + x' Sigma x) / (2 r); an expensive mistake counts like a smaller r.
    Crammer, Kulesza & Dredze 2009, fig. 1, which is cost = 1.

    >>> AROW(r=1.0).second_order_step(SecondOrderInput(score=0.5, y=1.0, cost=1.0, variance=1.0))
    SecondOrderStep(add=0.25, gain=1.0, after=False)
    """

    merges = True

    r: float = positive(1.0, "How little one example counts.")
    full: bool = _full()

    def second_order_step(self, inputs: SecondOrderInput) -> SecondOrderStep:
        """Nothing where the margin is at least 1."""
        hinge = 1.0 - inputs.margin()
        if hinge <= 0:
            return SecondOrderStep()
        slack = self.r / inputs.cost
        return SecondOrderStep(add=inputs.y * (hinge / (inputs.variance + slack)), gain=1.0 / slack)


@rule
class _SoftConfidence(SecondOrderRule):
    C: float = positive(1.0, "How much one example counts.")
    eta: float = parameter(0.9, Interval(0.5, below=1.0), "The confidence; phi is its normal quantile.")
    full: bool = _full()

    def phi(self) -> float:
        """The quantile of the standard normal distribution at ``eta``."""
        return NormalDist().inv_cdf(self.eta)

    def numbers(self, owner: type[Rule]) -> list[float]:
        """C and the quantile, which the kernel does not work out."""
        return [float(self.C), self.phi()]

    def _step(self, inputs: SecondOrderInput, length: Callable[[SecondOrderInput], float]) -> SecondOrderStep:
        """Nothing where y f >= phi sqrt(x' Sigma x); else the alpha and beta of Wang, Zhao & Hoi 2012."""
        phi, v = self.phi(), inputs.variance
        if v <= 0 or phi * math.sqrt(v) <= inputs.margin():
            return SecondOrderStep()
        alpha = length(inputs)
        if alpha <= 0:
            return SecondOrderStep()
        push = alpha * v * phi
        root = 0.5 * (math.sqrt(push * push + 4.0 * v) - push)  # sqrt(u): the deviation of y f after the step
        return SecondOrderStep(add=alpha * inputs.y, gain=alpha * phi / root)


@rule
class SCW1(_SoftConfidence):
    """Soft confidence-weighted learning I: KL(new, old) + C cost loss, loss = max(0, phi sqrt(x' Sigma x) - y f).

    The smallest move after which the answer is right with probability ``eta``, at most C cost long. Wang, Zhao &
    Hoi 2012, prop. 1, which is cost = 1.

    >>> SCW1(C=0.1).second_order_step(SecondOrderInput(score=0.0, y=-1.0, cost=1.0, variance=1.0)).add
    -0.1
    """

    merges = True
    first_alone = False

    def begin_lane(self, known: Belief, lanes: int) -> Belief:
        """All that is known: with a share of the precision the first rows would move it too far.

        Parameters
        ----------
        known : Belief
            What is known before.
        lanes : int
            How many learners there are.

        Returns
        -------
        Belief
            The start of each.
        """
        return known

    def merge(self, beliefs: Sequence[Belief], before: Belief) -> Belief:
        """What learners of different rows know together: each feature moves by the mean of their moves.

        A learner's move counts by the precision it gained for the feature, up to 10: those that saw a rare feature
        alone decide on it, and those that know one well count alike, since what SCW-I gains beyond says more about its
        first rows than about the weight. Precision grows by the mean of the gains. Both are means, so that no number of
        learners and passes takes them beyond what one learner found.

        Parameters
        ----------
        beliefs : sequence of Belief
            What they know, added up by a binary tree in this order.
        before : Belief
            What was known before they started.

        Returns
        -------
        Belief
            What they know together.
        """
        gains = [np.maximum(0.0, 1.0 / one.variance - 1.0 / before.variance) for one in beliefs]
        shares = [np.minimum(gain, _KNOWN_WELL) for gain in gains]
        moves = [share * (one.mean - before.mean) for share, one in zip(shares, beliefs, strict=True)]
        total, moved = in_pairs(shares, np.add), in_pairs(moves, np.add)
        mean = before.mean + np.divide(moved, total, out=np.zeros_like(moved), where=total > 0)
        return Belief(mean, 1.0 / (1.0 / before.variance + in_pairs(gains, np.add) / len(beliefs)))

    def second_order_step(self, inputs: SecondOrderInput) -> SecondOrderStep:
        """As far as the confidence wants, at most C cost."""
        return self._step(inputs, self._length)

    def _length(self, inputs: SecondOrderInput) -> float:
        """The step that reaches the confidence, cut at C cost."""
        phi2 = self.phi() * self.phi()
        psi, zeta = 1.0 + phi2 / 2.0, 1.0 + phi2
        m, v = inputs.margin(), inputs.variance
        wanted = (-m * psi + math.sqrt(m * m * (phi2 * phi2) / 4.0 + v * phi2 * zeta)) / (v * zeta)
        return min(self.C * inputs.cost, wanted)


@rule
class SCW2(_SoftConfidence):
    """Soft confidence-weighted learning II: like :class:`SCW1` with the loss squared.

    Wang, Zhao & Hoi 2012, prop. 2, which is cost = 1.

    >>> SCW2(C=0.5).second_order_step(SecondOrderInput(score=9.0, y=1.0, cost=1.0, variance=1.0))
    SecondOrderStep(add=0.0, gain=0.0, after=False)
    """

    def second_order_step(self, inputs: SecondOrderInput) -> SecondOrderStep:
        """As far as confidence and squared loss balance."""
        return self._step(inputs, self._length)

    def _length(self, inputs: SecondOrderInput) -> float:
        """The step that balances confidence and loss."""
        phi = self.phi()
        phi2, m, v = phi * phi, inputs.margin(), inputs.variance
        n = v + 1.0 / (2.0 * (self.C * inputs.cost))
        root = phi * math.sqrt(phi2 * (m * m) * (v * v) + 4.0 * n * v * (n + v * phi2))
        return (root - (2.0 * m * n + phi2 * m * v)) / (2.0 * (n * n + n * v * phi2))


@rule
class ACOG(SecondOrderRule):
    """Adaptive cost-sensitive gradient descent: the steps of paper 000, along Sigma x.

    Where the loss is positive Sigma^-1 += x x' / gamma, then w += eta cost y Sigma x (loss II,
    cost max(0, 1 - y f)) or w += eta y Sigma x (loss I, max(0, cost - y f)). Zhao et al. 2018, Algorithm 1; as gamma
    grows it becomes :class:`CSOGD2` (II) or :class:`CSOGD1` (I).

    >>> ACOG(eta=0.5, gamma=2.0).second_order_step(SecondOrderInput(score=0.5, y=1.0, cost=3.0, variance=1.0))
    SecondOrderStep(add=1.5, gain=0.5, after=True)
    """

    eta: float = positive(1.0, "The step.")
    gamma: float = positive(1.0, "How slowly Sigma shrinks.")
    loss: str = choice("II", "I", description="Whether the cost scales the slope or moves the margin.")
    full: bool = _full()

    def second_order_step(self, inputs: SecondOrderInput) -> SecondOrderStep:
        """Nothing where the loss is zero."""
        wanted = inputs.cost if self.loss == "I" else 1.0
        if wanted - inputs.margin() <= 0:
            return SecondOrderStep()
        slope = 1.0 if self.loss == "I" else inputs.cost
        return SecondOrderStep(add=self.eta * slope * inputs.y, gain=1.0 / self.gamma, after=True)
