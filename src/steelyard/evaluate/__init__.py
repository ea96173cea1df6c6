"""Measures, curves, intervals and tests: pure functions on arrays. Imports no learner."""

from .estimates import Estimate, estimate
from .measures import (
    costs_paid,
    f_score,
    g_mean_score,
    mean_cost,
    precision_score,
    savings_score,
    sensitivity_score,
    specificity_score,
    total_cost,
    weighted_sum_score,
)
from .streams import cumulative, stream_value
from .tables import ClassScores, ConfusionTable, confusion_table, cost_confusion_matrix, per_class_scores

__all__ = [
    "ClassScores",
    "ConfusionTable",
    "Estimate",
    "confusion_table",
    "cost_confusion_matrix",
    "costs_paid",
    "cumulative",
    "estimate",
    "f_score",
    "g_mean_score",
    "mean_cost",
    "per_class_scores",
    "precision_score",
    "savings_score",
    "sensitivity_score",
    "specificity_score",
    "stream_value",
    "total_cost",
    "weighted_sum_score",
]
