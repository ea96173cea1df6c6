"""One pass over a stream: update rules and OnlineClassifier. Papers 000 and 001."""

from .adaptive import AdaptiveBalanced
from .classifier import OnlineClassifier
from .hashing import RecordHasher
from .multiclass import OnlineCostClassifier
from .scaler import StreamScaler
from .second_order import ACOG, AROW, SCW1, SCW2, SecondOrderInput, SecondOrderRule, SecondOrderStep
from .updates import (
    CPAPB,
    CSOALPA,
    CSOGD1,
    CSOGD2,
    PA,
    PA1,
    PA2,
    PAUM,
    ROMMA,
    ClassInput,
    CPAPBTable2,
    CSOALHinge,
    Perceptron,
    Step,
    UpdateInput,
    UpdateRule,
)

__all__ = [
    "ACOG",
    "AROW",
    "CPAPB",
    "CSOALPA",
    "CSOGD1",
    "CSOGD2",
    "PA",
    "PA1",
    "PA2",
    "PAUM",
    "ROMMA",
    "SCW1",
    "SCW2",
    "AdaptiveBalanced",
    "CPAPBTable2",
    "CSOALHinge",
    "ClassInput",
    "OnlineClassifier",
    "OnlineCostClassifier",
    "Perceptron",
    "RecordHasher",
    "SecondOrderInput",
    "SecondOrderRule",
    "SecondOrderStep",
    "Step",
    "StreamScaler",
    "UpdateInput",
    "UpdateRule",
]
