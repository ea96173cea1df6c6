"""One pass over a stream: update rules and OnlineClassifier. Papers 000 and 001."""

from .adaptive import AdaptiveBalanced
from .classifier import OnlineClassifier
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
    CPAPBTable2,
    CSOALHinge,
    Perceptron,
    Seen,
    Step,
    UpdateRule,
)

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
    "AdaptiveBalanced",
    "CPAPBTable2",
    "CSOALHinge",
    "OnlineClassifier",
    "Perceptron",
    "Seen",
    "Step",
    "UpdateRule",
]
