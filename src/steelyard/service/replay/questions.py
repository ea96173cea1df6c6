"""The states of a question and what each act does to it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ...errors import InvalidInputError

__all__ = ["ConflictError", "Question", "QuestionState", "Vote"]

Vote = tuple[int, int | None, int]  # person, label (None: skipped), number of the event


class QuestionState(IntEnum):
    """Numbers as the log's tables hold them."""

    OPEN = 0
    SETTLED = 1
    CLOSED = 2
    DISPUTED = 3


class ConflictError(InvalidInputError):
    """An act that the state of a question does not allow; nothing has changed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Question:
    """An item whose label was asked for.

    Parameters
    ----------
    item : int
        The number of its decision's event.
    expires : int
        When it is closed if no label has come, in microseconds.
    score, answer, chance : float, int, float
        Of the decision.
    reach : int
        Rounds up to this one that could have been asked.
    """

    __slots__ = (
        "answer",
        "chance",
        "erased",
        "expires",
        "item",
        "label",
        "n",
        "others",
        "paid",
        "place",
        "reach",
        "ruled",
        "score",
        "state",
        "votes",
    )

    def __init__(self, item: int, expires: int, score: float, answer: int, chance: float, reach: int) -> None:
        self.item, self.expires, self.score, self.answer = item, expires, score, answer
        self.chance, self.reach = chance, reach
        self.place = -1  # among all questions
        self.state = QuestionState.OPEN
        self.paid = False
        self.ruled = False  # an owner has decided
        self.erased = False  # its row is gone
        self.label: int | None = None
        self.n: int | None = None  # of its training example, also of a retracted one
        self.others: tuple[tuple[int, int], ...] = ()  # what the models that do not decide had answered, by slot
        self.votes: tuple[Vote, ...] = ()  # in their order

    def check_open(self) -> None:
        """Raise unless it waits for an answer."""
        if self.state is QuestionState.SETTLED:
            raise ConflictError("already_answered", f"item {self.item} must be open; it was answered.")
        if self.state is QuestionState.CLOSED:
            raise ConflictError("closed", f"item {self.item} must be open; it was closed without a label.")
        if self.state is QuestionState.DISPUTED:
            message = f"item {self.item} must be open; all its votes are in, and an owner decides."
            raise ConflictError("disputed", message)

    def check_open_or_disputed(self) -> None:
        """Raise unless a label may still come, be it by an owner."""
        if not self.waits:
            self.check_open()

    def check_row(self) -> None:
        """Raise if its row was erased."""
        if self.erased:
            raise ConflictError("erased", f"item {self.item} must still have its row; it was erased.")

    def check_new_vote(self, person: int) -> None:
        """Raise if this person has answered or skipped it before."""
        vote = self.vote_of(person)
        if vote is not None:
            done = "skipped" if vote[1] is None else "answered"
            raise ConflictError("already_answered", f"item {self.item} must be new to the person; it was {done}.")

    def vote_of(self, person: int) -> Vote | None:
        """What this person has said; None if nothing."""
        return next((vote for vote in self.votes if vote[0] == person), None)

    def agreed(self, enough: int, more: tuple[int, ...] = ()) -> int | None:
        """The label that so many equal answers name, with ``more`` labels counted; None if there is none."""
        labels = [label for _, label, _ in self.votes if label is not None] + list(more)
        return next((label for label in labels if labels.count(label) >= enough), None)

    @property
    def waits(self) -> bool:
        """Whether a label may still come."""
        return self.state in (QuestionState.OPEN, QuestionState.DISPUTED)

    @property
    def answers(self) -> int:
        """Labels it was given; skips are none."""
        return sum(label is not None for _, label, _ in self.votes)

    def settle(self, label: int) -> None:
        """The answers agree."""
        self.state, self.label, self.paid = QuestionState.SETTLED, label, True

    def reopen(self) -> None:
        """The settled label is taken back; it stays paid."""
        self.state, self.label = QuestionState.OPEN, None

    def dispute(self) -> None:
        """All votes are in and do not agree."""
        self.state = QuestionState.DISPUTED

    def close(self) -> None:
        """No label will come."""
        self.state = QuestionState.CLOSED

    @classmethod
    def from_list(cls, values: list[Any]) -> Question:
        """A question by its plain values, as :meth:`QuestionBook.to_lists` gives them."""
        state, paid, label, n, votes, *marks = values[6:]
        made = cls(*values[:6])
        known: list[Any] = [*marks, *[False, False, []][len(marks) :]]  # earlier versions had fewer
        made.ruled, made.erased, others = known
        made.others = tuple((slot, answer) for slot, answer in others)
        made.state, made.paid, made.label, made.n = QuestionState(state), paid, label, n
        made.votes = tuple((person, label, seq) for person, label, seq in votes)
        return made
