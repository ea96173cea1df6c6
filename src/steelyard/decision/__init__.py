"""Probabilities into decisions: calibration, thresholds and the answer of least expected cost."""

from .expected_cost import ExpectedCostClassifier

__all__ = ["ExpectedCostClassifier"]
