"""What was learned, in order, and learning it again without what was taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..log.records import Row
from ..log.settings import Learner
from .growing_rows import GrowingRows

_NONE = -1
_FIELDS = (("item", "i8"), ("label", "i4"), ("round", "i8"))
EVERY = 32  # training examples between two copies of the learner


class Example(NamedTuple):
    """A label the model learned from: the item, its label (None: taken back), and the round it was learned at."""

    item: int
    label: int | None
    round: int


class Examples:
    """Training examples in the order of learning, packed."""

    def __init__(self, raw: bytes = b"") -> None:
        self._rows = GrowingRows(_FIELDS, raw)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, n: int) -> Example:
        return _example(self._rows[n])

    def __iter__(self) -> Iterator[Example]:
        return self.since(0)

    def since(self, count: int) -> Iterator[Example]:
        """All but so many of the first."""
        return map(_example, self._rows.rows(count))

    def append(self, item: int, label: int | None, t: int) -> None:
        """One more example."""
        self._rows.append(item, _NONE if label is None else label, t)

    def relabel(self, n: int, label: int | None) -> None:
        """Give an example another label; None: it was taken back."""
        item, _, t = self[n]
        self._rows.write(n, item, _NONE if label is None else label, t)

    def items(self, first: int = 0) -> NDArray[np.int64]:
        """The items of the examples, or of those from one on."""
        return self._rows.column("item", first)

    def to_lists(self) -> list[list[Any]]:
        """All examples as plain values."""
        return [list(example) for example in self]

    def to_bytes(self) -> bytes:
        """All examples, packed; what the constructor takes."""
        return self._rows.to_bytes()

    def most_label(self) -> int:
        """The largest label; -1 if there is none."""
        return int(self._rows.column("label").max(initial=_NONE))

    def copy(self) -> Examples:
        """One that shares nothing with this one."""
        return Examples(self.to_bytes())


def _example(row: tuple[int, int, int]) -> Example:
    item, label, t = row
    return Example(item, None if label == _NONE else label, t)


class Training:
    """The training examples in the order of learning, and the learners of 32 to 64 of them ago, by slot.

    An undo goes back to those learners and learns at most 63 examples again; anything older is learned again from the
    beginning, with rows that the caller brings. Slot 0 is the learner, the others are its shadows.
    """

    def __init__(self) -> None:
        self.examples = Examples()
        self._recent: dict[int, Row] = {}  # rows of the examples behind the older copy, by item
        self._copies: list[tuple[int, dict[int, Learner]]] = []  # examples learned, learners: older and newer one
        self.start: Learner | None = None  # what was learned before the first row; None: nothing

    def add(self, item: int, label: int, row: Row, t: int) -> int:
        """Note an example that the learners of all slots have just learned; its number."""
        self.examples.append(item, label, t)
        self._recent[item] = row
        return len(self.examples) - 1

    @property
    def copies_due(self) -> bool:
        """Whether the learners are to be copied now."""
        return len(self.examples) % EVERY == 0

    def keep_copies(self, learners: Mapping[int, Learner]) -> None:
        """Copy the learners of all slots, and keep the copy before; older rows are forgotten."""
        self._copies.append((len(self.examples), {slot: _base_of(one) for slot, one in learners.items()}))
        del self._copies[:-2]
        first = self._copies[0][0] if len(self._copies) == 2 else 0
        items = self.examples.items(first).tolist()
        self._recent = {item: self._recent[item] for item in items if item in self._recent}

    def relabelled(self, n: int, label: int | None) -> Training:
        """The same with another label of example ``n`` (None: taken back), and no copy of a learner that knows it."""
        made = self.without_copies()
        made.examples.relabel(n, label)
        made._copies = [(count, learners) for count, learners in self._copies if count <= n]
        return made

    def without_rows(self, numbers: Iterable[int]) -> Training:
        """The same without these examples, whose rows are erased; nothing that knows them is kept."""
        made = self.without_copies()
        for n in numbers:
            made.examples.relabel(n, None)
            made._recent.pop(made.examples[n].item, None)
        return made

    def without_copies(self) -> Training:
        """The same examples, to be learned again from the beginning."""
        made = Training()
        made.examples, made._recent, made.start = self.examples.copy(), dict(self._recent), self.start
        return made

    def kept_row(self, item: int) -> Row | None:
        """The row of an example, if it is in memory."""
        return self._recent.get(item)

    def forget(self, slot: int) -> None:
        """Drop the copies of the learner of a slot, which is another one from here on."""
        for _, learners in self._copies:
            learners.pop(slot, None)

    def swap(self, slot: int) -> None:
        """The learner and the shadow of a slot have changed places."""
        self._copies = [
            (count, {{0: slot, slot: 0}.get(place, place): one for place, one in learners.items()})
            for count, learners in self._copies
        ]

    def _base(self, slot: int) -> tuple[int, Learner | None]:
        for count, learners in reversed(self._copies):
            if slot in learners:
                return count, learners[slot]
        return 0, self.start if slot == 0 else None

    def _since(self, count: int) -> Iterator[Example]:
        return (e for e in self.examples.since(count) if e.label is not None)

    def relearned(self, learner: Learner, rows: Callable[[int], Row], slot: int = 0) -> Learner:
        """The learner of a slot after the examples as they stand now; ``rows`` brings the rows that are not kept."""
        count, base = self._base(slot)
        examples = list(self._since(count))
        taken = (self._recent[e.item] if e.item in self._recent else rows(e.item) for e in examples)
        labels, rounds = [cast(int, e.label) for e in examples], [e.round for e in examples]
        return learner.relearned(taken, labels, rounds, start=base)


def _base_of(learner: Learner) -> Learner:
    """A copy of a learner to learn on from: its weights count, not the labels it has paid for.

    A label that was taken back and given again is paid for once and may be learned behind the copy: by the labels it
    had paid for, more would be learned again than came since.
    """
    made = learner.changed()
    made.set_counts(rounds=made.n_rounds_, spent=0, reserved=0)
    return made
