"""One fit on all rows: the winner of an evaluation as a model that meets new data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ..costs import Costs
from ..decision import ExpectedCostClassifier
from ..decision.blending import BlendClassifier
from ..decision.calibration import CalibratedClassifier
from ..files import Node
from ..models.kinds import write_node
from ..models.kinds.levels import as_fitted_levels
from ..models.model import Model
from .data import ComparisonData
from .evaluation import CandidateRun
from .fold import as_rows, single_threaded


def refit(run: CandidateRun, data: ComparisonData, costs: Costs | None = None) -> Model:
    """Fit a constant, a single candidate or the members of a blend; rows are prepared once for each encoder.

    The model decides by ``costs``, the mean ones of the data if None.
    """
    costs = data.mean_costs() if costs is None else costs
    if run.family == "constant":
        assert run.answers is not None
        label = data.classes[int(run.answers[0])]
        constant = DummyClassifier(strategy="constant", constant=label)
        return Model(run.name, constant.fit(data.labels_only().X, data.y), data.columns, costs)
    members = run.members or [(run, 1.0)]
    with single_threaded():
        fitted = _fit_members([member for member, _ in members], data)
    weights = [weight for _, weight in members]
    blend = FrozenEstimator(BlendClassifier(fitted, weights, data.classes))
    decision = ExpectedCostClassifier(blend, costs=costs).with_fitted(blend, data.X, costs)
    return Model(run.name, decision, data.columns, costs)


def size_when_saved(run: CandidateRun, data: ComparisonData) -> int:
    """Bytes of the numbers that a file of this run's model would hold."""
    return _bytes(write_node(refit(run, data).estimator))


def _bytes(node: Node) -> int:
    return sum(int(np.asarray(values).nbytes) for values in node.arrays.values()) + sum(map(_bytes, node.parts))


def _fit_members(runs: list[CandidateRun], data: ComparisonData) -> list[tuple[str, CalibratedClassifier]]:
    prepared: dict[str, tuple[Any, Any]] = {}
    found = []
    for run in runs:
        candidate = run.candidate
        assert candidate is not None
        assert run.calibration is not None
        if candidate.encoder not in prepared:
            encoder = candidate.new_encoder(data)
            rows = as_rows(encoder.fit_transform(data.X, data.codes))
            if isinstance(encoder, ColumnTransformer):  # None of one library of frames is NaN of another
                known = [(name, as_fitted_levels(one) if at else one, at) for name, one, at in encoder.transformers_]
                encoder.transformers_ = known
            prepared[candidate.encoder] = encoder, rows
        encoder, rows = prepared[candidate.encoder]
        model, _ = candidate.fit(rows, data, run.rounds)
        whole = Pipeline([("prepare", encoder), ("learner", model)])
        found.append((run.name, CalibratedClassifier(whole).with_calibration(run.calibration)))
    return found
