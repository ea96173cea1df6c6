"""Zhao et al. 2018: second-order information pays where there are rows enough to learn it. Measured on covtype."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.preprocessing import Normalizer, StandardScaler

from steelyard import ACOG, AROW, CSOGD2, Costs, OnlineClassifier, UpdateRule

SAMPLE = Path(os.environ.get("STEELYARD_DATA", "")) / "covtype.sample16.data.gz"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not os.environ.get("STEELYARD_DATA"), reason="STEELYARD_DATA is not set"),
    pytest.mark.skipif(not SAMPLE.is_file(), reason="the covtype sample is not in STEELYARD_DATA"),
]
STEPS = (0.03, 0.1, 0.3, 1.0, 3.0)


@pytest.fixture(scope="module")
def rows() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    table = np.loadtxt(SAMPLE, delimiter=",", max_rows=15_000)
    X = Normalizer().fit_transform(StandardScaler().fit_transform(table[:, :-1]))
    return X, table[:, -1] == 2


def cost(rows: tuple[NDArray[np.float64], NDArray[np.bool_]], update: UpdateRule) -> float:
    X, y = rows
    answers = OnlineClassifier(update, costs=Costs.binary(fn=0.95, fp=0.05)).run(X, y).prediction
    return float(0.95 * (y & ~answers).sum() + 0.05 * (~y & answers).sum())


def test_acog_costs_a_tenth_less_than_the_best_first_order_step(
    rows: tuple[NDArray[np.float64], NDArray[np.bool_]],
) -> None:
    first_order = min(cost(rows, CSOGD2(eta)) for eta in STEPS)
    diagonal = min(cost(rows, ACOG(eta, 1.0)) for eta in STEPS)
    whole = min(cost(rows, ACOG(eta, 1.0, full=True)) for eta in STEPS)
    assert diagonal < 0.9 * first_order
    assert whole < 0.9 * first_order
    assert whole < diagonal


def test_cost_weighted_arow_too(rows: tuple[NDArray[np.float64], NDArray[np.bool_]]) -> None:
    assert cost(rows, AROW(0.1)) < 0.9 * min(cost(rows, CSOGD2(eta)) for eta in STEPS)
