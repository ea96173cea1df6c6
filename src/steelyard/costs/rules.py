"""Costs that need the data, and the one function through which estimators take costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CostsError
from ..validation.arrays import check_labels
from ..validation.docstrings import documented
from ..validation.types import FrameLike, LabelsLike
from ..validation.values import check_choice, check_number, invalid
from ._costs import Costs
from ._reading import in_order, positive_index


@runtime_checkable
class CostRule(Protocol):
    """Costs that depend on the labels: asked once, at fit."""

    def costs_for(self, y: LabelsLike) -> Costs:
        """The costs for data with these labels.

        Parameters
        ----------
        y : array-like of shape (n,), or mapping of label to count
            Labels of the data, or how many there are of each.

        Returns
        -------
        Costs
            The costs for such data.
        """
        ...


CostsLike: TypeAlias = Costs | CostRule | Mapping[Any, Any] | ArrayLike | FrameLike
"""What ``costs`` may be: :class:`Costs`, a rule, C[true, predicted], one such matrix for each row, ``{class: cost}``
or a frame."""


@documented()
@dataclass(frozen=True)
class Balanced:
    """Weigh sensitivity by ``eta_pos`` and specificity by the rest: rho = eta_p T_n / (eta_n T_p). Paper 000, prop. 1.

    With more than two classes every class gets the same total weight, and ``eta_pos`` must be 0.5.

    Parameters
    ----------
    eta_pos : float
        Weight of sensitivity, in (0, 1).

    Examples
    --------
    >>> Balanced().costs_for([1, 0, 0, 0]).ratio(), Balanced().costs_for({0: 300, 1: 100}).ratio()
    (3.0, 3.0)
    """

    eta_pos: float = 0.5
    positive: Any = None

    def costs_for(self, y: LabelsLike) -> Costs:
        """The costs for data with these labels, or with so many of each: ``{label: count}``.

        Parameters
        ----------
        y : array-like of shape (n,), or mapping of label to count
            Labels of the data, or how many there are of each.

        Returns
        -------
        Costs
            The costs for such data.
        """
        eta = check_number("eta_pos", self.eta_pos, above=0, below=1)
        classes, counts = _two_or_more(y)
        if len(classes) == 2:
            plus = positive_index(classes, self.positive)
            rho = eta * counts[1 - plus] / ((1 - eta) * counts[plus])
            return Costs.binary(fn=rho, fp=1.0, classes=classes, positive=self.positive)
        if eta != 0.5:
            raise invalid("eta_pos", "be 0.5 with more than two classes", self.eta_pos, error=CostsError)
        return Costs.from_classes(dict(zip(classes.tolist(), counts.max() / counts, strict=True)))


@dataclass(frozen=True)
class InverseFrequency:
    """Class costs that grow as a class gets rare, by a power that is zero for equal costs.

    Parameters
    ----------
    power : float
        0 for equal costs; larger for costs that grow faster.
    relative_to : {"others", "rarest"}
        "others": (m_others / m_k)^power with the geometric mean of the other classes' counts; for two classes the
        theta of paper 004. "rarest": (n_min / n_k)^power, the default costs of AdaC2.M1.

    Examples
    --------
    >>> InverseFrequency(power=0.5).costs_for([1, 0, 0, 0, 0]).class_costs()
    array([0.5, 2. ])
    """

    power: float = 1.0
    relative_to: str = "others"

    def costs_for(self, y: LabelsLike) -> Costs:
        """The costs for data with these labels, or with so many of each: ``{label: count}``.

        Parameters
        ----------
        y : array-like of shape (n,), or mapping of label to count
            Labels of the data, or how many there are of each.

        Returns
        -------
        Costs
            The costs for such data.
        """
        power = check_number("power", self.power)
        check_choice("relative_to", self.relative_to, ("others", "rarest"))
        classes, counts = _two_or_more(y)
        log_counts = np.log(counts)
        if self.relative_to == "others":
            reference = (log_counts.sum() - log_counts) / (len(classes) - 1)
        else:
            reference = np.full(len(classes), log_counts.min())
        return Costs.from_classes(dict(zip(classes.tolist(), np.exp(power * (reference - log_counts)), strict=True)))


def _two_or_more(y: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Classes and how often each comes."""
    if isinstance(y, Mapping):
        classes = np.array(in_order(y))
        counts = np.array([check_number(f"count of {label!r}", y[label], above=0) for label in classes.tolist()])
    else:
        classes, codes = check_labels(y)
        counts = np.bincount(codes).astype(float)
    if len(classes) < 2:
        raise invalid("y", "hold two or more classes for costs by frequency", classes.tolist(), error=CostsError)
    return classes, counts


def as_costs(
    costs: CostsLike | None, y: LabelsLike | None, classes: NDArray[Any], *, per_example: CostsLike | None = None
) -> Costs:
    """The costs an estimator works with, over its ``classes``, from its parameter and from its fit metadata.

    Parameters
    ----------
    costs : Costs, cost rule, mapping, array-like, frame or None
        The parameter of the constructor; 0/1 costs if None.
    y : array-like of shape (n,)
        Labels, for rules.
    classes : ndarray of shape (K,)
        The classes in order.
    per_example : Costs, cost rule, array-like or None
        The metadata of ``fit``; wins where given: an (n, K) array with columns as in ``classes``, or an (n, K, K)
        array of a matrix per example.

    Returns
    -------
    Costs
        Over ``classes``.
    """
    if per_example is not None:
        if isinstance(per_example, (Costs, Mapping, CostRule)):
            return as_costs(per_example, y, classes)
        if np.ndim(cast("Any", per_example)) == 3:
            return Costs.from_matrices(cast("ArrayLike", per_example), classes=classes)
        if (
            np.shape(cast("Any", per_example))
            == (len(classes), len(classes))
            != (np.shape(cast("Any", y))[0], len(classes))
        ):
            rule, hint = (
                "hold a row per example at fit",
                "Give a matrix to the constructor or as Costs.from_matrix(C).",
            )
            raise invalid("costs", rule, "a matrix C[true, predicted]", hint, CostsError)
        return Costs.from_rows(cast("ArrayLike", per_example), classes=classes)
    return Costs.zero_one(classes) if costs is None else stated_costs(costs, y).aligned(classes)


def as_learning_costs(
    costs: CostsLike | None, y: Any, classes: NDArray[Any], *, per_example: CostsLike | None = None
) -> Costs:
    """:func:`as_costs` for learners that need costs >= 0: where some answer gains, its :meth:`Costs.regret`.

    The decisions between classes that cost least are the same; reports and measures keep the user's figures.
    """
    found = as_costs(costs, y, classes, per_example=per_example)
    return found.regret() if found.has_gains() else found


def stated_costs(costs: CostsLike, y: Any) -> Costs:
    """Costs from any form a caller may state them in, with class labels where that form has them."""
    if isinstance(costs, Costs):
        return costs
    if isinstance(costs, CostRule):
        return costs.costs_for(y)
    if isinstance(costs, Mapping) and not any(isinstance(v, Mapping) for v in costs.values()):
        return Costs.from_classes(costs)
    if np.ndim(cast("Any", costs)) == 3:
        return Costs.from_matrices(cast("ArrayLike", costs))
    return Costs.from_matrix(costs)
