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
_NONE, _MORE = -1, 2
QUESTION_FIELDS = (
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
    ("votes", "i1"),  # 0, 1, or 2 for more, which stand in more_votes
)
_VALUES = attrgetter(*(name for name, _ in QUESTION_FIELDS[:12]))


class QuestionBook:
    """Questions by item, in the order of asking.

    Those that wait for a label and the last that were finished are objects; the others are rows of plain numbers, and
    become objects when they are looked at. Whoever changes a question gives it back by :meth:`put`.
    """

    def __init__(self) -> None:
        self._rows = GrowingRows(QUESTION_FIELDS)
        self._objects: dict[int, Question] = {}
        self._finished: list[Question] = []  # not packed yet
        self.more_votes: dict[int, tuple[Vote, ...]] = {}  # of questions with more than one
        self.others: dict[int, tuple[tuple[int, int], ...]] = {}  # what the models that do not decide had answered

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

    def waiting(self) -> list[int]:
        """The items whose label may still come."""
        return [item for item, question in self._objects.items() if question.waits]

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
        self._write_all()
        return [self._to_list(row) for row in self._rows.rows()]

    def to_bytes(self) -> bytes:
        """The rows of all questions; what :meth:`from_bytes` takes, with :attr:`more_votes` and :attr:`others`."""
        self._write_all()
        return self._rows.to_bytes()

    @classmethod
    def from_bytes(
        cls,
        raw: bytes,
        more_votes: dict[int, tuple[Vote, ...]],
        others: dict[int, tuple[tuple[int, int], ...]],
        *,
        classes: int,
        examples: int,
    ) -> QuestionBook:
        """The book of these bytes; raises ValueError unless they speak of so many classes and examples."""
        book = cls()
        book._rows, book.more_votes, book.others = GrowingRows(QUESTION_FIELDS, raw), more_votes, others
        row = {name: book._rows.column(name) for name, _ in QUESTION_FIELDS}
        labelled = row["state"] == QuestionState.SETTLED
        if not (
            np.all(np.diff(row["item"]) > 0)
            and np.all(row["item"] > 0)
            and np.isin(row["state"], list(QuestionState)).all()
            and all(_within(row[name], _NONE, classes) for name in ("label", "voted"))
            and _within(row["answer"], 0, classes)
            and _within(row["n"], _NONE, examples)
            and np.array_equal(labelled, row["label"] != _NONE)
            and np.isfinite(row["score"]).all()
            and np.all((row["chance"] > 0) & (row["chance"] <= 1))
            and _within(row["votes"], 0, 3)
            and set(row["item"][row["votes"] == _MORE].tolist()) == set(more_votes)
        ):
            raise ValueError(f"questions must be of {classes} classes and {examples} examples, and agree in themselves")
        waiting = np.isin(row["state"], (QuestionState.OPEN, QuestionState.DISPUTED))
        book._objects = {book._rows[place][0]: book._unpacked(place) for place in np.flatnonzero(waiting).tolist()}
        return book

    def _write_all(self) -> None:
        for question in self._objects.values():
            self._rows.write(question.place, *self._packed(question))

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
            self.others[question.item] = question.others
        if len(votes) == 1:
            self.more_votes.pop(question.item, None)
            ((person, voted, voted_seq),) = votes
            return *values, person, _NONE if voted is None else voted, voted_seq, 1
        if votes:
            self.more_votes[question.item] = votes
        else:
            self.more_votes.pop(question.item, None)
        return *values, 0, _NONE, 0, _MORE if votes else 0

    def _unpacked(self, place: int) -> Question:
        row = self._rows[place]
        made = Question(*row[:6])
        made.place = place
        made.state, made.paid, made.ruled, made.erased = QuestionState(row[6]), row[7], row[10], row[11]
        made.label, made.n = _or_none(row[8]), _or_none(row[9])
        made.votes, made.others = self._votes_of(row), self.others.get(made.item, ())
        return made

    def _votes_of(self, row: tuple[Any, ...]) -> tuple[Vote, ...]:
        item, (person, voted, voted_seq, count) = row[0], row[12:]
        return self.more_votes[item] if count == _MORE else ((person, _or_none(voted), voted_seq),) * count

    def _to_list(self, row: tuple[Any, ...]) -> list[Any]:
        votes = [list(vote) for vote in sorted(self._votes_of(row), key=lambda vote: vote[0])]
        others = [list(one) for one in self.others.get(row[0], ())]
        return [*row[:8], _or_none(row[8]), _or_none(row[9]), votes, row[10], row[11], others]


def _within(values: NDArray[Any], first: int, end: int) -> bool:
    return bool(np.all((values >= first) & (values < end)))


def _or_none(value: int) -> int | None:
    return None if value == _NONE else value
