"""Boosting with costs: AdaBoost.M1, AdaC2.M1 and relatives. Paper 003."""

from .binary import (
    AdaC1Classifier,
    AdaC2Classifier,
    AdaC3Classifier,
    AdaCostClassifier,
    CSB0Classifier,
    CSB1Classifier,
    CSB2Classifier,
)
from .multiclass import AdaBoostM1Classifier, AdaC2M1Classifier

__all__ = [
    "AdaBoostM1Classifier",
    "AdaC1Classifier",
    "AdaC2Classifier",
    "AdaC2M1Classifier",
    "AdaC3Classifier",
    "AdaCostClassifier",
    "CSB0Classifier",
    "CSB1Classifier",
    "CSB2Classifier",
]
