"""The states of a question and what each act does to it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..errors import InvalidInputError

__all__ = ["ConflictError", "Question", "QuestionState"]


class QuestionState(IntEnum):
    """Numbers as the log's tables hold them."""

    OPEN = 0
    SETTLED = 1
    CLOSED = 2


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

    __slots__ = ("answer", "chance", "expires", "item", "label", "n", "paid", "reach", "score", "state", "votes")

    def __init__(self, item: int, expires: int, score: float, answer: int, chance: float, reach: int) -> None:
        self.item, self.expires, self.score, self.answer = item, expires, score, answer
        self.chance, self.reach = chance, reach
        self.state = QuestionState.OPEN
        self.paid = False
        self.label: int | None = None
        self.n: int | None = None  # of its training example, also of a retracted one
        self.votes: dict[int, tuple[int | None, int]] = {}  # person to label (None: skipped) and number of the event

    def check_open(self) -> None:
        """Raise unless it waits for an answer."""
        if self.state is QuestionState.SETTLED:
            raise ConflictError("already_answered", f"item {self.item} must be open; it was answered.")
        if self.state is QuestionState.CLOSED:
            raise ConflictError("closed", f"item {self.item} must be open; it was closed without a label.")

    def check_new_vote(self, person: int) -> None:
        """Raise if this person has answered or skipped it before."""
        if person in self.votes:
            done = "skipped" if self.votes[person][0] is None else "answered"
            raise ConflictError("already_answered", f"item {self.item} must be new to the person; it was {done}.")

    def settle(self, label: int) -> None:
        """The answers agree."""
        self.state, self.label, self.paid = QuestionState.SETTLED, label, True

    def reopen(self) -> None:
        """The settled label is taken back; it stays paid."""
        self.state, self.label = QuestionState.OPEN, None

    def close(self) -> None:
        """No label will come."""
        self.state = QuestionState.CLOSED

    def to_list(self) -> list[Any]:
        """Plain values, exact."""
        votes = [[person, label, seq] for person, (label, seq) in sorted(self.votes.items())]
        head = [self.item, self.expires, self.score, self.answer, self.chance, self.reach]
        return [*head, int(self.state), self.paid, self.label, self.n, votes]

    @classmethod
    def from_list(cls, values: list[Any]) -> Question:
        """The question as it was."""
        *head, state, paid, label, n, votes = values
        made = cls(*head)
        made.state, made.paid, made.label, made.n = QuestionState(state), paid, label, n
        made.votes = {person: (label, seq) for person, label, seq in votes}
        return made
