"""What several lanes know together: the rule says what each starts from, and merges them in lane order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..active import AskAll
from ..online import AdaptiveBalanced, OnlineClassifier, SecondOrderRule
from ..online.second_order import Belief
from ..validation.values import invalid
from .job import Learner


def check_lanes(estimator: Any, lanes: int) -> None:
    """Raise where lanes cannot be merged, or have not been shown to be merged with little loss."""
    if lanes == 1:
        return
    update: Any = getattr(estimator, "update", None)
    name = type(estimator).__name__ if update is None else type(update).__name__
    rule = isinstance(estimator, OnlineClassifier) and isinstance(update, SecondOrderRule) and update.merges
    hint = 'Use AROW or SCW1, or finish="lbfgs".'
    if not rule:
        raise invalid("lanes", f"be 1 for {name}, whose lanes cannot be merged without loss", lanes, hint)
    if update.full:
        raise invalid("lanes", f"be 1 for {name}(full=True), whose lanes have not been measured", lanes, hint)
    reasons = {
        "a query rule": not isinstance(estimator.query, (AskAll, type(None))),
        "a budget": estimator.budget is not None,
        'after_budget="average"': estimator.after_budget == "average",
        "AdaptiveBalanced": isinstance(estimator.costs, AdaptiveBalanced),
    }
    for reason, holds in reasons.items():
        if holds:
            raise invalid("lanes", f"be 1 with {reason}, which needs the rows one after the other", lanes)


def belief_of(learner: Any) -> Belief:
    """Weights and variances of a learner, those of the intercept last."""
    arrays = learner.state()["arrays"]
    bias = arrays["factors"][1:2] if learner.fit_intercept else np.empty(0)
    return Belief(np.concatenate([arrays["weights"], bias]), np.asarray(arrays["spread"], dtype=np.float64))


def with_belief(learner: Any, belief: Belief, counts: Sequence[int]) -> Any:
    """A learner with other weights and variances, and other counts."""
    state, d = learner.state(), learner.n_features_in_
    bias = float(belief.mean[d]) if learner.fit_intercept else 0.0
    state["arrays"] |= {"weights": belief.mean[:d].copy(), "spread": belief.variance}
    state["arrays"]["factors"] = np.array([1.0, bias, 0.0, 0.0, 0.0])
    return type(learner).from_state(state | {"counts": list(counts)})


def begin_lane(learner: Learner, lanes: int) -> Learner:
    """What one of several lanes starts from, as the rule has it. It counts its rows.

    Giving each lane the whole prior and taking it away again afterwards diverges from the second pass on.
    """
    if lanes == 1:
        return learner
    rule: Any = learner.update
    return with_belief(learner, rule.begin_lane(belief_of(learner), lanes), [0] * 5)  # type: ignore[no-any-return]


def merge_lanes(learners: Sequence[Any], before: Any) -> Any:
    """What all lanes know, as the rule merges them; ``before`` is the learner that they started from."""
    if len(learners) == 1:
        return learners[0]
    merged = learners[0].update.merge([belief_of(learner) for learner in learners], belief_of(before))
    counts = [learner.state()["counts"] for learner in [*learners, before]]
    return with_belief(learners[0], merged, [sum(column) for column in zip(*counts, strict=True)])
