"""The state of a project: everything that a replay rebuilds, and nothing else.

What decisions, answers and changes do to it stands in modules of their own. All of them are pure, without clock, file
or random number: what they change depends on the events alone.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np

from ...active import QueryRule
from ...online import OnlineClassifier
from ..log.records import Row, RowEncoder
from ..log.settings import Learner, ProjectSettings
from .budget_ledger import BudgetLedger
from .champion import ChampionHead
from .expected import FittedPair
from .pace import Pace
from .question_book import QuestionBook
from .questions import ConflictError, Question
from .shadows import Counts, Shadow, new_learner
from .training import Training

SECOND = 1_000_000  # in the units of an event's time
Rows = Callable[[int], Row]


class State:
    """What a project is after an event; bits that decide what happens next are in its digest."""

    def __init__(self, settings: ProjectSettings) -> None:
        self.settings = settings
        self.labels = settings.labels  # the classes never change
        self.seq = 0
        self.settings_seq = 1  # the event that said the present settings
        self.model = 1  # rises when costs or update change
        self.reach = 0  # rounds that could have been asked
        self.encoder = RowEncoder(settings)
        self.pace = Pace()
        self.query: QueryRule = settings.first_query()
        self.learner: Learner = new_learner(settings, self.query, self.encoder.width)
        self.shadows: dict[int, Shadow] = {}  # by slot, in their order
        self.champion: ChampionHead | None = None  # what decides in the place of the learner
        self.budget = BudgetLedger(settings.budget)
        self.questions = QuestionBook()
        self.open_rows: dict[int, Row] = {}  # by item, of questions that may still be learned from
        self.training = Training()
        self.outcomes = 0
        self.fits: list[FittedPair] = []  # what expected costs are derived from, in the order of events
        self.fit_after = (0, 0)  # event and labels spent since which scores are those of one model
        self.tails: dict[bytes, tuple[bytes, int]] = {}  # followed files, by path: which file, and how far it was read
        self.renewed = (0, 0)  # time and rounds at which the budget was renewed last, or the project began

    @property
    def decides_many(self) -> bool:
        """Whether many rows can be decided at once at all."""
        return self.champion is None and self.encoder.all_numbers and isinstance(self.learner, OnlineClassifier)

    def question(self, item: int) -> Question:
        """The question of an item; raises if its label was never asked for."""
        found = self.questions.get(item)
        if found is None:
            raise ConflictError("never_asked", f"item {item} must be one whose label was asked for; it was not.")
        return found

    def shadow(self, slot: int) -> Shadow:
        """The shadow of a slot; raises if there is none."""
        found = self.shadows.get(slot)
        if found is None:
            raise ConflictError("no_shadow", f"slot {slot} must hold a shadow; it is empty.")
        return found

    def counts(self) -> Counts:
        """Rounds and labels so far, as a learner would count them."""
        return Counts(self.learner.n_rounds_, self.budget.spent, self.budget.reserved)

    def ask_by(self, query: QueryRule) -> None:
        """Have another rule say whose labels are asked for."""
        self.query = query
        self.learner = self.learner.changed(query=query)

    def digest(self) -> str:
        """SHA-256 over every bit that decides what happens next."""
        total = sha256()
        learner = self.learner.state()
        for name, array in sorted(learner["arrays"].items()):
            total.update(name.encode() + np.ascontiguousarray(array).tobytes())
        if self.encoder.scaler is not None:
            for name, array in sorted(self.encoder.scaler.state()["arrays"].items()):
                total.update(name.encode() + array.tobytes())
        for shadow in self.shadows.values():
            known = shadow.learner.state()
            for name, array in sorted(known["arrays"].items()):
                total.update(name.encode() + np.ascontiguousarray(array).tobytes())
            total.update(msgspec.msgpack.encode([known["counts"], known["params"]], order="sorted"))
        labels = {"questions": self.questions.to_lists(), "training": self.training.examples.to_lists()}
        plain = self.plain() | labels
        total.update(msgspec.msgpack.encode([learner["counts"], learner["params"], plain], order="sorted"))
        return total.hexdigest()

    def plain(self) -> dict[str, Any]:
        """All but learner, scaler, questions and training examples as plain values."""
        return {
            "settings": msgspec.to_builtins(self.settings),
            "seq": self.seq,
            "settings_seq": self.settings_seq,
            "model": self.model,
            "reach": self.reach,
            "outcomes": self.outcomes,
            "pace": [list(self.pace.scores), self.pace.due],
            "budget": [self.budget.limit, self.budget.spent, self.budget.reserved],
            "fits": [list(fit) for fit in self.fits],
            "fit_after": list(self.fit_after),
            "renewed": list(self.renewed),
            "shadows": [shadow.to_list() for shadow in self.shadows.values()],
            "tails": [[path.hex(), file.hex(), offset] for path, (file, offset) in sorted(self.tails.items())],
            "champion": None if self.champion is None else [self.champion.sha256.hex(), *self.champion[1:]],
        }
