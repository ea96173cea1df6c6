"""All questions of a project: those that wait for a label as objects, the others packed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .growing_rows import GrowingRows
from .questions import Question, QuestionState, Vote

RECENT = 64  # finished questions that stay objects: most that are looked at again are undone at once
TOGETHER = 256  # finished questions that are packed together
_NONE = -1
_FIELDS = (
    ("item", "i8"),
    ("expires", "i8"),
    ("score", "f8"),
    ("answer", "i4"),
    ("chance", "f8"),
    ("reach", "i8"),
    ("state", "i1"),
    ("paid", "?"),
    ("label", "i4"),
    ("n", "i8"),
    ("ruled", "?"),
    ("erased", "?"),
    ("person", "i8"),  # of the vote, where there is just one
    ("voted", "i4"),
    ("voted_seq", "i8"),
    ("votes", "i1"),  # 0, 1, or 2 for more, which lie elsewhere
)
_VALUES = attrgetter(*(name for name, _ in _FIELDS[:12]))


class QuestionBook:
    """Questions by item, in the order of asking.

    Those that wait for a label and the last that were finished are objects; the others are rows of plain numbers, and
    become objects when they are looked at. Whoever changes a question gives it back by :meth:`put`.
    """

    def __init__(self) -> None:
        self._rows = GrowingRows(_FIELDS)
        self._objects: dict[int, Question] = {}
        self._finished: list[Question] = []  # not packed yet
        self._votes: dict[int, tuple[Vote, ...]] = {}  # of questions with more than one
        self._others: dict[int, tuple[tuple[int, int], ...]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.column("item").tolist())

    def __contains__(self, item: object) -> bool:
        return item in self._objects or (isinstance(item, int) and self._place(item) is not None)

    def __getitem__(self, item: int) -> Question:
        found = self.get(item)
        if found is None:
            raise KeyError(item)
        return found

    def get(self, item: int) -> Question | None:
        """The question of an item; None if its label was never asked for."""
        found = self._objects.get(item)
        if found is not None:
            return found
        place = self._place(item)
        return None if place is None else self._unpacked(place)

    def values(self) -> list[Question]:
        """All questions, as objects."""
        return [self._objects.get(item) or self._unpacked(place) for place, item in enumerate(self)]

    def add(self, question: Question) -> None:
        """A new question, of an item behind all before it."""
        count = len(self._rows)
        if count and question.item <= self._rows[count - 1][0]:
            raise ValueError(f"questions come in the order of their items; got {question.item}")
        question.place = count
        self._rows.append(*self._packed(question))
        self.put(question)

    def put(self, question: Question) -> None:
        """Keep what was changed."""
        self._objects[question.item] = question
        if not question.waits:
            self._finished.append(question)
            if len(self._finished) >= RECENT + TOGETHER:
                self._pack(RECENT)
        elif question.n is not None:  # its row says that it has a label
            self._rows.write(question.place, *self._packed(question))

    def settled(self, items: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Scores, labels and chances of those of these questions that have a label."""
        self._pack(0)
        places = np.searchsorted(self._rows.column("item"), items)
        places = places[self._rows.taken("state", places) == QuestionState.SETTLED]
        score, label, chance = (self._rows.taken(name, places) for name in ("score", "label", "chance"))
        return score, label, chance

    def to_lists(self) -> list[list[Any]]:
        """All questions as plain values, exact."""
        for question in self._objects.values():
            self._rows.write(question.place, *self._packed(question))
        return [self._to_list(row) for row in self._rows.rows()]

    def _place(self, item: int) -> int | None:
        count = len(self._rows)
        place = bisect_left(range(count), item, key=lambda n: self._rows[n][0])
        return place if place < count and self._rows[place][0] == item else None

    def _pack(self, left: int) -> None:
        """Keep all but the last of the finished questions as rows alone."""
        end = len(self._finished) - left
        for question in self._finished[: max(0, end)]:
            if not question.waits and self._objects.get(question.item) is question:  # not looked at since and changed
                self._rows.write(question.place, *self._packed(question))
                del self._objects[question.item]
        del self._finished[: max(0, end)]

    def _packed(self, question: Question) -> tuple[Any, ...]:
        values, votes = _VALUES(question), question.votes
        if question.label is None or question.n is None:
            values = tuple(_NONE if value is None else value for value in values)
        if question.others:
            self._others[question.item] = question.others
        if len(votes) == 1:
            ((person, voted, voted_seq),) = votes
            return *values, person, _NONE if voted is None else voted, voted_seq, 1
        if votes:
            self._votes[question.item] = votes
        return *values, 0, _NONE, 0, 2 if votes else 0

    def _unpacked(self, place: int) -> Question:
        row = self._rows[place]
        made = Question(*row[:6])
        made.place = place
        made.state, made.paid, made.ruled, made.erased = QuestionState(row[6]), row[7], row[10], row[11]
        made.label, made.n = _or_none(row[8]), _or_none(row[9])
        made.votes, made.others = self._votes_of(row), self._others.get(made.item, ())
        return made

    def _votes_of(self, row: tuple[Any, ...]) -> tuple[Vote, ...]:
        item, (person, voted, voted_seq, count) = row[0], row[12:]
        return self._votes[item] if count > 1 else ((person, _or_none(voted), voted_seq),) * count

    def _to_list(self, row: tuple[Any, ...]) -> list[Any]:
        votes = [list(vote) for vote in sorted(self._votes_of(row), key=lambda vote: vote[0])]
        others = [list(one) for one in self._others.get(row[0], ())]
        return [*row[:8], _or_none(row[8]), _or_none(row[9]), votes, row[10], row[11], others]


def _or_none(value: int) -> int | None:
    return None if value == _NONE else value
