"""A small model of made-up rows that can decide a project of the tests."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from steelyard import Costs, ExpectedCostClassifier
from steelyard.models.model import Model
from steelyard.models.schema import read_columns
from steelyard.models.training import summarize
from steelyard.service.writer.jobs import ChampionJob


def fitted(classes=("good", "fraud"), *, fn=10, fp=1, names=("x", "y"), category=False):
    """A model of made-up rows."""
    draw = np.random.default_rng(3)
    truth = draw.integers(0, len(classes), 300)
    frame = pd.DataFrame({name: draw.normal(1.5 * truth * (-1) ** k, 1.0) for k, name in enumerate(names)})
    if category:
        frame["c"] = np.where(truth, draw.choice(["a", "b"], 300), draw.choice(["b", "c"], 300))
    labels = np.array(classes, dtype=object)[truth]
    two = {"fn": fn, "fp": fp, "classes": sorted(classes), "positive": classes[-1]}  # not in the project's order
    costs = Costs.binary(**two) if len(classes) == 2 else Costs.zero_one(list(classes))
    columns = read_columns(frame)
    learner = ExpectedCostClassifier(LogisticRegression(), costs=costs)
    pipeline = make_pipeline(columns.scaled(), learner).fit(frame, labels)
    training = summarize(frame, costs.encode(labels), len(classes), columns, card={"seed": 0})
    return Model("logistic regression", pipeline, columns, costs, training)


def bytes_of(model, folder):
    path = folder / "model.steelyard"
    model.save(path)
    raw = path.read_bytes()
    path.unlink()
    return raw


def crowned(bench, raw, name="m.steelyard"):
    return bench.run(ChampionJob("p", 1, sha256=sha256(raw).digest(), name=name, body=raw))
