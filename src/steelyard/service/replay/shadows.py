"""Other learners on the same stream: they learn from the same labels, and neither decide nor ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...active import QueryRule
from ...errors import InvalidInputError
from ...validation.values import check_count, invalid
from ..log.records import Row
from ..log.settings import Learner, ProjectSettings

MOST_SHADOWS = 3


class Counts(NamedTuple):
    """Rounds and labels of the stream: what a learner that does not decide cannot count itself."""

    rounds: int
    spent: int
    reserved: int


@dataclass
class Shadow:
    """A learner with another update rule, bit for bit as if it had run alone on the same rows and labels.

    Parameters
    ----------
    slot : int
        1 to 3.
    update : str
        Its update rule.
    learner : OnlineClassifier or OnlineCostClassifier
        What it has learned from every label so far.
    since, reach : int
        The event, and the rounds that could have been asked up to it, behind which it is compared: since then neither
        it nor the model that decides was replaced.
    ended : bool
        Whether its weights have left the range of numbers; it learns and answers nothing any more.
    """

    slot: int
    update: str
    learner: Learner
    since: int = 0
    reach: int = 0
    ended: bool = False

    def settings(self, settings: ProjectSettings) -> ProjectSettings:
        """Those of the project with its own update rule."""
        return msgspec.structs.replace(settings, update=self.update)

    def answer(self, row: Row, before: Counts) -> int | None:
        """What it answers in the round that begins with these counts; None if it has ended."""
        if self.ended:
            return None
        try:
            self.learner.set_counts(**before._asdict())
            return int(self.learner.decide(row)[2])
        except InvalidInputError:
            self.ended = True
            return None

    def learn(self, row: Row, label: int, before: Counts) -> None:
        """Learn a label that was asked for; a learner that cannot ends, and nobody else is held up by it."""
        if self.ended:
            return
        try:
            self.learner.set_counts(**before._asdict())
            self.learner.learn(row, label)
        except InvalidInputError:
            self.ended = True

    def to_list(self) -> list[Any]:
        """All but the learner as plain values."""
        return [self.slot, self.update, self.since, self.reach, self.ended]


def check_slot(slot: int) -> int:
    """A place for a shadow."""
    return check_count("slot", slot, at_most=MOST_SHADOWS)


def shadow_update(settings: dict[str, Any]) -> str:
    """The update rule in the settings of a shadow, which may hold nothing else."""
    if set(settings) != {"update"} or not isinstance(settings["update"], str):
        raise invalid("settings", 'hold an update rule, as {"update": "AROW(r=10)"}', settings)
    return settings["update"]


def new_learner(settings: ProjectSettings, query: QueryRule, width: int) -> Learner:
    """A learner of these settings that has learned nothing yet."""
    made = settings.make_learner(query)
    made.start(width, np.arange(len(settings.classes)))
    return made


def remade(learner: Learner, fresh: Learner, *, afresh: bool) -> Learner:
    """A learner with the settings of a fresh one: what it has learned and counted stays, or the counts alone."""
    state, began = learner.state(), fresh.state()
    if afresh:
        return type(fresh).from_state(began | {"counts": [*state["counts"][:3], *began["counts"][3:]]})
    return type(fresh).from_state(state | {name: began[name] for name in ("params", "setting") if name in began})
