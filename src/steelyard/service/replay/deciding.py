"""Deciding rows: prepare, decide, perhaps ask. Pure: see :mod:`steelyard.service.replay.state`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...active import AskAtLeast, QueryInput, draw
from ...errors import StateError, SteelyardError
from ...online import OnlineClassifier
from ..log.records import Cell, Row, unpack_numbers
from .champion import ChampionNumbers
from .questions import Question
from .shadows import Counts
from .state import SECOND, State

PATH_BYTES = 8  # of a source that say which path is followed; the others say which file was there


class Decided(NamedTuple):
    """What was decided about a row."""

    t: int
    model: int
    score: float
    answer: int
    chance: float
    sampled: bool
    ask: bool
    expected: float | None = None


def decide(state: State, item: int, cells: list[Cell], at: int, weighed: ChampionNumbers | None = None) -> Decided:
    """Prepare, decide, perhaps ask. A row the learner refuses raises and changes nothing.

    Where there is a champion, ``weighed`` is what it says about the row.
    """
    learner, mark = state.learner, state.encoder.mark()
    try:
        row = state.encoder.one(cells)
        t, score, answer, chance, ask = learner.decide(row)
    except SteelyardError:
        state.encoder.restore(mark)
        raise
    answer, expected, own = int(answer), None, None
    if state.champion is not None:
        if weighed is None:
            raise StateError(f"event {item} must hold what the champion said; it does not.")
        own = answer
        score, answer, expected = weighed
        chance, ask = _asks(state, t, score, answer)
        learner.set_counts(rounds=t + 1, spent=state.budget.spent, reserved=state.budget.reserved + ask)
    state.pace.note(score if len(state.settings.classes) == 2 or answer != 0 else -score)
    state.reach += chance > 0
    floor = state.query.floor if isinstance(state.query, AskAtLeast) else 0.0
    if ask:
        expires = at + state.settings.expire * SECOND
        _ask(state, Question(item, expires, score, answer, chance, state.reach), row, t, own)
    decided = Decided(t, state.model, score, answer, chance, 0 < chance <= floor, ask, expected)
    _keep_pace(state, t + 1)
    return decided


def _asks(state: State, t: int, score: float, answer: int) -> tuple[float, bool]:
    """Chance and draw of a round that the learner does not decide, as its stream would have them."""
    if state.budget.left <= 0:
        return 0.0, False
    positive = answer != 0
    signed = score if len(state.settings.classes) == 2 or positive else -score
    chance = float(state.query.query_probability(QueryInput(signed, positive, t)))
    return chance, chance >= 1.0 or draw(state.settings.seed, t) < chance


def decide_many(state: State, item: int, payloads: Sequence[bytes], times: Sequence[int]) -> list[Decided]:
    """:func:`decide` for the first of many rows, as many as one call of the library can; bit for bit the same.

    Those are the ones up to the next change of the query rule, of a project of two classes whose columns are all
    numbers. None where that is not so, or one of them would be refused: then nothing has changed.
    """
    learner = state.learner
    if not state.decides_many or not isinstance(learner, OnlineClassifier):
        return []
    count = state.pace.rows_before_next(state.settings, learner.n_rounds_)
    mark = state.encoder.mark()
    try:
        rows = state.encoder.many(unpack_numbers(payloads[:count], state.encoder.width))
        t, score, answer, chance, ask = (np.asarray(column).tolist() for column in learner.decide_many(rows))
    except SteelyardError:
        state.encoder.restore(mark)
        return []
    state.pace.scores.extend(score)
    reach = list(itertools.accumulate((one > 0 for one in chance), initial=state.reach))
    state.reach = reach[-1]
    floor = state.query.floor if isinstance(state.query, AskAtLeast) else 0.0
    for i in itertools.compress(range(len(ask)), ask):
        expires = times[i] + state.settings.expire * SECOND
        _ask(state, Question(item + i, expires, score[i], answer[i], chance[i], reach[i + 1]), rows[i].copy(), t[i])
    sampled = [0 < one <= floor for one in chance]
    _keep_pace(state, t[-1] + 1)
    return list(map(Decided, t, itertools.repeat(state.model), score, answer, chance, sampled, ask))


def note_source(state: State, source: bytes | None, offset: int | None) -> None:
    """A row of a followed file was decided: the file is known up to there."""
    if source is not None and offset is not None:
        state.tails[source[:PATH_BYTES]] = (source[PATH_BYTES:], offset)


def _ask(state: State, question: Question, row: Row, t: int, own: int | None = None) -> None:
    """``own``: what the learner would have answered, where a champion decides."""
    before = Counts(t, state.budget.spent, state.budget.reserved)
    answers = [(0, own), *((slot, shadow.answer(row, before)) for slot, shadow in state.shadows.items())]
    question.others = tuple((slot, answer) for slot, answer in answers if answer is not None)
    state.budget.reserve()
    state.questions.add(question)
    state.open_rows[question.item] = row


def _keep_pace(state: State, rounds: int) -> None:
    query = state.pace.adjusted(state.settings, rounds, state.budget.left)
    if query is not None:
        state.ask_by(query)
