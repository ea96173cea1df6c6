"""Other settings, shadows and champions. Pure: see :mod:`steelyard.service.replay.state`."""

from __future__ import annotations

from typing import Any

from ...validation.values import invalid
from ..log.settings import RELEARNED, ProjectSettings, changed_settings
from .champion import ChampionHead
from .fitting import forget_fit
from .learning import relearn_shadow
from .pace import FIRST, Pace
from .questions import ConflictError
from .shadows import Shadow, check_slot, new_learner, remade, shadow_update
from .state import SECOND, Rows, State


def renewal(state: State, at: int) -> dict[str, int] | None:
    """The changes that renew the budget at this time; None if it is not due, or no row came since the last time."""
    due, since = state.settings.renewal(), state.learner.n_rounds_ - state.renewed[1]
    if due is None or since == 0 or at < state.renewed[0] + due[1] * SECOND:
        return None
    rows = max(since, (state.settings.expected_rows - state.renewed[1]) // 4)
    return {"budget": state.budget.limit + due[0], "expected_rows": state.learner.n_rounds_ + rows}


def change(state: State, changes: dict[str, Any], rows: Rows, seq: int, at: int, *, renews: bool = False) -> None:
    """Change settings; other costs or another update rule learn all examples again. ``renews``: by the timer."""
    settings = changed_settings(state.settings, changes)
    state.budget.check_limit(settings.budget)
    if state.training.start is not None and settings.update != state.settings.update:
        advice = "Begin a new project to change it."
        raise invalid("update", "stay as it began where a history was learned first", settings.update, advice)
    relearn = any(getattr(settings, name) != getattr(state.settings, name) for name in RELEARNED)
    query = state.query
    if settings.query != state.settings.query or settings.pace != state.settings.pace:
        query = settings.first_query()
    counts, width = state.counts(), state.encoder.width
    made = remade(state.learner, new_learner(settings, query, width), afresh=relearn)
    if relearn:
        training = state.training.without_copies()
        made = training.relearned(made, rows)
        state.training = training
    _note_renewal(state, settings, at, renews)
    state.learner, state.query, state.settings = made, query, settings
    for shadow in state.shadows.values():
        shadow.learner.set_counts(**counts._asdict())
        fresh = new_learner(shadow.settings(settings), query, width)
        shadow.learner = remade(shadow.learner, fresh, afresh=relearn)
        if relearn:
            relearn_shadow(state, shadow, rows)
    if relearn:
        _replaced(state, seq)
    state.budget.limit, state.settings_seq = settings.budget, seq


def _replaced(state: State, seq: int) -> None:
    """Another model decides from this event on: what was known about the one before says nothing about it."""
    state.model += 1
    forget_fit(state, seq)
    for shadow in state.shadows.values():
        shadow.since, shadow.reach = seq, state.reach
    if state.champion is not None:
        state.champion = state.champion._replace(since=seq, reach=state.reach)


def _note_renewal(state: State, settings: ProjectSettings, at: int, renews: bool) -> None:
    """Periods follow each other from the time the setting was made; missed ones are not made up for."""
    rounds, due = state.learner.n_rounds_, state.settings.renewal()
    if renews and due is not None:
        period = due[1] * SECOND
        state.renewed = (at - (at - state.renewed[0]) % period, rounds)
        state.pace.due = min(state.pace.due, max(rounds, FIRST))
    elif settings.renew != state.settings.renew:
        state.renewed = (at, rounds)


def set_shadow(state: State, slot: int, settings: dict[str, Any] | None, rows: Rows, seq: int) -> None:
    """Begin a shadow that knows all labels so far, in the place of one that was there; None ends it."""
    check_slot(slot)
    if settings is None:
        state.shadow(slot)
        del state.shadows[slot]
        state.training.forget(slot)
        return
    if state.training.start is not None:
        advice = "Of a history the state is kept, not the rows: try the rule in a new project with the same history."
        raise invalid("the project", "have no history to have shadows", "a history", advice)
    shadow = Shadow(slot, shadow_update(settings), state.learner, seq, state.reach)
    of_its_own = shadow.settings(state.settings)
    of_its_own.validate()
    fresh = new_learner(of_its_own, state.query, state.encoder.width)
    afresh = state.training.without_copies()
    shadow.learner = afresh.relearned(remade(state.learner, fresh, afresh=True), rows, slot)
    state.training.forget(slot)
    state.shadows = dict(sorted((state.shadows | {slot: shadow}).items()))


def promote(state: State, slot: int, seq: int) -> None:
    """The shadow is the learner from here on, and the learner its shadow; promoted again, all is as before."""
    check_slot(slot)
    shadow = state.shadow(slot)
    if shadow.ended:
        raise ConflictError("ended", f"the shadow of slot {slot} must still learn; its weights left all numbers.")
    shadow.learner.set_counts(**state.counts()._asdict())
    before = state.settings.update or str(state.settings.update_rule())
    state.settings = shadow.settings(state.settings)
    state.learner, shadow.learner, shadow.update = shadow.learner, state.learner, before
    state.training.swap(slot)
    _begin_pace(state)
    _replaced(state, seq)
    state.settings_seq = seq


def _begin_pace(state: State) -> None:
    """Scores are on another scale from here on: with pace, the query rule begins as that of a new project."""
    if state.settings.pace:
        state.pace, state.query = Pace(state.learner.n_rounds_ + FIRST), state.settings.first_query()
    state.ask_by(state.query)


def set_champion(state: State, sha256: bytes | None, name: str, seq: int) -> None:
    """A model decides from here on, while the learner goes on learning; None: the learner decides again."""
    if sha256 is None and state.champion is None:
        raise ConflictError("no_champion", "a champion must decide to be taken away; there is none.")
    state.champion = None if sha256 is None else ChampionHead(sha256, name)
    _begin_pace(state)
    _replaced(state, seq)
