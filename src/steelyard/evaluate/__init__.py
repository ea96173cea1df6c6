"""Measures, curves, intervals and tests: pure functions on arrays. Imports no learner."""

from .capacity import LimitedDecisions, at_most
from .comparisons import FriedmanComparison, PairedComparison, compare_costs, compare_learners, compare_over_datasets
from .curves import BrierCurve, CostCurve, RocHull, ThresholdCurve, brier_curve, cost_curve, roc_hull, threshold_curve
from .displays import BrierCurveDisplay, CostCurveDisplay, RocHullDisplay, ThresholdDisplay
from .estimates import Estimate, estimate
from .intervals import Interval, bootstrap_interval
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
from .scorers import CostScorer, cost_scorer, get_scorer, get_scorer_names
from .stream_display import StreamDisplay
from .streams import prequential_curve, prequential_score
from .tables import ClassScores, ConfusionTable, confusion_table, cost_confusion_matrix, per_class_scores

__all__ = [
    "BrierCurve",
    "BrierCurveDisplay",
    "ClassScores",
    "ConfusionTable",
    "CostCurve",
    "CostCurveDisplay",
    "CostScorer",
    "Estimate",
    "FriedmanComparison",
    "Interval",
    "LimitedDecisions",
    "PairedComparison",
    "RocHull",
    "RocHullDisplay",
    "StreamDisplay",
    "ThresholdCurve",
    "ThresholdDisplay",
    "at_most",
    "bootstrap_interval",
    "brier_curve",
    "compare_costs",
    "compare_learners",
    "compare_over_datasets",
    "confusion_table",
    "cost_confusion_matrix",
    "cost_curve",
    "cost_scorer",
    "costs_paid",
    "estimate",
    "f_score",
    "g_mean_score",
    "get_scorer",
    "get_scorer_names",
    "mean_cost",
    "per_class_scores",
    "precision_score",
    "prequential_curve",
    "prequential_score",
    "roc_hull",
    "savings_score",
    "sensitivity_score",
    "specificity_score",
    "threshold_curve",
    "total_cost",
    "weighted_sum_score",
]
