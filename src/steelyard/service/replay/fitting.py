"""Fitting what scores mean, from the labels that stand. Pure: see :mod:`steelyard.service.replay.state`."""

from __future__ import annotations

import numpy as np

from ..log.events import FIT_VERSION
from .expected import GROWTH, LEAST_LABELS, MOST_LABELS, FittedPair, fit_pair
from .state import State


def fit_due(state: State) -> bool:
    """Whether labels have grown enough for another pair."""
    labels = state.budget.spent - state.fit_after[1]
    if labels < LEAST_LABELS or (state.fits and labels < GROWTH * state.fits[-1].labels):
        return False
    return len(state.settings.classes) == 2 and state.champion is None


def fit_again(state: State, *, version: int = FIT_VERSION) -> tuple[float, float] | None:
    """The pair of the last labels; None if too few stand.

    By version 1 a label that was taken back and given again counted once more each time.
    """
    for first in (max(0, len(state.training.examples) - 2 * MOST_LABELS), 0):  # most often the last ones do
        items = state.training.examples.items(first)[::-1]
        if version > 1:
            items = items[np.sort(np.unique(items, return_index=True)[1])]
        score, label, chance = state.questions.settled(items[items > state.fit_after[0]])
        if len(score) >= MOST_LABELS:
            break
    if len(score) < LEAST_LABELS:
        return None
    return fit_pair(score[:MOST_LABELS], label[:MOST_LABELS] == 1, chance[:MOST_LABELS])


def note_fit(state: State, seq: int, a: float, b: float, labels: int) -> None:
    """A pair holds from an event on."""
    state.fits.append(FittedPair(seq, a, b, labels, state.settings.cost_matrix().tolist()))


def forget_fit(state: State, seq: int) -> None:
    """The scores from here on are those of another model: what they mean is not known yet."""
    state.fit_after = (seq, state.budget.spent)
    if state.fits:
        state.fits.append(FittedPair(seq, None, 0.0, 0, []))
