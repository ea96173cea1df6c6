"""Fitting what scores mean, from the labels that stand. Pure: see :mod:`steelyard.service.replay.state`."""

from __future__ import annotations

from .expected import GROWTH, LEAST_LABELS, MOST_LABELS, FittedPair, fit_pair
from .questions import QuestionState
from .state import State


def fit_due(state: State) -> bool:
    """Whether labels have grown enough for another pair."""
    labels = state.budget.spent - state.fit_after[1]
    if labels < LEAST_LABELS or (state.fits and labels < GROWTH * state.fits[-1].labels):
        return False
    return len(state.settings.classes) == 2 and state.champion is None


def fit_again(state: State) -> tuple[float, float] | None:
    """The pair of the last labels; None if too few stand."""
    asked = state.questions.among(state.training.examples.items()[::-1])
    standing = (asked["state"] == QuestionState.SETTLED) & (asked["item"] > state.fit_after[0])
    used = asked[standing][:MOST_LABELS]
    if len(used) < LEAST_LABELS:
        return None
    return fit_pair(used["score"].copy(), used["label"] == 1, used["chance"].copy())


def note_fit(state: State, seq: int, a: float, b: float, labels: int) -> None:
    """A pair holds from an event on."""
    state.fits.append(FittedPair(seq, a, b, labels, state.settings.cost_matrix().tolist()))


def forget_fit(state: State, seq: int) -> None:
    """The scores from here on are those of another model: what they mean is not known yet."""
    state.fit_after = (seq, state.budget.spent)
    if state.fits:
        state.fits.append(FittedPair(seq, None, 0.0, 0, []))
