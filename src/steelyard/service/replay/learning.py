"""Learning labels, and again after some were taken back. Pure: see :mod:`steelyard.service.replay.state`."""

from __future__ import annotations

from ...errors import InvalidInputError
from ..log.records import Row
from .shadows import Counts, Shadow
from .state import Rows, State
from .training import Training


def learn(state: State, item: int, label: int, row: Row) -> int:
    """Learn a label and pay for it; the number of the training example."""
    before = state.counts()
    state.learner.learn(row, label)
    state.budget.pay()
    return _learned(state, item, label, row, before)


def learn_unpaid(state: State, item: int, label: int, row: Row) -> int:
    """Learn a label in the place of one that was paid for and taken back."""
    known = state.learner.state()
    t, spent, reserved, *rest = known["counts"]
    lent = type(state.learner).from_state(known | {"counts": [t, spent - 1, reserved + 1, *rest]})
    lent.learn(row, label)
    state.learner = lent
    return _learned(state, item, label, row, Counts(t, spent - 1, reserved + 1))


def _learned(state: State, item: int, label: int, row: Row, before: Counts) -> int:
    """After the learner its shadows learn a label; the number of the training example."""
    for shadow in state.shadows.values():
        shadow.learn(row, label, before)
    n = state.training.add(item, label, row, before.rounds)
    if state.training.copies_due:
        learners = {0: state.learner} | {slot: one.learner for slot, one in state.shadows.items() if not one.ended}
        state.training.keep_copies(learners)
    return n


def relearn(state: State, training: Training, rows: Rows) -> None:
    """Learn these examples again, in the place of all before; where that cannot be done nothing has changed."""
    state.learner = training.relearned(state.learner, rows)
    state.training = training
    for shadow in state.shadows.values():
        relearn_shadow(state, shadow, rows)


def relearn_shadow(state: State, shadow: Shadow, rows: Rows) -> None:
    """Have a shadow learn all examples again; one that cannot has ended."""
    if shadow.ended:
        return
    try:
        shadow.learner.set_counts(**state.counts()._asdict())
        shadow.learner = state.training.relearned(shadow.learner, rows, shadow.slot)
    except InvalidInputError:
        shadow.ended = True
