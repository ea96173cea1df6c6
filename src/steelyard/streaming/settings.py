"""From the options of ``steelyard stream`` to a new session, or to one that goes on as it began.

Tested in ``tests/unit/streaming/test_many_classes.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..costs import Costs
from ..models.parsing import label_budget, query_rule, stream_costs, update_rule
from ..models.records import RecordEncoder
from ..online import CSOGD1, CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..validation.values import check_choice, invalid
from .session import Learner, Session


@dataclass(frozen=True)
class StreamSettings:
    """The options of the command line, still as text."""

    update: str | None = None
    query: str = "AskAll"
    budget: str | None = None
    costs: str | None = None
    classes: str | None = None
    positive: str | None = None
    threshold: float = 0.0
    after_budget: str = "last"
    fit_intercept: bool = False
    seed: int = 0
    scale: str = "auto"
    hash_bits: int | None = None
    text: tuple[str, ...] = ()
    url: tuple[str, ...] = ()


def new_session(settings: StreamSettings) -> Session:
    """A new stream. All options are parsed at once, the learner is built when the labels are known."""
    classes = None if settings.classes is None else _named_labels(settings.classes, settings.positive)
    update = None if settings.update is None else update_rule(settings.update)
    query, budget, costs = query_rule(settings.query), label_budget(settings.budget), stream_costs(settings.costs)
    after_budget = check_choice("--after-budget", settings.after_budget, ("last", "average"))
    shared = {"query": query, "budget": budget, "after_budget": after_budget, "seed": settings.seed}

    def make(labels: tuple[Any, ...]) -> Learner:
        rest: Any = shared | {"costs": align_costs(costs, labels), "fit_intercept": settings.fit_intercept}
        if len(labels) == 2:
            return OnlineClassifier(CSOGD2() if update is None else update, threshold=settings.threshold, **rest)
        if settings.threshold != 0:
            raise invalid("--threshold", "be left out where there are more than two labels", settings.threshold)
        return OnlineCostClassifier(CSOGD1() if update is None else update, **rest)

    return Session(make, _encoder(settings), classes)


def _encoder(settings: StreamSettings) -> RecordEncoder:
    return RecordEncoder(settings.scale, settings.hash_bits, text=settings.text, url=settings.url)


def resume_session(session: Session, settings: StreamSettings, state: Path) -> Session:
    """A stream that goes on. Options given again must be equal to those it began with."""
    had, wanted, default = (
        _comparable(model)
        for model in (
            session.learner,
            *(new_session(s).make(session.labels) for s in (settings, StreamSettings())),
        )
    )
    for found, encoder in ((had, session.encoder), (wanted, _encoder(settings)), (default, _encoder(StreamSettings()))):
        found |= {name: getattr(encoder, name) for name in ("scale", "hash_bits", "text", "url")}
    labels = list(map(str, session.labels))
    had |= {"classes": labels, "positive": labels[-1]}
    default |= {"classes": None, "positive": None}
    wanted |= {
        "classes": settings.classes and list(_named_labels(settings.classes, settings.positive)),
        "positive": settings.positive,
    }
    for name, value in wanted.items():
        if value not in (default[name], had[name]):
            option = "--" + name.replace("_", "-")
            hint = "Leave the option out, or begin another --state."
            raise invalid(option, f"stay {had[name]}, as {state} began with", value, hint)
    return session


def _comparable(model: Learner) -> dict[str, Any]:
    """Parameters in a form that can be compared and read, by the names of their options."""
    params = {name: getattr(value, "matrix", value) for name, value in model.get_params(deep=False).items()}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in params.items()}


def _named_labels(text: str, positive: str | None) -> tuple[str, ...]:
    """The labels of ``--classes``; of two the positive one last."""
    names = tuple(name.strip() for name in text.split(","))
    if len(names) < 2 or len(set(names)) < len(names) or not all(names):
        raise invalid("--classes", "name two labels or more, the negative one first", text)
    if positive is None:
        return names
    if len(names) > 2 or positive not in names:
        raise invalid("--positive", f"be one of two labels; --classes names {', '.join(names)}", positive)
    return tuple(sorted(names, key=lambda name: name == positive))


def align_costs(costs: Any, labels: tuple[Any, ...]) -> Any:
    """Costs over the positions of the labels, which is all that the learner sees of them."""
    if isinstance(costs, Costs) and costs.classes is not None:
        return Costs.from_matrix(costs.aligned(labels).matrix)
    if isinstance(costs, Costs) and len(labels) > 2:
        hint = "Give a .csv or .toml file with C[true, predicted]."
        raise invalid("--costs", f"be balanced or a matrix for {len(labels)} labels", "costs of two", hint)
    return costs
