"""From the options of ``steelyard stream`` to a new session, or to one that goes on as it began.

Tested in ``tests/unit/streaming/test_many_classes.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..costs import Costs
from ..costs.spec import ROLES, CostSpec
from ..models.parsing import costs_option, label_budget, query_rule, stream_costs, update_rule
from ..models.records import RecordEncoder
from ..online import CSOGD1, CSOGD2, OnlineClassifier, OnlineCostClassifier
from ..validation.values import check_choice, invalid
from .columns import SideColumns
from .decision_log import COLUMNS
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
    id: str | None = None
    cost_columns: tuple[tuple[str, str], ...] = ()  # role (fn, fp, tp, tn) and name
    keep_cost_columns: bool = False


def with_positive(settings: StreamSettings) -> StreamSettings:
    """The same options with the positive label that a file of costs names, where it names one."""
    stated = costs_option(settings.costs, dict(settings.cost_columns))
    named = stated.positive if isinstance(stated, CostSpec) else None
    if named is None:
        return settings
    if settings.positive not in (None, str(named)):
        raise invalid("--positive", f"be {named}, as the --costs file has it, or left out", settings.positive)
    return replace(settings, positive=str(named))


def new_session(settings: StreamSettings) -> Session:
    """A new stream. All options are parsed at once, the learner is built when the labels are known."""
    classes = None if settings.classes is None else _named_labels(settings.classes, settings.positive)
    update = None if settings.update is None else update_rule(settings.update)
    query, budget = query_rule(settings.query), label_budget(settings.budget)
    costs = stream_costs(settings.costs, dict(settings.cost_columns))
    side = SideColumns(settings.id, costs if isinstance(costs, CostSpec) else None, settings.keep_cost_columns)
    if side.id in COLUMNS:
        raise invalid("--id", f"be called otherwise than the columns of the log ({', '.join(COLUMNS)})", side.id)
    after_budget = check_choice("--after-budget", settings.after_budget, ("last", "average"))
    shared = {"query": query, "budget": budget, "after_budget": after_budget, "seed": settings.seed}

    def make(labels: tuple[Any, ...]) -> Learner:
        by_class = None if isinstance(costs, CostSpec) else align_costs(costs, labels)
        rest: Any = shared | {"costs": by_class, "fit_intercept": settings.fit_intercept}
        if len(labels) == 2:
            return OnlineClassifier(CSOGD2() if update is None else update, threshold=settings.threshold, **rest)
        if settings.threshold != 0:
            raise invalid("--threshold", "be left out where there are more than two labels", settings.threshold)
        return OnlineCostClassifier(CSOGD1() if update is None else update, **rest)

    return Session(make, _encoder(settings), classes, side)


def _encoder(settings: StreamSettings) -> RecordEncoder:
    return RecordEncoder(settings.scale, settings.hash_bits, text=settings.text, url=settings.url)


def resume_session(session: Session, settings: StreamSettings, state: Path) -> Session:
    """A stream that goes on. Options given again must be equal to those it began with."""
    asked, plain = new_session(settings), new_session(StreamSettings())
    sides = session.side, asked.side, plain.side
    learners = session.learner, asked.make(session.labels), plain.make(session.labels)
    had, wanted, default = (_comparable(model) | _side(side) for model, side in zip(learners, sides, strict=True))
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


def _side(side: SideColumns) -> dict[str, Any]:
    stated = {} if side.costs is None else {"costs": {role: getattr(side.costs, role) for role in ROLES}}
    return {"id": side.id, "keep_cost_columns": side.keep} | stated


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
