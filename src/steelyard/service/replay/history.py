"""Learning labelled rows before the first row of a project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import SteelyardError
from ...validation.values import invalid
from ..log.records import RecordReader, Row
from ..log.settings import ProjectSettings
from .state import State


def learned_from(settings: ProjectSettings, rows: Iterable[dict[str, Any]], target: str) -> tuple[State, int]:
    """The state after labelled rows, in their order, and how many they were; rows without a label are left out.

    They cost no labels of the budget and are no rows of the stream: both counts are those of a fresh project.
    """
    state, labels, reader = State(settings), settings.labels, RecordReader(settings)
    examples: list[tuple[Row, int]] = []
    for number, row in enumerate(rows, start=2):
        if target not in row:
            raise invalid("--target", "be a column of the history", target)
        label = row.pop(target)
        if label is None or label == "":
            continue
        try:
            if str(label) not in labels:
                raise invalid("the label", f"be one of {', '.join(map(repr, labels))}", label)
            cells, _, _ = reader.read(row)
            examples.append((state.encoder.one(cells), labels.index(str(label))))
        except SteelyardError as error:
            raise invalid(f"row {number} of the history", "be one the project can learn", str(error)) from None
    _learn_examples(state, examples)
    return state, len(examples)


def _learn_examples(state: State, examples: list[tuple[Row, int]]) -> None:
    """Learn the examples on a learner that may ask for as many labels; take over what it has learned."""
    fresh = state.learner.state()
    lent = state.learner.changed(budget=len(examples)) if len(examples) else state.learner
    written = lent.state()
    t, spent, _, *rest = written["counts"]
    lent = type(lent).from_state(written | {"counts": [t, spent, len(examples), *rest]})
    for row, label in examples:
        lent.learn(row, label)
    counts = [*fresh["counts"][:3], *lent.state()["counts"][3:]]
    state.learner = type(state.learner).from_state(fresh | {"arrays": lent.state()["arrays"], "counts": counts})
