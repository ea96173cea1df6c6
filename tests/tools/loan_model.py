"""A small table of loans and a model fitted on it, for tests of loaded models and of the command predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from steelyard import Costs, ExpectedCostClassifier
from steelyard.models.model import Model
from steelyard.models.schema import read_columns
from steelyard.models.training import summarize

RNG = np.random.default_rng(3)
N = 200
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(40, 10, N)),
        "amount": RNG.lognormal(3, 1, N),
        "job": RNG.choice(["none", "clerk", "cook"], N, p=[0.2, 0.5, 0.3]),
    }
)
Y = np.where((FRAME["job"] == "none") | (RNG.random(N) < 0.1), "bad", "good")
COSTS = Costs.binary(fn=5, fp=1, classes=["bad", "good"], positive="bad", currency="EUR")


def fitted(estimator=None, *, spec=None, costs=COSTS, learner=None) -> Model:  # type: ignore[no-untyped-def]
    columns = read_columns(FRAME)
    learner = ExpectedCostClassifier(LogisticRegression(), costs=costs) if learner is None else learner
    pipeline = make_pipeline(columns.scaled(), learner).fit(FRAME, Y)
    training = summarize(FRAME, costs.encode(Y), 2, columns, cost_spec=spec, card={"seed": 0})
    return Model("logistic regression", pipeline, columns, costs, training)


MODEL = fitted()
